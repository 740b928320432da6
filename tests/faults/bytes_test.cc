// Every byte of small files turned over and every cut, of models of all kinds (tests/fuzz/corpus): .vireo files as they
// are, which their hashes tell, and with hashes that fit, which is for the verifier and what runs behind it; .onnx
// which convert to what runs or are refused. With VIREO_SAMPLE=3, as in a default run, every third byte and cut: fields
// are of 1, 2, 4 and 8 bytes, so all their bytes are met, with all bits, though not in each field.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "converter/convert.h"
#include "converter/emit/sealed_file.h"
#include "sdk/format/container.h"
#include "tests/fuzz/sessions.h"
#include "tests/support/roots.h"
#include "tests/support/sample.h"
#include "vireo/vireo.h"

namespace vireo::fuzz {
namespace {

const size_t kStep = static_cast<size_t>(tests::sample_step());

Reached g_reached{"loaded", "hashes good", "session", "ran"};
enum { kLoaded, kHashes, kSession, kRan };

struct Outcome {
  bool loaded = false, hashes = false;
};
Outcome use(const uint8_t* bytes, size_t size, bool run) {
  g_reached.begin();
  const AlignedCopy copy(bytes, size);
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  Outcome o;
  o.loaded = vireo_model_load_memory(plain_runtime(), copy.data(), size, &model, &error) == VIREO_OK;
  if (!o.loaded) {
    EXPECT_NE(error.message[0], 0);
    return o;
  }
  g_reached(kLoaded);
  o.hashes = vireo_model_check_hashes(model, &error) == VIREO_OK;
  if (o.hashes) g_reached(kHashes);
  if (run) run_model(model, 2, VIREO_PACKING_DEFAULT, nullptr, &g_reached, kSession, kRan);
  vireo_model_release(model);
  return o;
}

std::vector<std::string> files_of(const std::string& folder, const std::string& ending) {
  std::vector<std::string> found;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    if (e.path().extension() == ending) found.push_back(e.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}
std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

class VireoBytes : public ::testing::TestWithParam<std::string> {
 protected:
  const Bytes file_ = read_whole(GetParam());
};

TEST_P(VireoBytes, TurnedOverAsTheyAre) {
  ASSERT_TRUE(use(file_.data(), file_.size(), true).hashes);
  Bytes bad = file_;
  for (size_t i = 0; i < file_.size(); i += kStep) {
    bad[i] ^= static_cast<uint8_t>(1u << i % 8);
    const Outcome o = use(bad.data(), bad.size(), true);
    EXPECT_FALSE(o.loaded && o.hashes) << "byte " << i << " of " << file_.size() << " is not protected";
    bad[i] = file_[i];
  }
}

TEST_P(VireoBytes, TurnedOverAndSealed) {
  FileHeader header;
  std::memcpy(&header, file_.data(), sizeof(header));
  size_t loaded = 0, tried = 0;
  for (size_t i = sizeof(header); i < header.hash_offset; i += kStep) {
    for (const int flip : {1 << i % 8, 0xff}) {
      Bytes bad(file_.begin(), file_.begin() + static_cast<std::ptrdiff_t>(header.hash_offset));
      bad[i] ^= static_cast<uint8_t>(flip);
      emit::end_file(&bad, header);
      const Outcome o = use(bad.data(), bad.size(), true);
      EXPECT_TRUE(!o.loaded || o.hashes) << "byte " << i << ": the hashes were to fit";
      loaded += o.loaded ? 1 : 0;
      ++tried;
    }
  }
  EXPECT_GT(loaded, 0u);
  EXPECT_LT(loaded, tried);
}

TEST_P(VireoBytes, OfTheHeader) {
  for (size_t i = 0; i < sizeof(FileHeader); ++i) {
    for (int value = 0; value < 256; value += 15) {
      Bytes bad = file_;
      bad[i] = static_cast<uint8_t>(value);
      (void)use(bad.data(), bad.size(), false);
    }
  }
}

TEST_P(VireoBytes, CutOff) {
  for (size_t n = 0; n < file_.size(); n += kStep) EXPECT_FALSE(use(file_.data(), n, false).loaded) << n;
}

INSTANTIATE_TEST_SUITE_P(Files, VireoBytes, ::testing::ValuesIn(files_of(tests::build_path("models/fuzz"), ".vireo")),
                         name_of);

class OnnxBytes : public ::testing::TestWithParam<std::string> {
 protected:
  // Whether it converts; what was written then runs.
  static bool use_onnx(const uint8_t* bytes, size_t size) {
    const MemoryFile file(bytes, size);
    Diagnostics diagnostics;
    FileBytes out;
    if (!convert_to_memory(file.path(), {}, &out, &diagnostics, nullptr)) {
      EXPECT_TRUE(diagnostics.failed());
      return false;
    }
    const Outcome o = use(out.data(), out.size(), true);
    EXPECT_TRUE(o.loaded && o.hashes);
    return true;
  }
  const Bytes file_ = read_whole(GetParam());
};

TEST_P(OnnxBytes, TurnedOver) {
  ASSERT_TRUE(use_onnx(file_.data(), file_.size()));
  Bytes bad = file_;
  size_t refused = 0;
  for (size_t i = 0; i < file_.size(); i += kStep) {
    for (const int flip : {1 << i % 8, 0xff}) {
      bad[i] = static_cast<uint8_t>(file_[i] ^ flip);
      refused += use_onnx(bad.data(), bad.size()) ? 0 : 1;
    }
    bad[i] = file_[i];
  }
  EXPECT_GT(refused, 0u);
}

TEST_P(OnnxBytes, CutOff) {
  for (size_t n = 0; n < file_.size(); n += kStep) (void)use_onnx(file_.data(), n);
}

INSTANTIATE_TEST_SUITE_P(Files, OnnxBytes,
                         ::testing::ValuesIn(files_of(tests::source_path("tests/fuzz/corpus/onnx"), ".onnx")), name_of);

}  // namespace
}  // namespace vireo::fuzz
