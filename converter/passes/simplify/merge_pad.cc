// Padding in front of a window becomes the window's own.
// Before   Conv(Pad(x, 0)), AveragePool(Pad(x, 0)), MaxPool(Pad(x, -inf)), MaxPool(Pad(x, 0)) of an x that is never
//          negative (Relu, Sigmoid, Abs but of signed integers, a Clip between constants from 0 on...)
// After    the window with wider pads; AveragePool counts them
// Fires    the Pad is constant, of spatial axes alone, cuts nothing, and is used here alone; pads are given (auto_pad
//          is not set), in range, and smaller than the window where a maximum could see nothing else; an AveragePool
//          had none of its own or counts them; no ceil_mode; weights are finite, for NaN * 0 is no zero.
// Numerics none: the same sums, in which zeros may be left out.
// Bound    one node less.        Idempotent.
#include "converter/passes/simplify/merge_pad.h"

#include <algorithm>
#include <cmath>

#include "converter/passes/shared/match.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/pool/pool_generated.h"

namespace vireo::passes {
namespace {

constexpr int64_t kMostPad = 1 << 20;

bool never_negative(const ir::Value* v) {
  const ir::Node* n = v->producer;
  double low = 0, high = 0;
  if (n == nullptr) return false;
  switch (n->op) {
    case Op::kRelu:
    case Op::kSigmoid:
    case Op::kHardSigmoid:
      return true;
    case Op::kAbs:  // the least signed integer is its own
      return dtype_is_float(v->type.dtype) || !dtype_is_signed(v->type.dtype);
    case Op::kClip:  // of crossed bounds the upper one holds
      return is_scalar(n->in(1), &low) && low >= 0 &&
             (n->in(2) == nullptr || (is_scalar(n->in(2), &high) && high >= 0));
    default:
      return false;
  }
}

// Pads of the spatial axes, begin... end..., or a reason.
const char* spatial_pads(const ir::Node& pad, bool channels_last, std::vector<int64_t>* out) {
  const int rank = pad.in(0)->type.shape.rank;
  std::vector<int64_t> pads, axes;
  if (pad.attributes<attrs::Pad>().mode() != attrs::PadMode::constant) return "the pad is no constant";
  if (!known_ints(pad.in(1), &pads)) return "the pads are not known";
  if (pad.in(3) == nullptr) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  } else if (!known_ints(pad.in(3), &axes)) {
    return "the padded axes are not known";
  }
  if (pads.size() != 2 * axes.size() || rank < 3) return "the pads are not known";
  const int first = channels_last ? 1 : 2, spatial = rank - 2;
  out->assign(2 * static_cast<size_t>(spatial), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i], before = pads[i], after = pads[i + axes.size()];
    if (before < 0 || after < 0) return "the pad cuts";
    if (before > kMostPad || after > kMostPad) return "the pads are out of range";
    if (before == 0 && after == 0) continue;
    if (axis < first || axis >= first + spatial) return "the pad is not of spatial axes alone";
    (*out)[static_cast<size_t>(axis - first)] += before;
    (*out)[static_cast<size_t>(axis - first + spatial)] += after;
  }
  return nullptr;
}

// False: a constant with a NaN or an infinity.
bool finite(const ir::Value* v) {
  if (v->constant == nullptr || !dtype_is_float(v->type.dtype)) return true;
  const std::vector<double> all = reals(*v->constant);
  return std::all_of(all.begin(), all.end(), [](double w) { return std::isfinite(w); });
}

// Value that is filled in: true when it was read.
bool fill_of(const ir::Node& pad, double* fill) {
  *fill = 0;
  return pad.in(2) == nullptr || is_scalar(pad.in(2), fill);
}

template <class Object>
void widen(Object* a, const std::vector<int64_t>& pads) {
  if (a->pads.empty() || a->auto_pad != 0) a->pads.assign(pads.size(), 0);
  for (size_t i = 0; i < pads.size(); ++i) a->pads[i] += static_cast<int32_t>(pads[i]);
  a->auto_pad = 0;
}

