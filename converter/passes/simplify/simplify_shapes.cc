// Shapes and parts, said in fewer nodes.
// Before   Reshape(x, computed shape)            After  Reshape(x, constant), 0 for an extent that stays, -1 for one
// other
//          Unsqueeze, Squeeze, Flatten, the same        the same Reshape, where the parameters are computed
//          Concat(Concat(a, b), c), one axis            Concat(a, b, c)
//          Concat(all parts of Split(x), in order)      x
//          Slice(Slice(x)) on other axes or from a start, steps of 1     one Slice
//          Cast(Cast(x)), the first one exact           Cast(x)
// Fires    the result's extents are known but for one that is not x's own at its place; inner values are used here
// alone
//          (of Split and Cast: or not).
// Numerics none.
// Bound    each rewrite removes a node, or a computed parameter and adds none.        Idempotent.
#include "converter/passes/simplify/simplify_shapes.h"

#include <algorithm>
#include <map>

#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

bool put(ir::Graph& g, ir::Node& n, ir::Value* y) {
  if (y == nullptr) return false;
  if (y->name.empty()) y->name = n.out()->name;
  if (!y->contents && y->constant == nullptr) y->contents = n.out()->contents;
  g.replace_uses(n.out(), y);
  remove_unused(g, &n);
  return true;
}

bool known_shape(ir::Graph& g, ir::Node& n, PassLog& log) {
  const bool view = n.op == Op::kReshape || n.op == Op::kSqueeze || n.op == Op::kUnsqueeze;
  if (!view || n.in(1) == nullptr || n.in(1)->constant != nullptr) return false;
  ir::Node* one = add_reshape(g, n.in(0), n.out()->type.shape, n, &n);
  if (one == nullptr) {
    log.reject(n, "two extents are open");
    return false;
  }
  return put(g, n, one->out());
}

int axis_of(const ir::Node& n) {
  const int axis = n.op == Op::kConcat ? n.attributes<attrs::Concat>().axis() : n.attributes<attrs::Split>().axis();
  const int rank = n.in(0)->type.shape.rank;
  return axis < 0 ? axis + rank : axis;
}

bool concat(ir::Graph& g, ir::Node& n, PassLog& log) {
  if (n.op != Op::kConcat) return false;
  const int axis = axis_of(n);
  // All parts of one Split.
  const ir::Node* split = maker(n.in(0), Op::kSplit);
  if (split != nullptr && std::all_of(n.inputs.begin(), n.inputs.end(),
                                      [&](const ir::Value* v) { return maker(v, Op::kSplit) == split; })) {
    if (axis_of(*split) == axis && split->outputs == n.inputs) return put(g, n, split->in(0));
    log.reject(n, axis_of(*split) == axis ? "the parts of one Split are not all there, in order"
                                          : "the parts of one Split are joined along another axis");
    return false;
  }
  std::vector<ir::Value*> in;
  bool found = false, shared = false;
  for (ir::Value* v : n.inputs) {
    const ir::Node* inner = maker(v, Op::kConcat);
    const bool same_axis = inner != nullptr && axis_of(*inner) == axis;
    if (same_axis && v->one_use()) {
      in.insert(in.end(), inner->inputs.begin(), inner->inputs.end());
      found = true;
    } else {
      in.push_back(v);
      shared = shared || same_axis;
    }
  }
  if (!found) {
    if (shared) log.reject(n, "the inner Concat has other uses");
    return false;
  }
  if (in.size() > 64) {
    log.reject(n, "more than 64 parts");
    return false;
  }
  ir::Node* one = add_node(g, Op::kConcat, n.attrs, std::move(in), n, &n);
  return one != nullptr && put(g, n, one->out());
}

// Start and end by axis, of a Slice with constant parameters and steps of 1. Null, or why there are none.
const char* bounds_of(const ir::Node& n, std::map<int64_t, std::pair<int64_t, int64_t>>* out) {
  static const char* const kComputed = "a Slice has computed bounds";
  std::vector<int64_t> starts, ends, axes, steps;
  if (!known_ints(n.in(1), &starts) || !known_ints(n.in(2), &ends)) return kComputed;
  if (n.in(4) != nullptr && !known_ints(n.in(4), &steps)) return kComputed;
  if (std::any_of(steps.begin(), steps.end(), [](int64_t s) { return s != 1; }))
    return "a Slice has steps other than 1";
  if (n.in(3) == nullptr) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  } else if (!known_ints(n.in(3), &axes)) {
    return kComputed;
  }
  const Shape& x = n.in(0)->type.shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank : axes[i];
    const Dim d = x[static_cast<int>(axis)];
    if (is_symbolic(d)) {
      // An end in front of an open extent's own may cut or not.
      if (starts[i] < 0 || ends[i] < 0) return "a Slice counts from the end of an open extent";
      (*out)[axis] = {starts[i], ends[i]};
      continue;
    }
    const auto clamped = [&](int64_t v) { return std::min(std::max<int64_t>(v < 0 ? v + d : v, 0), d); };
    (*out)[axis] = {clamped(starts[i]), clamped(ends[i])};
  }
  return nullptr;
}

