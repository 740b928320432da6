#include "sdk/ops/shared/parts.h"

#include "sdk/base/checked.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {

bool PartQuery::integers(size_t i, int64_t count, int64_t* out) const {
  const TensorType t = input(i);
  const void* data = constant(i);
  if (data == nullptr || element_count(t.shape) != count) return false;
  for (int64_t k = 0; k < count; ++k) out[k] = read_integer(t.dtype, data, k);
  return true;
}

bool part_offsets(const OpDef& def, const PartQuery& query, Span<int64_t> at) {
  for (int64_t& a : at) a = -1;
  const DType dtype = query.input(0).dtype;
  const int bits = dtype_bits(dtype);
  if (def.parts == nullptr || bits == 0 || bits % 8 != 0 || dtype == DType::kString) return false;
  def.parts(query, at);
  bool any = false;
  for (int64_t& a : at) {
    if (a >= 0 && checked_mul(a, int64_t{bits / 8}, &a)) {
      any = true;
    } else if ((def.flags & OpDef::kInputsInside) != 0) {
      return false;
    } else {
      a = -1;
    }
  }
  return any;
}

int64_t known_count(const Shape& s, int begin, int end) {
  int64_t n = 1;
  for (int k = begin; k < end; ++k) {
    if (s[k] < 0 || !checked_mul(n, s[k], &n)) return -1;  // handles are below 0
  }
  return n;
}

bool ones_before(const Shape& s, int end) {
  for (int k = 0; k < end; ++k) {
    if (s[k] != 1) return false;
  }
  return true;
}

}  // namespace vireo
