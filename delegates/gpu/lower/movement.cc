// Operators that only move elements. Most are another view of the same memory, and cost nothing until a template reads
// them; the others are copies.
#include <algorithm>
#include <cstring>

#include "delegates/gpu/lower/indexed_chain.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

// The strides of the same elements, in the same order, under other dimensions; false where no strides say it.
bool reshape(const Extents& from, const Extents& strides, const Extents& to, Extents* out) {
  out->assign(to.size(), 1);
  // Runs of axes of `from` that are one axis, from the last.
  Extents extent, step;
  for (size_t i = from.size(); i-- > 0;) {
    if (from[i] == 1) continue;
    if (!extent.empty() && strides[i] == step.back() * extent.back()) {
      extent.back() *= from[i];
    } else {
      extent.push_back(from[i]);
      step.push_back(strides[i]);
    }
  }
  size_t run = 0;
  int64_t inside = 1;
  for (size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1) continue;
    if (run == extent.size() || extent[run] % (inside * to[i]) != 0) return false;
    (*out)[i] = step[run] * inside;
    inside *= to[i];
    if (inside == extent[run]) {
      ++run;
      inside = 1;
    }
  }
  return true;
}

std::string same_order(Lowering& l) {
  const int x = l.node().inputs[0], y = l.node().outputs[0];
  if (l.value(x).count() != l.value(y).count()) return "another number of elements than its input";
  const Laid at = l.laid(x);
  Laid to{at.memory, at.offset, {}};
  if (!reshape(l.value(x).dims, at.strides, l.value(y).dims, &to.strides)) {
    to = l.dense(x);
    to.strides = dense_strides(l.value(y).dims);
  }
  l.lay(y, to);
  return "";
}

std::string transpose(Lowering& l) {
  const Laid at = l.laid(l.node().inputs[0]);
  const auto* const perm = l.node().attrs<attrs::Transpose>().perm();
  const size_t rank = at.strides.size();
  Laid to{at.memory, at.offset, Extents(rank)};
  for (size_t i = 0; i < rank; ++i)
    to.strides[i] =
        at.strides[perm == nullptr ? rank - 1 - i : static_cast<size_t>(perm->Get(static_cast<uint32_t>(i)))];
  l.lay(l.node().outputs[0], to);
  return "";
}

std::string slice(Lowering& l) {
  Extents starts, ends, axes, steps;
  if (!l.integers(1, &starts) || !l.integers(2, &ends) || (l.has(3) && !l.integers(3, &axes)) ||
      (l.has(4) && !l.integers(4, &steps)))
    return "its places are not constant";
  const Datum& x = l.in(0);
  Laid at = l.laid(l.node().inputs[0]);
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t axis = l.has(3) ? axis_of(axes[k], x.rank()) : k;
    const int64_t step = l.has(4) ? steps[k] : 1, extent = x.dims[axis];
    const int64_t start = starts[k] < 0 ? starts[k] + extent : starts[k];
    at.offset += std::clamp<int64_t>(start, 0, step > 0 ? extent : extent - 1) * at.strides[axis];
    at.strides[axis] *= step;
  }
  l.lay(l.node().outputs[0], at);
  return "";
}

std::string split(Lowering& l) {
  const auto& a = l.node().attrs<attrs::Split>();
  const size_t axis = axis_of(a.axis(), l.in(0).rank()), count = l.node().outputs.size();
  Extents sizes;  // needed for an output that is left out
  const bool known = l.has(1) && l.integers(1, &sizes) && sizes.size() >= count;
  const int64_t parts = a.num_outputs() > 0 ? a.num_outputs() : static_cast<int64_t>(count);
  Laid at = l.laid(l.node().inputs[0]);
  for (size_t i = 0; i < count; ++i) {
    const int y = l.node().outputs[i];
    if (y >= 0) l.lay(y, at);
    if (y < 0 && l.has(1) && !known) return "one of its outputs is left out, and its sizes are not constant";
    const int64_t size = y >= 0 ? l.value(y).dims[axis] : known ? sizes[i] : (l.in(0).dims[axis] + parts - 1) / parts;
    at.offset += size * at.strides[axis];
  }
  return "";
}

std::string expand(Lowering& l) {
  const Laid at = l.laid(l.node().inputs[0]);
  const View view = broadcast_view(at, l.in(0).dims, l.out(0).dims.size());
  l.lay(l.node().outputs[0], {at.memory, view.offset, view.strides});
  return "";
}

