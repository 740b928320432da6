// Kernels are asked what memory they need before inference has seen the node: whatever ranks, extents and axes a file
// declares, the answer is a size or that there is none, without reading outside of a shape and without overflow (the
// undefined behaviour sanitizer sees what the values here do not show).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sdk/ops/kernel.h"
#include "sdk/ops/top_k/top_k_generated.h"
#include "sdk/ops/unique/unique_generated.h"
#include "sdk/ops/view.h"

namespace vireo::scratch_test {
namespace {

constexpr Dim kHuge = Dim{1} << 61;

// A table without fields: every attribute has its default.
const std::vector<uint8_t>& no_attributes() {
  static const auto* const bytes = new std::vector<uint8_t>(pack<attrs::TopK>(attrs::TopKT()));
  return *bytes;
}

TensorType f32(const std::vector<Dim>& dims) {
  TensorType t;
  t.dtype = DType::kF32;
  t.shape.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), t.shape.dims);
  return t;
}

int64_t asked(Op op, const std::vector<uint8_t>& attrs, const std::vector<TensorType>& types, int32_t slots = 2) {
  const Span<const TensorType> all(types.data(), types.size());
  return find_ref(op)->scratch_bytes({all, all, {attrs.data(), attrs.size()}, slots});
}

TEST(Scratch, AxesOutsideOfTheShape) {
  for (const int axis : {-5, -4, 3, 4, 8, 1000, INT32_MIN, INT32_MAX}) {
    attrs::TopKT top;
    top.axis = axis;
    EXPECT_LT(asked(Op::kTopK, pack<attrs::TopK>(top), {f32({2, 3, 5})}), 0) << axis;
    attrs::UniqueT unique;
    unique.axis = axis;
    unique.flat = false;
    EXPECT_LT(asked(Op::kUnique, pack<attrs::Unique>(unique), {f32({2, 3, 5})}), 0) << axis;
  }
  attrs::TopKT top;
  top.axis = 2;
  EXPECT_EQ(asked(Op::kTopK, pack<attrs::TopK>(top), {f32({2, 3, 5})}), 5 * 8);
  EXPECT_LT(asked(Op::kTopK, pack<attrs::TopK>(top), {f32({})}), 0);
}

TEST(Scratch, RanksThatHaveNoMatrix) {
  EXPECT_LT(asked(Op::kDet, no_attributes(), {f32({})}), 0);
  EXPECT_LT(asked(Op::kDet, no_attributes(), {f32({4})}), 0);
  EXPECT_EQ(asked(Op::kDet, no_attributes(), {f32({7, 3, 3})}), 2 * 9 * 8);
}

TEST(Scratch, ExtentsBesideAZero) {  // no element lies in such a tensor, so any extent passes as one of its size
  const std::vector<TensorType> four(7, f32({0, kHuge, kHuge, kHuge})), three(7, f32({0, kHuge, kHuge}));
  for (const Op op : {Op::kDet, Op::kTopK, Op::kResize, Op::kAttention}) {
    EXPECT_LT(asked(op, no_attributes(), four), 0) << op_name(op);
  }
  for (const Op op : {Op::kNonMaxSuppression, Op::kLSTM, Op::kGRU, Op::kRNN, Op::kSTFT, Op::kDFT}) {
    EXPECT_LT(asked(op, no_attributes(), three), 0) << op_name(op);
  }
}

TEST(Scratch, AnyTypesAtAll) {
  std::mt19937_64 rng(1);
  const auto any = [&rng] {
    TensorType t;
    const DType types[] = {DType::kF32, DType::kF64, DType::kF16, DType::kI64, DType::kU8, DType::kString};
    t.dtype = types[rng() % 6];
    t.shape.rank = static_cast<int32_t>(rng() % (kMaxRank + 1));
    for (Dim& d : t.shape.dims)
      d = rng() % 3 == 0 ? static_cast<Dim>(rng() >> (2 + rng() % 60)) : static_cast<Dim>(rng() % 9);
    return t;
  };
  int64_t questions = 0, none = 0;
  for (const RefRow& row : ref_rows()) {
    for (const auto ask : {row.kernel->scratch_bytes, row.kernel->text_bytes}) {
      const Span<const uint8_t> attrs(no_attributes().data(), no_attributes().size());
      if (ask == nullptr || !find_op(row.op)->def->verify(attrs)) continue;
      for (int k = 0; k < 2000; ++k) {
        TensorType in[8], out[4];
        for (TensorType& t : in) t = any();
        for (TensorType& t : out) t = any();
        const int64_t bytes = ask({Span<const TensorType>(in, 8), Span<const TensorType>(out, 4), attrs, 1 + k % 64});
        none += bytes < 0 ? 1 : 0;
        ++questions;
      }
    }
  }
  EXPECT_GE(questions, 15 * 2000);  // fewer kernels ask where a build leaves the operators of hosts out
  EXPECT_GT(none, questions / 10);
  EXPECT_LT(none, questions);
}

}  // namespace
}  // namespace vireo::scratch_test
