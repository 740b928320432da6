// What shape arithmetic computes, element by element, as expressions: Shape gives the extents, Gather and Slice choose
// among them, Add to Max combine them, Reshape consumes them. One function an operator; an operator without one loses
// track, which costs exactness and never correctness.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "converter/ir/infer.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shape_of/shape_of.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::ir {
namespace {

using Elements = std::vector<Dim>;

// Elements of a real value that are made of extents (a Cast of them), or constant whole numbers.
bool whole_numbers(const Value* v, ConstantFinder* finder, Elements* out) {
  if (v->contents) {
    *out = *v->contents;
    return true;
  }
  const ConstantPtr c = finder == nullptr ? v->constant : finder->find(v);
  if (c == nullptr || c->tensor.count() > kMaxContents) return false;
  for (int64_t i = 0; i < c->tensor.count(); ++i) {
    const double number = read_real(c->tensor.type.dtype, c->tensor.bytes.data(), i);
    if (!(std::abs(number) < 1LL << 31) || number != std::floor(number)) return false;
    out->push_back(static_cast<Dim>(number));
  }
  return true;
}

struct Context {
  DimTable& dims;
  const Node& node;
  ConstantFinder* finder;

  const TensorType& type(size_t i) const { return node.inputs[i]->type; }
  const TensorType& result() const { return node.outputs[0]->type; }
  bool in(size_t i, Elements* out) const {
    return is_readable_real(type(i).dtype) ? whole_numbers(node.in(i), finder, out)
                                           : known_elements(node.in(i), finder, out);
  }
  bool has(size_t i) const { return node.in(i) != nullptr; }
};
using Rule = bool (*)(const Context& c, Elements* out);

// Not what stands for a result that is not known exactly.
bool is_exact(Dim d) { return d != DimTable::kTooLarge && d != DimTable::kTooSmall; }

bool same(const Context& c, Elements* out) { return c.in(0, out); }

bool shape(const Context& c, Elements* out) {
  const auto& a = c.node.attributes<attrs::Shape>();
  const Shape& s = c.type(0).shape;
  for (int i = clamp_to_rank(a.start(), s.rank); i < clamp_to_rank(a.end(), s.rank); ++i) out->push_back(s[i]);
  return true;
}

bool size(const Context& c, Elements* out) {
  const Shape& s = c.type(0).shape;
  out->push_back(c.dims.count(s, 0, s.rank));
  return is_exact(out->back());
}

// Widths that hold every extent; a symbolic extent cast to less could be cut. Whether a real type holds it is asked of
// every result (fits).
bool cast(const Context& c, Elements* out) {
  const DType to = static_cast<DType>(c.node.attributes<attrs::Cast>().to());
  if (!c.in(0, out)) return false;
  if (to == DType::kI64 || to == DType::kI32 || is_readable_real(to)) return true;
  if (to != DType::kBool) return false;
  for (Dim& d : *out) {
    const Interval range = c.dims.interval(d);
    if (range.lo > 0 || range.hi < 0) {
      d = 1;
    } else if (range.lo == 0 && range.hi == 0) {
      d = 0;
    } else {
      return false;
    }
  }
  return true;
}

// Integers wrap round and polynomials do not: arithmetic on numbers that are no extents (a hash, "to the end") is left
// to the operator's kernel.
bool is_extent_like(Dim d) { return is_symbolic(d) || (d > -(Dim{1} << 31) && d < (Dim{1} << 31)); }
bool are_extent_like(const Elements& list) { return std::all_of(list.begin(), list.end(), is_extent_like); }

int64_t at(const Shape& from, const Shape& to, int64_t i);  // index of `to`'s element i in the broadcast `from`

template <class F>
bool elementwise(const Context& c, Elements* out, const F& f) {
  Elements a, b;
  if (!c.in(0, &a) || !c.in(1, &b) || !c.result().shape.is_static()) return false;
  if (!are_extent_like(a) || !are_extent_like(b)) return false;
  const int64_t n = element_count(c.result().shape);
  if (n < 0 || n > kMaxContents) return false;
  for (int64_t i = 0; i < n; ++i) {
    const size_t ia = static_cast<size_t>(at(c.type(0).shape, c.result().shape, i));
    const size_t ib = static_cast<size_t>(at(c.type(1).shape, c.result().shape, i));
    if (ia >= a.size() || ib >= b.size()) return false;
    Dim y = 0;
    if (!f(c.dims, a[ia], b[ib], &y) || !is_exact(y)) return false;
    out->push_back(y);
  }
  return true;
}

int64_t at(const Shape& from, const Shape& to, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int d = to.rank - 1, k = from.rank - 1; d >= 0 && k >= 0; --d, --k) {
    const int64_t coordinate = i % to[d];
    i /= to[d];
    if (from[k] != 1) index += coordinate * stride;
    stride *= from[k];
  }
  return index;
}

