#include "sdk/ops/op.h"

#include "sdk/base/checked.h"

namespace vireo {

namespace {
Dim above_handles(Dim n) { return is_symbolic(n) ? kLastHandle + 1 : n; }
}  // namespace

Dim InferContext::add(Dim a, Dim b) {
  if (!both(a, b)) return symbolic(Arith::kAdd, a, b);
  Dim out = 0;
  if (checked_add(a, b, &out)) return above_handles(out);
  return a < 0 ? kLastHandle + 1 : INT64_MAX;
}

Dim InferContext::sub(Dim a, Dim b) {
  if (!both(a, b)) return symbolic(Arith::kSub, a, b);
  Dim out = 0;
  if (checked_sub(a, b, &out)) return above_handles(out);
  return a < 0 ? kLastHandle + 1 : INT64_MAX;
}

Dim InferContext::mul(Dim a, Dim b) {
  if (!both(a, b)) return symbolic(Arith::kMul, a, b);
  Dim out = 0;
  return checked_mul(a, b, &out) ? above_handles(out) : INT64_MAX;
}

Dim InferContext::floor_div(Dim a, Dim b) {
  if (!both(a, b)) return symbolic(Arith::kFloorDiv, a, b);
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  const Dim q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Dim InferContext::count(const Shape& s, int begin, int end) {
  Dim n = 1;
  for (int i = begin; i < end; ++i) n = mul(n, s[i]);
  return n;
}

const OpRow* find_op(Op op) {
  const Span<const OpRow> rows = op_rows();
  size_t low = 0, high = rows.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (rows[middle].op == op) return &rows[middle];
    if (rows[middle].op < op) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nullptr;
}

const char* op_name(Op op) {
  const OpRow* row = find_op(op);
  return row == nullptr ? "?" : row->def->name;
}

}  // namespace vireo
