// Damaged .vireo files against the C API: whatever a byte says, loading ends in a status, and what still loads can be
// prepared and run without a fault. Hash checks are not asked for here, so every byte reaches the verifier. Run under
// the sanitizers by `tests/run --full asan`.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "sdk/base/dtype.h"
#include "sdk/base/shape.h"
#include "sdk/format/container.h"
#include "tests/fuzz/apart.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Bytes = std::unique_ptr<uint8_t[], AlignedFree>;
// Exactly `size` bytes, so that a read behind them is seen by the sanitizer.
Bytes copy_of(const uint8_t* from, size_t size) {
  Bytes b(static_cast<uint8_t*>(::operator new[](size, std::align_val_t{64})));
  std::memcpy(b.get(), from, size);
  return b;
}

// Under sanitizers each try takes some twenty times as long: then every kStride-th place, the same ones in every run.
// Odd, so that bit i % 8 changes from one to the next.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStride = 5;
#else
constexpr size_t kStride = 1;
#endif

class Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(vireo::tests::build_path("models/kws_smoke.vireo"), std::ios::binary);
    file_.assign(std::istreambuf_iterator<char>(in), {});
    ASSERT_GT(file_.size(), 1000u) << "build the models first";
    std::memcpy(&header_, file_.data(), sizeof(header_));
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    ASSERT_EQ(vireo_runtime_create(&options, &runtime_, nullptr), VIREO_OK);
    for (uint32_t i = 0; i < vireo_runtime_device_count(runtime_); ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      ASSERT_EQ(vireo_runtime_device(runtime_, i, &info, nullptr), VIREO_OK);
      if (std::strcmp(info.name, "xnnpack") == 0) others_ = "xnnpack,cpu";
    }
  }
  void TearDown() override { vireo_runtime_release(runtime_); }

  // How far `bytes` came: 0 refused at load, 1 at preparation, 2 at run, 3 ran.
  int use(const uint8_t* bytes, size_t size) {
    const Bytes held = copy_of(bytes, size);
    vireo_model* model = nullptr;
    vireo_error error = VIREO_ERROR_INIT;
    int reached = 0;
    if (vireo_model_load_memory(runtime_, held.get(), size, &model, &error) == VIREO_OK) {
      for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
        vireo_value_info info = VIREO_VALUE_INFO_INIT;
        EXPECT_EQ(vireo_model_input(model, i, &info, &error), VIREO_OK);
      }
      reached = run(model, nullptr, &error);
      if (others_ != nullptr) {
        vireo_error other = VIREO_ERROR_INIT;
        EXPECT_EQ(run(model, others_, &other) == 3, reached == 3) << error.message << " / " << other.message;
      }
    }
    if (reached != 3) {
      EXPECT_TRUE(error.message[0] != 0 || reached == 1);
    }
    vireo_model_release(model);
    return reached;
  }
  // The same from 1, on these devices.
  static int run(const vireo_model* model, const char* devices, vireo_error* error) {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = devices;
    vireo_session* session = nullptr;
    vireo_memory memory = VIREO_MEMORY_INIT;
    // A flipped bit may ask for memory that is there but not worth having.
    const bool fits =
        vireo_model_memory(model, &options, &memory, error) == VIREO_OK && memory.total_bytes < (64u << 20);
    if (!fits || vireo_session_create(model, &options, &session, error) != VIREO_OK) return 1;
    const int reached = vireo_session_run(session, nullptr, 0, nullptr, 0, error) == VIREO_OK ? 3 : 2;
    vireo_session_release(session);
    return reached;
  }

  std::vector<uint8_t> file_;
  vireo::FileHeader header_ = {};
  vireo_runtime* runtime_ = nullptr;
  const char* others_ = nullptr;  // devices besides those of a session that names none
};

TEST_F(Hostile, UndamagedRuns) { EXPECT_EQ(use(file_.data(), file_.size()), 3); }

TEST_F(Hostile, EveryByteOfHeaderAndGraph) {
  const size_t end = static_cast<size_t>(header_.model_offset + header_.model_size);
  int reached[4] = {};
  if (kStride > 1) std::printf("a sanitizer is on: every %zuth of %zu bytes\n", kStride, end);
  for (size_t i = 0; i < end; i += kStride) {
    std::vector<uint8_t> bad = file_;
    bad[i] ^= static_cast<uint8_t>(1u << (i % 8));
    ++reached[use(bad.data(), bad.size())];
  }
  RecordProperty("refused_at_load", reached[0]);
  RecordProperty("ran", reached[3]);
  EXPECT_GT(reached[0], 0);
  EXPECT_GT(reached[3], 0);  // names, padding: the runs above do get past the verifier
}

TEST_F(Hostile, RandomWordsInTheGraph) {
  std::mt19937 rng(5);
  const size_t begin = static_cast<size_t>(header_.model_offset), size = static_cast<size_t>(header_.model_size);
  const uint32_t words[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 64, 0x10000};
  for (int round = 0; round < static_cast<int>(3000 / kStride); ++round) {
    std::vector<uint8_t> bad = file_;
    for (unsigned k = 0; k <= rng() % 3; ++k) {
      const uint32_t word = rng() % 2 != 0 ? words[rng() % 7] : static_cast<uint32_t>(rng());
      std::memcpy(bad.data() + begin + rng() % (size - 4), &word, 4);
    }
    use(bad.data(), bad.size());
  }
}