bool add(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) { return *y = t.add(a, b), true; });
}
bool sub(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) { return *y = t.sub(a, b), true; });
}
bool mul(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) { return *y = t.mul(a, b), true; });
}
bool minimum(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) { return *y = t.min(a, b), true; });
}
bool maximum(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) { return *y = t.max(a, b), true; });
}
// ONNX divides integers towards zero; floor_div agrees where no side is negative. A divisor that may be 0 must not
// cancel: the run has an error there to report.
bool div(const Context& c, Elements* out) {
  if (is_readable_real(c.result().dtype)) return false;  // a fraction
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) {
    if (b == 0) return false;
    if (!is_symbolic(a) && !is_symbolic(b)) return *y = a / b, true;
    if (t.interval(a).lo < 0 || t.interval(b).lo <= 0) return false;
    return *y = t.floor_div(a, b), true;
  });
}
bool mod(const Context& c, Elements* out) {
  if (is_readable_real(c.result().dtype)) return false;
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) {
    if (b == 0 || t.interval(a).lo < 0 || t.interval(b).lo <= 0) return false;
    return *y = t.sub(a, t.mul(t.floor_div(a, b), b)), true;
  });
}

// -1, 0 or 1 for a - b below, at or above 0; 2 when that is open.
int compare(DimTable& t, Dim a, Dim b) {
  const Interval d = t.difference(a, b);
  return d.lo == 0 && d.hi == 0 ? 0 : d.lo > 0 ? 1 : d.hi < 0 ? -1 : 2;
}
bool equal(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) {
    const int k = compare(t, a, b);
    return *y = k == 0, k != 2;
  });
}
bool less(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) {
    const Interval d = t.difference(a, b);
    if (d.hi < 0) return *y = 1, true;
    return *y = 0, d.lo >= 0;
  });
}
bool less_or_equal(const Context& c, Elements* out) {
  return elementwise(c, out, [](DimTable& t, Dim a, Dim b, Dim* y) {
    const Interval d = t.difference(a, b);
    if (d.hi <= 0) return *y = 1, true;
    return *y = 0, d.lo > 0;
  });
}

bool neg(const Context& c, Elements* out) {
  if (!c.in(0, out) || !are_extent_like(*out)) return false;
  for (Dim& d : *out) d = c.dims.mul(d, -1);
  return std::all_of(out->begin(), out->end(), is_exact);
}
bool logical_not(const Context& c, Elements* out) {
  if (!c.in(0, out)) return false;
  for (Dim& d : *out) {
    if (is_symbolic(d)) return false;
    d = d == 0;
  }
  return true;
}

bool where(const Context& c, Elements* out) {
  Elements cond, a, b;
  if (!dtype_is_integer(c.result().dtype) || !c.in(0, &cond) || !c.in(1, &a) || !c.in(2, &b) ||
      !c.result().shape.is_static()) {
    return false;
  }
  const int64_t n = element_count(c.result().shape);
  if (n < 0 || n > kMaxContents) return false;
  for (int64_t i = 0; i < n; ++i) {
    const size_t k = static_cast<size_t>(at(c.type(0).shape, c.result().shape, i));
    const size_t ia = static_cast<size_t>(at(c.type(1).shape, c.result().shape, i));
    const size_t ib = static_cast<size_t>(at(c.type(2).shape, c.result().shape, i));
    if (k >= cond.size() || ia >= a.size() || ib >= b.size() || is_symbolic(cond[k])) return false;
    out->push_back(cond[k] != 0 ? a[ia] : b[ib]);
  }
  return true;
}

bool concat(const Context& c, Elements* out) {
  if (c.result().shape.rank != 1) return false;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    Elements part;
    if (!c.in(i, &part)) return false;
    out->insert(out->end(), part.begin(), part.end());
  }
  return out->size() <= static_cast<size_t>(kMaxContents);
}

