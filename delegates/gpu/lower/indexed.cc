// Operators that read elements whose places other tensors say.
#include "delegates/gpu/lower/indexed_chain.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

bool is_index(DType t) { return t == DType::kI32 || t == DType::kI64; }
std::string refuse_indices(const Datum& v) {
  return is_index(v.dtype) ? "" : std::string("indices of ") + dtype_name(v.dtype);
}

std::string gather_elements(Lowering& l) {
  const Datum &x = l.in(0), &index = l.in(1);
  if (std::string why = refuse_indices(index); !why.empty()) return why;
  const size_t axis = axis_of(l.node().attrs<attrs::GatherElements>().axis(), x.rank());
  const Laid y = l.make(l.node().outputs[0]);
  IndexedChain p(l, index.dims);
  p.input(l.node().inputs[1], view_of(l.laid(l.node().inputs[1])));
  View view = view_of(l.laid(l.node().inputs[0]));
  view.gather_axis = static_cast<int>(axis);
  view.gather_input = 0;
  view.gather_extent = x.dims[axis];
  view.gather_reports = true;
  p.b.output(p.input(l.node().inputs[0], std::move(view)), view_of(y));
  p.push({y.memory});
  return "";
}

// The space: batch, the indices' other axes, the rest of the data.
std::string gather_nd(Lowering& l) {
  const Datum &x = l.in(0), &index = l.in(1), &out = l.out(0);
  if (std::string why = refuse_indices(index); !why.empty()) return why;
  const DType moved = moved_as(x.dtype);
  if (moved == DType::kU64 && !l.target().int64) return "this GPU does not compute with int64";
  const auto batch = static_cast<size_t>(l.node().attrs<attrs::GatherND>().batch_dims());
  const Laid from = l.laid(l.node().inputs[0]), at = l.laid(l.node().inputs[1]);
  const Laid y = l.make(l.node().outputs[0]);
  const size_t chosen = index.dims.size() - 1;  // axes of the indices without their last
  const int64_t depth = index.dims.back();
  IndexedChain p(l, out.dims);
  std::vector<int> ids;
  for (int64_t k = 0; k < depth; ++k) {
    View view;
    view.offset = at.offset + k * at.strides.back();
    view.strides.assign(out.dims.size(), 0);
    for (size_t a = 0; a < chosen; ++a) view.strides[a] = at.strides[a];
    ids.push_back(p.input(l.node().inputs[1], std::move(view)));
  }
  const int data = p.indexed(from, moved);
  int place = -1;
  for (size_t k = 0; k < ids.size(); ++k)
    place = p.add(place, p.index(ids[k], x.dims[batch + k]), from.strides[batch + k]);
  for (size_t a = 0; a < batch; ++a) place = p.add(place, p.b.place(static_cast<uint32_t>(a)), from.strides[a]);
  for (size_t a = chosen; a < out.dims.size(); ++a)
    place = p.add(place, p.b.place(static_cast<uint32_t>(a)), from.strides[batch + ids.size() + a - chosen]);
  p.b.output(p.element(data, place, moved), view_of(y));
  p.push({y.memory});
  return "";
}

// y = [x1 cos - x2 sin, x1 sin + x2 cos] for the pairs of each head, and what is behind them as it was.
std::string rotary_embedding(Lowering& l) {
  const auto& a = l.node().attrs<attrs::RotaryEmbedding>();
  const Datum &x = l.in(0), &table = l.in(1);
  if (!is_real(x.dtype) || l.in(1).dtype != x.dtype || l.in(2).dtype != x.dtype)
    return "RotaryEmbedding of operands of two types, or not of floats";
  const Laid from = l.laid(l.node().inputs[0]), to = l.make(l.node().outputs[0]);
  // As [batch, heads, positions, elements].
  const bool flat = x.rank() == 3;
  const int64_t heads = flat ? a.heads() : x.dims[1], size = flat ? x.dims[2] / heads : x.dims[3];
  const int64_t positions = flat ? x.dims[1] : x.dims[2];
  const auto strides = [&](const Laid& at) {
    return flat ? Extents{at.strides[0], size * at.strides[2], at.strides[1], at.strides[2]} : at.strides;
  };
  const int64_t rotated = a.rotated() == 0 ? size : a.rotated(), pairs = rotated / 2;
  const int64_t apart = a.interleaved() ? 1 : pairs, step = a.interleaved() ? 2 : 1;
  const auto half = [&](const Laid& at, int64_t which) {
    View view;
    view.offset = at.offset + which * apart * strides(at)[3];
    view.strides = strides(at);
    view.strides[3] *= step;
    return view;
  };
  const bool by_position = l.has(3);
  IndexedChain p(l, {x.dims[0], heads, positions, pairs});
  if (by_position) {
    if (std::string why = refuse_indices(l.in(3)); !why.empty()) return why;
    const Laid ids = l.laid(l.node().inputs[3]);
    View view;
    view.offset = ids.offset;
    view.strides = {ids.strides[0], 0, ids.strides[1], 0};
    p.input(l.node().inputs[3], std::move(view));
  }
  int both[2];
  for (size_t i = 1; i < 3; ++i) {
    const Laid at = l.laid(l.node().inputs[i]);
    View view;
    view.offset = at.offset;
    const size_t last = at.strides.size() - 1;
    view.strides = {by_position ? 0 : at.strides[0], 0, at.strides[last - 1], at.strides[last]};
    if (by_position) {
      view.gather_axis = 2;
      view.gather_input = 0;
      view.gather_extent = table.dims[0];
      view.gather_reports = true;
      view.gather_from_end = false;  // no position is below 0
    }
    both[i - 1] = p.input(l.node().inputs[i], std::move(view));
  }
  int x1 = p.input(l.node().inputs[0], half(from, 0)), x2 = p.input(l.node().inputs[0], half(from, 1));
  if (x.dtype != kReal) {
    for (int* v : {&x1, &x2, &both[0], &both[1]}) *v = p.b.function(Function::kCast, kReal, *v);
  }
  const auto product = [&](int u, int v) { return p.b.function(Function::kMul, kReal, u, v); };
  int y1 = p.b.function(Function::kSub, kReal, product(x1, both[0]), product(x2, both[1]));
  int y2 = p.b.function(Function::kAdd, kReal, product(x1, both[1]), product(x2, both[0]));
  if (x.dtype != kReal) {
    y1 = p.b.function(Function::kCast, x.dtype, y1);
    y2 = p.b.function(Function::kCast, x.dtype, y2);
  }
  p.b.output(y1, half(to, 0));
  p.b.output(y2, half(to, 1));
  p.push({to.memory, to.memory});
  if (rotated == size) return "";
  const auto rest = [&](const Laid& at) { return Laid{at.memory, at.offset + rotated * strides(at)[3], strides(at)}; };
  l.copy({x.dims[0], heads, positions, size - rotated}, x.dtype, rest(from), rest(to));
  return "";
}

}  // namespace

std::string lower_indexed(Lowering& l) {
  if (l.node().input(0) < 0 || l.node().input(1) < 0) return "an operand is left out";
  switch (l.node().op) {
    case VIREO_OP_GATHER_ELEMENTS:
      return gather_elements(l);
    case VIREO_OP_GATHER_ND:
      return gather_nd(l);
    default:
      return rotary_embedding(l);
  }
}

}  // namespace vireo::gpu
