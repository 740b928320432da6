// ScatterND that replaces elements, or adds to those of float32, int64 indices.
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/scatter/scatter_generated.h"

namespace vireo {
namespace {

// Elements of `kBytes`; `block` of them follow each tuple of indices.
template <size_t kBytes>
void place(const uint8_t* updates, uint8_t* y, int64_t at, int64_t to, int64_t block) {
  memcpy(y + static_cast<size_t>(to) * kBytes, updates + static_cast<size_t>(at) * kBytes,
         static_cast<size_t>(block) * kBytes);
}
template <size_t kBytes>
void place_one(const uint8_t* updates, uint8_t* y, int64_t at, int64_t to, int64_t) {
  memcpy(y + static_cast<size_t>(to) * kBytes, updates + static_cast<size_t>(at) * kBytes, kBytes);
}

// In the order of the tuples, as the reference does.
void add_f32(const uint8_t* updates, uint8_t* y, int64_t at, int64_t to, int64_t block) {
  const float* const from = reinterpret_cast<const float*>(updates) + at;
  float* const sums = reinterpret_cast<float*>(y) + to;
  for (int64_t i = 0; i < block; ++i) sums[i] += from[i];
}

template <class Place>
Status scatter(const KernelContext& ctx, const Place& put) {
  const Tensor &x = *ctx.in(0), &indices = *ctx.in(1), &updates = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  const auto depth = static_cast<int>(indices.shape[indices.shape.rank - 1]);
  const int64_t tuples = product(indices.shape, 0, indices.shape.rank - 1);
  const int64_t block = product(x.shape, depth, x.shape.rank);
  int64_t strides[kMaxRank];
  int64_t step = block;
  for (int i = depth - 1; i >= 0; --i) {
    strides[i] = step;
    step *= x.shape[i];
  }
  const int64_t* const all = indices.as<const int64_t>();
  for (int64_t t = 0; t < tuples; ++t) {  // before anything is written
    for (int i = 0; i < depth; ++i) {
      const int64_t index = all[t * depth + i], d = x.shape[i];
      if (index < -d || index >= d)
        return ctx.fail(Status::kInvalidArgument, "index {} is outside the {} elements of its axis", index, d);
    }
  }
  const int64_t bytes = tensor_bytes(x);
  if (y.data != x.data && bytes > 0) memcpy(y.data, x.data, static_cast<size_t>(bytes));
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t to = 0;
    for (int i = 0; i < depth; ++i) {
      const int64_t index = all[t * depth + i];
      to += (index < 0 ? index + x.shape[i] : index) * strides[i];
    }
    put(updates.as<const uint8_t>(), y.as<uint8_t>(), t * block, to, block);
  }
  return Status::kOk;
}

template <size_t kBytes>
Status run(const KernelContext& ctx, const void*) {
  const Tensor& indices = *ctx.in(1);
  const auto depth = static_cast<int>(indices.shape[indices.shape.rank - 1]);
  const Shape& x = ctx.in(0)->shape;
  if (product(x, depth, x.rank) == 1) return scatter(ctx, place_one<kBytes>);
  return scatter(ctx, place<kBytes>);
}

Status run_add(const KernelContext& ctx, const void*) { return scatter(ctx, add_f32); }

constexpr CpuKernel kAdd = {"scatter_nd_add_f32", 0, nullptr, nullptr, run_add};
constexpr CpuKernel kRows[] = {{"scatter_nd_8bit", 0, nullptr, nullptr, run<1>},
                               {"scatter_nd_16bit", 0, nullptr, nullptr, run<2>},
                               {"scatter_nd_32bit", 0, nullptr, nullptr, run<4>},
                               {"scatter_nd_64bit", 0, nullptr, nullptr, run<8>}};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for replacing, and adding float32, by int64 indices";
  const auto how = q.attrs<attrs::ScatterND>().reduction();
  const bool adds = how == attrs::ScatterReduction::add && q.inputs[0].type.dtype == DType::kF32;
  if ((how != attrs::ScatterReduction::none && !adds) || q.inputs[1].type.dtype != DType::kI64) return nullptr;
  if (adds) {
    *reason = "";
    return &kAdd;
  }
  *reason = "tuned for elements of whole bytes";
  const DType t = q.inputs[0].type.dtype;
  for (int i = 0; i < 4; ++i) {
    if (t != DType::kString && dtype_bits(t) == 8 << i) {
      *reason = "";
      return &kRows[i];
    }
  }
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_scatter;
const CpuOp kCpuOp_scatter = {"scatter", choose};

}  // namespace vireo
