#include <gtest/gtest.h>

#include "sdk/ops/testing.h"
#include "sdk/ops/tfidf/tfidf_generated.h"
#include "sdk/ops/view.h"

namespace vireo::tfidf_test {
namespace {

using Floats = std::vector<float>;

// The pool of ONNX "TfIdfVectorizer"'s examples: 2, 3, 5, 4 alone, then (5, 6), (7, 8), (6, 7).
attrs::TfIdfT table(int shortest, int longest, int skips) {
  attrs::TfIdfT a;
  a.shortest = shortest;
  a.longest = longest;
  a.skips = skips;
  a.begins = {0, 4};
  a.integers = {2, 3, 5, 4, 5, 6, 7, 8, 6, 7};
  a.places = {0, 1, 2, 3, 4, 5, 6};
  a.columns = 7;
  return a;
}

TEST(TfIdfVectorizer, OnnxExamples) {  // tf_only_bigrams_skip0, tf_onlybigrams_skip5, tf_uniandbigrams_skip5
  const std::vector<int32_t> x = {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8};
  const struct {
    int shortest, skips;
    Floats want;
  } kCases[] = {{2, 0, {0, 0, 0, 0, 1, 1, 1}}, {2, 5, {0, 0, 0, 0, 1, 3, 1}}, {1, 5, {0, 3, 1, 0, 1, 3, 1}}};
  for (const auto& c : kCases) {
    OpTest t(Op::kTfIdfVectorizer, pack<attrs::TfIdf>(table(c.shortest, 2, c.skips)));
    t.input<int32_t>({12}, x);
    ASSERT_EQ(t.run(), Status::kOk) << t.message();
    EXPECT_EQ(t.y().as<float>(), c.want);
  }
}

TEST(TfIdfVectorizer, WeightsAndRowsOfStrings) {
  attrs::TfIdfT a;
  a.begins = {0};
  a.strings = {"a", "b"};
  a.places = {1, 0};
  a.weights = {0.5f, 4};
  a.columns = 2;
  a.mode = attrs::TfIdfMode::TfIdf;
  OpTest both(Op::kTfIdfVectorizer, pack<attrs::TfIdf>(a));
  both.input_strings({2, 3}, {"a", "b", "a", "x", "b", "b"});
  ASSERT_EQ(both.run(), Status::kOk) << both.message();
  EXPECT_EQ(both.y().as<float>(), (Floats{4, 1, 8, 0}));
  a.mode = attrs::TfIdfMode::Idf;
  OpTest once(Op::kTfIdfVectorizer, pack<attrs::TfIdf>(a));
  once.input_strings({2, 3}, {"a", "b", "a", "x", "b", "b"});
  ASSERT_EQ(once.run(), Status::kOk) << once.message();
  EXPECT_EQ(once.y().as<float>(), (Floats{4, 0.5f, 4, 0}));
}

TEST(TfIdfVectorizer, VerifyRefusesWhatLeadsAstray) {
  const auto verifies = [](const attrs::TfIdfT& a) {
    const std::vector<uint8_t> b = pack<attrs::TfIdf>(a);
    return find_op(Op::kTfIdfVectorizer)->def->verify(Span<const uint8_t>(b.data(), b.size()));
  };
  EXPECT_TRUE(verifies(table(1, 2, 0)));
  using Edit = void (*)(attrs::TfIdfT&);
  const Edit kEdits[] = {[](attrs::TfIdfT& a) { a.begins = {0, 11}; },  [](attrs::TfIdfT& a) { a.begins = {0, 5}; },
                         [](attrs::TfIdfT& a) { a.places.pop_back(); }, [](attrs::TfIdfT& a) { a.columns = 6; },
                         [](attrs::TfIdfT& a) { a.weights = {1}; },     [](attrs::TfIdfT& a) { a.shortest = 0; }};
  for (size_t i = 0; i < std::size(kEdits); ++i) {
    attrs::TfIdfT a = table(1, 2, 0);
    kEdits[i](a);
    EXPECT_FALSE(verifies(a)) << i;
  }
}

TEST(TfIdfVectorizer, SkipsPastTheText) {
  OpTest t(Op::kTfIdfVectorizer, pack<attrs::TfIdf>(table(2, 2, INT32_MAX)));
  t.input<int32_t>({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (Floats{0, 0, 0, 0, 1, 3, 1}));
}

}  // namespace
}  // namespace vireo::tfidf_test
