#include "c_api/cli/reference.h"

#include <gtest/gtest.h>

#include "c_api/cli/failure.h"
#include "c_api/cli/npy.h"

namespace vireo::cli::reference_test {
namespace {

Array integers(const std::vector<int64_t>& values) {
  Array a = make_array(VIREO_INT64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) set_real(&a, static_cast<int64_t>(i), static_cast<double>(values[i]));
  return a;
}

TEST(Reference, FindsCasesInOrder) {
  const Arrays arrays{{"c10_in0", {}}, {"c2_in0", {}}, {"c0_out1_sub", {}}, {"label", {}}, {"c3", {}}};
  EXPECT_EQ(cases_of(arrays), (std::vector<int>{0, 2, 10}));
}

TEST(Reference, SampledAnswerCarriesItsShape) {
  Arrays arrays;
  arrays["c0_out0_sub"] = integers({1, 2});
  arrays["c0_out0_step"] = integers({7});
  arrays["c0_out0_shape"] = integers({2, 7});
  arrays["c0_out0_noopt_sub"] = integers({1, 3});
  const Expected first = stored(arrays, "c0_out0", "c0_out0");
  ASSERT_NE(first.values, nullptr);
  EXPECT_EQ(first.step, 7);
  EXPECT_EQ(first.dims, (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(stored(arrays, "c0_out0_noopt", "c0_out0").step, 7);
  EXPECT_EQ(stored(arrays, "c0_out1", "c0_out1").values, nullptr);
}

TEST(Reference, SamplingWithoutStepIsRefused) {
  Arrays arrays;
  arrays["c0_out0_sub"] = integers({1});
  EXPECT_THROW(stored(arrays, "c0_out0", "c0_out0"), Failure);
  arrays["c0_out0_step"] = integers({0});
  arrays["c0_out0_shape"] = integers({1});
  EXPECT_THROW(stored(arrays, "c0_out0", "c0_out0"), Failure);
}

TEST(Reference, FileWithoutCasesIsRefused) {
  write_npz("no_cases.npz", {{"image", integers({1})}});
  EXPECT_THROW(read_reference("no_cases.npz"), Failure);
}

}  // namespace
}  // namespace vireo::cli::reference_test
