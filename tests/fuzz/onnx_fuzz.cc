// Bytes of an .onnx file: the importer, shape inference, the optimiser with quantizers, the writer; what was written is
// loaded and run. A refusal has a reason, and what the converter writes loads. The mutator works on the wire format of
// Protocol Buffers (wire.h).
#include <cstdio>
#include <cstring>

#include "converter/convert.h"
#include "quant/schemes/scheme.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/wire.h"
#include "vireo/vireo.h"

namespace {

using namespace vireo;
using namespace vireo::fuzz;

Reached reached{"converted", "session", "ran"};
enum { kConverted, kSession, kRan };

vireo_runtime* runtime() {
  static vireo_runtime* const one = [] {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = "";
    vireo_runtime* made = nullptr;
    VIREO_FUZZ_CHECK(vireo_runtime_create(&options, &made, nullptr) == VIREO_OK);
    return made;
  }();
  return one;
}

constexpr uint64_t kMostMemory = 16 << 20;

void run(const FileBytes& file) {
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_status loaded = vireo_model_load_memory(runtime(), file.data(), file.size(), &model, &error);
  if (loaded != VIREO_OK) std::fprintf(stderr, "what was converted does not load: %s\n", error.message);
  VIREO_FUZZ_CHECK(loaded == VIREO_OK);
  VIREO_FUZZ_CHECK(vireo_model_check_hashes(model, &error) == VIREO_OK);
  std::vector<vireo_bound> bounds;
  for (uint32_t i = 0; i < vireo_model_dimension_count(model); ++i) {
    vireo_dimension d = VIREO_DIMENSION_INIT;
    VIREO_FUZZ_CHECK(vireo_model_dimension(model, i, &d, nullptr) == VIREO_OK);
    if (d.max >= 0) continue;
    vireo_bound b = {};
    b.name = d.name;
    b.min = d.min < 2 ? d.min : 2;
    b.max = 2;
    bounds.push_back(b);
  }
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.bounds = bounds.data();
  options.bound_count = static_cast<uint32_t>(bounds.size());
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_session* session = nullptr;
  if (vireo_model_memory(model, &options, &memory, &error) == VIREO_OK && memory.total_bytes <= kMostMemory &&
      vireo_session_create(model, &options, &session, &error) == VIREO_OK) {
    reached(kSession);
    bool text = false;
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
      vireo_tensor in = {};
      VIREO_FUZZ_CHECK(vireo_session_input(session, i, &in, &error) == VIREO_OK);
      text = text || in.dtype == VIREO_STRING;
      if (in.dtype != VIREO_STRING && in.capacity > 0) std::memset(in.data, 0, static_cast<size_t>(in.capacity));
    }
    if (!text && vireo_session_run(session, nullptr, nullptr, &error) == VIREO_OK) reached(kRan);
    vireo_session_release(session);
  }
  vireo_model_release(model);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<WireField> message;
  if (rng() % 10 == 0 || !read_wire(data, size, 0, &message)) return LLVMFuzzerMutate(data, size, most);
  for (unsigned changes = 1 + rng() % 3; changes > 0; --changes) change_wire(&message, rng);
  const std::string bytes = write_wire(message);
  if (bytes.size() > most) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reached.begin();
  const MemoryFile file(data, size);
  ConvertOptions options;
  // By the content, so that an input does the same each time.
  const uint8_t how = size == 0 ? 0 : static_cast<uint8_t>(data[size / 2] ^ size);
  options.optimize = how % 8 != 0;
  const char* const names[] = {"", "", "", "", "fp16", "bf16", "int8-weights", "int4"};
  const quant::Scheme* const scheme = quant::find_scheme(names[how / 8 % 8]);
  if (scheme != nullptr) {
    options.quantize.name = scheme->name;
    options.quantize.run = [scheme](ir::Graph& g, PassReport*) {
      quant::SchemeLog log;
      scheme->run(g, log);
      return log.changes;
    };
    if (scheme->after != nullptr) {
      options.quantize.after = [scheme](ir::Graph& g, PassReport*) {
        quant::SchemeLog log;
        scheme->after(g, log);
        return log.changes;
      };
    }
  }
  Diagnostics diagnostics;
  ConvertReport report;
  FileBytes out;
  if (convert_to_memory(file.path(), options, &out, &diagnostics, &report)) {
    reached(kConverted);
    run(out);
  } else {
    VIREO_FUZZ_CHECK(diagnostics.failed());
  }
  return 0;
}
