// Where, for elements of one to eight bytes, and Not.
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/shared/broadcast.h"

namespace vireo {
namespace {

constexpr int64_t kPiece = 256;  // elements that are chosen beside the result, which may lie on an operand

template <class T, int kStepC, int kStepX, int kStepZ>
void choose_row(const uint8_t* c, const T* x, const T* z, T* y, int64_t count) {
  T piece[kPiece];
  for (int64_t from = 0; from < count; from += kPiece) {
    const int64_t n = count - from < kPiece ? count - from : kPiece;
    const uint8_t* const pc = c + from * kStepC;
    const T *const px = x + from * kStepX, *const pz = z + from * kStepZ;
    for (int64_t i = 0; i < n; ++i) {
      const T mask = static_cast<T>(-static_cast<T>(pc[i * kStepC] != 0)), a = px[i * kStepX], b = pz[i * kStepZ];
      piece[i] = static_cast<T>(b ^ ((a ^ b) & mask));
    }
    memcpy(y + from, piece, static_cast<size_t>(n) * sizeof(T));
  }
}

template <class T>
using Row = void (*)(const uint8_t* c, const T* x, const T* z, T* y, int64_t count);
template <class T>
Row<T> row_of(bool c, bool x, bool z) {
  if (c)
    return x   ? (z ? choose_row<T, 1, 1, 1> : choose_row<T, 1, 1, 0>)
           : z ? choose_row<T, 1, 0, 1>
               : choose_row<T, 1, 0, 0>;
  return x   ? (z ? choose_row<T, 0, 1, 1> : choose_row<T, 0, 1, 0>)
         : z ? choose_row<T, 0, 0, 1>
             : choose_row<T, 0, 0, 0>;
}

template <class T>
Status run(const KernelContext& ctx, const void*) {
  const Tensor &c = *ctx.in(0), &x = *ctx.in(1), &z = *ctx.in(2);
  const Shape* const shapes[] = {&c.shape, &x.shape, &z.shape};
  T* const y = ctx.out(0)->as<T>();
  if (ctx.out(0)->count() == 0) return Status::kOk;
  const Broadcast walk(ctx.out(0)->shape, shapes, 3);
  const int64_t row = walk.row(), steps[] = {walk.step(0), walk.step(1), walk.step(2)};
  const auto kernel = row_of<T>(steps[0] != 0, steps[1] != 0, steps[2] != 0);
  ctx.parallel.for_range(walk.rows() * row, kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end;) {
      const int64_t r = i / row, at = i % row, n = row - at < end - i ? row - at : end - i;
      kernel(c.as<const uint8_t>() + walk.offset(0, r) + at * steps[0],
             x.as<const T>() + walk.offset(1, r) + at * steps[1], z.as<const T>() + walk.offset(2, r) + at * steps[2],
             y + i, n);
      i += n;
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kWhere[] = {{"where_8bit", 0, nullptr, nullptr, run<uint8_t>},
                                {"where_16bit", 0, nullptr, nullptr, run<uint16_t>},
                                {"where_32bit", 0, nullptr, nullptr, run<uint32_t>},
                                {"where_64bit", 0, nullptr, nullptr, run<uint64_t>}};

// Eight bytes at once: 1 where all bits of a byte are 0.
uint64_t no_bits(uint64_t x) {
  constexpr uint64_t kLow = 0x7F7F7F7F7F7F7F7Fu;
  return (~(((x & kLow) + kLow) | x) & ~kLow) >> 7;
}
Status run_not(const KernelContext& ctx, const void*) {
  const uint8_t* const x = ctx.in(0)->as<const uint8_t>();
  uint8_t* const y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(ctx.in(0)->count(), 4 * kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
      uint64_t word;
      memcpy(&word, x + i, sizeof(word));
      word = no_bits(word);
      memcpy(y + i, &word, sizeof(word));
    }
    for (; i < end; ++i) y[i] = x[i] == 0;
  });
  return Status::kOk;
}

constexpr CpuKernel kNot = {"not", 0, nullptr, nullptr, run_not};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  if (q.op == Op::kNot) return &kNot;
  const DType t = q.inputs[1].type.dtype;
  for (int i = 0; i < 4; ++i) {
    if (t != DType::kString && dtype_bits(t) == 8 << i) return &kWhere[i];
  }
  *reason = "tuned for elements of one to eight bytes";
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_where;
const CpuOp kCpuOp_where = {"where", choose};

}  // namespace vireo