bool slice(ir::Graph& g, ir::Node& n, PassLog& log) {
  const ir::Node* inner = n.op == Op::kSlice ? maker(n.in(0), Op::kSlice) : nullptr;
  if (inner == nullptr) return false;
  std::map<int64_t, std::pair<int64_t, int64_t>> a, b;
  const char* refused = n.in(0)->one_use() ? bounds_of(*inner, &a) : "the inner Slice has other uses";
  if (refused == nullptr) refused = bounds_of(n, &b);
  if (refused != nullptr) {
    log.reject(n, refused);
    return false;
  }
  for (const auto& [axis, range] : b) {
    const auto at = a.find(axis);
    if (at == a.end()) {
      a[axis] = range;
      continue;
    }
    if (is_symbolic(n.in(0)->type.shape[static_cast<int>(axis)])) {
      log.reject(n, "both Slices cut one open extent");
      return false;
    }
    const int64_t start = at->second.first;
    at->second = {start + range.first, start + range.second};
  }
  std::vector<int64_t> starts, ends, axes;
  for (const auto& [axis, range] : a) {
    axes.push_back(axis);
    starts.push_back(range.first);
    ends.push_back(range.second);
  }
  const auto list = [&](const std::vector<int64_t>& v) {
    const Shape s = {1, {static_cast<Dim>(v.size())}};
    return g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, s, v));
  };
  ir::Node* one = add_node(g, Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}),
                           {inner->in(0), list(starts), list(ends), list(axes)}, n, &n);
  if (one == nullptr) return false;
  if (one->out()->type != n.out()->type) {
    g.remove(one);
    return false;
  }
  return put(g, n, one->out());
}

// Every value of `from` is one of `to`.
bool widens(DType from, DType to) {
  switch (from) {
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
      return to == DType::kI32 || to == DType::kI64 || to == DType::kF32 || to == DType::kF64;
    case DType::kI32:
      return to == DType::kI64 || to == DType::kF64;
    case DType::kF16:
    case DType::kBF16:
      return to == DType::kF32 || to == DType::kF64;
    case DType::kF32:
      return to == DType::kF64;
    default:
      return false;
  }
}

bool cast(ir::Graph& g, ir::Node& n, PassLog& log) {
  const ir::Node* inner = n.op == Op::kCast ? maker(n.in(0), Op::kCast) : nullptr;
  if (inner == nullptr) return false;
  if (!widens(inner->in(0)->type.dtype, n.in(0)->type.dtype)) {
    log.reject(n, "the first Cast is not shown to be exact");
    return false;
  }
  // What overflows depends on the type it comes from: only back, or on to a float.
  if (n.out()->type.dtype == inner->in(0)->type.dtype) return put(g, n, inner->in(0));
  if (!widens(inner->in(0)->type.dtype, n.out()->type.dtype)) {
    log.reject(n, "what does not fit depends on the type between");
    return false;
  }
  ir::Node* one = add_node(g, Op::kCast, n.attrs, {inner->in(0)}, n, &n);
  return one != nullptr && put(g, n, one->out());
}

void run_simplify_shapes(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it;
    const auto next = std::next(it);
    const bool live = n.outputs.size() == 1 && n.out() != nullptr && !n.out()->unused();
    if (live && (known_shape(g, n, log) || concat(g, n, log) || slice(g, n, log) || cast(g, n, log))) {
      log.changed();
      // What came stands in front of `next`, which is still there: only what `n` used is gone.
      it = next == g.nodes().begin() ? next : std::prev(next);
    } else {
      it = next;
    }
  }
}

}  // namespace

const Pass kSimplifyShapes = {"simplify_shapes", run_simplify_shapes};

}  // namespace vireo::passes
