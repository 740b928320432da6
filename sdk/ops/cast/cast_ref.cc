// Elements go through a small buffer of float64, int64 or uint64, which hold every source exactly; what is rounded is
// rounded once, on the way out (integers beyond 2^53 to 16-bit floats: by way of float64).
#include <string.h>

#include "sdk/base/narrow_float.h"
#include "sdk/base/number.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/cast/number_text.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/text.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

enum class Kind : uint8_t { kReal, kSigned, kUnsigned };

// In-place casts between packed types need a whole chunk to be read before any of it is written.
constexpr int kChunk = 64;
struct Chunk {
  Kind kind;
  union {
    double real[kChunk];
    int64_t integer[kChunk];  // kUnsigned: the same bits
  };
};

bool is_packed(DType t) { return dtype_bits(t) < 8; }

unsigned read_packed(int bits, const uint8_t* x, int64_t i) {
  const int64_t bit = i * bits;
  return x[bit / 8] >> (bit % 8) & ((1u << bits) - 1);
}
void write_packed(int bits, uint8_t* y, int64_t i, unsigned value) {
  const int64_t bit = i * bits;
  const unsigned mask = ((1u << bits) - 1) << (bit % 8);
  // The first element of a byte clears the rest, so that padding is zero.
  const unsigned kept = bit % 8 == 0 ? 0u : y[bit / 8] & ~mask;
  y[bit / 8] = static_cast<uint8_t>(kept | (value << (bit % 8) & mask));
}

Kind kind_of(DType t) {
  if (dtype_is_float(t)) return Kind::kReal;
  return dtype_is_signed(t) ? Kind::kSigned : Kind::kUnsigned;
}

void read(DType t, const void* x, int64_t at, int n, Chunk* out) {
  const uint8_t* bytes = static_cast<const uint8_t*>(x);
  const int bits = dtype_bits(t);
  out->kind = kind_of(t);
  if (const NarrowFloat* f = narrow_float(t)) {
    for (int i = 0; i < n; ++i) {
      const unsigned code = is_packed(t) ? read_packed(bits, bytes, at + i) : bytes[at + i];
      out->real[i] = static_cast<double>(narrow_to_f32(*f, static_cast<uint8_t>(code)));
    }
  } else if (t == DType::kF8E8M0) {
    for (int i = 0; i < n; ++i) out->real[i] = e8m0_to_f64(bytes[at + i]);
  } else if (is_packed(t)) {
    const int64_t sign = dtype_is_signed(t) ? 1 << (bits - 1) : 0;
    for (int i = 0; i < n; ++i) out->integer[i] = (read_packed(bits, bytes, at + i) ^ sign) - sign;
  } else if (out->kind == Kind::kReal) {
    for (int i = 0; i < n; ++i) out->real[i] = read_real(t, x, at + i);
  } else {
    for (int i = 0; i < n; ++i) out->integer[i] = read_integer(t, x, at + i);
  }
}

// Towards zero, held within the type; NaN: 0.
int64_t to_i64(double v) {
  if (v != v) return 0;
  if (v >= 9223372036854775808.0) return INT64_MAX;  // 2^63
  return v <= -9223372036854775808.0 ? INT64_MIN : static_cast<int64_t>(v);
}
uint64_t to_u64(double v) {
  if (v < 9223372036854775808.0) return static_cast<uint64_t>(to_i64(v));
  return v >= 18446744073709551616.0 ? UINT64_MAX : static_cast<uint64_t>(v);  // 2^64
}

void to_integers(DType t, Chunk* c, int n) {
  if (c->kind != Kind::kReal) return;
  for (int i = 0; i < n; ++i) {
    const double v = c->real[i];
    c->integer[i] = t == DType::kU64 ? static_cast<int64_t>(to_u64(v)) : to_i64(v);
  }
}
void to_reals(Chunk* c, int n) {
  if (c->kind == Kind::kReal) return;
  for (int i = 0; i < n; ++i) {
    const int64_t v = c->integer[i];
    c->real[i] = c->kind == Kind::kSigned ? static_cast<double>(v) : static_cast<double>(static_cast<uint64_t>(v));
  }
}

void write_bools(const Chunk& c, uint8_t* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = c.kind == Kind::kReal ? c.real[i] != 0 : c.integer[i] != 0;
}

void write_f32(const Chunk& c, float* y, int n) {  // integers in one rounding, not by way of float64
  for (int i = 0; i < n; ++i) {
    y[i] = c.kind == Kind::kReal     ? static_cast<float>(c.real[i])
           : c.kind == Kind::kSigned ? static_cast<float>(c.integer[i])
                                     : static_cast<float>(static_cast<uint64_t>(c.integer[i]));
  }
}

