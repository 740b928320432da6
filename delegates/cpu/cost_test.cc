#include "delegates/cpu/cost.h"

#include <gtest/gtest.h>

namespace vireo {
namespace {

GraphValue value(std::initializer_list<Dim> dims, DType dtype = DType::kF32, bool is_static = true) {
  GraphValue v;
  v.type.dtype = dtype;
  for (const Dim d : dims) v.type.shape[v.type.shape.rank++] = d;
  v.is_static = is_static;
  return v;
}

CpuQuery query(Op op, std::initializer_list<GraphValue> inputs, const GraphValue& output) {
  CpuQuery q;
  q.op = op;
  for (const GraphValue& v : inputs) q.inputs[q.input_count++] = v;
  q.outputs[q.output_count++] = output;
  return q;
}

// 150 ns a call; 40 multiplications or 16 bytes a nanosecond, the larger of both.
TEST(Cost, ProductsByTheirMultiplications) {
  EXPECT_DOUBLE_EQ(
      cost_ns(query(Op::kConv, {value({1, 64, 20, 20}), value({32, 64, 3, 3})}, value({1, 32, 20, 20})), true),
      150 + 32.0 * 400 * 64 * 9 / 40);
  // Depthwise: 230,400 multiplications, but 207,104 bytes.
  EXPECT_DOUBLE_EQ(
      cost_ns(query(Op::kConv, {value({1, 64, 20, 20}), value({64, 1, 3, 3})}, value({1, 64, 20, 20})), true),
      150 + 207104.0 / 16);
  EXPECT_DOUBLE_EQ(cost_ns(query(Op::kMatMul, {value({128, 384}), value({384, 256})}, value({128, 256})), true),
                   150 + 128.0 * 384 * 256 / 40);
}

TEST(Cost, WalksByTheirBytes) {
  EXPECT_DOUBLE_EQ(cost_ns(query(Op::kRelu, {value({1, 1000})}, value({1, 1000})), true), 150 + 8000.0 / 16);
  EXPECT_DOUBLE_EQ(cost_ns(query(Op::kRelu, {value({1, 1000})}, value({1, 1000})), false), 150 + 8000.0 / 2);
  EXPECT_DOUBLE_EQ(cost_ns(query(Op::kAdd, {value({1, 1000}), value({1000})}, value({1, 1000})), true),
                   150 + 12000.0 / 16);
  // Whatever the number of an operator is, its row says that it is elementwise.
  for (const Op op : {Op::kSoftmax, Op::kBinarizer, Op::kIdentity})
    EXPECT_DOUBLE_EQ(cost_ns(query(op, {value({1, 1000})}, value({1, 1000})), true), 150 + 8000.0 / 16);
}

TEST(Cost, UnknownWhereShapesChangeOrNobodyHasSaid) {
  EXPECT_EQ(cost_ns(query(Op::kRelu, {value({1, 1000}, DType::kF32, false)}, value({1, 1000})), true), 0);
  EXPECT_EQ(cost_ns(query(Op::kNonMaxSuppression, {value({1, 10, 4})}, value({1, 10})), true), 0);
}

}  // namespace
}  // namespace vireo