TEST_F(Hostile, EveryCut) {
  for (size_t n = 0; n < file_.size(); n += n < 4096 ? kStride : 251 * kStride) EXPECT_EQ(use(file_.data(), n), 0) << n;
}

// What follows is well-formed, with hashes that fit, and means harm.
class Crafted : public Hostile {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Hostile::SetUp());
    ASSERT_TRUE(vireo::fuzz::take_apart(file_.data(), file_.size(), &header_, &table_, &segments_));
  }
  void TearDown() override {
    vireo_model_release(model_);
    Hostile::TearDown();
  }
  void load() {
    const std::vector<uint8_t> bytes = vireo::fuzz::put_together(header_, &table_, segments_);
    held_ = copy_of(bytes.data(), bytes.size());
    ASSERT_EQ(vireo_model_load_memory(runtime_, held_.get(), bytes.size(), &model_, &error_), VIREO_OK)
        << error_.message;
    ASSERT_EQ(vireo_model_check_hashes(model_, &error_), VIREO_OK) << error_.message;
  }
  vireo::fb::ModelT table_;
  vireo::fuzz::Bytes segments_;
  Bytes held_;
  vireo_model* model_ = nullptr;
  vireo_error error_ = VIREO_ERROR_INIT;
};

// Each expression adds the one in front to itself: as a tree it has 2^64 leaves.
TEST_F(Crafted, ExpressionsThatBranchAreDescribedAtOnce) {
  const auto first = static_cast<uint32_t>(table_.exprs.size());
  for (uint32_t i = 0; i < 64; ++i) {
    auto e = std::make_unique<vireo::fb::ExprT>();
    e->kind = i == 0 ? vireo::fb::ExprKind::Symbol : vireo::fb::ExprKind::Add;
    if (i == 0) e->name = "n";
    e->a = e->b = i == 0 ? 0 : vireo::handle_of(first + i - 1);
    table_.exprs.push_back(std::move(e));
  }
  vireo::fb::SubgraphT& g = *table_.subgraphs[0];
  g.tensors[static_cast<size_t>(g.inputs[0])]->dims[0] = vireo::handle_of(first + 63);
  ASSERT_NO_FATAL_FAILURE(load());
  vireo_value_info info = VIREO_VALUE_INFO_INIT;
  ASSERT_EQ(vireo_model_input(model_, 0, &info, &error_), VIREO_OK) << error_.message;
  EXPECT_EQ(info.min_dims[0], 0);
  EXPECT_EQ(info.max_dims[0], -1);
}

// As a number with a sign it is -1, and one value would do for a tensor of any size.
TEST_F(Crafted, TestVectorsDoNotGoBackwards) {
  ASSERT_FALSE(table_.tests.empty());
  for (const uint64_t step : {UINT64_MAX, uint64_t{1} << 63}) {
    for (auto& t : table_.tests[0]->outputs) {
      t->step = step;
      t->size = static_cast<uint64_t>(vireo::dtype_bytes(static_cast<vireo::DType>(t->dtype), 1));
    }
    ASSERT_NO_FATAL_FAILURE(load());
    vireo_session* session = nullptr;
    ASSERT_EQ(vireo_session_create(model_, nullptr, &session, &error_), VIREO_OK) << error_.message;
    EXPECT_EQ(vireo_session_selftest(session, 0, &error_), VIREO_INVALID_MODEL);
    EXPECT_NE(std::string(error_.message).find("test case 0 does not fit"), std::string::npos) << error_.message;
    vireo_session_release(session);
    vireo_model_release(model_);
    model_ = nullptr;
  }
}

// The list of them in a refusal has room for 160 bytes. The names' lengths are such that the last fits to the byte.
TEST_F(Crafted, NamesOfTargetsEndInTheirText) {
  for (size_t last = 0; last < 64; ++last) {
    table_.plans.resize(1);
    for (const size_t bytes : {size_t{64}, size_t{64}, last + 1, size_t{9}}) {
      auto plan = std::make_unique<vireo::fb::PlanT>();
      plan->target.assign(bytes, static_cast<char>('a' + table_.plans.size()));
      table_.plans.push_back(std::move(plan));
    }
    ASSERT_NO_FATAL_FAILURE(load());
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.target = "x";
    vireo_memory memory = VIREO_MEMORY_INIT;
    EXPECT_EQ(vireo_model_memory(model_, &options, &memory, &error_), VIREO_UNSUPPORTED);
    EXPECT_NE(std::strstr(error_.message, "but for bbb"), nullptr) << error_.message;
    EXPECT_NE(std::strstr(error_.message, last < 11 ? "eee" : "..."), nullptr) << last << " " << error_.message;
    vireo_model_release(model_);
    model_ = nullptr;
  }
}

}  // namespace