bool gather(const Context& c, Elements* out) {
  Elements data, index;
  if (c.type(0).shape.rank != 1 || !c.in(0, &data) || !c.in(1, &index)) return false;
  for (Dim i : index) {
    if (is_symbolic(i)) return false;
    if (i < 0) i += static_cast<Dim>(data.size());
    if (i < 0 || i >= static_cast<Dim>(data.size())) return false;
    out->push_back(data[static_cast<size_t>(i)]);
  }
  return true;
}

bool slice(const Context& c, Elements* out) {
  Elements data, starts, ends, steps{1};
  if (c.type(0).shape.rank != 1 || !c.in(0, &data) || !c.in(1, &starts) || !c.in(2, &ends)) return false;
  if (c.has(4) && !c.in(4, &steps)) return false;
  if (starts.size() != 1 || ends.size() != 1 || steps.size() != 1) return false;
  Dim start = starts[0], end = ends[0], step = steps[0];
  const Dim n = static_cast<Dim>(data.size());
  if (is_symbolic(start) || is_symbolic(end) || is_symbolic(step) || step == 0) return false;
  if (n == 0) return true;
  const auto clamp = [](Dim v, Dim lo, Dim hi) { return v < lo ? lo : v > hi ? hi : v; };
  step = clamp(step, -n, n);  // one step of n leaves the list
  if (start < 0) start += n;
  if (end < 0) end = end < -n ? -1 : end + n;
  if (step > 0) {
    start = clamp(start, 0, n);
    end = clamp(end, 0, n);
    for (Dim i = start; i < end; i += step) out->push_back(data[static_cast<size_t>(i)]);
  } else {
    start = clamp(start, 0, n - 1);
    end = clamp(end, -1, n - 1);
    for (Dim i = start; i > end; i += step) out->push_back(data[static_cast<size_t>(i)]);
  }
  return true;
}

// The value repeated: Expand of one element.
bool expand(const Context& c, Elements* out) {
  Elements data;
  if (!c.in(0, &data) || !c.result().shape.is_static()) return false;
  const int64_t n = element_count(c.result().shape);
  if (n < 0 || n > kMaxContents) return false;
  for (int64_t i = 0; i < n; ++i) {
    const size_t k = static_cast<size_t>(at(c.type(0).shape, c.result().shape, i));
    if (k >= data.size()) return false;
    out->push_back(data[k]);
  }
  return true;
}

// One value in a shape that is known.
bool constant_of_shape(const Context& c, Elements* out) {
  const auto& a = c.node.attributes<attrs::ConstantOfShape>();
  const auto type = static_cast<DType>(a.dtype());
  if ((type != DType::kI64 && type != DType::kI32) || !c.result().shape.is_static()) return false;
  const int64_t n = element_count(c.result().shape);
  if (n < 0 || n > kMaxContents) return false;
  out->assign(static_cast<size_t>(n), a.value() == nullptr ? 0 : read_integer(type, a.value()->data(), 0));
  return true;
}

// start, start + delta...: indices made from extents.
bool range(const Context& c, Elements* out) {
  Elements start, delta;
  if (!dtype_is_integer(c.result().dtype) || !c.in(0, &start) || !c.in(2, &delta) || start.size() != 1 ||
      delta.size() != 1 || !are_extent_like(start) || !are_extent_like(delta) || !c.result().shape.is_static()) {
    return false;
  }
  for (Dim i = 0; i < c.result().shape[0]; ++i) {
    const Dim far = c.dims.mul(i, delta[0]);
    out->push_back(c.dims.add(start[0], far));
    if (!is_exact(far) || !is_exact(out->back())) return false;
  }
  return true;
}

template <class F>
bool reduce(const Context& c, Elements* out, Dim begin, const F& f) {
  Elements data;
  if (!dtype_is_integer(c.result().dtype) || c.type(0).shape.rank != 1 || !c.in(0, &data)) return false;
  if (!are_extent_like(data)) return false;
  if (c.node.attributes<attrs::Reduce>().noop_with_empty_axes() && !c.has(1)) return false;
  Dim y = begin;
  for (const Dim d : data) {
    y = f(c.dims, y, d);
    if (!is_exact(y)) return false;
  }
  out->push_back(y);
  return true;
}
bool reduce_prod(const Context& c, Elements* out) {
  return reduce(c, out, 1, [](DimTable& t, Dim a, Dim b) { return t.mul(a, b); });
}
bool reduce_sum(const Context& c, Elements* out) {
  return reduce(c, out, 0, [](DimTable& t, Dim a, Dim b) { return t.add(a, b); });
}

