#include "converter/passes/layout/layout_roles.h"

#include <algorithm>

#include "converter/passes/layout/integer_layout_cost.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/int_resize/int_resize.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/shape_of/shape_of.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::passes {
namespace {

using target::KernelCosts;

bool is_number(const ir::Value* v) {
  return v->type.shape.is_static() && element_count(v->type.shape) == 1 && v->type.shape.rank <= 1;
}

bool in_ranks(int rank) { return rank >= 3 && rank <= 5; }

// What kernels channels last serve of a convolution: one group, or depthwise.
template <class Attrs>
bool is_conv_for_last(const ir::Node& n, const KernelCosts& costs, std::string* reason) {
  const auto& a = n.attributes<Attrs>();
  const TensorType& x = n.in(0)->type;
  if (static_cast<Layout>(a.layout()) != Layout::kNchw || !in_ranks(x.shape.rank)) return false;
  const bool depthwise = a.group() > 1 && a.group() == x.shape[1];
  if (depthwise && (n.out()->type.shape[1] != x.shape[1] || x.shape.rank != costs.depthwise_rank)) {
    *reason = "no kernel for channels last: depthwise with several outputs a channel, or other than two axes";
    return false;
  }
  if (a.group() > 1 && !depthwise) {
    *reason = "in groups, channels last gives each product few columns";
    return false;
  }
  return n.in(1)->type.shape.is_static();
}

template <class Attrs>
bool is_pool_for_last(const ir::Node& n, const KernelCosts& costs, std::string* reason) {
  const TensorType& x = n.in(0)->type;
  if (static_cast<Layout>(n.attributes<Attrs>().layout()) != Layout::kNchw) return false;
  *reason = "no kernel for channels last: indices, or more than two axes";
  if (n.outputs.size() != 1 || x.shape.rank < 3 || x.shape.rank > costs.pool_most_rank) return false;
  reason->clear();
  return true;
}

bool is_spatial(const ir::Node& n, const KernelCosts& costs, std::string* reason) {
  const TensorType& x = n.in(0)->type;
  if (n.op == Op::kIntConv) return is_conv_for_last<attrs::IntConv>(n, costs, reason);
  if (n.op == Op::kIntAveragePool) return is_pool_for_last<attrs::IntAveragePool>(n, costs, reason);
  const bool codes = n.op == Op::kMaxPool && (x.dtype == DType::kI8 || x.dtype == DType::kU8);
  if (x.dtype != DType::kF32 && x.dtype != DType::kF16 && !codes) {
    *reason = std::string("no kernel for channels last in ") + dtype_name(x.dtype);
    return false;
  }
  if (n.op == Op::kConv) return is_conv_for_last<attrs::Conv>(n, costs, reason);
  if (n.op == Op::kMaxPool || n.op == Op::kAveragePool) return is_pool_for_last<attrs::Pool>(n, costs, reason);
  return static_cast<Layout>(n.attributes<attrs::GlobalPool>().layout()) == Layout::kNchw && in_ranks(x.shape.rank);
}

// Between codes and numbers, or from codes to codes, element by element with one scale.
bool is_conversion(const ir::Node& n) {
  if (n.op == Op::kIntTable) return true;
  if (n.op != Op::kQuantizeLinear && n.op != Op::kDequantizeLinear) return false;
  const int block = n.op == Op::kQuantizeLinear ? n.attributes<attrs::QuantizeLinear>().block_size()
                                                : n.attributes<attrs::DequantizeLinear>().block_size();
  return block == 0 && is_number(n.in(1)) && (n.in(2) == nullptr || is_number(n.in(2)));
}

// The axes that a Slice's ranges speak of, not negative. False: not known.
bool slice_axes(const ir::Node& n, std::vector<int64_t>* axes) {
  const Shape& list = n.in(1)->type.shape;
  if (list.rank != 1 || is_symbolic(list[0])) return false;
  axes->clear();
  if (n.in(3) == nullptr) {
    for (Dim i = 0; i < list[0]; ++i) axes->push_back(i);
    return true;
  }
  if (!known_ints(n.in(3), axes)) return false;
  for (int64_t& a : *axes) a += a < 0 ? n.in(0)->type.shape.rank : 0;
  return true;
}

// Extents that are found by a run: the shape function of the moved node would name others. Expressions over what the
// input has are the same again.
bool finds_extents(const ir::Node& n, const LayoutRates& costs) {
  const Shape& x = n.in(0)->type.shape;
  return std::any_of(n.outputs.begin(), n.outputs.end(), [&](const ir::Value* v) {
    if (v == nullptr) return false;
    const Shape& y = v->type.shape;
    bool found = x.rank != y.rank;
    for (int i = 0; i < y.rank && !found; ++i)
      found = is_symbolic(y[i]) && y[i] != x[i] && !costs.extent.is_expression(y[i]);
    return found;
  });
}

// What takes or makes parts of a tensor, or resamples it, along axes that are named.
bool is_by_axes(const ir::Node& n, const LayoutRates& costs) {
  if (n.in(0) == nullptr || n.in(0)->constant != nullptr || finds_extents(n, costs)) return false;
  std::vector<int64_t> axes;
  if (n.op == Op::kSlice) return slice_axes(n, &axes);
  if (n.op != Op::kIntResize) return n.op == Op::kSplit || n.op == Op::kResize;
  // Those before the last axis, where channels are, are all that it resamples.
  int64_t taps = 1;
  for (size_t i = 1; i < n.inputs.size(); i += 2) taps *= n.in(i)->type.shape[1];
  const auto* list = n.attributes<attrs::IntResize>().axes();
  return taps <= kMaxIntResizeOuter && std::all_of(list->begin(), list->end(), [](int32_t a) { return a != 1; });
}

// Constants of such elements can be laid channels last: whole bytes, and no texts.
bool is_movable(DType t) { return dtype_bits(t) >= 8 && t != DType::kString; }

bool is_agnostic(const ir::Node& n, const LayoutRates& costs) {
  const Shape& y = n.out()->type.shape;
  if (!n.bodies.empty() || !in_ranks(y.rank)) return false;
  if (n.op == Op::kSplit) return is_by_axes(n, costs);
  if (n.outputs.size() != 1) return false;
  if (is_elementwise(n.op)) {
    bool one = false;
    for (const ir::Value* v : n.inputs) {
      if (v == nullptr || is_number(v)) continue;
      if (v->constant == nullptr && v->type.shape.rank != y.rank) return false;
      if (v->constant != nullptr && (!is_movable(v->type.dtype) || v->type.shape.rank > y.rank)) return false;
      one = one || v->constant == nullptr;
    }
    return one;
  }
  if (n.op == Op::kConcat) {
    return std::all_of(n.inputs.begin(), n.inputs.end(),
                       [](const ir::Value* v) { return v->constant == nullptr || is_movable(v->type.dtype); });
  }
  if (n.in(0) == nullptr || n.in(0)->constant != nullptr) return false;
  if (n.op == Op::kSoftmax || n.op == Op::kLogSoftmax || is_conversion(n)) return true;
  if (n.op == Op::kSlice || n.op == Op::kResize || n.op == Op::kIntResize) return is_by_axes(n, costs);
  std::vector<int64_t> numbers;
  if (is_reduction(n.op)) {
    return n.attributes<attrs::Reduce>().keepdims() && n.in(1) != nullptr && known_ints(n.in(1), &numbers) &&
           !numbers.empty();
  }
  return n.op == Op::kPad && n.in(3) == nullptr && known_ints(n.in(1), &numbers);
}

// A product over pixels as they lie.
bool is_pointwise(const ir::Node& n) {
  if (n.op != Op::kConv) return false;
  const auto& a = n.attributes<attrs::Conv>();
  const Shape& w = n.in(1)->type.shape;
  for (int i = 2; i < w.rank; ++i) {
    if (w[i] != 1) return false;
  }
  const auto all = [](const auto* list, int32_t wanted) {
    return list == nullptr || std::all_of(list->begin(), list->end(), [&](int32_t v) { return v == wanted; });
  };
  return a.group() == 1 && all(a.strides(), 1) && (a.auto_pad() != 0 || all(a.pads(), 0));
}

// An image, whose few channels are read where they lie.
bool is_image(const ir::Node& n, const LayoutRates& costs) {
  const auto& a = n.attributes<attrs::Conv>();
  const Shape &w = n.in(1)->type.shape, &y = n.out()->type.shape;
  const auto within = [](const auto* list, double most) {
    return list == nullptr || std::all_of(list->begin(), list->end(), [&](int32_t v) { return v <= most; });
  };
  return a.group() == 1 && w.rank == 4 &&
         (costs.extent(w[1]) == costs.image_grey || costs.extent(w[1]) == costs.image_colour) &&
         within(a.strides(), costs.image_most_stride) && within(a.dilations(), 1) &&
         (costs.extent(y[3]) >= costs.image_least_line || costs.elements(y, 2) >= costs.image_least_area) &&
         costs.elements(w, 1) <= costs.image_most_taps && costs.extent(y[1]) <= costs.image_most_filters;
}

double up(double v, double to) {
  const auto step = static_cast<int64_t>(to);
  const int64_t whole = (static_cast<int64_t>(v) + step - 1) / step * step;
  return static_cast<double>(whole);
}

// Windows whose filters can be transformed ahead: the time of the better tile.
bool is_in_tiles(const ir::Node& n, const LayoutRates& costs) {
  const auto& a = n.attributes<attrs::Conv>();
  const Shape& w = n.in(1)->type.shape;
  const auto ones = [](const auto* list) {
    return list == nullptr || std::all_of(list->begin(), list->end(), [](int32_t v) { return v == 1; });
  };
  return n.in(1)->constant != nullptr && n.in(1)->type.dtype == DType::kF32 && a.group() == 1 && w.rank == 4 &&
         costs.extent(w[2]) == costs.tile_window && costs.extent(w[3]) == costs.tile_window && ones(a.strides()) &&
         ones(a.dilations());
}
double tiles_cost(const LayoutRates& costs, const Shape& y, double channels) {
  const double out = costs.extent(y[1]), columns = up(out, costs.tile_columns);
  const double lanes = up(channels, costs.tile_lanes) + up(out, costs.tile_lanes), border = costs.tile_window - 1;
  double best = 0;
  for (const double edge : {costs.tile_small, costs.tile_large}) {
    const double places = (edge + border) * (edge + border);
    const double tiles =
        costs.extent(y[0]) * up(costs.extent(y[2]), edge) * up(costs.extent(y[3]), edge) / (edge * edge);
    const double computing =
        tiles * places * (columns * (channels + costs.tile_start) * costs.mac + lanes * costs.tile_transform);
    const double taken = std::max(computing, places * channels * columns * costs.tile_read);
    if (best == 0 || taken < best) best = taken;
  }
  return best;
}

Shape moved(const Shape& s) {
  Shape out = s;
  const std::vector<int> perm = channels_last(s.rank);
  for (int i = 0; i < s.rank; ++i) out[i] = s[perm[static_cast<size_t>(i)]];
  return out;
}

// `part` of `whole`, copied in runs; 0 where it is one run, which can lie at its place (sdk/ops/shared/parts.h).
double part_cost(const LayoutRates& costs, const Shape& part, const Shape& whole, DType dtype, bool in_steps) {
  int first = 0, last = whole.rank - 1;
  while (first < whole.rank && part[first] == whole[first]) ++first;
  if (first == whole.rank) return 0;
  while (part[last] == whole[last]) --last;
  const double all = costs.elements(part), before = all / costs.elements(part, first);
  if (before == 1 && first == last && !in_steps) return 0;
  const double run = costs.elements(part, last + (in_steps ? 1 : 0)), bytes = dtype_bits(dtype) / 8.0;
  return all * costs.copy * bytes / 4 + std::min(all / std::max(run, 1.0) * costs.copy_part, all * costs.copy_single);
}

LayoutCost parts_cost(const ir::Node& n, const LayoutRates& costs) {
  const bool concat = n.op == Op::kConcat;
  std::vector<int64_t> steps;
  const bool in_steps =
      n.op == Op::kSlice && n.in(4) != nullptr &&
      !(known_ints(n.in(4), &steps) && std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; }));
  const TensorType& whole = (concat ? n.outputs[0] : n.inputs[0])->type;
  double first = 0, last = 0;
  for (const ir::Value* v : concat ? n.inputs : n.outputs) {
    if (v == nullptr) continue;
    first += part_cost(costs, v->type.shape, whole.shape, whole.dtype, in_steps);
    last += part_cost(costs, moved(v->type.shape), moved(whole.shape), whole.dtype, in_steps);
  }
  return {static_cast<int64_t>(first), static_cast<int64_t>(last)};
}

