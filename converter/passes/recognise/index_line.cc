#include "converter/passes/recognise/index_line.h"

#include <algorithm>

#include "converter/passes/shared/match.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::passes {
namespace {

constexpr int kDeepest = 24;  // nodes between a mask and its Range: exporters have some ten

bool counts(DType t) { return t == DType::kI64 || t == DType::kI32; }

// One element whose value is known, perhaps by a symbol.
bool known_one(const ir::Value* v, Dim* out) {
  std::vector<Dim> all;
  if (v == nullptr || !ir::known_elements(v, nullptr, &all) || all.size() != 1) return false;
  *out = all[0];
  return true;
}

// The axis, from the last, along which `s` has more than one element or an extent that is not known; -1: none; -2:
// several.
int long_axis(const Shape& s) {
  int found = -1;
  for (int i = 0; i < s.rank; ++i) {
    if (s[i] == 1) continue;
    if (found != -1) return -2;
    found = s.rank - 1 - i;
  }
  return found;
}

Dim line_extent(const ir::Value* v, int axis) { return v->type.shape[v->type.shape.rank - 1 - axis]; }

bool line_of_constant(const ir::Value* v, IndexLine* line) {
  const ir::Constant& c = *v->constant;
  const int axis = long_axis(v->type.shape);
  const int64_t n = c.tensor.count();
  if (axis == -2 || n < 1) return false;
  const auto at = [&](int64_t i) { return read_integer(v->type.dtype, c.tensor.bytes.data(), i); };
  const int64_t first = at(0);
  if (first < -(int64_t{1} << 40) || first > int64_t{1} << 40) return false;
  for (int64_t i = 0; i < n; ++i) {
    if (at(i) != first + i) return false;
  }
  *line = {axis, first};
  return true;
}

bool follow(ir::Graph& g, const ir::Value* v, IndexLine* line, int depth);

// What keeps the order of elements: the axis is where the only long one is.
bool follow_view(ir::Graph& g, const ir::Node& n, IndexLine* line, int depth) {
  const ir::Value *x = n.in(0), *v = n.out();
  if (!follow(g, x, line, depth)) return false;
  if (line->axis == -1) return true;
  if (n.op == Op::kUnsqueeze) {
    std::vector<int64_t> axes;
    if (!known_ints(n.in(1), &axes)) return false;
    const int rank = v->type.shape.rank;
    int out = rank - 1, left = line->axis;  // walks over axes that were there before, from the last
    for (;; --out) {
      const bool added =
          std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return (a < 0 ? a + rank : a) == out; });
      if (added) continue;
      if (left-- == 0) break;
    }
    line->axis = rank - 1 - out;
    return true;
  }
  const int from = long_axis(x->type.shape), to = long_axis(v->type.shape);
  if (from != line->axis || to < 0 || line_extent(x, from) != line_extent(v, to)) return false;
  line->axis = to;
  return true;
}

bool follow_sum(ir::Graph& g, const ir::Node& n, IndexLine* line, int depth) {
  for (size_t i = 0; i < 2; ++i) {
    IndexLine number;
    if (n.op == Op::kSub && i == 1) return false;
    if (!follow(g, n.in(1 - i), &number, depth) || number.axis != -1 || !follow(g, n.in(i), line, depth)) continue;
    if (line->axis != -1 && line_extent(n.in(i), line->axis) != line_extent(n.out(), line->axis)) continue;
    line->start = n.op == Op::kAdd ? g.dims().add(line->start, number.start) : g.dims().sub(line->start, number.start);
    return true;
  }
  return false;
}

