// Operators that write elements to places that other tensors say. The tensor is copied, and the copy is updated.
#include "delegates/gpu/templates/scatter.h"

#include <algorithm>

#include "delegates/gpu/lower/indexed_chain.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

// The most updates of one lane, which makes them one after another.
constexpr int64_t kMostUpdates = 1 << 14;

// Updates that replace are moves of bits. Of booleans the larger is their sum, the smaller their product.
std::string set_types(DType dtype, attrs::ScatterReduction reduction, ScatterProblem* p) {
  p->dtype = dtype;
  const bool truth = dtype == DType::kBool;
  if (truth) p->dtype = DType::kU8;
  switch (reduction) {
    case attrs::ScatterReduction::add:
      p->combine = truth ? Function::kMax : Function::kAdd;
      return "";
    case attrs::ScatterReduction::mul:
      p->combine = truth ? Function::kMin : Function::kMul;
      return "";
    case attrs::ScatterReduction::min:
      p->combine = Function::kMin;
      return "";
    case attrs::ScatterReduction::max:
      p->combine = Function::kMax;
      return "";
    default:
      break;
  }
  const int bits = dtype_bits(dtype);
  if (bits < 8) return std::string("Scatter of ") + dtype_name(dtype);
  p->dtype = bits == 8 ? DType::kU8 : bits == 16 ? DType::kU16 : DType::kU32;
  return "";
}

// Elements of 64 bits as two words, along a last axis of the lanes.
void halve_elements(ScatterProblem* p) {
  p->shape.push_back(2);
  for (View* v : {&p->update, &p->y}) {
    for (int64_t& s : v->strides) s *= 2;
    v->offset *= 2;
  }
  p->update.strides.insert(p->update.strides.end() - 1, 1);
  p->y.strides.push_back(1);
  p->index.strides.insert(p->index.strides.end() - 1, 0);
  for (ScatterProblem::Component& c : p->components) c.step *= 2;
}

// Whether constant indices lie on their axes, and no two updates meet. `places`: those of each update in y, among
// `count`.
bool never_meet(const std::vector<int64_t>& places, int64_t count) {
  std::vector<bool> taken(static_cast<size_t>(count));
  for (const int64_t at : places) {
    if (at < 0 || taken[static_cast<size_t>(at)]) return false;
    taken[static_cast<size_t>(at)] = true;
  }
  return true;
}

std::string push(Lowering& l, ScatterProblem p, const Laid& index, const Laid& update, const Laid& y) {
  if (p.combine == Function::kCast && dtype_bits(l.in(0).dtype) == 64) halve_elements(&p);
  if (p.updates > kMostUpdates) return "more updates than one lane makes one after another";
  if (p.shape.size() > static_cast<size_t>(kMostAxes)) return "more than 8 dimensions with the halves of its elements";
  l.copy(l.in(0).dims, l.in(0).dtype, l.laid(l.node().inputs[0]), y);
  Work& w = l.push(std::move(p));
  w.operands = {index.memory, update.memory};
  w.writes = {y.memory};
  w.updates = true;
  auto& problem = std::get<ScatterProblem>(w.problem);
  if (problem.reports) {
    problem.slot = w.node;
    w.errors = l.errors();
  }
  return "";
}

// Where each element of the update's axis goes, for each batch, as int32: behind the batch's first place, which a run
// brings.
Laid places_of(Lowering& l, int64_t batch, int64_t count, int64_t extent, bool circular) {
  const Laid to{l.make_memory(static_cast<uint64_t>(batch * count) * sizeof(int32_t)), 0, {count, 1}};
  IndexedChain chain(l, {batch, count});
  int first = -1;
  if (l.has(2)) {
    const Laid given = l.laid(l.node().inputs[2]);
    View view;
    view.offset = given.offset;
    view.strides = {given.strides[0], 0};
    first = chain.input(l.node().inputs[2], std::move(view));
    constexpr int64_t kAny = INT32_MAX / 2;
    first = chain.count(first, l.in(2).dtype, circular ? kAny : extent - count + 1);
  }
  int place = chain.add(first, chain.b.place(1), 1);
  if (circular) place = chain.b.function(Function::kModFloored, kPlaceType, place, chain.number(extent));
  chain.b.output(place, view_of(to));
  chain.push({to.memory});
  return to;
}