constexpr uint8_t kNotSet = 0, kValid = 3;  // AutoPad in sdk/ops/shared/window.h

const char* merged(const ir::Node& n, const ir::Node& pad, std::vector<uint8_t>* out) {
  std::vector<int64_t> pads;
  double fill = 0;
  const auto begin = [&](uint8_t auto_pad, uint8_t layout) -> const char* {
    if (auto_pad != kNotSet && auto_pad != kValid) return "the window pads itself";
    if (const char* refused = spatial_pads(pad, layout == 1, &pads)) return refused;
    return fill_of(pad, &fill) ? nullptr : "what it fills in is not known";
  };
  if (n.op == Op::kConv) {
    attrs::ConvT a;
    n.attributes<attrs::Conv>().UnPackTo(&a);
    if (const char* refused = begin(a.auto_pad, a.layout)) return refused;
    if (fill != 0) return "it fills in another value than 0";
    if (!finite(n.in(1))) return "a weight is not finite";
    widen(&a, pads);
    *out = pack<attrs::Conv>(a);
    return nullptr;
  }
  attrs::PoolT a;
  n.attributes<attrs::Pool>().UnPackTo(&a);
  if (const char* refused = begin(a.auto_pad, a.layout)) return refused;
  if (a.ceil_mode) return "the window has ceil_mode";
  if (n.outputs.size() > 1 && n.out(1) != nullptr) return "indices count the padding";
  bool own = false;
  for (const int32_t p : a.pads) own = own || (p != 0 && a.auto_pad == kNotSet);
  if (n.op == Op::kAveragePool) {
    if (fill != 0) return "it fills in another value than 0";
    if (own && !a.count_include_pad) return "only a part of the padding counts";
    a.count_include_pad = true;
  } else {
    const bool lowest = fill == -INFINITY;
    if (!lowest && !(fill == 0 && never_negative(pad.in(0)))) return "a maximum may see what is filled in";
  }
  widen(&a, pads);
  const size_t spatial = a.kernel_shape.size();
  for (size_t i = 0; i < a.pads.size(); ++i) {
    const int64_t dilation = a.dilations.empty() ? 1 : a.dilations[i % spatial];
    if (a.pads[i] >= dilation * (a.kernel_shape[i % spatial] - 1) + 1) return "a window would see padding alone";
  }
  // With gaps a window may miss the one element that it covers.
  for (const int32_t d : a.dilations) {
    if (d != 1) return "the window is dilated";
  }
  *out = pack<attrs::Pool>(a);
  return nullptr;
}

void run_merge_pad(ir::Graph& g, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    if ((n.op != Op::kConv && n.op != Op::kMaxPool && n.op != Op::kAveragePool) || n.outputs.empty()) continue;
    ir::Node* pad = maker(n.in(0), Op::kPad);
    if (pad == nullptr) continue;
    std::vector<uint8_t> attributes;
    const char* refused = pad->out()->one_use() ? merged(n, *pad, &attributes) : "the padded value is used elsewhere";
    if (refused != nullptr) {
      log.reject(n, refused);
      continue;
    }
    const std::vector<uint8_t> own = n.attrs;
    ir::Value* const padded = n.in(0);
    const TensorType type = n.out()->type;
    n.attrs = std::move(attributes);
    g.set_input(&n, 0, pad->in(0));
    std::string message;
    if (!ok(ir::infer_node(g, &n, nullptr, &message)) || n.out()->type != type) {
      n.attrs = own;
      g.set_input(&n, 0, padded);
      n.out()->type = type;
      log.reject(n, "the extents do not come out the same");
      continue;
    }
    remove_unused(g, pad);
    log.changed();
  }
}

}  // namespace

const Pass kMergePad = {"merge_pad", run_merge_pad};

}  // namespace vireo::passes