Rule rule_for(Op op) {
  switch (op) {
    case Op::kIdentity:
    case Op::kReshape:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kFlatten:
    case Op::kFloor:  // of what is whole
    case Op::kCeil:
    case Op::kRound:
      return same;
    case Op::kShape:
      return shape;
    case Op::kSize:
      return size;
    case Op::kCast:
      return cast;
    case Op::kAdd:
      return add;
    case Op::kSub:
      return sub;
    case Op::kMul:
      return mul;
    case Op::kDiv:
      return div;
    case Op::kMod:
      return mod;
    case Op::kMin:
      return minimum;
    case Op::kMax:
      return maximum;
    case Op::kEqual:
      return equal;
    case Op::kLess:
      return less;
    case Op::kLessOrEqual:
      return less_or_equal;
    case Op::kNeg:
      return neg;
    case Op::kNot:
      return logical_not;
    case Op::kWhere:
      return where;
    case Op::kConcat:
      return concat;
    case Op::kGather:
      return gather;
    case Op::kSlice:
      return slice;
    case Op::kExpand:
      return expand;
    case Op::kConstantOfShape:
      return constant_of_shape;
    case Op::kRange:
      return range;
    case Op::kReduceProd:
      return reduce_prod;
    case Op::kReduceSum:
      return reduce_sum;
    default:
      return nullptr;
  }
}

// Whether a real type holds every whole number that `d` can be. An extent without a bound is taken to be below 2^24.
// A run computes extents anew, so that one above is never planned for as another.
bool is_exact_in(const DimTable& dims, DType t, Dim d) {
  const int digits = t == DType::kF64 ? 53 : t == DType::kF32 ? 24 : t == DType::kF16 ? 11 : 8;
  const Dim most = Dim{1} << digits;
  const Interval range = dims.interval(d);
  const bool below = range.open() ? digits >= 24 : range.hi <= most;
  return below && (range.lo == INT64_MIN ? digits >= 24 : range.lo >= -most);
}

// A narrower result would have wrapped round.
bool fits(const DimTable& dims, DType t, Dim d) {
  if (is_readable_real(t)) return is_exact_in(dims, t, d);
  const int bits = dtype_bits(t);
  if (is_symbolic(d)) return true;
  if (bits >= 64) return t != DType::kU64 || d >= 0;
  const bool is_signed = t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI4 || t == DType::kI2;
  const Dim top = Dim{1} << (is_signed ? bits - 1 : bits);
  return d < top && d >= (is_signed ? -top : 0);
}

}  // namespace

void infer_contents(DimTable& dims, Node* node, ConstantFinder* finder) {
  const Rule rule = rule_for(node->op);
  if (rule == nullptr || node->outputs.empty() || node->outputs[0] == nullptr || node->in(0) == nullptr) return;
  Value* y = node->outputs[0];
  y->contents.reset();
  const int64_t count = element_count(y->type.shape);
  const DType t = y->type.dtype;
  if (count < 0 || count > kMaxContents || (!dtype_is_integer(t) && t != DType::kBool && !is_readable_real(t))) return;
  const auto is_tracked = [](const Value* v) { return v != nullptr && v->contents; };
  // Of real values only those that are made of extents: constants are known by themselves.
  if (is_readable_real(t) && std::none_of(node->inputs.begin(), node->inputs.end(), is_tracked)) return;
  if (!dims.budget().spend(Budget::kTerms, count)) return;
  Elements out;
  if (!rule(Context{dims, *node, finder}, &out) || static_cast<int64_t>(out.size()) != count) return;
  if (std::all_of(out.begin(), out.end(), [&](Dim d) { return fits(dims, t, d); })) y->contents = std::move(out);
}

bool range_count(DimTable& dims, const Node& node, ConstantFinder* finder, Dim* count) {
  if (node.op != Op::kRange || !is_readable_real(node.in(0)->type.dtype)) return false;
  Dim start_limit_delta[3];
  for (size_t i = 0; i < 3; ++i) {
    Elements one;
    if (!whole_numbers(node.in(i), finder, &one) || one.size() != 1) return false;
    start_limit_delta[i] = one[0];
  }
  const auto [start, limit, delta] = start_limit_delta;
  if (is_symbolic(delta) || delta == 0) return false;
  *count = dims.max(0, dims.sub(0, dims.floor_div(dims.sub(start, limit), delta)));
  return true;
}

}  // namespace vireo::ir