bool follow(ir::Graph& g, const ir::Value* v, IndexLine* line, int depth) {
  if (v == nullptr || depth > kDeepest || !counts(v->type.dtype)) return false;
  if (known_one(v, &line->start)) {
    line->axis = -1;
    return true;
  }
  if (v->constant != nullptr) return line_of_constant(v, line);
  const ir::Node* n = v->producer;
  if (n == nullptr) return false;
  switch (n->op) {
    case Op::kRange: {
      Dim step = 0;
      line->axis = 0;
      return known_one(n->in(0), &line->start) && known_one(n->in(2), &step) && step == 1;
    }
    case Op::kCast:  // of positions: they fit
      return follow(g, n->in(0), line, depth + 1);
    case Op::kUnsqueeze:
    case Op::kSqueeze:
    case Op::kReshape:
      return follow_view(g, *n, line, depth + 1);
    case Op::kTranspose: {
      if (!follow(g, n->in(0), line, depth + 1)) return false;
      const std::vector<int> perm = permutation(*n);
      const int rank = static_cast<int>(perm.size());
      for (int i = 0; line->axis != -1 && i < rank; ++i) {
        if (perm[static_cast<size_t>(i)] != rank - 1 - line->axis) continue;
        line->axis = rank - 1 - i;
        break;
      }
      return true;
    }
    case Op::kExpand:
      return follow(g, n->in(0), line, depth + 1) &&
             (line->axis == -1 || line_extent(n->in(0), line->axis) == line_extent(v, line->axis));
    case Op::kSlice: {
      Dim begins = 0;
      if (!follow(g, n->in(0), line, depth + 1)) return false;
      if (line->axis == -1) return true;
      if (!slice_begins(g, *n, v->type.shape.rank - 1 - line->axis, &begins)) return false;
      line->start = g.dims().add(line->start, begins);
      return true;
    }
    case Op::kAdd:
    case Op::kSub:
      return follow_sum(g, *n, line, depth + 1);
    default:
      return false;
  }
}

bool filled(const ir::Value* v, double* number, int depth) {
  if (v == nullptr || depth > kDeepest) return false;
  if (v->constant != nullptr) {
    const int64_t n = v->constant->tensor.count();
    if (n < 1 || dtype_bits(v->type.dtype) < 8 || v->type.dtype == DType::kString) return false;
    const uint8_t* bytes = v->constant->tensor.bytes.data();
    *number = read_real(v->type.dtype, bytes, 0);
    for (int64_t i = 1; i < n; ++i) {
      if (read_real(v->type.dtype, bytes, i) != *number) return false;
    }
    return true;
  }
  const ir::Node* n = v->producer;
  if (n == nullptr) return false;
  if (n->op == Op::kConstantOfShape) {
    const auto* value = n->attributes<attrs::ConstantOfShape>().value();
    if (dtype_bits(v->type.dtype) < 8) return false;
    *number = value == nullptr ? 0 : read_real(v->type.dtype, value->data(), 0);
    return true;
  }
  const bool moves = n->op == Op::kExpand || n->op == Op::kReshape || n->op == Op::kUnsqueeze ||
                     n->op == Op::kSqueeze || n->op == Op::kTranspose || n->op == Op::kSlice;
  return moves && filled(n->in(0), number, depth + 1);
}

}  // namespace

bool index_line(ir::Graph& g, const ir::Value* v, IndexLine* line) { return follow(g, v, line, 0); }

bool slice_begins(ir::Graph& g, const ir::Node& slice, int axis, Dim* start) {
  std::vector<Dim> starts;
  std::vector<int64_t> axes, steps;
  if (!ir::known_elements(slice.in(1), nullptr, &starts)) return false;
  if (slice.in(3) != nullptr && !known_ints(slice.in(3), &axes)) return false;
  if (slice.in(4) != nullptr && !known_ints(slice.in(4), &steps)) return false;
  const int rank = slice.in(0)->type.shape.rank;
  *start = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t a = slice.in(3) == nullptr ? static_cast<int64_t>(i) : axes[i];
    if ((a < 0 ? a + rank : a) != axis) continue;
    if (!steps.empty() && steps[i] != 1) return false;
    // One that is clamped to the end leaves nothing, of which all is true.
    *start = starts[i];
    if (!is_symbolic(*start) && *start < 0) {
      *start = g.dims().add(slice.in(0)->type.shape[axis], *start);
      if (g.dims().interval(*start).lo < 0) return false;  // clamped to the front
    }
    return g.dims().interval(*start).lo >= 0;
  }
  return true;
}

bool filled_with(const ir::Value* v, double* number) { return filled(v, number, 0); }

}  // namespace vireo::passes
