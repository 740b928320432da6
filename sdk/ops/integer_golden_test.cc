// All golden vectors of the integer operators, and one hash over what this target computed: two targets that print the
// same hash agree on every bit.
#include "sdk/ops/integer_golden_testing.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "sdk/base/fnv.h"

namespace vireo::integer_golden_test {
namespace {

std::vector<int> codes_of(const TestTensor& y) {
  std::vector<int> codes;
  const auto put = [&](const auto& from) { codes.assign(from.begin(), from.end()); };
  switch (y.type.dtype) {
    case DType::kI8:
      put(y.as<int8_t>());
      break;
    case DType::kU8:
      put(y.as<uint8_t>());
      break;
    case DType::kI16:
      put(y.as<int16_t>());
      break;
    default:
      put(y.as<uint16_t>());
      break;
  }
  return codes;
}

uint64_t run_all(int slots) {
  uint64_t hash = kEmptyHash;
  for (GoldenCase& c : golden_cases()) {
    c.test.slots(slots);
    EXPECT_EQ(c.test.run(), Status::kOk) << c.name << ": " << c.test.message();
    EXPECT_EQ(c.test.y().type, (TensorType{c.dtype, make_shape(c.shape)})) << c.name;
    const std::vector<uint8_t>& bytes = c.test.y().bytes;
    hash = hash_bytes(hash, bytes.data(), bytes.size());
    EXPECT_EQ(codes_of(c.test.y()), c.codes) << c.name;
  }
  return hash;
}

TEST(IntegerGolden, EveryCaseAndOneHash) {
  const uint64_t hash = run_all(1);
  std::printf("integer golden vectors: %zu cases, hash %016" PRIx64 "\n", golden_cases().size(), hash);
  EXPECT_EQ(hash, kGoldenHash);
}

TEST(IntegerGolden, AnyNumberOfThreads) { EXPECT_EQ(run_all(3), kGoldenHash); }

}  // namespace
}  // namespace vireo::integer_golden_test
