// GatherElements, and ScatterElements that replaces or adds: an index for each element.
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/scatter/scatter_generated.h"

namespace vireo {
namespace {

// Calls f(k, at) for element k of the indices, whose index leads to `at` in x.
template <class I, class F>
Status for_elements(const KernelContext& ctx, const Tensor& x, const Tensor& indices, int axis, const F& f) {
  const I* const all = indices.as<const I>();
  const int64_t count = indices.count(), d = x.shape[axis];
  // The sign of either difference says that an index is outside: sums that every instruction set has in vectors.
  uint64_t signs = 0;
  const auto extent = static_cast<uint64_t>(d);
  for (int64_t k = 0; k < count; ++k) {
    const auto index = static_cast<uint64_t>(static_cast<int64_t>(all[k]));
    signs |= (extent + index) | (extent - 1 - index);
  }
  const bool outside = signs >> 63 != 0;
  for (int64_t k = 0; outside && k < count; ++k) {  // before anything is written
    if (all[k] < -d || all[k] >= d)
      return ctx.fail(Status::kInvalidArgument, "index {} is outside the {} elements of its axis",
                      static_cast<int64_t>(all[k]), d);
  }
  if (count == 0) return Status::kOk;
  const int last = x.shape.rank - 1;
  int64_t strides[kMaxRank], at[kMaxRank] = {};
  for (int64_t i = last, step = 1; i >= 0; step *= x.shape[static_cast<int>(i--)]) strides[i] = step;
  const int64_t length = indices.shape[last], step = strides[axis], along = axis == last ? 0 : 1;
  for (int64_t k = 0; k < count;) {
    int64_t base = 0;
    for (int i = 0; i < last; ++i) base += i == axis ? 0 : at[i] * strides[i];
    for (int64_t j = 0; j < length; ++j, ++k) {
      const auto index = static_cast<int64_t>(all[k]);
      f(k, base + (index < 0 ? index + d : index) * step + j * along);
    }
    for (int i = last - 1; i >= 0 && ++at[i] == indices.shape[i]; --i) at[i] = 0;
  }
  return Status::kOk;
}
template <class F>
Status for_any_elements(const KernelContext& ctx, int axis, const F& f) {
  const Tensor &x = *ctx.in(0), &indices = *ctx.in(1);
  return indices.dtype == DType::kI32 ? for_elements<int32_t>(ctx, x, indices, axis, f)
                                      : for_elements<int64_t>(ctx, x, indices, axis, f);
}

template <class T>
Status run_gather(const KernelContext& ctx, const void*) {
  const T* const x = ctx.in(0)->as<const T>();
  T* const y = ctx.out(0)->as<T>();
  const int axis = normalize_axis(ctx.attrs<attrs::GatherElements>().axis(), ctx.in(0)->shape.rank);
  return for_any_elements(ctx, axis, [&](int64_t k, int64_t at) { y[k] = x[at]; });
}

template <class T, bool kAdds>
Status run_scatter(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  const T* const updates = ctx.in(2)->as<const T>();
  T* const y = ctx.out(0)->as<T>();
  const int axis = normalize_axis(ctx.attrs<attrs::ScatterElements>().axis(), x.shape.rank);
  // Indices are looked at before y is written, which may be x.
  VIREO_TRY(for_any_elements(ctx, axis, [](int64_t, int64_t) {}));
  if (y != x.data && tensor_bytes(x) > 0) memcpy(y, x.data, static_cast<size_t>(tensor_bytes(x)));
  return for_any_elements(
      ctx, axis, [&](int64_t k, int64_t at) { y[at] = kAdds ? static_cast<T>(y[at] + updates[k]) : updates[k]; });
}

template <class T>
struct Kernels {
  static constexpr CpuKernel kGather = {"gather_elements", 0, nullptr, nullptr, run_gather<T>};
  static constexpr CpuKernel kPut = {"scatter_elements", 0, nullptr, nullptr, run_scatter<T, false>};
};
constexpr CpuKernel kAddF32 = {"scatter_elements_add", 0, nullptr, nullptr, run_scatter<float, true>};

template <class T>
const CpuKernel* moves(bool gathers) {
  return gathers ? &Kernels<T>::kGather : &Kernels<T>::kPut;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for int32 and int64 indices";
  if (q.inputs[1].type.dtype != DType::kI32 && q.inputs[1].type.dtype != DType::kI64) return nullptr;
  const DType t = q.inputs[0].type.dtype;
  const bool gathers = q.op == Op::kGatherElements;
  *reason = "";
  if (!gathers && q.attrs<attrs::ScatterElements>().reduction() != attrs::ScatterReduction::none) {
    *reason = "tuned for replacing, and for adding of float32";
    const bool adds = q.attrs<attrs::ScatterElements>().reduction() == attrs::ScatterReduction::add;
    return adds && t == DType::kF32 ? &kAddF32 : nullptr;
  }
  if (t != DType::kString && dtype_bits(t) == 8) return moves<uint8_t>(gathers);
  if (dtype_bits(t) == 16) return moves<uint16_t>(gathers);
  if (dtype_bits(t) == 32) return moves<uint32_t>(gathers);
  if (t != DType::kString && dtype_bits(t) == 64) return moves<uint64_t>(gathers);
  *reason = "tuned for elements of one to eight bytes";
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_elements;
const CpuOp kCpuOp_elements = {"elements", choose};

}  // namespace vireo
