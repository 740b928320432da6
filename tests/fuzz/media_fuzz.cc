// What the command line reads beside models: .npy, .npz, PNG, JPEG, WAV, by the readers that `vireo run --input` calls.
// The first byte says what the input it is read for is like, the rest is the file.
#include <cstring>

#include "c_api/cli/failure.h"
#include "c_api/cli/npy.h"
#include "c_api/cli/picture.h"
#include "c_api/cli/sound.h"
#include "tests/fuzz/harness.h"

namespace {

using namespace vireo::fuzz;
using namespace vireo::cli;

Reached reached{"read"};

void use(const Array& a) {
  VIREO_FUZZ_CHECK(a.count() >= 0);
  const int bits = dtype_bits(a.dtype);
  if (bits == 0) {
    VIREO_FUZZ_CHECK(a.strings.size() == static_cast<size_t>(a.count()));
  } else {
    VIREO_FUZZ_CHECK(a.bytes.size() == (static_cast<size_t>(a.count()) * static_cast<size_t>(bits) + 7) / 8);
  }
  if (a.count() > 0) (void)text_at(a, a.count() - 1);
  if (a.count() > 0 && a.count() < 10000 && bits != 0) (void)format_npy(a);
  reached(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reached.begin();
  if (size == 0) return 0;
  const uint8_t how = data[0];
  ++data;
  --size;
  vireo_value_info info = VIREO_VALUE_INFO_INIT;
  info.name = "x";
  info.dtype = how & 16 ? VIREO_UINT8 : VIREO_FLOAT32;
  const bool sound = size >= 4 && std::memcmp(data, "RIFF", 4) == 0;
  info.rank = sound ? 2 : 4;
  const bool channels_last = (how & 1) != 0;
  const int64_t open = how & 2 ? -1 : 8;
  const int64_t colours = how & 4 ? 1 : 3;
  const int64_t picture[4] = {1, channels_last ? open : colours, open, channels_last ? colours : open};
  const int64_t samples[2] = {1, how & 2 ? -1 : 400};
  for (int d = 0; d < info.rank; ++d) {
    info.max_dims[d] = sound ? samples[d] : picture[d];
    info.min_dims[d] = info.max_dims[d] < 0 ? 1 : info.max_dims[d];
  }
  vireo_meaning meaning = VIREO_MEANING_INIT;
  meaning.kind = sound ? VIREO_MEANING_AUDIO : VIREO_MEANING_IMAGE;
  meaning.layout = channels_last ? "NHWC" : "NCHW";
  meaning.color = how & 4 ? "gray" : how & 8 ? "BGR" : "RGB";
  meaning.resize = how & 32 ? "letterbox" : how & 64 ? "stretch" : "none";
  meaning.sample_rate = how & 128 ? 16000 : 0;
  const MemoryFile file(data, size);
  std::string assumed;
  try {
    if (sound) {
      use(read_sound(file.path(), info, meaning, &assumed));
    } else if (size >= 6 && std::memcmp(data, "\x93NUMPY", 6) == 0) {
      use(parse_npy(data, size, "x"));
    } else if (size >= 2 && std::memcmp(data, "PK", 2) == 0) {
      for (const auto& [name, array] : read_npz(file.path())) use(array);
    } else {
      use(read_picture(file.path(), info, meaning, &assumed));
    }
  } catch (const Failure& failure) {
    VIREO_FUZZ_CHECK(failure.what()[0] != 0);
  }
  return 0;
}