// The update lies in one piece along the axis, so no two elements meet where it is no longer than the axis.
std::string tensor_scatter(Lowering& l) {
  const auto& a = l.node().attrs<attrs::TensorScatter>();
  const Datum &x = l.in(0), &given = l.in(1);
  const size_t axis = axis_of(a.axis(), x.rank());
  ScatterProblem p;
  if (std::string why = set_types(x.dtype, attrs::ScatterReduction::none, &p); !why.empty()) return why;
  if (given.dims[axis] > x.dims[axis]) return "an update that is longer than its axis";
  const Laid update = l.laid(l.node().inputs[1]), y = l.make(l.node().outputs[0]);
  const Laid index = places_of(l, x.dims[0], given.dims[axis], x.dims[axis], a.circular());
  p.shape = given.dims;
  p.index_dtype = kPlaceType;
  p.index.strides.assign(x.dims.size() + 1, 0);
  p.index.strides[0] = index.strides[0];
  p.index.strides[axis] = index.strides[1];
  p.update = view_of(update);
  p.update.strides.push_back(0);
  p.y = view_of(y);
  p.y.strides[axis] = 0;
  p.components = {{0, x.dims[axis], y.strides[axis]}};
  return push(l, std::move(p), index, update, y);
}

// The axis is the lanes' line, or one of the lanes' axes where updates never meet.
std::string scatter_elements(Lowering& l) {
  const auto& a = l.node().attrs<attrs::ScatterElements>();
  const Datum &x = l.in(0), &indices = l.in(1);
  const size_t axis = axis_of(a.axis(), x.rank());
  ScatterProblem p;
  if (std::string why = set_types(x.dtype, a.reduction(), &p); !why.empty()) return why;
  const Laid index = l.laid(l.node().inputs[1]), update = l.laid(l.node().inputs[2]);
  const Laid y = l.make(l.node().outputs[0]);
  p.index_dtype = indices.dtype;
  p.index.offset = index.offset;
  p.update.offset = update.offset;
  p.reports = true;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (i == axis) continue;
    p.shape.push_back(indices.dims[i]);
    p.index.strides.push_back(index.strides[i]);
    p.update.strides.push_back(update.strides[i]);
    p.y.strides.push_back(y.strides[i]);
  }
  p.updates = indices.dims[axis];
  p.index.strides.push_back(index.strides[axis]);
  p.update.strides.push_back(update.strides[axis]);
  p.components = {{0, x.dims[axis], y.strides[axis]}};
  return push(l, std::move(p), index, update, y);
}

// Lanes have the elements of a slice, and those of all slices where updates never meet.
std::string scatter_nd(Lowering& l) {
  const auto& a = l.node().attrs<attrs::ScatterND>();
  const Datum &x = l.in(0), &indices = l.in(1);
  ScatterProblem p;
  if (std::string why = set_types(x.dtype, a.reduction(), &p); !why.empty()) return why;
  const Laid index = l.dense(l.node().inputs[1]), update = l.dense(l.node().inputs[2]);
  const Laid y = l.make(l.node().outputs[0]);
  const auto depth = static_cast<size_t>(indices.dims.back());
  const int64_t slices = indices.count() / indices.dims.back();
  int64_t slice = 1, chosen = 1;
  for (size_t i = 0; i < x.dims.size(); ++i) (i < depth ? chosen : slice) *= x.dims[i];
  p.index_dtype = indices.dtype;
  for (size_t i = 0; i < depth; ++i) p.components.push_back({static_cast<int64_t>(i), x.dims[i], y.strides[i]});
  Extents given;
  std::vector<int64_t> places;
  const bool known = l.integers(1, &given);
  for (int64_t s = 0; known && s < slices; ++s) {
    int64_t at = 0;
    for (size_t i = 0; i < depth && at >= 0; ++i) {
      const int64_t v = given[static_cast<size_t>(s) * depth + i], here = v < 0 ? v + x.dims[i] : v;
      at = here < 0 || here >= x.dims[i] ? -1 : at * x.dims[i] + here;
    }
    places.push_back(at);
  }
  const bool apart = known && never_meet(places, chosen);
  p.reports = !apart;
  const auto step = static_cast<int64_t>(depth);
  if (apart) {
    p.shape = {slices, slice};
    p.index.strides = {step, 0, 0};
    p.update.strides = {slice, 1, 0};
    p.y.strides = {0, 1};
  } else {
    p.shape = {slice};
    p.updates = slices;
    p.index.strides = {0, step};
    p.update.strides = {1, slice};
    p.y.strides = {1};
  }
  return push(l, std::move(p), index, update, y);
}

}  // namespace

std::string lower_scatter(Lowering& l) {
  if (!l.has(0) || !l.has(1)) return "an operand is left out";
  if (l.node().op == VIREO_OP_TENSOR_SCATTER) {
    const DType t = l.has(2) ? l.in(2).dtype : kPlaceType;
    return t == DType::kI32 || t == DType::kI64 ? tensor_scatter(l) : std::string("places of ") + dtype_name(t);
  }
  if (!l.has(2)) return "an operand is left out";
  if (l.in(1).dtype != DType::kI32 && l.in(1).dtype != DType::kI64)
    return std::string("indices of ") + dtype_name(l.in(1).dtype);
  return l.node().op == VIREO_OP_SCATTER_ND ? scatter_nd(l) : scatter_elements(l);
}

}  // namespace vireo::gpu
