// Every operator of ops.def has a rule, or is named here as one that stays in float.
#include "sdk/ops/quant_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "sdk/ops/recurrent/recurrent_generated.h"
#include "sdk/ops/traits.h"
#include "sdk/ops/view.h"

namespace vireo::quant_rule_test {
namespace {

struct Row {
  Op op;
  const char* folder;
};
const Row kAll[] = {
#define VIREO_OP(number, name, folder, version, traits) {Op::k##name, #folder},
#define VIREO_IMPORT(domain, name, folder)
#include "sdk/ops/ops.def"
#undef VIREO_OP
#undef VIREO_IMPORT
};

// Folders of operators that stay in float, and of those that are no real numbers or have codes already.
const std::set<std::string> kStay = {"arg",
                                     "attention",
                                     "cast",
                                     "causal_conv",
                                     "col2im",
                                     "control",
                                     "conv_integer",
                                     "conv_transpose",
                                     "cumulative",
                                     "deform_conv",
                                     "det",
                                     "dynamic_quantize",
                                     "einsum",
                                     "fill",
                                     "fourier",
                                     "grid_sample",
                                     "group_normalization",
                                     "image_decoder",
                                     "label_encoder",
                                     "layer_normalization",
                                     "linear_attention",
                                     "loss",
                                     "lp_normalization",
                                     "lrn",
                                     "matmul_integer",
                                     "max_unpool",
                                     "mean_variance_normalization",
                                     "ml_features",
                                     "ml_linear",
                                     "nms",
                                     "nonzero",
                                     "one_hot",
                                     "quantize",
                                     "random",
                                     "regex",
                                     "roi",
                                     "rotary_embedding",
                                     "scatter",
                                     "shape_of",
                                     "text",
                                     "tfidf",
                                     "top_k",
                                     "tree_ensemble",
                                     "trilu",
                                     "unique",
                                     "window",
                                     "int_affine",
                                     "int_binary",
                                     "int_conv",
                                     "int_gemm",
                                     "int_pool",
                                     "int_resize",
                                     "int_softmax",
                                     "int_table"};

TEST(QuantRule, EveryOperatorHasOneOrIsNamedAsStaying) {
  std::set<std::string> folders;
  for (const Row& row : kAll) {
    folders.insert(row.folder);
    const bool has = find_quant_rules(row.op) != nullptr, named = kStay.count(row.folder) != 0;
    EXPECT_NE(has, named) << op_name(row.op) << " of " << row.folder;
  }
  for (const std::string& folder : kStay) EXPECT_EQ(folders.count(folder), 1u) << folder;
}

QuantView view(Op op, std::vector<QuantInput> inputs, const std::vector<uint8_t>& attributes = {}) {
  QuantView v;
  v.op = op;
  v.inputs = std::move(inputs);
  v.attributes = attributes.data();
  return v;
}

QuantInput value(std::initializer_list<int64_t> dims) {
  QuantInput in;
  in.type.dtype = DType::kF32;
  for (const int64_t d : dims) in.type.shape.dims[in.type.shape.rank++] = d;
  return in;
}
QuantInput constant(std::initializer_list<int64_t> dims, std::vector<double> numbers = {}) {
  QuantInput in = value(dims);
  in.constant = true;
  in.numbers = std::move(numbers);
  return in;
}

TEST(QuantRule, ProductsAskForConstantWeights) {
  const QuantRule conv = find_quant_rules(Op::kConv)(view(Op::kConv, {value({1, 3, 8, 8}), constant({4, 3, 3, 3})}));
  EXPECT_EQ(conv.kind, QuantKind::kProduct);
  EXPECT_EQ(conv.weight_axis, 0);
  const auto scores = find_quant_rules(Op::kMatMul)(view(Op::kMatMul, {value({2, 3}), value({3, 4})}));
  EXPECT_EQ(scores.kind, QuantKind::kPair);
  EXPECT_EQ(scores.codes, 3u);
  const auto turned = find_quant_rules(Op::kMatMul)(view(Op::kMatMul, {constant({2, 3}), value({3, 4})}));
  EXPECT_EQ(turned.kind, QuantKind::kStays);
  EXPECT_STREQ(turned.why, "its first operand is constant");
}

TEST(QuantRule, PairsAskForSumsThatStayInInt32) {
  const auto pair = [](int64_t k) {
    return find_quant_rules(Op::kMatMul)(view(Op::kMatMul, {value({2, k}), value({k, 4})}));
  };
  EXPECT_EQ(pair(33025).kind, QuantKind::kPair);
  EXPECT_EQ(pair(33026).kind, QuantKind::kStays);
  EXPECT_EQ(find_quant_rules(Op::kMatMul)(view(Op::kMatMul, {value({3}), value({3, 4})})).kind, QuantKind::kStays);
  QuantInput shares = value({2, 33026});  // sum to 1 in each row
  shares.shares = true;
  EXPECT_EQ(find_quant_rules(Op::kMatMul)(view(Op::kMatMul, {shares, value({33026, 4})})).kind, QuantKind::kPair);
}

TEST(QuantRule, AChoiceBesideALowNumberMovesCodes) {
  const auto choice = [](const QuantInput& other) {
    return find_quant_rules(Op::kWhere)(view(Op::kWhere, {value({2, 3}), value({2, 3}), other}));
  };
  EXPECT_EQ(choice(constant({}, {-2e30})).kind, QuantKind::kMoves);
  EXPECT_EQ(choice(constant({}, {-2e30})).codes, 2u);
  for (const QuantInput& other :
       {constant({}, {-1e9}), constant({}, {-INFINITY}), constant({2}, {-2e30, 0}), value({})})
    EXPECT_EQ(choice(other).kind, QuantKind::kStays);
}

TEST(QuantRule, OneNumberMakesAFunction) {
  const QuantRules binary = find_quant_rules(Op::kSub);
  const QuantRule left = binary(view(Op::kSub, {constant({}, {1}), value({2, 3})}));
  EXPECT_EQ(left.kind, QuantKind::kFunction);
  EXPECT_EQ(left.codes, 2u);
  EXPECT_EQ(binary(view(Op::kSub, {value({2, 3}), constant({3}, {1, 2, 3})})).kind, QuantKind::kJoin);
  EXPECT_EQ(binary(view(Op::kDiv, {value({2, 3}), value({2, 3})})).kind, QuantKind::kStays);
}

TEST(QuantRule, BoundsWithoutData) {
  const QuantRule r = find_quant_rules(Op::kTanh)(view(Op::kTanh, {value({4})}));
  EXPECT_TRUE(r.bounded);
  EXPECT_EQ(r.low, -1);
  EXPECT_EQ(r.high, 1);
  EXPECT_FALSE(find_quant_rules(Op::kExp)(view(Op::kExp, {value({4})})).bounded);
}

TEST(QuantRule, MeansOverPicturesOnly) {
  const QuantRules reduce = find_quant_rules(Op::kReduceMean);
  EXPECT_EQ(reduce(view(Op::kReduceMean, {value({1, 3, 8, 8}), constant({2}, {-1, -2})})).kind, QuantKind::kOwn);
  EXPECT_EQ(reduce(view(Op::kReduceMean, {value({1, 3, 8, 8}), constant({2}, {0, 1})})).kind, QuantKind::kStays);
  EXPECT_EQ(reduce(view(Op::kReduceMean, {value({1, 3, 8}), constant({1}, {2})})).kind, QuantKind::kOwn);
}

TEST(QuantRule, CellsWithTheUsualFunctions) {
  const std::vector<QuantInput> inputs = {value({9, 1, 5}), constant({1, 12, 5}), constant({1, 12, 4})};
  const auto rule = [&](Op op, const attrs::RecurrentT& a, const std::vector<QuantInput>& in) {
    return find_quant_rules(op)(view(op, in, pack<attrs::Recurrent>(a)));
  };
  const QuantRule gru = rule(Op::kGRU, {}, inputs);
  EXPECT_EQ(gru.kind, QuantKind::kCell);
  EXPECT_TRUE(gru.bounded);
  attrs::RecurrentT clipped;
  clipped.clip = 3;
  EXPECT_EQ(rule(Op::kGRU, clipped, inputs).kind, QuantKind::kStays);
  EXPECT_EQ(rule(Op::kRNN, {}, inputs).kind, QuantKind::kStays);
  EXPECT_STREQ(rule(Op::kLSTM, {}, {inputs[0], inputs[1], value({1, 12, 4})}).why, "its weights are computed");
  std::vector<QuantInput> with_lengths = inputs;
  with_lengths.insert(with_lengths.end(), {QuantInput{}, value({1})});
  EXPECT_STREQ(rule(Op::kGRU, {}, with_lengths).why, "its sequences have lengths of their own");
}

}  // namespace
}  // namespace vireo::quant_rule_test