LayoutCost resize_cost(const ir::Node& n, const LayoutRates& costs) {
  const bool nearest = n.attributes<attrs::Resize>().mode() == attrs::ResizeMode::nearest;
  const Shape& y = n.out()->type.shape;
  const double all = costs.elements(y), pixels = all / costs.extent(y[1]);
  LayoutCost c;
  c.first = static_cast<int64_t>(all * (nearest ? costs.nearest_first : costs.smooth_first));
  c.last = static_cast<int64_t>(nearest ? all * costs.nearest_last + pixels * costs.nearest_pixel
                                        : all * costs.smooth_last + pixels * costs.smooth_pixel);
  return c;
}

LayoutCost conv_cost(const ir::Node& n, const LayoutRates& costs) {
  const auto& a = n.attributes<attrs::Conv>();
  const Shape &x = n.in(0)->type.shape, &w = n.in(1)->type.shape, &y = n.out()->type.shape;
  const double taps = costs.elements(w, 2), area = costs.extent(y[0]) * costs.elements(y, 2), out = costs.extent(y[1]);
  if (a.group() > 1) {
    const auto most = [](const auto* list) {
      int32_t largest = 1;
      for (uint32_t i = 0; list != nullptr && i < list->size(); ++i) largest = std::max(largest, list->Get(i));
      return largest;
    };
    const int32_t steps = most(a.strides());
    const bool strided = steps != 1, dilated = most(a.dilations()) != 1;
    const bool narrow = costs.extent(w[3]) == costs.shared_narrow || costs.extent(w[3]) == costs.shared_wide;
    const bool shared = narrow && !dilated && steps <= costs.shared_most_stride;
    const double read = costs.depthwise_read * costs.elements(x), taken = area * out * taps;
    LayoutCost c;
    c.first = static_cast<int64_t>(taken * costs.tap_first + read +
                                   costs.extent(y[0]) * out * (strided ? costs.plane_strided : costs.plane));
    c.last = static_cast<int64_t>(taken * (shared ? costs.tap_last : costs.tap_last_any) + read);
    return c;
  }
  const double channels = std::max(costs.extent(w[1]), 1.0), k = channels * taps;
  const bool pointwise = is_pointwise(n), one_channel = w[1] == 1;
  const double patches = k * area, filters = k * out;
  LayoutCost c;
  if (pointwise && is_view_of_channels(x) && x[1] != 1) return c;  // one pixel: the same kernel
  c.first = static_cast<int64_t>(k * out * up(area, costs.first_columns) * costs.mac +
                                 (!pointwise              ? patches * costs.pack_pixel
                                  : out <= costs.few_rows ? 0
                                                          : patches * costs.pack_plane));
  const double pack = taps == 1 || one_channel      ? costs.pack_filter
                      : filters > costs.far_filters ? costs.pack_far_window
                                                    : costs.pack_window;
  const double run = channels * costs.extent(w[w.rank - 1]);  // neighbouring taps are copied at once
  const bool in_place = taps == 1 || (one_channel && x.rank == 4 && x[2] == 1);
  // Constant filters are packed once for all runs.
  const bool packed = n.in(1)->constant != nullptr;
  if (is_image(n, costs)) {
    c.last = static_cast<int64_t>(k * up(out, costs.image_columns) * area * costs.mac +
                                  (packed ? 0 : filters * costs.pack_filter));
    return c;
  }
  c.last = static_cast<int64_t>(k * up(out, costs.last_columns) * area * costs.mac + (packed ? 0 : filters * pack) +
                                (in_place ? 0 : patches * costs.copy_pixel + patches / run * costs.copy_run));
  if (is_in_tiles(n, costs)) c.last = std::min(c.last, static_cast<int64_t>(tiles_cost(costs, y, channels)));
  return c;
}