std::string tile(Lowering& l) {
  const Datum &x = l.in(0), &y = l.out(0);
  const Laid at = l.laid(l.node().inputs[0]);
  Laid to = l.make(l.node().outputs[0]);
  Extents shape, from_strides, to_strides;
  for (size_t i = 0; i < y.dims.size(); ++i) {
    const int64_t repeats = y.dims[i] / x.dims[i];
    if (repeats > 1) {
      shape.push_back(repeats);
      from_strides.push_back(0);
      to_strides.push_back(to.strides[i] * x.dims[i]);
    }
    if (x.dims[i] > 1 || repeats == 1) {
      shape.push_back(x.dims[i]);
      from_strides.push_back(at.strides[i]);
      to_strides.push_back(to.strides[i]);
    }
  }
  if (shape.size() > static_cast<size_t>(kMostAxes)) return "more than 8 dimensions with those that are repeated";
  l.copy(shape, x.dtype, {at.memory, at.offset, from_strides}, {to.memory, to.offset, to_strides});
  return "";
}

std::string concat(Lowering& l) {
  const size_t axis = axis_of(l.node().attrs<attrs::Concat>().axis(), l.out(0).rank());
  Laid to = l.make(l.node().outputs[0]);
  for (const int x : l.node().inputs) {
    if (x < 0) return "one of its inputs is left out";
    if (l.value(x).count() == 0) continue;
    l.copy(l.value(x).dims, l.value(x).dtype, l.laid(x), to);
    to.offset += l.value(x).dims[axis] * to.strides[axis];
  }
  return "";
}

// The place of the kept elements, `count` of them, that place v from the first of them repeats.
int repeated(IndexedChain* p, attrs::PadMode mode, int v, int64_t count) {
  const auto combined = [p](Function f, int a, int b) { return p->b.function(f, kPlaceType, a, b); };
  if (mode == attrs::PadMode::edge)
    return combined(Function::kMin, combined(Function::kMax, v, p->number(0)), p->number(count - 1));
  if (mode == attrs::PadMode::wrap) return combined(Function::kModFloored, v, p->number(count));
  const int64_t period = std::max<int64_t>(1, 2 * (count - 1));
  v = combined(Function::kModFloored, v, p->number(period));
  return combined(Function::kMin, v, combined(Function::kSub, p->number(period), v));
}

// Pad with elements of the input: each place of the output says which one it has.
std::string repeat_elements(Lowering& l, const Extents& pads, const Extents& axes) {
  const attrs::PadMode mode = l.node().attrs<attrs::Pad>().mode();
  const Datum& x = l.in(0);
  const DType moved = moved_as(x.dtype);
  if (dtype_bits(x.dtype) < 8) return std::string("Pad of ") + dtype_name(x.dtype);
  if (moved == DType::kU64 && !l.target().int64) return "this GPU does not compute with int64";
  Extents before(x.dims.size(), 0), kept = x.dims;
  Laid from = l.laid(l.node().inputs[0]);
  const size_t count = pads.size() / 2;
  for (size_t k = 0; k < count; ++k) {
    const size_t axis = l.has(3) ? axis_of(axes[k], x.rank()) : k;
    before[axis] = std::max<int64_t>(0, pads[k]);  // below 0: elements are cut off first
    kept[axis] += std::min<int64_t>(0, pads[k]) + std::min<int64_t>(0, pads[k + count]);
    from.offset -= std::min<int64_t>(0, pads[k]) * from.strides[axis];
    if (kept[axis] <= 0) return "Pad that leaves no element to repeat";
  }
  const Laid y = l.make(l.node().outputs[0]);
  IndexedChain p(l, l.out(0).dims);
  const int data = p.indexed(from, moved);
  int place = -1;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    int v = p.b.place(static_cast<uint32_t>(i));
    if (before[i] != 0 || kept[i] != l.out(0).dims[i])
      v = repeated(&p, mode, p.add(v, p.number(-before[i]), 1), kept[i]);
    place = p.add(place, v, from.strides[i]);
  }
  p.b.output(p.element(data, place, moved), view_of(y));
  p.push({y.memory});
  return "";
}

