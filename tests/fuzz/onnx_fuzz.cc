// Bytes of an .onnx file: the importer, shape inference, the optimiser with quantizers, the writer; what was written is
// loaded and run. A refusal has a reason, and what the converter writes loads. The mutator works on the wire format of
// Protocol Buffers (wire.h).
#include <cstdio>
#include <cstring>

#include "converter/convert.h"
#include "quant/schemes/scheme.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sessions.h"
#include "tests/fuzz/wire.h"
#include "vireo/vireo.h"

namespace {

using namespace vireo;
using namespace vireo::fuzz;

Reached reached{"converted", "session", "ran"};
enum { kConverted, kSession, kRan };
Arrived arrived;

void run(const FileBytes& file) {
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_status loaded = vireo_model_load_memory(plain_runtime(), file.data(), file.size(), &model, &error);
  if (loaded != VIREO_OK) std::fprintf(stderr, "what was converted does not load: %s\n", error.message);
  VIREO_FUZZ_CHECK(loaded == VIREO_OK);
  VIREO_FUZZ_CHECK(vireo_model_check_hashes(model, &error) == VIREO_OK);
  run_model(model, 2, VIREO_PACKING_DEFAULT, nullptr, &reached, kSession, kRan);
  vireo_model_release(model);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::mt19937 rng(seed);
  size = arrived.instead_of(data, size, most, rng);
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
  const Span<const quant::Scheme* const> schemes = quant::schemes();
  const size_t choice = how / 8 % (2 * schemes.size());  // none for half of the inputs
  if (choice < schemes.size()) options.stages = quant::stages_of(*schemes[choice]);
  Diagnostics diagnostics;
  ConvertReport report;
  FileBytes out;
  if (convert_to_memory(file.path(), options, &out, &diagnostics, &report)) {
    reached(kConverted);
    run(out);
  } else {
    VIREO_FUZZ_CHECK(diagnostics.failed());
  }
  if (reached.saw(kRan)) arrived.keep(data, size);
  return 0;
}