ir::Value* ints(ir::Graph& g, const std::vector<int64_t>& values) {
  const Shape s = {1, {static_cast<Dim>(values.size())}};
  return g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, s, values));
}

// Where axis `a` of a tensor channels first is when they are last.
int64_t moved_axis(int64_t a, int rank) {
  if (a < 0) a += rank;
  return a == 0 ? 0 : a == 1 ? rank - 1 : a - 1;
}

template <class Attrs, class Unpacked>
std::vector<uint8_t> last_layout(const ir::Node& n) {
  Unpacked a;
  n.attributes<Attrs>().UnPackTo(&a);
  a.layout = static_cast<uint8_t>(Layout::kNhwc);
  return pack<Attrs>(a);
}

}  // namespace

std::vector<int> channels_last(int rank) {
  std::vector<int> perm{0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

std::vector<int> channels_first(int rank) {
  std::vector<int> perm{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) perm.push_back(i);
  return perm;
}

bool is_view_of_channels(const Shape& s) {
  if (s[1] == 1) return true;
  for (int i = 2; i < s.rank; ++i) {
    if (s[i] != 1) return false;
  }
  return true;
}

double LayoutRates::elements(const Shape& s, int from) const {
  double out = 1;
  for (int i = from; i < s.rank; ++i) out *= extent(s[i]);
  return out;
}

LayoutRole layout_role(const ir::Node& n, const LayoutRates& costs, std::string* reason) {
  reason->clear();
  if (n.outputs.empty() || n.out() == nullptr || n.inputs.empty() || n.in(0) == nullptr) return LayoutRole::kFixed;
  switch (n.op) {
    case Op::kTranspose: {
      const int rank = n.in(0)->type.shape.rank;
      if (!in_ranks(rank)) return LayoutRole::kFixed;
      if (permutation(n) == channels_last(rank)) return LayoutRole::kToLast;
      return permutation(n) == channels_first(rank) ? LayoutRole::kToFirst : LayoutRole::kFixed;
    }
    case Op::kConv:
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
    case Op::kIntConv:
    case Op::kIntAveragePool:
      return is_spatial(n, costs, reason) ? LayoutRole::kSpatial : LayoutRole::kFixed;
    case Op::kConvTranspose:
    case Op::kConvInteger:
      *reason = "no kernel for channels last";
      return LayoutRole::kFixed;
    default:
      return is_agnostic(n, costs) ? LayoutRole::kAgnostic : LayoutRole::kFixed;
  }
}

bool follows_layout(const ir::Node& n, size_t i) {
  const ir::Value* v = n.in(i);
  if (v == nullptr) return false;
  if (is_elementwise(n.op)) return !is_number(v);
  return n.op == Op::kConcat || i == 0;
}

LayoutCost layout_cost(const ir::Node& n, const LayoutRates& costs) {
  switch (n.op) {
    case Op::kConv:
      return conv_cost(n, costs);
    case Op::kIntConv:
      return integer_conv_cost(n, costs);
    case Op::kConcat:
    case Op::kSplit:
    case Op::kSlice:
      return parts_cost(n, costs);
    case Op::kResize:
      return resize_cost(n, costs);
    default:
      return {};
  }
}

bool is_channels_last(const ir::Node& n) {
  const auto last = [](const auto& a) { return static_cast<Layout>(a.layout()) == Layout::kNhwc; };
  switch (n.op) {
    case Op::kComposite:
      return std::any_of(n.bodies[0]->nodes().begin(), n.bodies[0]->nodes().end(), is_channels_last);
    case Op::kConv:
      return last(n.attributes<attrs::Conv>());
    case Op::kMaxPool:
    case Op::kAveragePool:
      return last(n.attributes<attrs::Pool>());
    case Op::kGlobalMaxPool:
    case Op::kGlobalAveragePool:
      return last(n.attributes<attrs::GlobalPool>());
    case Op::kIntConv:
      return last(n.attributes<attrs::IntConv>());
    case Op::kIntAveragePool:
      return last(n.attributes<attrs::IntAveragePool>());
    default:
      return false;
  }
}

int64_t settled_time(const ir::Node& n, const LayoutRates& costs) {
  if (n.op == Op::kComposite) {
    int64_t all = 0;
    for (const ir::Node& inside : n.bodies[0]->nodes()) all += settled_time(inside, costs);
    return all;
  }
  const bool conv = n.op == Op::kConv || n.op == Op::kIntConv;
  return conv ? static_cast<int64_t>(costs.elements(n.out()->type.shape) * costs.elements(n.in(1)->type.shape, 1) *
                                     costs.mac)
              : 0;
}

int64_t transpose_cost(const ir::Value& v, const LayoutRates& costs) {
  const TensorType& type = v.type;
  if (is_view_of_channels(type.shape)) return static_cast<int64_t>(costs.view);
  const bool image = v.producer == nullptr && type.shape[1] == 3 && dtype_bits(type.dtype) == 32;
  // A product and the activation that would be its end, on either side of a Transpose, are two passes over memory.
  const bool parts = v.producer != nullptr && v.producer->op == Op::kConv && v.output_uses == 0 && v.uses.size() == 1 &&
                     is_elementwise(v.uses[0].node->op);
  const double move = (image ? costs.move_image : costs.move) * (parts ? 2 : 1);
  return static_cast<int64_t>(costs.dispatch + costs.elements(type.shape) * move * dtype_bits(type.dtype) / 32);
}

ir::Node* extents_of_channels_first(ir::Graph& g, ir::Node& shape, ir::Value* channels_last) {
  const auto& a = shape.attributes<attrs::Shape>();
  const int rank = channels_last->type.shape.rank;
  std::vector<int64_t> places;
  for (int64_t i = clamp_to_rank(a.start(), rank); i < clamp_to_rank(a.end(), rank); ++i) {
    places.push_back(moved_axis(i, rank));
  }
  ir::Node* all = add_node(g, Op::kShape, pack<attrs::Shape>(attrs::ShapeT{}), {channels_last}, shape, &shape);
  if (all == nullptr) return nullptr;
  return add_node(g, Op::kGather, pack<attrs::Gather>(attrs::GatherT{}), {all->out(), ints(g, places)}, shape, &shape);
}

ir::Value* constant_channels_last(ir::Graph& g, const ir::Value* v, int rank) {
  Shape full = v->type.shape;
  if (full.rank < rank) {
    const int lead = rank - full.rank;
    for (int i = rank - 1; i >= 0; --i) full[i] = i < lead ? 1 : full[i - lead];
    full.rank = rank;
  }
  const Shape to = moved(full);
  const ir::ConstantPtr& c = v->constant;
  if (is_view_of_channels(full) || element_count(full) == 0) return g.add_constant(v->name, ir::with_shape(c, to));
  const auto bytes = static_cast<size_t>(dtype_bits(v->type.dtype) / 8);
  const auto count = static_cast<size_t>(element_count(full)), channels = static_cast<size_t>(full[1]);
  const size_t images = static_cast<size_t>(full[0]), area = count / images / channels;
  std::vector<uint8_t> out(count * bytes);
  for (size_t i = 0; i < count; ++i) {
    const size_t image = i / (channels * area), channel = i / area % channels, pixel = i % area;
    std::copy_n(c->tensor.bytes.data() + i * bytes, bytes,
                out.data() + ((image * area + pixel) * channels + channel) * bytes);
  }
  return g.add_constant(v->name, ir::make_constant({v->type.dtype, to}, std::move(out)));
}

ir::Node* with_channels_last(ir::Graph& g, const ir::Node& n, std::vector<ir::Value*> in, ir::Node* before) {
  std::vector<uint8_t> attributes = n.attrs;
  const int rank = n.in(0)->type.shape.rank;
  if (n.op == Op::kConv) {
    attributes = last_layout<attrs::Conv, attrs::ConvT>(n);
  } else if (n.op == Op::kIntConv) {
    attributes = last_layout<attrs::IntConv, attrs::IntConvT>(n);
  } else if (n.op == Op::kIntAveragePool) {
    attributes = last_layout<attrs::IntAveragePool, attrs::IntAveragePoolT>(n);
  } else if (n.op == Op::kMaxPool || n.op == Op::kAveragePool) {
    attributes = last_layout<attrs::Pool, attrs::PoolT>(n);
  } else if (n.op == Op::kGlobalMaxPool || n.op == Op::kGlobalAveragePool) {
    attributes = last_layout<attrs::GlobalPool, attrs::GlobalPoolT>(n);
  } else if (n.op == Op::kConcat) {
    attrs::ConcatT a;
    a.axis = static_cast<int32_t>(moved_axis(n.attributes<attrs::Concat>().axis(), rank));
    attributes = pack<attrs::Concat>(a);
  } else if (n.op == Op::kSoftmax || n.op == Op::kLogSoftmax) {
    attrs::SoftmaxT a;
    a.axis = static_cast<int32_t>(moved_axis(n.attributes<attrs::Softmax>().axis(), rank));
    attributes = pack<attrs::Softmax>(a);
  } else if (is_reduction(n.op)) {
    std::vector<int64_t> axes;
    (void)known_ints(n.in(1), &axes);
    for (int64_t& a : axes) a = moved_axis(a, rank);
    std::sort(axes.begin(), axes.end());
    in[1] = ints(g, axes);
  } else if (n.op == Op::kSplit) {
    attrs::SplitT a;
    n.attributes<attrs::Split>().UnPackTo(&a);
    a.axis = static_cast<int32_t>(moved_axis(a.axis, rank));
    attributes = pack<attrs::Split>(a);
  } else if (n.op == Op::kSlice) {
    std::vector<int64_t> axes;
    (void)slice_axes(n, &axes);
    for (int64_t& a : axes) a = moved_axis(a, rank);
    in.resize(std::max<size_t>(in.size(), 4));
    in[3] = ints(g, axes);
  } else if (n.op == Op::kResize) {
    // Its numbers stay in their order, and name the axes that they are for.
    attrs::ResizeT a;
    n.attributes<attrs::Resize>().UnPackTo(&a);
    for (int i = 0; i < rank && n.attributes<attrs::Resize>().axes() == nullptr; ++i) a.axes.push_back(i);
    for (int32_t& axis : a.axes) axis = static_cast<int32_t>(moved_axis(axis, rank));
    attributes = pack<attrs::Resize>(a);
  } else if (n.op == Op::kIntResize) {
    attrs::IntResizeT a;  // its axes are spatial ones and the first: they keep their order
    n.attributes<attrs::IntResize>().UnPackTo(&a);
    for (int32_t& axis : a.axes) axis = static_cast<int32_t>(moved_axis(axis, rank));
    attributes = pack<attrs::IntResize>(a);
  } else if (n.op == Op::kPad) {
    std::vector<int64_t> pads;
    (void)known_ints(n.in(1), &pads);
    std::vector<int64_t> own(pads.size());
    for (int i = 0; i < rank; ++i) {
      const auto from = static_cast<size_t>(i), to = static_cast<size_t>(moved_axis(i, rank));
      own[to] = pads[from];
      own[to + static_cast<size_t>(rank)] = pads[from + static_cast<size_t>(rank)];
    }
    in[1] = ints(g, own);
  }
  return add_node(g, n.op, std::move(attributes), std::move(in), n, before, n.outputs.size());
}

}  // namespace vireo::passes