std::string pad(Lowering& l) {
  Extents pads, axes;
  if (!l.integers(1, &pads) || (l.has(3) && !l.integers(3, &axes))) return "its pads are not constant";
  if (l.node().attrs<attrs::Pad>().mode() != attrs::PadMode::constant) return repeat_elements(l, pads, axes);
  if (l.has(2) && !l.constant(2)) return "its value is not constant";
  const Datum& x = l.in(0);
  const Laid at = l.laid(l.node().inputs[0]);
  ChainProblem p;
  p.shape = l.out(0).dims;
  View view = view_of(at);
  view.begin.assign(x.dims.size(), 0);
  view.extent = x.dims;
  if (l.has(2)) std::memcpy(&view.fill, l.in(2).constant, static_cast<size_t>(l.in(2).bytes()));
  const size_t count = pads.size() / 2;
  for (size_t k = 0; k < count; ++k) view.begin[l.has(3) ? axis_of(axes[k], x.rank()) : k] = pads[k];
  ExpressionBuilder b(&p.expression);
  const Laid y = l.make(l.node().outputs[0]);
  b.output(b.input(x.dtype, view), view_of(y));
  Work& w = l.push(std::move(p));
  w.reads = {at.memory};
  w.writes = {y.memory};
  return "";
}

std::string gather(Lowering& l) {
  Extents indices;
  const Datum &x = l.in(0), &index = l.in(1);
  const size_t axis = axis_of(l.node().attrs<attrs::Gather>().axis(), x.rank());
  const bool known = l.integers(1, &indices);
  if (index.dtype != DType::kI32 && index.dtype != DType::kI64)
    return std::string("indices of ") + dtype_name(index.dtype);
  for (const int64_t i : indices) {
    if (i < -x.dims[axis] || i >= x.dims[axis]) return "an index outside of its axis";
  }
  const Laid at = l.laid(l.node().inputs[0]);
  if (known && index.count() == 1) {
    Laid one{at.memory, at.offset, {}};
    const int64_t place = indices[0] < 0 ? indices[0] + x.dims[axis] : indices[0];
    one.offset += place * at.strides[axis];
    for (size_t i = 0; i < at.strides.size(); ++i) {
      if (i != axis) {
        one.strides.push_back(at.strides[i]);
      } else {
        one.strides.insert(one.strides.end(), index.dims.size(), 0);
      }
    }
    l.lay(l.node().outputs[0], one);
    return "";
  }
  // The axes of the indices as one, in the place of the axis that they choose from.
  const Laid places = l.dense(l.node().inputs[1]);
  const Laid y = l.make(l.node().outputs[0]);
  ChainProblem p;
  p.shape = x.dims;
  p.shape[axis] = index.count();
  View of_places;
  of_places.strides.assign(p.shape.size(), 0);
  of_places.strides[axis] = 1;
  View view = view_of(at);
  view.gather_axis = static_cast<int>(axis);
  view.gather_input = 0;
  view.gather_extent = x.dims[axis];
  view.gather_reports = !known;
  ExpressionBuilder b(&p.expression);
  b.input(index.dtype, of_places);
  const int value = b.input(x.dtype, view);
  View out;
  out.strides = dense_strides(p.shape);
  b.output(value, out);
  Work& w = l.push(std::move(p));
  w.reads = {places.memory, at.memory};
  w.writes = {y.memory};
  if (!known) l.report(&w);
  return "";
}

// Blocks of pixels to channels or back: the same elements under six dimensions.
std::string shuffle(Lowering& l, int64_t block, bool crd, bool to_space) {
  const Datum& wide = to_space ? l.in(0) : l.out(0);  // the side with more channels
  const int64_t n = wide.dims[0], depth = wide.dims[1] / (block * block), h = wide.dims[2], w = wide.dims[3];
  const Extents narrow{n, depth, h, block, w, block};
  // Of the dimensions n, depth, h, row of the block, w, column of the block.
  const auto wide_strides = [&](const Laid& at) {
    const int64_t c = at.strides[1];
    return crd ? Extents{at.strides[0], c * block * block, at.strides[2], c * block, at.strides[3], c}
               : Extents{at.strides[0], c, at.strides[2], c * block * depth, at.strides[3], c * depth};
  };
  const auto narrow_strides = [&](const Laid& at) {
    return Extents{at.strides[0], at.strides[1],         at.strides[2] * block,
                   at.strides[2], at.strides[3] * block, at.strides[3]};
  };
  const Laid from = l.laid(l.node().inputs[0]), to = l.make(l.node().outputs[0]);
  l.copy(narrow, l.in(0).dtype, {from.memory, from.offset, to_space ? wide_strides(from) : narrow_strides(from)},
         {to.memory, to.offset, to_space ? narrow_strides(to) : wide_strides(to)});
  return "";
}