Status write(DType t, Chunk* c, void* y, int64_t at, int n, const attrs::Cast& a) {
  uint8_t* bytes = static_cast<uint8_t*>(y);
  const int bits = dtype_bits(t);
  if (t == DType::kBool) {
    write_bools(*c, bytes + at, n);
    return Status::kOk;
  }
  if (t == DType::kF32) {
    write_f32(*c, static_cast<float*>(y) + at, n);
    return Status::kOk;
  }
  if (!dtype_is_float(t)) {
    to_integers(t, c, n);
    if (is_packed(t)) {
      for (int i = 0; i < n; ++i) write_packed(bits, bytes, at + i, static_cast<unsigned>(c->integer[i]));
      return Status::kOk;
    }
    return dispatch_size(t, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (sizeof(T) <= 8) {
        for (int i = 0; i < n; ++i) static_cast<T*>(y)[at + i] = static_cast<T>(c->integer[i]);
      }
      return Status::kOk;
    });
  }
  to_reals(c, n);
  for (int i = 0; i < n; ++i) {
    const double v = c->real[i];
    if (t == DType::kF64) {
      static_cast<double*>(y)[at + i] = v;
    } else if (t == DType::kF16) {
      static_cast<F16*>(y)[at + i] = F16(f64_to_f32_odd(v));
    } else if (t == DType::kBF16) {
      static_cast<BF16*>(y)[at + i] = BF16(f64_to_f32_odd(v));
    } else if (t == DType::kF8E8M0) {
      bytes[at + i] = f64_to_e8m0(v, static_cast<PowerRounding>(a.round_mode()), a.saturate());
    } else {
      const uint8_t code = f64_to_narrow(*narrow_float(t), v, a.saturate());
      if (is_packed(t)) {
        write_packed(bits, bytes, at + i, code);
      } else {
        bytes[at + i] = code;
      }
    }
  }
  return Status::kOk;
}

// Text becomes an integer where it is one and an integer is wanted, else a real number.
Status read_strings(const KernelContext& ctx, DType to, int64_t at, int n, Chunk* out) {
  const StringRef* x = ctx.in(0)->as<const StringRef>() + at;
  out->kind = dtype_is_float(to) || to == DType::kBool ? Kind::kReal : Kind::kSigned;
  for (int i = 0; i < n; ++i) {
    double real = 0;
    if (out->kind == Kind::kSigned && parse_i64(x[i], &out->integer[i])) continue;
    if (!parse_f64(x[i], &real)) {
      return ctx.fail(Status::kInvalidArgument, "element {} of the input is text that is not a number", at + i);
    }
    if (out->kind == Kind::kReal) {
      out->real[i] = real;
    } else {
      out->integer[i] = to == DType::kU64 ? static_cast<int64_t>(to_u64(real)) : to_i64(real);
    }
  }
  return Status::kOk;
}

RealFormat format_of(DType t) {
  switch (t) {
    case DType::kF64:
      return kF64Format;
    case DType::kF16:
      return kF16Format;
    case DType::kBF16:
      return kBF16Format;
    default:
      return kF32Format;  // float8 and narrower are exact in it
  }
}

int64_t text_bytes(const KernelQuery& query) {
  const bool makes = query.outputs[0].dtype == DType::kString && query.inputs[0].dtype != DType::kString;
  return makes ? text_room(query.outputs[0], kMostNumberText) : 0;
}

Status to_strings(const KernelContext& ctx) {
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  const int64_t count = x.count();
  VIREO_TRY(TextWriter::check(ctx, static_cast<uint64_t>(count) * kMostNumberText));
  TextWriter text(ctx);
  for (int64_t at = 0; at < count; at += kChunk) {
    Chunk c;
    const int n = static_cast<int>(count - at < kChunk ? count - at : kChunk);
    read(x.dtype, x.data, at, n, &c);
    for (int i = 0; i < n; ++i) {
      char* to = text.take(kMostNumberText);
      size_t size = 0;
      if (c.kind == Kind::kReal) {
        size = write_real(c.real[i], format_of(x.dtype), to);
      } else {
        const bool negative = c.kind == Kind::kSigned && c.integer[i] < 0;
        const auto bits = static_cast<uint64_t>(c.integer[i]);
        size = write_integer(negative ? 0 - bits : bits, negative, to);
      }
      y.as<StringRef>()[at + i] = {to, size};
    }
  }
  return Status::kOk;
}

Status run_cast(const KernelContext& ctx) {
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  const int64_t count = x.count();
  if (x.dtype == y.dtype) {
    if (x.data != y.data && count > 0) memmove(y.data, x.data, static_cast<size_t>(dtype_bytes(x.dtype, count)));
    return Status::kOk;
  }
  if (y.dtype == DType::kString) return to_strings(ctx);
  const bool text = x.dtype == DType::kString;
  if (text) {  // nothing is written before all of it is known to be numbers
    Chunk c;
    for (int64_t at = 0; at < count; at += kChunk) {
      VIREO_TRY(read_strings(ctx, y.dtype, at, static_cast<int>(count - at < kChunk ? count - at : kChunk), &c));
    }
  }
  for (int64_t at = 0; at < count; at += kChunk) {
    Chunk c;
    const int n = static_cast<int>(count - at < kChunk ? count - at : kChunk);
    if (text) {
      VIREO_TRY(read_strings(ctx, y.dtype, at, n, &c));
    } else {
      read(x.dtype, x.data, at, n, &c);
    }
    VIREO_TRY(write(y.dtype, &c, y.data, at, n, ctx.attrs<attrs::Cast>()));
  }
  return Status::kOk;
}

Status run_bit_cast(const KernelContext& ctx) {
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  const int64_t bytes = dtype_bytes(x.dtype, x.count());
  if (x.data != y.data && bytes > 0) memmove(y.data, x.data, static_cast<size_t>(bytes));
  return Status::kOk;
}

}  // namespace

extern const RefKernel kCastRef;
extern const RefKernel kBitCastRef;

const RefKernel kCastRef = {run_cast, nullptr, text_bytes};
const RefKernel kBitCastRef = {run_bit_cast, nullptr};

}  // namespace vireo
