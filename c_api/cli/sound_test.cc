#include "c_api/cli/sound.h"

#include <gtest/gtest.h>
#include <string.h>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::sound_test {
namespace {

void put(std::string* out, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 255));
}

// A 16-bit PCM WAV file by hand.
std::string wav(const std::string& path, const std::vector<int16_t>& samples, uint32_t channels, uint32_t rate) {
  const uint32_t size = static_cast<uint32_t>(samples.size() * 2);
  std::string out = "RIFF";
  put(&out, 36 + size, 4);
  out += "WAVEfmt ";
  put(&out, 16, 4);
  put(&out, 1, 2);
  put(&out, channels, 2);
  put(&out, rate, 4);
  put(&out, rate * channels * 2, 4);
  put(&out, channels * 2, 2);
  put(&out, 16, 2);
  out += "data";
  put(&out, size, 4);
  for (const int16_t s : samples) put(&out, static_cast<uint16_t>(s), 2);
  write_file(path, out);
  return path;
}

vireo_value_info input(vireo_dtype dtype, const std::vector<int64_t>& dims) {
  vireo_value_info info = VIREO_VALUE_INFO_INIT;
  info.dtype = dtype;
  info.name = "audio";
  info.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    info.min_dims[i] = dims[i] < 0 ? 1 : dims[i];
    info.max_dims[i] = dims[i];
  }
  return info;
}

TEST(Sound, FillsTheLongDimension) {
  std::string assumed;
  const Array a = read_sound(wav("four.wav", {0, 16384, -32768, 8192}, 1, 16000), input(VIREO_FLOAT32, {-1, 4}),
                             VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(a.dims, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(real_at(a, 1), 0.5);
  EXPECT_EQ(real_at(a, 2), -1);
  EXPECT_NE(assumed.find("16000 Hz"), std::string::npos);
  const Array open = read_sound("four.wav", input(VIREO_FLOAT32, {-1, -1}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(open.dims, (std::vector<int64_t>{1, 4}));
}

TEST(Sound, AveragesChannelsAndKeepsIntegers) {
  std::string assumed;
  const std::string path = wav("stereo.wav", {100, 300, -200, 0}, 2, 8000);
  const Array a = read_sound(path, input(VIREO_INT16, {2}), VIREO_MEANING_INIT, &assumed);
  EXPECT_EQ(real_at(a, 0), 200);
  EXPECT_EQ(real_at(a, 1), -100);
}

TEST(Sound, RefusesAnotherRateOrLength) {
  std::string assumed;
  vireo_meaning meaning = VIREO_MEANING_INIT;
  meaning.kind = VIREO_MEANING_AUDIO;
  meaning.sample_rate = 16000;
  const std::string path = wav("slow.wav", {1, 2, 3}, 1, 8000);
  EXPECT_THROW(read_sound(path, input(VIREO_FLOAT32, {1, 3}), meaning, &assumed), Failure);
  EXPECT_THROW(read_sound(path, input(VIREO_FLOAT32, {1, 4}), VIREO_MEANING_INIT, &assumed), Failure);
}

TEST(Sound, DamageIsNamed) {
  write_file("bad.wav", std::string("RIFF....WAVEjunk"));
  std::string assumed;
  EXPECT_THROW(read_sound("bad.wav", input(VIREO_FLOAT32, {1, 4}), VIREO_MEANING_INIT, &assumed), Failure);
}

}  // namespace
}  // namespace vireo::cli::sound_test
