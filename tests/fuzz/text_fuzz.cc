// The small texts that people and other programs write: target profiles, tuning files, keys, shapes, what a session is
// asked for (devices, shares, bounds). The first byte says which of them the rest is.
#include <cstring>

#include "c_api/cli/failure.h"
#include "c_api/cli/keys.h"
#include "c_api/cli/tuning.h"
#include "converter/convert.h"
#include "converter/target/profile.h"
#include "tests/fuzz/harness.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

using namespace vireo;
using namespace vireo::fuzz;

Reached reached{"accepted"};

struct Shared {
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  Bytes file = read_whole(vireo::tests::source_path("tests/golden/integer_golden.vireo"));
  AlignedCopy bytes{file.data(), file.size()};

  Shared() {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.plugins = "";
    VIREO_FUZZ_CHECK(vireo_runtime_create(&options, &runtime, nullptr) == VIREO_OK);
    VIREO_FUZZ_CHECK(vireo_model_load_memory(runtime, bytes.data(), file.size(), &model, nullptr) == VIREO_OK);
  }
};
Shared& shared() {
  static auto* const one = new Shared;
  return *one;
}

void profile(const std::string& text) {
  target::Profile read;
  std::string error;
  if (target::parse_profile(text, "fuzz.json", {"fp16", "bf16"}, &read, &error))
    reached(0);
  else
    VIREO_FUZZ_CHECK(!error.empty());
}

void shape(const std::string& text) {
  ShapeOption read;
  std::string error;
  if (parse_shape_option(text, &read, &error)) {
    for (const DimRange& d : read.dims) VIREO_FUZZ_CHECK(d.lo >= 0 && d.lo <= d.hi);
    reached(0);
  } else {
    VIREO_FUZZ_CHECK(!error.empty());
  }
}

// The text's lines: devices, what is required of them, a target, a dimension's name.
void session(const std::string& text) {
  std::string lines[4];
  size_t line = 0;
  for (const char c : text) {
    if (c == '\n')
      line = line < 3 ? line + 1 : 3;
    else if (c != 0)
      lines[line].push_back(c);
  }
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  if (!lines[0].empty()) options.device = lines[0].c_str();
  if (!lines[1].empty()) options.require = lines[1].c_str();
  if (!lines[2].empty()) options.target = lines[2].c_str();
  vireo_bound bound = {};
  bound.name = lines[3].c_str();
  bound.min = 1;
  bound.max = 2;
  options.bounds = &bound;
  options.bound_count = lines[3].empty() ? 0 : 1;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session* made = nullptr;
  if (vireo_session_create(shared().model, &options, &made, &error) == VIREO_OK)
    reached(0);
  else
    VIREO_FUZZ_CHECK(error.message[0] != 0);
  vireo_session_release(made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reached.begin();
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const MemoryFile file(data + 1, size - 1);
  try {
    switch (data[0] % 6) {
      case 0:
        profile(text);
        break;
      case 1:
        shape(text);
        break;
      case 2:
        session(text);
        break;
      case 3:
        cli::Tuning(file.path(), shared().runtime, 1);
        reached(0);
        break;
      case 4:
        (void)cli::read_key(file.path(), static_cast<cli::KeyKind>(size % 3));
        reached(0);
        break;
      default: {
        vireo_limits limits = VIREO_LIMITS_INIT;
        limits.vendors = text.c_str();
        vireo_device_choice choices[4];
        for (vireo_device_choice& c : choices) {
          c = {};
          c.struct_size = sizeof(c);
        }
        uint32_t count = 0;
        vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
        if (vireo_model_devices(shared().model, &options, &limits, choices, 4, &count, nullptr) == VIREO_OK) reached(0);
      }
    }
  } catch (const cli::Failure& failure) {
    VIREO_FUZZ_CHECK(failure.what()[0] != 0);
  }
  return 0;
}
