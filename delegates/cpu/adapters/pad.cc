// Pad with a constant, of elements of one to eight bytes: row by row of the result.
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// Where the kept part of each axis begins in x and in y, and how long it is.
struct Kept {
  int64_t from[kMaxRank] = {}, to[kMaxRank] = {}, count[kMaxRank] = {};
};

template <class T>
void fill(T* y, int64_t count, T value) {
  for (int64_t i = 0; i < count; ++i) y[i] = value;
}

template <class T>
Status run(const KernelContext& ctx, const void*) {
  const Tensor &x = *ctx.in(0), &pads = *ctx.in(1);
  const Tensor* const axes = ctx.in(3);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const int rank = x.shape.rank;
  Kept k;
  for (int i = 0; i < rank; ++i) k.count[i] = x.shape[i];
  const int64_t n = pads.count() / 2;
  for (int64_t i = 0; i < n; ++i) {
    const int axis = normalize_axis(axes == nullptr ? i : read_integer(axes->dtype, axes->data, i), rank);
    const int64_t before = read_integer(pads.dtype, pads.data, i), after = read_integer(pads.dtype, pads.data, i + n);
    k.from[axis] = before < 0 ? -before : 0;
    k.to[axis] = before < 0 ? 0 : before;
    const int64_t left = x.shape[axis] - k.from[axis] + (after < 0 ? after : 0);
    k.count[axis] = left < 0 ? 0 : left;
  }
  // Axes behind the last one that is padded are one with it.
  int last = rank - 1;
  while (last > 0 && k.count[last] == x.shape[last] && k.count[last] == y.shape[last]) --last;
  const int64_t unit = rank == 0 ? 1 : product(y.shape, last + 1, rank);
  const int64_t row = rank == 0 ? 1 : y.shape[last] * unit, rows = y.count() / row;
  const int64_t in_row = rank == 0 ? 1 : x.shape[last] * unit, front = k.to[last] * unit,
                kept = rank == 0 ? 1 : k.count[last] * unit, skipped = k.from[last] * unit;
  T value{};
  if (const Tensor* const given = ctx.in(2); given != nullptr) value = *given->as<const T>();
  ctx.parallel.for_range(rows, kElementGrain / row + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, from = 0, step = 1;
      bool inside = kept > 0;
      for (int i = last - 1; i >= 0; --i) {
        const int64_t at = rest % y.shape[i] - k.to[i];
        rest /= y.shape[i];
        inside = inside && at >= 0 && at < k.count[i];
        from += (at + k.from[i]) * step;
        step *= x.shape[i];
      }
      T* const to = y.as<T>() + r * row;
      if (!inside) {
        fill(to, row, value);
        continue;
      }
      fill(to, front, value);
      memcpy(to + front, x.as<const T>() + from * in_row + skipped, static_cast<size_t>(kept) * sizeof(T));
      fill(to + front + kept, row - front - kept, value);
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kRows[] = {{"pad_8bit", 0, nullptr, nullptr, run<uint8_t>},
                               {"pad_16bit", 0, nullptr, nullptr, run<uint16_t>},
                               {"pad_32bit", 0, nullptr, nullptr, run<uint32_t>},
                               {"pad_64bit", 0, nullptr, nullptr, run<uint64_t>}};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for a constant";
  if (q.attrs<attrs::Pad>().mode() != attrs::PadMode::constant) return nullptr;
  *reason = "";
  const DType t = q.inputs[0].type.dtype;
  for (int i = 0; i < 4; ++i) {
    if (t != DType::kString && dtype_bits(t) == 8 << i) return &kRows[i];
  }
  *reason = "tuned for elements of one to eight bytes";
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_pad;
const CpuOp kCpuOp_pad = {"pad", choose};

}  // namespace vireo
