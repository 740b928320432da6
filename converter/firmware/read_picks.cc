#include <algorithm>
#include <cstring>

#include "converter/firmware/read_lowered.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/resize/resize.h"
#include "sdk/ops/trilu/trilu_generated.h"

namespace vireo::firmware {
namespace {

int64_t bytes_of_type(DType t) { return dtype_bits(t) / 8; }

// One axis of a value is made anew, by a table of places; -1: the fill.
struct Axis {
  int axis = 0;
  std::vector<int32_t> table;
};

// The axes one after the other, from input 0 to the result.
std::string put_axes(Lower& n, const std::vector<Axis>& axes, const void* fill) {
  const DType type = n.type(0);
  Shape x = n.shape(0);
  int32_t from = n.x();
  if (axes.empty()) return n.move(from, n.result(), type, x, dense_view(x));
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& a = axes[i];
    vireo_mcu_pick p = {};
    p.outer = small(product(x, 0, a.axis));
    p.count = small(static_cast<int64_t>(a.table.size()));
    p.axis = small(x[a.axis]);
    p.row_bytes = small(product(x, a.axis + 1, x.rank) * bytes_of_type(type));
    p.element_bytes = static_cast<uint8_t>(bytes_of_type(type));
    p.index_words = 1;
    if (fill != nullptr) std::memcpy(p.fill, fill, p.element_bytes);
    x[a.axis] = p.count;
    const bool last = i + 1 == axes.size();
    const int32_t to = last ? n.result() : n.value(product(x, 0, x.rank) * bytes_of_type(type));
    n.put(k_pick, p, {from, n.constant(a.table), to}, {from}, to);
    from = to;
  }
  return "";
}

std::string read_gather(Lower& n) {
  const DType index = n.type(1);
  if (index != DType::kI32 && index != DType::kI64) return "its indices are neither int32 nor int64";
  const Shape& x = n.shape(0);
  const int axis = normalize_axis(n.q.attrs<attrs::Gather>().axis(), x.rank);
  const int64_t count = n.count(1);
  vireo_mcu_pick p = {};
  p.outer = small(product(x, 0, axis));
  p.count = small(count);
  p.axis = small(x[axis]);
  p.element_bytes = static_cast<uint8_t>(bytes_of_type(n.type(0)));
  p.row_bytes = small(product(x, axis + 1, x.rank) * p.element_bytes);
  if (!n.is_known(1)) {
    p.index_words = index == DType::kI64 ? 2 : 1;
    p.wraps = 1;
    n.put(k_pick, p, {n.x(0), n.x(1), n.result()}, {n.x(0), n.x(1)}, n.result());
    return "";
  }
  std::vector<int32_t> table;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = n.number(1, i), row = at < 0 ? at + p.axis : at;
    if (row < 0 || row >= p.axis) return "one of its indices is outside";
    table.push_back(small(row));
  }
  p.index_words = 1;
  n.put(k_pick, p, {n.x(0), n.constant(table), n.result()}, {n.x(0)}, n.result());
  return "";
}

std::string read_expand(Lower& n) {
  if (!n.is_known(1)) return "its shape is not constant";
  const int32_t made = n.expanded(0, n.y());
  if (made == kNothing) return kTooManyAxes;
  return n.move(made, n.result(), n.type(0), n.y(), dense_view(n.y()));
}

std::string read_tile(Lower& n) {
  if (!n.is_known(1)) return "its repeats are not constant";
  const Shape &x = n.shape(0), &y = n.y();
  std::vector<Axis> axes;
  for (int k = 0; k < x.rank; ++k) {
    if (x[k] == y[k]) continue;
    Axis a = {k, {}};
    for (int64_t i = 0; i < y[k]; ++i) a.table.push_back(small(i % x[k]));
    axes.push_back(std::move(a));
  }
  return put_axes(n, axes, nullptr);
}

// The place that position i of an axis of d elements repeats.
int64_t source_of(attrs::PadMode mode, int64_t i, int64_t d) {
  if (i >= 0 && i < d) return i;
  if (mode == attrs::PadMode::constant) return -1;
  if (mode == attrs::PadMode::edge) return i < 0 ? 0 : d - 1;
  const int64_t period = mode == attrs::PadMode::wrap ? d : 2 * (d - 1);
  if (period == 0) return 0;
  i %= period;
  if (i < 0) i += period;
  return i < d ? i : period - i;
}

