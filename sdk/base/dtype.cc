#include "sdk/base/dtype.h"

#include "sdk/base/checked.h"
#include "sdk/base/string.h"

namespace vireo {
namespace {

struct Row {
  const char* name;
  uint8_t bits;
  char kind;  // f float, i signed, u unsigned, c complex, - other
};

constexpr Row kRows[kDTypeCount] = {
    {"none", 0, '-'},           {"float32", 32, 'f'},   {"uint8", 8, 'u'},
    {"int8", 8, 'i'},           {"uint16", 16, 'u'},    {"int16", 16, 'i'},
    {"int32", 32, 'i'},         {"int64", 64, 'i'},     {"string", sizeof(StringRef) * 8, '-'},
    {"bool", 8, '-'},           {"float16", 16, 'f'},   {"float64", 64, 'f'},
    {"uint32", 32, 'u'},        {"uint64", 64, 'u'},    {"complex64", 64, 'c'},
    {"complex128", 128, 'c'},   {"bfloat16", 16, 'f'},  {"float8e4m3fn", 8, 'f'},
    {"float8e4m3fnuz", 8, 'f'}, {"float8e5m2", 8, 'f'}, {"float8e5m2fnuz", 8, 'f'},
    {"uint4", 4, 'u'},          {"int4", 4, 'i'},       {"float4e2m1", 4, 'f'},
    {"float8e8m0", 8, 'f'},     {"uint2", 2, 'u'},      {"int2", 2, 'i'},
    {"float6e2m3", 8, 'f'},     {"float6e3m2", 8, 'f'},
};

const Row* row(DType t) {
  const auto i = static_cast<uint8_t>(t);
  return i < kDTypeCount ? &kRows[i] : nullptr;
}

}  // namespace

int dtype_bits(DType t) {
  const Row* r = row(t);
  return r == nullptr ? 0 : r->bits;
}

int64_t dtype_bytes(DType t, int64_t count) {
  const int bits = dtype_bits(t);
  int64_t total = 0;
  if (bits == 0 || count < 0) return -1;
  if (bits >= 8) return checked_mul<int64_t>(count, bits / 8, &total) ? total : -1;
  const int per_byte = 8 / bits;
  return count / per_byte + (count % per_byte != 0 ? 1 : 0);
}

const char* dtype_name(DType t) {
  const Row* r = row(t);
  return r == nullptr ? "?" : r->name;
}

bool dtype_is_float(DType t) {
  const Row* r = row(t);
  return r != nullptr && r->kind == 'f';
}
bool dtype_is_integer(DType t) {
  const Row* r = row(t);
  return r != nullptr && (r->kind == 'i' || r->kind == 'u');
}
bool dtype_is_signed(DType t) {
  const Row* r = row(t);
  return r != nullptr && (r->kind == 'i' || r->kind == 'f');
}

}  // namespace vireo
