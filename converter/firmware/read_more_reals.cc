#include <cmath>
#include <limits>

#include "converter/firmware/read_lowered.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/composites/function.h"
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::firmware {
namespace {

// ---- Element by element

// y = a what b by two operands as they are: rows, columns, and b's steps.
void put_binary(Lower& n, int32_t what, vireo_mcu_binary_reals f, int32_t a, int32_t b, int32_t to) {
  f.what = what;
  n.put(k_binary_reals, f, {a, b, to}, {a, b}, to, 3);
}

// What real_functions.c has, where rows are no pattern: operands are copied.
std::string read_arithmetic(Lower& n, int32_t what) {
  vireo_mcu_binary_reals f = {};
  if (read_rows(n.q, &f)) return kUnknownNode;  // read_reals takes it
  int32_t a = kNothing, b = kNothing;
  if (!n.rows(&f, &a, &b)) return kTooManyAxes;
  put_binary(n, what, f, a, b, n.result());
  return "";
}

std::string read_pairs(Lower& n, int32_t what) {
  if (n.type(1) != DType::kF32) return "kernels for microcontrollers take exponents of the same type";  // Pow alone
  vireo_mcu_binary_reals f = {};
  int32_t a = kNothing, b = kNothing;
  if (!n.rows(&f, &a, &b)) return kTooManyAxes;
  f.what = what;
  n.put(k_pairs, f, {a, b, n.result()}, {a, b}, n.result(), what < VIREO_MCU_EQUAL_REALS ? 3 : 0);
  return "";
}

// Bounds that are known in a run alone.
std::string read_clip(Lower& n) {
  if (n.is_known(1) && n.is_known(2)) return kUnknownNode;  // read_reals takes it
  int32_t from = n.x();
  for (uint32_t i = 1; i < 3; ++i) {
    if (!n.is_present(i)) continue;
    const bool last = i == 2 || !n.is_present(2);
    const int32_t to = last ? n.result() : n.value(n.y_count() * 4);
    const vireo_mcu_binary_reals f = {
        1, small(n.y_count()), 0, 1, 0, 0, i == 1 ? VIREO_MCU_MAX_REALS : VIREO_MCU_MIN_REALS};
    n.put(k_pairs, f, {from, n.x(i), to}, {from, n.x(i)}, to, 1);
    from = to;
  }
  return "";
}

// -1: none that real_functions.c has not.
int32_t function_of(const composites::Function& f) {
  switch (f.op) {
    case Op::kLog:
      return VIREO_MCU_LOG;
    case Op::kErf:
      return VIREO_MCU_ERF;
    case Op::kGelu:
      return f.tanh_form ? VIREO_MCU_GELU_TANH : VIREO_MCU_GELU;
    case Op::kSoftplus:
      return VIREO_MCU_SOFTPLUS;
    case Op::kMish:
      return VIREO_MCU_MISH;
    case Op::kElu:
      return f.b == 1 && f.c == 1 ? -1 : VIREO_MCU_SCALED_ELU;
    case Op::kFloor:
      return VIREO_MCU_FLOOR;
    case Op::kCeil:
      return VIREO_MCU_CEIL;
    case Op::kRound:
      return VIREO_MCU_ROUND;
    default:
      return -1;
  }
}

std::string read_function(Lower& n) {
  vireo_mcu_more_function to = {};
  composites::Function f;
  to.what = -1;
  switch (n.q.op) {
    case Op::kSin:
      to.what = VIREO_MCU_SIN;
      break;
    case Op::kCos:
      to.what = VIREO_MCU_COS;
      break;
    case Op::kSign:
      to.what = VIREO_MCU_SIGN;
      break;
    case Op::kShrink:
      to.what = VIREO_MCU_SHRINK;
      to.a = n.q.attrs<attrs::Shrink>().lambd();
      to.b = n.q.attrs<attrs::Shrink>().bias();
      break;
    default:
      if (!composites::read_function(GraphReader(*n.q.host, n.q.graph), n.q.node, &f)) return kUnknownNode;
      to.what = function_of(f);
      to.a = f.a, to.b = f.b, to.c = f.c;
      break;
  }
  if (to.what < 0) return kUnknownNode;
  to.count = small(n.y_count());
  n.put(k_more_function, to, {n.x(), n.result()}, {n.x()}, n.result(), 1);
  return "";
}

// ---- Along axes

// Bit a: axis a is reduced. False where the axes are not known.
bool axes_of(const Lower& n, bool noop, uint32_t* axes) {
  const int rank = n.shape(0).rank;
  if (!n.is_known(1)) return false;
  const int64_t listed = n.is_present(1) ? n.count(1) : 0;
  *axes = listed == 0 && !noop ? (1u << rank) - 1 : 0;
  for (int64_t i = 0; i < listed; ++i) *axes |= 1u << normalize_axis(n.number(1, i), rank);
  return true;
}

// Neighbours of one kind are one axis.
std::string put_reduce(Lower& n, int32_t what, uint32_t axes, int32_t to) {
  const Shape& x = n.shape(0);
  const StridedView dense = dense_view(x);
  vireo_mcu_reduce_reals r = {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, what};
  int kept = VIREO_MCU_REDUCED_AXES, over = VIREO_MCU_REDUCED_AXES, last = -1;
  for (int k = x.rank - 1; k >= 0; --k) {
    if (x[k] == 1) continue;
    const bool reduced = (axes >> k & 1) != 0;
    int& at = reduced ? over : kept;
    int32_t *const dims = reduced ? r.over : r.kept, *const steps = reduced ? r.over_step : r.kept_step;
    if (last >= 0 && ((axes >> last & 1) != 0) == reduced) {
      dims[at] *= small(x[k]);
    } else {
      if (at == 0) return "kernels for microcontrollers reduce three groups of axes at most";
      dims[--at] = small(x[k]);
      steps[at] = small(dense.strides[k]);
    }
    last = k;
  }
  // Axes lie at the end of the lists already, the innermost one last.
  n.put(k_reduce_reals, r, {n.x(), to}, {n.x()}, to);
  return "";
}

template <class Attrs>
std::string read_reduce(Lower& n, int32_t what) {
  const auto& a = n.q.attrs<Attrs>();
  uint32_t axes = 0;
  if (!axes_of(n, a.noop_with_empty_axes(), &axes)) return "its axes are not constant";
  if (what == VIREO_MCU_MEAN) {
    uint32_t rest = axes;
    for (int k = n.shape(0).rank - 1; k >= 0 && (rest >> k & 1) != 0; --k) rest &= ~(1u << k);
    if (rest == 0 && axes != 0) return kUnknownNode;  // over the last axes: an average pool
  }
  return put_reduce(n, what, axes, n.result());
}

int32_t norm_of(const NodeView& q) {
  switch (q.attrs<attrs::ReduceNorm>().norm()) {
    case attrs::Norm::L1:
      return VIREO_MCU_SIZES;
    case attrs::Norm::L2:
      return VIREO_MCU_ROOT_OF_SQUARES;
    case attrs::Norm::SumSquare:
      return VIREO_MCU_SQUARES;
    case attrs::Norm::LogSum:
      return VIREO_MCU_LOG_OF_SUM;
    default:
      return VIREO_MCU_LOG_OF_EXPS;
  }
}

// y = x what (a result for each line along an axis, at least `least`).
std::string put_by_lines(Lower& n, int32_t axis, int32_t reduction, int32_t what, float least = -INFINITY) {
  const Shape& x = n.shape(0);
  const int at = normalize_axis(axis, x.rank);
  const int64_t outer = product(x, 0, at), d = x[at], inner = product(x, at + 1, x.rank);
  int32_t lines = n.value(outer * inner * 4);
  std::string reason = put_reduce(n, reduction, 1u << at, lines);
  if (!reason.empty()) return reason;
  if (least > -INFINITY) {
    const int32_t bounded = n.value(outer * inner * 4);
    n.put(k_function, vireo_mcu_function{small(outer * inner), VIREO_MCU_CLIP, least, INFINITY}, {lines, bounded},
          {lines}, bounded, 1);
    lines = bounded;
  }
  vireo_mcu_binary_reals f = {small(outer), small(d), small(d), 1, 1, 0, what};
  if (inner > 1) {
    const int32_t copy = n.value(n.y_count() * 4);
    Shape box = x;
    StridedView view;
    box.rank = 3, box[0] = outer, box[1] = d, box[2] = inner;
    view.strides[0] = inner, view.strides[1] = 0, view.strides[2] = 1;
    reason = n.move(lines, copy, DType::kF32, box, view);
    if (!reason.empty()) return reason;
    lines = copy;
    f = {1, small(n.y_count()), 0, 1, 0, 1, what};
  }
  put_binary(n, what, f, n.x(), lines, n.result());
  return "";
}

// A parameter of `count` elements that is broadcast to the last axes of x, from `axis` on.
int32_t parameter(Lower& n, uint32_t i, int axis, int64_t count) {
  if (n.count(i) == count) return n.x(i);
  Shape to = n.shape(0);
  to.rank -= axis;
  for (int k = 0; k < to.rank; ++k) to[k] = n.shape(0)[k + axis];
  return n.shape(i).rank > to.rank ? kNothing : n.expanded(i, to);
}

std::string read_layer(Lower& n, int axis, float epsilon, bool centred) {
  if (n.result(1) != kNothing || n.result(2) != kNothing)
    return "kernels for microcontrollers do not give the mean and the deviation";
  const Shape& x = n.shape(0);
  axis = normalize_axis(axis, x.rank);
  const int64_t count = product(x, axis, x.rank);
  const int32_t scale = parameter(n, 1, axis, count);
  const int32_t bias = n.is_present(2) ? parameter(n, 2, axis, count) : kNothing;
  if (scale == kNothing || (bias == kNothing && n.is_present(2)))
    return "its scale or its bias has axes that are not normalized";
  const vireo_mcu_norm_reals f = {small(product(x, 0, axis)), small(count), 1, 1, 1, centred ? 1 : 0, epsilon};
  n.put(k_norm_reals, f, {n.x(), scale, bias, n.result()}, {n.x(), scale, bias}, n.result(), 1);
  return "";
}

std::string read_groups(Lower& n) {
  const auto& a = n.q.attrs<attrs::GroupNormalization>();
  const Shape& x = n.shape(0);
  if (a.layout() != 0) return "kernels for microcontrollers take float32 images with channels first";
  const int64_t channels = x[1], groups = a.num_groups() == 0 ? channels : a.num_groups();
  const int64_t width = channels / groups, area = product(x, 2, x.rank);
  const bool each = n.count(1) == channels;
  if (n.count(1) != n.count(2)) return "its scale and its bias differ in size";
  const vireo_mcu_norm_reals f = {small(x[0] * groups),
                                  small(width * area),
                                  small(groups),
                                  each ? small(width) : 1,
                                  small(each ? area : width * area),
                                  1,
                                  a.epsilon()};
  n.put(k_norm_reals, f, {n.x(), n.x(1), n.x(2), n.result()}, {n.x(), n.x(1), n.x(2)}, n.result(), 1);
  return "";
}

// x times s[c] plus t[c]: both are made here where all parameters are known, else in a run.
std::string read_batch(Lower& n) {
  const auto& a = n.q.attrs<attrs::BatchNormalization>();
  if (a.training_mode()) return "it is in training mode";
  if (a.layout() != 0) return "kernels for microcontrollers take float32 images with channels first";
  const Shape& x = n.shape(0);
  const int64_t channels = x.rank > 1 ? x[1] : 1, area = product(x, 2, x.rank);
  for (uint32_t i = 1; i < 5; ++i) {
    if (n.type(i) != DType::kF32 || n.count(i) != channels) return "its parameters are of another type";
  }
  int32_t factor = kNothing, more = kNothing;
  if (n.is_known(1) && n.is_known(2) && n.is_known(3) && n.is_known(4)) {
    std::vector<float> s, t;
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = [&](uint32_t i) { return n.q.inputs[i].as<float>()[c]; };
      s.push_back(at(1) / std::sqrt(at(4) + a.epsilon()));
      t.push_back(at(2) - at(3) * s.back());
    }
    factor = n.constant(s), more = n.constant(t);
  } else {
    const vireo_mcu_binary_reals each = {1, small(channels), 0, 1, 0, 1, 0},
                                 by_one = {1, small(channels), 0, 1, 0, 0, 0};
    const int32_t variance = n.value(channels * 4), deviation = n.value(channels * 4), shift = n.value(channels * 4);
    factor = n.value(channels * 4), more = n.value(channels * 4);
    put_binary(n, VIREO_MCU_ADD_REALS, by_one, n.x(4), n.constant<float>({a.epsilon()}), variance);
    n.put(k_function, vireo_mcu_function{small(channels), VIREO_MCU_SQRT, 0, 0}, {variance, deviation}, {variance},
          deviation, 1);
    put_binary(n, VIREO_MCU_DIV_REALS, each, n.x(1), deviation, factor);
    put_binary(n, VIREO_MCU_MUL_REALS, each, n.x(3), factor, shift);
    put_binary(n, VIREO_MCU_SUB_REALS, each, n.x(2), shift, more);
  }
  vireo_mcu_binary_reals f = {small(channels), small(area), small(area), 1, 1, 0, 0};
  if (x[0] > 1) {  // channels repeat: each parameter stands beside its plane
    Shape box = x;
    StridedView view;
    box.rank = 2, box[0] = channels, box[1] = area;
    view.strides[0] = 1, view.strides[1] = 0;
    for (int32_t* const p : {&factor, &more}) {
      const int32_t copy = n.value(channels * area * 4);
      std::string reason = n.move(*p, copy, DType::kF32, box, view);
      if (!reason.empty()) return reason;
      *p = copy;
    }
    f = {small(x[0]), small(channels * area), small(channels * area), 1, 0, 1, 0};
  }
  const int32_t between = n.value(n.y_count() * 4);
  put_binary(n, VIREO_MCU_MUL_REALS, f, n.x(), factor, between);
  put_binary(n, VIREO_MCU_ADD_REALS, f, between, more, n.result());
  return "";
}

}  // namespace