std::string read_pad(Lower& n) {
  if (!n.is_known(1) || !n.is_known(2) || !n.is_known(3)) return "its pads, its value or its axes are not constant";
  const attrs::PadMode mode = n.q.attrs<attrs::Pad>().mode();
  const Shape& x = n.shape(0);
  const int64_t listed = n.count(1) / 2;
  std::vector<Axis> axes;
  for (int64_t i = 0; i < listed; ++i) {
    const int axis = normalize_axis(n.is_present(3) ? n.number(3, i) : i, x.rank);
    const int64_t before = n.number(1, i), after = n.number(1, i + listed);
    if (before == 0 && after == 0) continue;
    // What is cut away is not repeated.
    const int64_t first = before < 0 ? -before : 0, d = x[axis] - first + std::min<int64_t>(after, 0);
    Axis a = {axis, {}};
    for (int64_t k = 0; k < n.y()[axis]; ++k) {
      const int64_t at = source_of(mode, k - std::max<int64_t>(before, 0), d);
      a.table.push_back(small(at < 0 ? -1 : at + first));
    }
    axes.push_back(std::move(a));
  }
  return put_axes(n, axes, n.is_present(2) ? n.q.inputs[2].constant : nullptr);
}

std::string read_center(Lower& n) {
  if (!n.is_known(1)) return "its shape is not constant";
  const Shape &x = n.shape(0), &y = n.y();
  std::vector<Axis> axes;
  for (int k = 0; k < x.rank; ++k) {
    if (x[k] == y[k]) continue;
    const int64_t before = (y[k] - x[k]) / 2;
    Axis a = {k, {}};
    for (int64_t i = 0; i < y[k]; ++i) {
      const int64_t at = i - before;
      a.table.push_back(small(at < 0 || at >= x[k] ? -1 : at));
    }
    axes.push_back(std::move(a));
  }
  return put_axes(n, axes, nullptr);
}

std::string read_trilu(Lower& n) {
  if (!n.is_known(1)) return "its diagonal is not constant";
  const Shape& x = n.shape(0);
  const int64_t rows = x[x.rank - 2], columns = x[x.rank - 1], k = n.is_present(1) ? n.number(1, 0) : 0;
  const bool upper = n.q.attrs<attrs::Trilu>().upper();
  std::vector<int32_t> table;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const bool kept = upper ? c - r >= k : c - r <= k;
      table.push_back(kept ? small(r * columns + c) : -1);
    }
  }
  vireo_mcu_pick p = {};
  p.outer = small(product(x, 0, x.rank - 2));
  p.count = p.axis = small(rows * columns);
  p.element_bytes = static_cast<uint8_t>(bytes_of_type(n.type(0)));
  p.row_bytes = p.element_bytes;
  p.index_words = 1;
  n.put(k_pick, p, {n.x(), n.constant(table), n.result()}, {n.x()}, n.result());
  return "";
}

std::string read_depth_to_space(Lower& n) {
  const auto& a = n.q.attrs<attrs::DepthToSpace>();
  const Shape& x = n.shape(0);
  const int64_t b = a.blocksize(), depth = x[1] / (b * b), h = x[2], w = x[3];
  const bool crd = a.mode() == attrs::DepthToSpaceMode::crd;
  const int64_t row = (crd ? b : b * depth) * h * w, column = (crd ? 1 : depth) * h * w;
  Shape box = x;
  StridedView view;
  const int64_t dims[] = {x[0], depth, h, b, w, b};
  const int64_t steps[] = {x[1] * h * w, (crd ? b * b : 1) * h * w, w, row, 1, column};
  box.rank = 6;
  for (int i = 0; i < 6; ++i) box[i] = dims[i], view.strides[i] = steps[i];
  return n.move(n.x(), n.result(), n.type(0), box, view);
}

std::string read_space_to_depth(Lower& n) {
  const auto& a = n.q.attrs<attrs::SpaceToDepth>();
  const Shape& x = n.shape(0);
  const int64_t b = a.blocksize(), h = x[2] / b, w = x[3] / b, plane = x[2] * x[3];
  const bool crd = a.mode() == attrs::DepthToSpaceMode::crd;
  Shape box = x;
  StridedView view;
  const int64_t dims[] = {x[0], crd ? x[1] : b, b, crd ? b : x[1], h, w};
  const int64_t steps[] = {x[1] * plane, crd ? plane : x[3], crd ? x[3] : 1, crd ? 1 : plane, b * x[3], b};
  box.rank = 6;
  for (int i = 0; i < 6; ++i) box[i] = dims[i], view.strides[i] = steps[i];
  return n.move(n.x(), n.result(), n.type(0), box, view);
}

