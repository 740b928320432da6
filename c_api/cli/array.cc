#include "c_api/cli/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <limits>

#include "c_api/cli/failure.h"

namespace vireo::cli {
namespace {

template <typename T>
T load(const Array& a, int64_t i) {
  T value;
  memcpy(&value, a.bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

// A small float: one sign bit, then exponent and fraction bits.
struct SmallFloat {
  int exponent_bits, fraction_bits, bias;
  bool has_infinity;  // else the top exponent holds numbers, and only the codes below are NaN
};

double decode(uint32_t bits, const SmallFloat& f) {
  const uint32_t sign_bit = 1u << (f.exponent_bits + f.fraction_bits);
  const uint32_t exponent = (bits >> f.fraction_bits) & ((1u << f.exponent_bits) - 1);
  const uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const double sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
  if (f.has_infinity && exponent == (1u << f.exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const double unit = ldexp(1.0, -f.fraction_bits);
  if (exponent == 0) return sign * ldexp(fraction * unit, 1 - f.bias);
  return sign * ldexp(1.0 + fraction * unit, static_cast<int>(exponent) - f.bias);
}

constexpr SmallFloat kHalf{5, 10, 15, true};
constexpr SmallFloat kE4M3{4, 3, 7, false};
constexpr SmallFloat kE4M3Uz{4, 3, 8, false};
constexpr SmallFloat kE5M2{5, 2, 15, true};
constexpr SmallFloat kE5M2Uz{5, 2, 16, false};
constexpr SmallFloat kE2M1{2, 1, 1, false};
constexpr SmallFloat kE2M3{2, 3, 1, false};
constexpr SmallFloat kE3M2{3, 2, 3, false};

uint32_t packed_at(const Array& a, int64_t i, int bits) {
  const int64_t per_byte = 8 / bits;
  const uint8_t byte = a.bytes[static_cast<size_t>(i / per_byte)];
  return (byte >> (bits * static_cast<int>(i % per_byte))) & ((1u << bits) - 1);
}

}  // namespace

int64_t Array::count() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

int dtype_bits(vireo_dtype dtype) {
  switch (dtype) {
    case VIREO_FLOAT32:
    case VIREO_INT32:
    case VIREO_UINT32:
      return 32;
    case VIREO_FLOAT64:
    case VIREO_INT64:
    case VIREO_UINT64:
    case VIREO_COMPLEX64:
      return 64;
    case VIREO_COMPLEX128:
      return 128;
    case VIREO_FLOAT16:
    case VIREO_BFLOAT16:
    case VIREO_INT16:
    case VIREO_UINT16:
      return 16;
    case VIREO_INT8:
    case VIREO_UINT8:
    case VIREO_BOOL:
    case VIREO_FLOAT8E4M3FN:
    case VIREO_FLOAT8E4M3FNUZ:
    case VIREO_FLOAT8E5M2:
    case VIREO_FLOAT8E5M2FNUZ:
    case VIREO_FLOAT8E8M0:
    case VIREO_FLOAT6E2M3:
    case VIREO_FLOAT6E3M2:
      return 8;
    case VIREO_INT4:
    case VIREO_UINT4:
    case VIREO_FLOAT4E2M1:
      return 4;
    case VIREO_INT2:
    case VIREO_UINT2:
      return 2;
    default:
      return 0;
  }
}

bool dtype_is_float(vireo_dtype dtype) {
  switch (dtype) {
    case VIREO_FLOAT32:
    case VIREO_FLOAT64:
    case VIREO_FLOAT16:
    case VIREO_BFLOAT16:
    case VIREO_FLOAT8E4M3FN:
    case VIREO_FLOAT8E4M3FNUZ:
    case VIREO_FLOAT8E5M2:
    case VIREO_FLOAT8E5M2FNUZ:
    case VIREO_FLOAT8E8M0:
    case VIREO_FLOAT6E2M3:
    case VIREO_FLOAT6E3M2:
    case VIREO_FLOAT4E2M1:
      return true;
    default:
      return false;
  }
}

bool dtype_is_complex(vireo_dtype dtype) { return dtype == VIREO_COMPLEX64 || dtype == VIREO_COMPLEX128; }

double real_at(const Array& a, int64_t i) {
  switch (a.dtype) {
    case VIREO_FLOAT32:
      return load<float>(a, i);
    case VIREO_FLOAT64:
      return load<double>(a, i);
    case VIREO_COMPLEX64:
      return load<float>(a, 2 * i);
    case VIREO_COMPLEX128:
      return load<double>(a, 2 * i);
    case VIREO_FLOAT16:
      return decode(load<uint16_t>(a, i), kHalf);
    case VIREO_BFLOAT16: {
      const uint32_t bits = static_cast<uint32_t>(load<uint16_t>(a, i)) << 16;
      float value;
      memcpy(&value, &bits, sizeof(value));
      return value;
    }
    case VIREO_INT8:
      return load<int8_t>(a, i);
    case VIREO_UINT8:
    case VIREO_BOOL:
      return load<uint8_t>(a, i);
    case VIREO_INT16:
      return load<int16_t>(a, i);
    case VIREO_UINT16:
      return load<uint16_t>(a, i);
    case VIREO_INT32:
      return load<int32_t>(a, i);
    case VIREO_UINT32:
      return load<uint32_t>(a, i);
    case VIREO_INT64:
      return static_cast<double>(load<int64_t>(a, i));
    case VIREO_UINT64:
      return static_cast<double>(load<uint64_t>(a, i));
    case VIREO_UINT4:
      return packed_at(a, i, 4);
    case VIREO_UINT2:
      return packed_at(a, i, 2);
    case VIREO_INT4:
      return static_cast<double>((packed_at(a, i, 4) ^ 8u)) - 8;
    case VIREO_INT2:
      return static_cast<double>((packed_at(a, i, 2) ^ 2u)) - 2;
    case VIREO_FLOAT4E2M1:
      return decode(packed_at(a, i, 4), kE2M1);
    case VIREO_FLOAT6E2M3:
      return decode(load<uint8_t>(a, i), kE2M3);
    case VIREO_FLOAT6E3M2:
      return decode(load<uint8_t>(a, i), kE3M2);
    case VIREO_FLOAT8E4M3FN: {
      const uint8_t bits = load<uint8_t>(a, i);
      return (bits & 0x7F) == 0x7F ? std::numeric_limits<double>::quiet_NaN() : decode(bits, kE4M3);
    }
    case VIREO_FLOAT8E4M3FNUZ:
    case VIREO_FLOAT8E5M2FNUZ: {  // the code of minus zero is the only NaN
      const uint8_t bits = load<uint8_t>(a, i);
      if (bits == 0x80) return std::numeric_limits<double>::quiet_NaN();
      return decode(bits, a.dtype == VIREO_FLOAT8E4M3FNUZ ? kE4M3Uz : kE5M2Uz);
    }
    case VIREO_FLOAT8E5M2:
      return decode(load<uint8_t>(a, i), kE5M2);
    case VIREO_FLOAT8E8M0: {  // a power of two without sign
      const uint8_t bits = load<uint8_t>(a, i);
      return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : ldexp(1.0, bits - 127);
    }
    default:
      return 0;
  }
}

double imaginary_at(const Array& a, int64_t i) {
  if (a.dtype == VIREO_COMPLEX64) return load<float>(a, 2 * i + 1);
  if (a.dtype == VIREO_COMPLEX128) return load<double>(a, 2 * i + 1);
  return 0;
}

namespace {

template <typename T>
void store(Array* a, int64_t i, T value) {
  memcpy(a->bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}

template <typename T>
void store_integer(Array* a, int64_t i, double value) {
  const double lo = static_cast<double>(std::numeric_limits<T>::min());
  const double hi = static_cast<double>(std::numeric_limits<T>::max());
  const double rounded = nearbyint(value);
  T result = 0;  // what a NaN becomes
  if (rounded >= hi)
    result = std::numeric_limits<T>::max();
  else if (rounded <= lo)
    result = std::numeric_limits<T>::min();
  else if (rounded == rounded)
    result = static_cast<T>(rounded);
  store(a, i, result);
}

uint16_t half_bits(double value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const double m = fabs(value);
  if (isnan(value)) return sign | 0x7E00;
  if (m >= 65520) return sign | 0x7C00;
  if (m == 0) return sign;
  int exponent = 0;
  frexp(m, &exponent);                                           // m = f * 2^exponent, f in [0.5, 1)
  const int unit = exponent - 1 < -14 ? -24 : exponent - 11;     // exponent of the last bit
  const double scaled = nearbyint(ldexp(m, -unit));              // up to 2048; exact before rounding
  if (unit == -24) return sign | static_cast<uint16_t>(scaled);  // subnormal, or carried into the first normal
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(unit + 25) << 10)) + static_cast<uint16_t>(scaled - 1024);
}

}  // namespace

void set_real(Array* a, int64_t i, double value) {
  switch (a->dtype) {
    case VIREO_FLOAT32:
      return store(a, i, static_cast<float>(value));
    case VIREO_FLOAT64:
      return store(a, i, value);
    case VIREO_FLOAT16:
      return store(a, i, half_bits(value));
    case VIREO_BFLOAT16: {
      const float narrow = static_cast<float>(value);
      uint32_t bits;
      memcpy(&bits, &narrow, sizeof(bits));
      if (!isnan(narrow)) bits += 0x7FFFu + ((bits >> 16) & 1u);
      return store(a, i, static_cast<uint16_t>(bits >> 16));
    }
    case VIREO_INT8:
      return store_integer<int8_t>(a, i, value);
    case VIREO_UINT8:
      return store_integer<uint8_t>(a, i, value);
    case VIREO_INT16:
      return store_integer<int16_t>(a, i, value);
    case VIREO_UINT16:
      return store_integer<uint16_t>(a, i, value);
    case VIREO_INT32:
      return store_integer<int32_t>(a, i, value);
    case VIREO_UINT32:
      return store_integer<uint32_t>(a, i, value);
    case VIREO_INT64:
      return store_integer<int64_t>(a, i, value);
    case VIREO_UINT64:
      return store_integer<uint64_t>(a, i, value);
    case VIREO_BOOL:
      return store(a, i, static_cast<uint8_t>(value != 0));
    default:
      throw Failure(std::string("numbers cannot be written into ") + vireo_dtype_text(a->dtype));
  }
}

std::string text_at(const Array& a, int64_t i) {
  if (a.dtype == VIREO_STRING) return '"' + a.strings[static_cast<size_t>(i)] + '"';
  if (a.dtype == VIREO_BOOL) return load<uint8_t>(a, i) != 0 ? "true" : "false";
  if (a.dtype == VIREO_INT64) return std::to_string(load<int64_t>(a, i));
  if (a.dtype == VIREO_UINT64) return std::to_string(load<uint64_t>(a, i));
  char text[64];
  if (dtype_is_complex(a.dtype)) {
    snprintf(text, sizeof(text), "%.6g%+.6gi", real_at(a, i), imaginary_at(a, i));
  } else {
    snprintf(text, sizeof(text), dtype_is_float(a.dtype) ? "%.6g" : "%.0f", real_at(a, i));
  }
  return text;
}

bool same_bits(const Array& a, int64_t i, const Array& b, int64_t j) {
  if (a.dtype == VIREO_STRING) return a.strings[static_cast<size_t>(i)] == b.strings[static_cast<size_t>(j)];
  const int bits = dtype_bits(a.dtype);
  if (bits == 0) return false;  // a type without elements
  if (bits < 8) return packed_at(a, i, bits) == packed_at(b, j, bits);
  const size_t size = static_cast<size_t>(bits / 8);
  return memcmp(a.bytes.data() + static_cast<size_t>(i) * size, b.bytes.data() + static_cast<size_t>(j) * size, size) ==
         0;
}

std::string shape_text(const std::vector<int64_t>& dims) {
  if (dims.empty()) return "scalar";
  std::string text;
  for (const int64_t d : dims) text += (text.empty() ? "" : "x") + (d < 0 ? std::string("?") : std::to_string(d));
  return text;
}

Array make_array(vireo_dtype dtype, const std::vector<int64_t>& dims) {
  Array a;
  a.dtype = dtype;
  a.dims = dims;
  int64_t count = 1;
  for (const int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(count, d, &count))
      throw Failure("shape " + shape_text(dims) + " is impossible");
  }
  if (count > (int64_t{1} << 40)) throw Failure("shape " + shape_text(dims) + " has more elements than fit in memory");
  if (dtype == VIREO_STRING) {
    a.strings.resize(static_cast<size_t>(count));
  } else {
    a.bytes.resize(static_cast<size_t>((count * dtype_bits(dtype) + 7) / 8));
  }
  return a;
}

Array take_every(const Array& a, int64_t step) {
  const int64_t count = a.count();
  Array out = make_array(a.dtype, {(count + step - 1) / step});
  const size_t size = static_cast<size_t>(dtype_bits(a.dtype) / 8);
  if (a.dtype != VIREO_STRING && size == 0) throw Failure("packed types are not sampled");
  for (int64_t i = 0, j = 0; i < count; i += step, ++j) {
    if (a.dtype == VIREO_STRING) {
      out.strings[static_cast<size_t>(j)] = a.strings[static_cast<size_t>(i)];
    } else {
      memcpy(out.bytes.data() + static_cast<size_t>(j) * size, a.bytes.data() + static_cast<size_t>(i) * size, size);
    }
  }
  return out;
}

vireo_tensor view_of(const Array& a, std::vector<vireo_string>* refs) {
  static uint64_t nothing;  // an empty tensor needs an address too: NULL would mean "the session's own memory"
  vireo_tensor t{};
  t.dtype = a.dtype;
  t.rank = static_cast<int32_t>(a.dims.size());
  for (size_t i = 0; i < a.dims.size() && i < VIREO_MAX_RANK; ++i) t.dims[i] = a.dims[i];
  if (a.dtype == VIREO_STRING) {
    refs->clear();
    for (const std::string& s : a.strings) refs->push_back({s.data(), s.size()});
    t.data = refs->empty() ? static_cast<void*>(&nothing) : refs->data();
    t.capacity = static_cast<int64_t>(refs->size() * sizeof(vireo_string));
  } else {
    t.data = a.bytes.empty() ? static_cast<void*>(&nothing) : const_cast<uint8_t*>(a.bytes.data());
    t.capacity = static_cast<int64_t>(a.bytes.size());
  }
  return t;
}

Array copy_of(const vireo_tensor& t) {
  Array a = make_array(t.dtype, std::vector<int64_t>(t.dims, t.dims + t.rank));
  if (t.dtype == VIREO_STRING) {
    const auto* refs = static_cast<const vireo_string*>(t.data);
    for (size_t i = 0; i < a.strings.size(); ++i) a.strings[i].assign(refs[i].data, refs[i].size);
  } else if (!a.bytes.empty()) {
    memcpy(a.bytes.data(), t.data, a.bytes.size());
  }
  return a;
}

}  // namespace vireo::cli