std::string read_more_reals(Lower& n) {
  if (!n.in_reals() || n.type(0) != DType::kF32 || n.q.output_count == 0) return kUnknownNode;
  if (!mcu::serves_sizes(n.q)) return kUnknownNode;
  switch (n.q.op) {
    case Op::kAdd:
      return read_arithmetic(n, VIREO_MCU_ADD_REALS);
    case Op::kSub:
      return read_arithmetic(n, VIREO_MCU_SUB_REALS);
    case Op::kMul:
      return read_arithmetic(n, VIREO_MCU_MUL_REALS);
    case Op::kDiv:
      return read_arithmetic(n, VIREO_MCU_DIV_REALS);
    case Op::kMin:
      return read_pairs(n, VIREO_MCU_MIN_REALS);
    case Op::kMax:
      return read_pairs(n, VIREO_MCU_MAX_REALS);
    case Op::kPow:
      return read_pairs(n, VIREO_MCU_POWER);
    case Op::kPRelu:
      return read_pairs(n, VIREO_MCU_PRELU);
    case Op::kEqual:
      return read_pairs(n, VIREO_MCU_EQUAL_REALS);
    case Op::kLess:
      return read_pairs(n, VIREO_MCU_LESS_REALS);
    case Op::kLessOrEqual:
      return read_pairs(n, VIREO_MCU_LESS_OR_EQUAL_REALS);
    case Op::kClip:
      return read_clip(n);
    case Op::kReduceSum:
      return read_reduce<attrs::Reduce>(n, VIREO_MCU_SUM);
    case Op::kReduceMean:
      return read_reduce<attrs::Reduce>(n, VIREO_MCU_MEAN);
    case Op::kReduceMax:
      return read_reduce<attrs::Reduce>(n, VIREO_MCU_MOST);
    case Op::kReduceMin:
      return read_reduce<attrs::Reduce>(n, VIREO_MCU_LEAST);
    case Op::kReduceProd:
      return read_reduce<attrs::Reduce>(n, VIREO_MCU_PRODUCT);
    case Op::kReduceNorm:
      return read_reduce<attrs::ReduceNorm>(n, norm_of(n.q));
    case Op::kLogSoftmax:
      return put_by_lines(n, n.q.attrs<attrs::Softmax>().axis(), VIREO_MCU_LOG_OF_EXPS, VIREO_MCU_SUB_REALS);
    case Op::kLpNormalization: {  // a line of zeros stays one
      const auto& a = n.q.attrs<attrs::LpNormalization>();
      return put_by_lines(n, a.axis(), a.p() == 2 ? VIREO_MCU_ROOT_OF_SQUARES : VIREO_MCU_SIZES, VIREO_MCU_DIV_REALS,
                          std::numeric_limits<float>::min());
    }
    case Op::kLayerNormalization: {
      const auto& a = n.q.attrs<attrs::LayerNormalization>();
      return read_layer(n, a.axis(), a.epsilon(), true);
    }
    case Op::kRMSNormalization: {
      const auto& a = n.q.attrs<attrs::RMSNormalization>();
      return read_layer(n, a.axis(), a.epsilon(), false);
    }
    case Op::kGroupNormalization:
      return read_groups(n);
    case Op::kBatchNormalization:
      return read_batch(n);
    default:
      return read_function(n);
  }
}

}  // namespace vireo::firmware
