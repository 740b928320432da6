#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/ml_features/ml_features_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::ml_features_test {
namespace {

using Floats = std::vector<float>;

TEST(Scaler, ColumnsAndOneForAll) {
  attrs::ScalerT a;
  a.offset = {0.5f, 1};
  a.scale = {2, 3};
  OpTest t(Op::kScaler, pack<attrs::Scaler>(a));
  t.input<int64_t>({2, 2}, {1, 2, 3, 4});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{1, 3, 5, 9}));
  a.offset = {1};
  a.scale = {1, 2, 3};
  OpTest uneven(Op::kScaler, pack<attrs::Scaler>(a));
  uneven.input<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(uneven.run(), Status::kInvalidModel);
}

TEST(Normalizer, Norms) {  // the expectations are ONNX Runtime 1.31's, too
  const struct {
    attrs::NormalizerNorm norm;
    Floats want;
  } kCases[] = {{attrs::NormalizerNorm::Max, {1, -2, 1, 1, 2, 4, 0, 0, 0}},
                {attrs::NormalizerNorm::L1, {0.25f, -0.5f, 0.25f, -1.0f / 7, -2.0f / 7, -4.0f / 7, 0, 0, 0}},
                {attrs::NormalizerNorm::L2,
                 {0.40824829f, -0.81649658f, 0.40824829f, -0.21821789f, -0.43643578f, -0.87287156f, 0, 0, 0}}};
  for (const auto& c : kCases) {
    attrs::NormalizerT a;
    a.norm = c.norm;
    OpTest t(Op::kNormalizer, pack<attrs::Normalizer>(a));
    t.input<double>({3, 3}, {1, -2, 1, -1, -2, -4, 0, 0, 0});
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    const Floats y = t.y().as<float>();
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], c.want[i], 1e-7f);
  }
}

TEST(Binarizer, InPlace) {  // ai.onnx.ml "Binarizer", example binarizer: above the threshold, not at it
  attrs::BinarizerT a;
  a.threshold = 1;
  OpTest t(Op::kBinarizer, pack<attrs::Binarizer>(a));
  t.input<float>({4}, {0.5f, 1, 1.5f, NAN}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{0, 0, 1, 0}));
}

TEST(Imputer, NanAndIntegers) {
  attrs::ImputerT a;
  a.imputed_reals = {7, 8};
  a.imputed_integers = {9};
  a.replaced_real = NAN;
  a.replaced_integer = -1;
  OpTest reals(Op::kImputer, pack<attrs::Imputer>(a));
  reals.input<float>({2, 2}, {NAN, 1, 2, NAN}).in_place();
  ASSERT_EQ(reals.run(), Status::kOk) << reals.message();
  EXPECT_EQ(reals.y().as<float>(), (Floats{7, 1, 2, 8}));
  OpTest integers(Op::kImputer, pack<attrs::Imputer>(a));
  integers.input<int64_t>({1, 3}, {-1, int64_t{1} << 60, -1});
  ASSERT_EQ(integers.run(), Status::kOk) << integers.message();
  EXPECT_EQ(integers.y().as<int64_t>(), (std::vector<int64_t>{9, int64_t{1} << 60, 9}));
}

TEST(FeatureVectorizer, CutsAndFills) {
  attrs::FeatureVectorizerT a;
  a.dimensions = {1, 3};
  OpTest t(Op::kFeatureVectorizer, pack<attrs::FeatureVectorizer>(a));
  t.input<int32_t>({2, 2}, {1, 2, 3, 4}).input<int32_t>({2, 2}, {5, 6, 7, 8});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 4}));
  EXPECT_EQ(t.y().as<float>(), (Floats{1, 5, 6, 0, 3, 7, 8, 0}));
}

TEST(ArrayFeatureExtractor, OnnxExample) {  // ai.onnx.ml "ArrayFeatureExtractor", example array_feature_extractor
  const auto attributes = pack<attrs::ArrayFeatureExtractor>(attrs::ArrayFeatureExtractorT{});
  OpTest t(Op::kArrayFeatureExtractor, attributes);
  Floats x;
  for (int i = 0; i < 12; ++i) x.push_back(static_cast<float>(i));
  t.input<float>({3, 4}, x).input<int64_t>({2}, {0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{0, 1, 4, 5, 8, 9}));
  OpTest words(Op::kArrayFeatureExtractor, attributes);
  words.input_strings({3}, {"a", "b", "c"}).input<int64_t>({1, 2}, {2, 2});
  ASSERT_EQ(words.run(), Status::kOk) << words.message();
  EXPECT_EQ(words.y().type.shape, make_shape({1, 2}));
  EXPECT_EQ(words.y().strings, (std::vector<std::string>{"c", "c"}));
  OpTest outside(Op::kArrayFeatureExtractor, attributes);
  outside.input<float>({3, 4}, x).input<int64_t>({1}, {4});
  EXPECT_EQ(outside.run(), Status::kInvalidArgument);
}

TEST(OneHotEncoder, NumbersAndStrings) {
  attrs::OneHotEncoderT a;
  a.integers = {1, 5};
  a.strings = {"x", "y", "z"};
  OpTest t(Op::kOneHotEncoder, pack<attrs::OneHotEncoder>(a));
  t.input<float>({2, 2}, {5, 1, 2, 5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({2, 2, 2}));
  EXPECT_EQ(t.y().as<float>(), (Floats{0, 1, 1, 0, 0, 0, 0, 1}));
  a.zeros = false;
  OpTest words(Op::kOneHotEncoder, pack<attrs::OneHotEncoder>(a));
  words.input_strings({2}, {"z", "q"});
  EXPECT_EQ(words.run(), Status::kInvalidArgument);
}

TEST(FeatureVectorizer, WidthsWithoutASum) {
  attrs::FeatureVectorizerT a;
  a.dimensions = {INT64_MAX, INT64_MAX, 6};
  OpTest t(Op::kFeatureVectorizer, pack<attrs::FeatureVectorizer>(a));
  const Floats x(1000, 1);
  t.input<float>({1, 1000}, x).input<float>({1, 1000}, x).input<float>({1, 1000}, x);
  EXPECT_EQ(t.run(), Status::kInvalidModel);
  EXPECT_LT(tensor_bytes(t.y().type), 0);
}

}  // namespace
}  // namespace vireo::ml_features_test