// Whether output place i of an axis that grows `scale` times is input place i / scale, rounded down: so it is for whole
// scales where a place is its element's first or its middle.
bool repeats_elements(const attrs::Resize& a) {
  if (a.mode() != attrs::ResizeMode::nearest) return false;
  if (a.coordinate() == attrs::ResizeCoordinate::asymmetric)
    return a.nearest() == attrs::ResizeNearest::floor || a.nearest() == attrs::ResizeNearest::by_scale;
  return a.coordinate() == attrs::ResizeCoordinate::half_pixel &&
         (a.nearest() == attrs::ResizeNearest::round_prefer_floor ||
          a.nearest() == attrs::ResizeNearest::round_prefer_ceil);
}

// Whole scales of all axes, as repeats of their elements.
// Whether each element is repeated a whole number of times along each axis.
bool repeats_whole(const Lowering& l) {
  const auto& a = l.node().attrs<attrs::Resize>();
  if (!repeats_elements(a) || a.policy() != attrs::ResizePolicy::stretch) return false;
  const Datum &x = l.in(0), &y = l.out(0);
  const size_t by = l.has(2) && l.in(2).count() != 0 ? 2 : 3;
  if (!l.constant(by)) return false;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (y.dims[i] % x.dims[i] != 0) return false;
  }
  for (int64_t k = 0; by == 2 && k < l.in(2).count(); ++k) {
    float scale = 0;
    std::memcpy(&scale, l.in(2).constant + k * 4, 4);
    const auto axis =
        a.axes() == nullptr ? static_cast<size_t>(k) : axis_of(a.axes()->Get(static_cast<uint32_t>(k)), x.rank());
    const int64_t times = y.dims[axis] / x.dims[axis];
    if (scale != static_cast<float>(times)) return false;
  }
  return true;
}

std::string resize(Lowering& l) {
  if (!repeats_whole(l)) return lower_resize(l);
  const Datum &x = l.in(0), &y = l.out(0);
  const Laid from = l.laid(l.node().inputs[0]), to = l.make(l.node().outputs[0]);
  Extents shape, from_strides, to_strides;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const int64_t repeats = y.dims[i] / x.dims[i];
    shape.push_back(x.dims[i]);
    from_strides.push_back(from.strides[i]);
    to_strides.push_back(to.strides[i] * repeats);
    if (repeats == 1) continue;
    shape.push_back(repeats);
    from_strides.push_back(0);
    to_strides.push_back(to.strides[i]);
  }
  if (shape.size() > static_cast<size_t>(kMostAxes)) return "more than 8 dimensions with those that are repeated";
  l.copy(shape, x.dtype, {from.memory, from.offset, from_strides}, {to.memory, to.offset, to_strides});
  return "";
}

}  // namespace

std::string lower_movement(Lowering& l) {
  if (l.node().input(0) < 0) return "no input";
  switch (l.node().op) {
    case VIREO_OP_TRANSPOSE:
      return transpose(l);
    case VIREO_OP_SLICE:
      return slice(l);
    case VIREO_OP_SPLIT:
      return split(l);
    case VIREO_OP_CONCAT:
      return concat(l);
    case VIREO_OP_EXPAND:
      return expand(l);
    case VIREO_OP_TILE:
      return tile(l);
    case VIREO_OP_PAD:
      return pad(l);
    case VIREO_OP_GATHER:
      return gather(l);
    case VIREO_OP_RESIZE:
      return resize(l);
    case VIREO_OP_DEPTH_TO_SPACE: {
      const auto& a = l.node().attrs<attrs::DepthToSpace>();
      return shuffle(l, a.blocksize(), a.mode() == attrs::DepthToSpaceMode::crd, true);
    }
    case VIREO_OP_SPACE_TO_DEPTH: {
      const auto& a = l.node().attrs<attrs::SpaceToDepth>();
      return shuffle(l, a.blocksize(), a.mode() == attrs::DepthToSpaceMode::crd, false);
    }
    default:
      return same_order(l);
  }
}

}  // namespace vireo::gpu