// Each axis by itself: to the nearest by a table, else by sums of some elements.
std::string read_resize(Lower& n) {
  const auto& a = n.q.attrs<attrs::Resize>();
  const bool nearest = a.mode() == attrs::ResizeMode::nearest;
  for (uint32_t i = 1; i < 4; ++i) {
    if (!n.is_known(i)) return "its scales or its sizes are not constant";
  }
  if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize) return "it crops (tf_crop_and_resize)";
  if (!nearest && (n.type(0) != DType::kF32 || !n.in_reals()))
    return "kernels for microcontrollers interpolate float32";
  const Shape &x = n.shape(0), &y = n.y();
  Tensor inputs[4] = {};
  for (uint32_t i = 1; i < 4; ++i) {
    if (!n.is_present(i)) continue;
    inputs[i].dtype = n.type(i);
    inputs[i].shape = n.shape(i);
    inputs[i].data = const_cast<void*>(n.q.inputs[i].constant);
  }
  const auto given = [&](uint32_t i) { return n.is_present(i) ? &inputs[i] : nullptr; };
  ResizeAxis axis[kMaxRank];
  read_resize_axes(a, x, y, {given(1), given(2), given(3)}, axis);
  std::vector<Axis> picks;
  Shape now = x;
  int32_t from = n.x();
  int left = 0;
  for (int k = 0; k < x.rank; ++k) left += resizes_nothing(axis[k]) ? 0 : 1;
  for (int k = 0; k < x.rank; ++k) {
    if (resizes_nothing(axis[k])) continue;
    const auto place = [&](int64_t i) { return tame_resize_place(resize_source(a, axis[k], i)); };
    if (nearest) {
      Axis pick = {k, {}};
      for (int64_t i = 0; i < y[k]; ++i) pick.table.push_back(small(resize_nearest(a.nearest(), axis[k], place(i))));
      picks.push_back(std::move(pick));
      continue;
    }
    const int64_t taps = resize_taps(a, axis[k].scale);
    std::vector<int32_t> first;
    std::vector<float> weights;
    std::vector<double> some(static_cast<size_t>(taps));
    for (int64_t i = 0; i < y[k]; ++i) {
      const int64_t at = resize_weights(a, axis[k], place(i), taps, some.data());
      first.push_back(small(std::clamp<int64_t>(at, -(1 << 20), 1 << 20)));
      for (const double w : some) weights.push_back(static_cast<float>(w));
    }
    const vireo_mcu_resample r = {small(product(now, 0, k)), small(y[k]), small(now[k]),
                                  small(product(now, k + 1, now.rank)), small(taps)};
    now[k] = y[k];
    const int32_t to = --left == 0 ? n.result() : n.value(product(now, 0, now.rank) * 4);
    n.put(k_resample, r, {from, n.constant(first), n.constant(weights), to}, {from}, to);
    from = to;
  }
  return nearest || from == n.x() ? put_axes(n, picks, nullptr) : "";
}

std::string read_where(Lower& n) {
  const Shape* const shapes[] = {&n.shape(0), &n.shape(1), &n.shape(2)};
  const Broadcast walk(n.y(), shapes, 3);
  vireo_mcu_choose c = {};
  int32_t sides[] = {n.x(0), n.x(1), n.x(2)};
  c.rows = small(walk.rows()), c.columns = small(walk.row());
  bool regular = true;
  for (int k = 0; k < 3; ++k) {
    c.row[k] = small(walk.rows() > 1 ? walk.offset(k, 1) : 0);
    c.step[k] = small(walk.step(k));
    for (int64_t r = 0; r < walk.rows(); ++r) regular = regular && walk.offset(k, r) == r * c.row[k];
  }
  if (!regular) {
    c.rows = 1, c.columns = small(n.y_count());
    for (uint32_t k = 0; k < 3; ++k) {
      sides[k] = n.expanded(k, n.y());
      if (sides[k] == kNothing) return kTooManyAxes;
      c.row[k] = 0, c.step[k] = 1;
    }
  }
  c.element_bytes = small(bytes_of_type(n.type(1)));
  n.put(k_choose, c, {sides[0], sides[1], sides[2], n.result()}, {sides[0], sides[1], sides[2]}, n.result(), 6);
  return "";
}

}  // namespace

std::string read_picks(Lower& n) {
  switch (n.q.op) {
    case Op::kGather:
    case Op::kExpand:
    case Op::kTile:
    case Op::kPad:
    case Op::kCenterCropPad:
    case Op::kTrilu:
    case Op::kDepthToSpace:
    case Op::kSpaceToDepth:
    case Op::kResize:
    case Op::kWhere:
      break;
    default:
      return kUnknownNode;
  }
  const int bits = dtype_bits(n.type(n.q.op == Op::kWhere ? 1 : 0));
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return "kernels for microcontrollers move elements of 1, 2, 4 or 8 bytes";
  if (!mcu::serves_sizes(n.q)) return kSizes;
  switch (n.q.op) {
    case Op::kGather:
      return read_gather(n);
    case Op::kExpand:
      return read_expand(n);
    case Op::kTile:
      return read_tile(n);
    case Op::kPad:
      return read_pad(n);
    case Op::kCenterCropPad:
      return read_center(n);
    case Op::kTrilu:
      return read_trilu(n);
    case Op::kDepthToSpace:
      return read_depth_to_space(n);
    case Op::kSpaceToDepth:
      return read_space_to_depth(n);
    case Op::kResize:
      return read_resize(n);
    default:
      return read_where(n);
  }
}

}  // namespace vireo::firmware
