// Cast between plain types: where every value of the one is rounded at most once into the other, by the language's
// rules; to bool; and of float32 to integers, as the reference holds what does not fit.
#include <string.h>

#include <type_traits>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/half/half.h"

namespace vireo {
namespace {

constexpr int64_t kGrain = 16384;  // elements: some 5 us

template <class From, class To>
Status run(const KernelContext& ctx, const void*) {
  const From* const x = ctx.in(0)->as<const From>();
  To* const y = ctx.out(0)->as<To>();
  ctx.parallel.for_range(ctx.in(0)->count(), kGrain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
  });
  return Status::kOk;
}

// Bytes may be anything's: what is captured by reference would be read again after each of them.
template <class From>
void write_bools(const From* x, uint8_t* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<From, float>) {  // NaN: true; as integers, which compilers narrow in vectors
      uint32_t bits;
      memcpy(&bits, x + i, sizeof(bits));
      y[i] = (bits & 0x7FFFFFFFu) != 0;
    } else {
      y[i] = x[i] != 0;
    }
  }
}
template <class From>
Status run_to_bool(const KernelContext& ctx, const void*) {
  const From* const x = ctx.in(0)->as<const From>();
  uint8_t* const y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(ctx.in(0)->count(), kGrain,
                         [&](int64_t begin, int64_t end, int32_t) { write_bools(x + begin, y + begin, end - begin); });
  return Status::kOk;
}

// Towards zero, held within int64; of that the low bits. NaN: 0.
int64_t held(float v) {
  constexpr float kEnd = 9223372036854775808.0F;  // 2^63
  if (v != v) return 0;
  return v >= kEnd ? INT64_MAX : v <= -kEnd ? INT64_MIN : static_cast<int64_t>(v);
}

template <class To>
Status run_to_integer(const KernelContext& ctx, const void*) {
  const float* const x = ctx.in(0)->as<const float>();
  To* const y = ctx.out(0)->as<To>();
  ctx.parallel.for_range(ctx.in(0)->count(), kGrain, [&](int64_t begin, int64_t end, int32_t) {
    constexpr int64_t kPiece = 512;  // read twice from the nearest cache
    for (int64_t from = begin; from < end; from += kPiece) {
      const int64_t to = from + kPiece < end ? from + kPiece : end;
      uint32_t most = 0;
      for (int64_t i = from; i < to; ++i) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof(bits));
        bits &= 0x7FFFFFFFu;
        most = bits > most ? bits : most;
      }
      constexpr uint32_t kFits = 0x4F000000;  // 2^31: everything below is held by int32 and int64
      if (most < kFits) {
        for (int64_t i = from; i < to; ++i) y[i] = static_cast<int32_t>(x[i]);
      } else {
        for (int64_t i = from; i < to; ++i) y[i] = static_cast<To>(held(x[i]));
      }
    }
  });
  return Status::kOk;
}

Status run_to_half(const KernelContext& ctx, const void*) {
  cpu::f16_from_f32(ctx.in(0)->as<const float>(), ctx.out(0)->as<uint16_t>(), ctx.in(0)->count(), ctx.parallel);
  return Status::kOk;
}
Status run_from_half(const KernelContext& ctx, const void*) {
  cpu::f32_from_f16(ctx.in(0)->as<const uint16_t>(), ctx.out(0)->as<float>(), ctx.in(0)->count(), ctx.parallel);
  return Status::kOk;
}

// The source's memory may be the result's where both have elements of one size: each element is read before it is
// written.
struct Row {
  DType from, to;
  CpuKernel kernel;
};
constexpr Row kRows[] = {
    {DType::kI32, DType::kF32, {"cast_i32_f32", 0, nullptr, nullptr, run<int32_t, float>}},
    {DType::kI64, DType::kF32, {"cast_i64_f32", 0, nullptr, nullptr, run<int64_t, float>}},
    {DType::kU8, DType::kF32, {"cast_u8_f32", 0, nullptr, nullptr, run<uint8_t, float>}},
    {DType::kI8, DType::kF32, {"cast_i8_f32", 0, nullptr, nullptr, run<int8_t, float>}},
    {DType::kBool, DType::kF32, {"cast_bool_f32", 0, nullptr, nullptr, run<uint8_t, float>}},
    {DType::kU8, DType::kI32, {"cast_u8_i32", 0, nullptr, nullptr, run<uint8_t, int32_t>}},
    {DType::kI8, DType::kI32, {"cast_i8_i32", 0, nullptr, nullptr, run<int8_t, int32_t>}},
    {DType::kU8, DType::kI64, {"cast_u8_i64", 0, nullptr, nullptr, run<uint8_t, int64_t>}},
    {DType::kI8, DType::kI64, {"cast_i8_i64", 0, nullptr, nullptr, run<int8_t, int64_t>}},
    {DType::kI32, DType::kI64, {"cast_i32_i64", 0, nullptr, nullptr, run<int32_t, int64_t>}},
    {DType::kBool, DType::kI64, {"cast_bool_i64", 0, nullptr, nullptr, run<uint8_t, int64_t>}},
    {DType::kBool, DType::kI32, {"cast_bool_i32", 0, nullptr, nullptr, run<uint8_t, int32_t>}},
    {DType::kI64, DType::kI32, {"cast_i64_i32", 0, nullptr, nullptr, run<int64_t, int32_t>}},
    {DType::kF32, DType::kBool, {"cast_f32_bool", 0, nullptr, nullptr, run_to_bool<float>}},
    {DType::kI32, DType::kBool, {"cast_i32_bool", 0, nullptr, nullptr, run_to_bool<int32_t>}},
    {DType::kI64, DType::kBool, {"cast_i64_bool", 0, nullptr, nullptr, run_to_bool<int64_t>}},
    {DType::kU8, DType::kBool, {"cast_u8_bool", 0, nullptr, nullptr, run_to_bool<uint8_t>}},
    {DType::kF32, DType::kI32, {"cast_f32_i32", 0, nullptr, nullptr, run_to_integer<int32_t>}},
    {DType::kF32, DType::kI64, {"cast_f32_i64", 0, nullptr, nullptr, run_to_integer<int64_t>}},
    {DType::kF32, DType::kF16, {"cast_f32_f16", 0, nullptr, nullptr, run_to_half}},
    {DType::kF16, DType::kF32, {"cast_f16_f32", 0, nullptr, nullptr, run_from_half}},
};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  for (const Row& row : kRows) {
    if (row.from == q.inputs[0].type.dtype && row.to == q.outputs[0].type.dtype) return &row.kernel;
  }
  *reason = "tuned for integers to wider types, float32 and bool, and from float32";
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_cast;
const CpuOp kCpuOp_cast = {"cast", choose};

}  // namespace vireo
