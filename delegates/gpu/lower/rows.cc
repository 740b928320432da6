// Operators that need a row as a whole: softmax, reductions, normalisations.
#include <functional>
#include <limits>

#include "delegates/gpu/lower/work.h"
#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/mean_variance_normalization/mean_variance_normalization_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

// One axis of a space: its extent, and how far x's elements are apart on it.
struct Axis {
  int64_t extent = 1;
  int64_t step = 0;
};

// What a type is computed in: sums of halves in float32, codes in 32 bits.
DType wide(DType t) {
  if (is_real(t)) return kReal;
  switch (t) {
    case DType::kU8:
    case DType::kU16:
    case DType::kBool:
      return DType::kU32;
    case DType::kI8:
    case DType::kI16:
      return DType::kI32;
    default:
      return t;
  }
}

// A rows problem over axes of x. Axes of one element are left out.
class RowsBuilder {
 public:
  RowsBuilder(Lowering& l, const Laid& x, DType dtype, const std::vector<Axis>& outer, const std::vector<Axis>& row)
      : l_(l), type_(wide(dtype)) {
    View view;
    view.offset = x.offset;
    const auto add = [&](const std::vector<Axis>& axes) {
      const size_t before = problem_.shape.size();
      for (const Axis& a : axes) {
        if (a.extent == 1) continue;
        problem_.shape.push_back(a.extent);
        view.strides.push_back(a.step);
      }
      if (problem_.shape.size() == before) {
        problem_.shape.push_back(1);
        view.strides.push_back(0);
      }
      return static_cast<int>(problem_.shape.size() - before);
    };
    (void)add(outer);
    problem_.row_axes = add(row);
    ExpressionBuilder b(&problem_.prologue);
    int v = b.input(dtype, view);
    if (dtype != type_) v = b.function(Function::kCast, type_, v);
    b.output(v, {});
    reads_.push_back(x.memory);
  }

  DType type() const { return type_; }
  // The number of the statistic in `epilogue`'s builder, where v is 0. map: the value that is combined, of v and those
  // before it.
  using Map = std::function<int(ExpressionBuilder& b)>;
  void statistic(Combine combine, const Map& map) { statistic(combine, map, type_); }
  void statistic(Combine combine, const Map& map, DType type) {
    Statistic s;
    s.combine = combine;
    ExpressionBuilder b(&s.map);
    b.given(type_);
    for (const DType t : types_) b.given(t);
    b.output(map(b), {});
    problem_.statistics.push_back(std::move(s));
    types_.push_back(type);
  }
  // Takes elements over the space to y, which has the axes `outer` and `row` again.
  ExpressionBuilder epilogue(bool per_row) {
    problem_.per_row = per_row;
    ExpressionBuilder b(&problem_.epilogue);
    if (!per_row) b.given(type_);
    for (const DType t : types_) b.given(t);
    return b;
  }
  // A view over the space (of the rows, where the epilogue is one a row).
  static View over(int64_t offset, const std::vector<Axis>& outer, const std::vector<Axis>* row) {
    View view;
    view.offset = offset;
    for (const std::vector<Axis>* axes : {&outer, row}) {
      if (axes == nullptr) continue;
      const size_t before = view.strides.size();
      for (const Axis& a : *axes) {
        if (a.extent != 1) view.strides.push_back(a.step);
      }
      if (view.strides.size() == before) view.strides.push_back(0);
    }
    return view;
  }
  // The row's only axis, for an element's place in its row.
  uint32_t row_axis() const { return static_cast<uint32_t>(problem_.shape.size()) - 1; }
  void read(int memory) { reads_.push_back(memory); }
  std::string push(const std::vector<int>& writes) {
    if (problem_.shape.size() > static_cast<size_t>(kMostAxes)) return "more than 8 dimensions with its groups";
    Work& w = l_.push(std::move(problem_));
    w.reads = std::move(reads_);
    w.writes = writes;
    return "";
  }

 private:
  Lowering& l_;
  DType type_;
  RowsProblem problem_;
  std::vector<DType> types_;  // of the statistics
  std::vector<int> reads_;
};

// The axes of a value, those of `mask` apart.
void part_axes(const Extents& dims, const Extents& strides, uint32_t mask, std::vector<Axis>* kept,
               std::vector<Axis>* reduced) {
  for (size_t i = 0; i < dims.size(); ++i) ((mask >> i & 1) != 0 ? reduced : kept)->push_back({dims[i], strides[i]});
}

// The same extents, one behind the other in memory.
std::vector<Axis> dense_axes(const std::vector<Axis>& axes) {
  std::vector<Axis> dense = axes;
  int64_t step = 1;
  for (size_t i = dense.size(); i-- > 0;) {
    dense[i].step = step;
    step *= dense[i].extent;
  }
  return dense;
}

uint32_t axis_bit(int64_t axis, int rank) { return 1u << (axis < 0 ? axis + rank : axis); }

// A function of rows along one axis: x, and a result of its shape.
class AlongAxis {
 public:
  AlongAxis(Lowering& l, int64_t axis) : l_(l), x_(l.laid(l.node().inputs[0])), y_(l.make(l.node().outputs[0])) {
    const Datum& x = l.in(0);
    const uint32_t mask = axis_bit(axis, x.rank());
    part_axes(x.dims, x_.strides, mask, &outer_, &row_);
    part_axes(x.dims, y_.strides, mask, &outer_y_, &row_y_);
  }
  RowsBuilder rows() const { return {l_, x_, l_.in(0).dtype, outer_, row_}; }
  // `value`, of the result's type, is the result at each place.
  std::string push(RowsBuilder* rows, ExpressionBuilder* b, int value) const {
    b->output(value, RowsBuilder::over(y_.offset, outer_y_, &row_y_));
    return rows->push({y_.memory});
  }

 private:
  Lowering& l_;
  const Laid x_, y_;
  std::vector<Axis> outer_, row_, outer_y_, row_y_;
};

std::string softmax(Lowering& l, bool logarithm) {
  const Datum& x = l.in(0);
  if (!is_real(x.dtype)) return std::string("Softmax of ") + dtype_name(x.dtype);
  if (x.rank() == 0) return "Softmax of a number";
  const AlongAxis along(l, l.node().attrs<attrs::Softmax>().axis());
  RowsBuilder rows = along.rows();
  const auto shifted = [](ExpressionBuilder& b) { return b.function(Function::kSub, kReal, 0, 1); };
  rows.statistic(Combine::kMax, [](ExpressionBuilder&) { return 0; });
  rows.statistic(Combine::kSum, [&](ExpressionBuilder& b) { return b.function(Function::kExp, kReal, shifted(b)); });
  ExpressionBuilder b = rows.epilogue(false);
  int y = shifted(b);
  y = logarithm ? b.function(Function::kSub, kReal, y, b.function(Function::kLog, kReal, 2))
                : b.function(Function::kDiv, kReal, b.function(Function::kExp, kReal, y), 2);
  if (x.dtype != kReal) y = b.function(Function::kCast, x.dtype, y);
  return along.push(&rows, &b, y);
}

// Whether v is the extreme of its row; a NaN is one.
int is_extreme(ExpressionBuilder& b, DType t, int extreme) {
  const int equal = b.function(Function::kEqual, DType::kBool, 0, extreme);
  if (t != kReal) return equal;
  const int nan = b.function(Function::kIsNaN, DType::kBool, 0);
  const int both = b.function(Function::kAnd, DType::kBool, nan, b.function(Function::kIsNaN, DType::kBool, extreme));
  return b.function(Function::kOr, DType::kBool, equal, both);
}

// The extreme of a row, and the place of the first that is it, or of the last.
void find_extreme(RowsBuilder* rows, Combine combine, bool last) {
  rows->statistic(combine, [](ExpressionBuilder&) { return 0; });
  rows->statistic(
      last ? Combine::kMax : Combine::kMin,
      [rows, last](ExpressionBuilder& b) {
        const int elsewhere = b.constant(kSum, last ? UINT32_MAX : static_cast<uint32_t>(INT32_MAX));
        return b.function(Function::kWhere, kSum, is_extreme(b, rows->type(), 1), b.place(rows->row_axis()), elsewhere);
      },
      kSum);
}

std::string hardmax(Lowering& l) {
  const Datum& x = l.in(0);
  if (!is_real(x.dtype)) return std::string("Hardmax of ") + dtype_name(x.dtype);
  if (x.rank() == 0) return "Hardmax of a number";
  const AlongAxis along(l, l.node().attrs<attrs::Softmax>().axis());
  RowsBuilder rows = along.rows();
  find_extreme(&rows, Combine::kMax, false);
  ExpressionBuilder b = rows.epilogue(false);
  const int first = b.function(Function::kEqual, DType::kBool, b.place(rows.row_axis()), 2);
  return along.push(&rows, &b, b.function(Function::kCast, x.dtype, first));
}

std::string arg(Lowering& l) {
  const Datum& x = l.in(0);
  if (x.dtype == DType::kF64) return "a place in float64";
  if (x.rank() == 0) return "a place in a number";
  const auto& a = l.node().attrs<attrs::Arg>();
  const uint32_t mask = axis_bit(a.axis(), x.rank());
  const Laid from = l.laid(l.node().inputs[0]);
  const Laid to = l.make(l.node().outputs[0]);
  std::vector<Axis> kept, reduced;
  part_axes(x.dims, from.strides, mask, &kept, &reduced);
  RowsBuilder rows(l, from, x.dtype, kept, reduced);
  find_extreme(&rows, l.node().op == VIREO_OP_ARG_MAX ? Combine::kMax : Combine::kMin, a.select_last_index());
  ExpressionBuilder b = rows.epilogue(true);
  b.output(b.function(Function::kCast, DType::kI64, 1), RowsBuilder::over(to.offset, dense_axes(kept), nullptr));
  return rows.push({to.memory});
}

// What is combined, and what becomes of it.
struct Reduction {
  Combine combine = Combine::kSum;
  bool absolute = false, square = false, mean = false, root = false, logarithm = false, of_exponentials = false;
};

std::string reduction_of(const Node& n, DType dtype, Reduction* out) {
  switch (n.op) {
    case VIREO_OP_REDUCE_SUM:
      return "";
    case VIREO_OP_REDUCE_MEAN:
      out->mean = true;
      return is_real(dtype) ? "" : "a mean of integers";
    case VIREO_OP_REDUCE_MAX:
      out->combine = Combine::kMax;
      return "";
    case VIREO_OP_REDUCE_MIN:
      out->combine = Combine::kMin;
      return "";
    case VIREO_OP_REDUCE_PROD:
      out->combine = Combine::kProduct;
      return "";
    default:
      break;
  }
  if (!is_real(dtype)) return "a norm of integers";
  switch (n.attrs<attrs::ReduceNorm>().norm()) {
    case attrs::Norm::L1:
      out->absolute = true;
      return "";
    case attrs::Norm::L2:
      out->square = out->root = true;
      return "";
    case attrs::Norm::SumSquare:
      out->square = true;
      return "";
    case attrs::Norm::LogSum:
      out->logarithm = true;
      return "";
    case attrs::Norm::LogSumExp:
      out->logarithm = out->of_exponentials = true;
      return "";
  }
  return "a norm that this delegate does not know";
}

// Emits it over the axes of `mask`; `kept_y`: the kept axes in y.
std::string reduce(Lowering& l, const Reduction& r, const Laid& from, DType dtype, const std::vector<Axis>& kept,
                   const std::vector<Axis>& reduced) {
  if (dtype == DType::kF64) return "a reduction of float64";
  const Laid to = l.make(l.node().outputs[0]);
  RowsBuilder rows(l, from, dtype, kept, reduced);
  const DType t = rows.type();
  int64_t count = 1;
  for (const Axis& a : reduced) count *= a.extent;
  // Of a maximum without bound nothing is subtracted: infinity less itself is no number.
  const auto shift = [t](ExpressionBuilder& b, int greatest) {
    const int endless = b.function(Function::kIsInf, DType::kBool, greatest);
    b.last().p[0] = b.last().p[1] = 1;
    return b.function(Function::kWhere, t, endless, b.constant_f32(0), greatest);
  };
  if (r.of_exponentials) rows.statistic(Combine::kMax, [](ExpressionBuilder&) { return 0; });
  rows.statistic(r.combine, [&](ExpressionBuilder& b) {
    if (r.of_exponentials) return b.function(Function::kExp, t, b.function(Function::kSub, t, 0, shift(b, 1)));
    if (r.absolute) return b.function(Function::kAbs, t, 0);
    if (r.square) return b.function(Function::kMul, t, 0, 0);
    return 0;
  });
  ExpressionBuilder b = rows.epilogue(true);
  int y = r.of_exponentials ? 1 : 0;
  if (r.mean) y = b.function(Function::kDiv, t, y, b.constant_f32(static_cast<float>(count)));
  if (r.root) y = b.function(Function::kSqrt, t, y);
  if (r.logarithm) y = b.function(Function::kLog, t, y);
  if (r.of_exponentials) y = b.function(Function::kAdd, t, y, shift(b, 0));
  if (dtype != t) y = b.function(Function::kCast, dtype, y);
  b.output(y, RowsBuilder::over(to.offset, dense_axes(kept), nullptr));
  return rows.push({to.memory});
}

// What is left of nothing, as sdk/ops/reduce has it.
std::string reduce_nothing(Lowering& l, const Reduction& r) {
  const DType dtype = l.out(0).dtype;
  const Laid to = l.make(l.node().outputs[0]);
  ChainProblem p;
  p.shape = l.out(0).dims;
  ExpressionBuilder b(&p.expression);
  int y = 0;
  if (is_real(dtype)) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    float v = r.combine == Combine::kProduct ? 1.0f : r.combine == Combine::kMax ? -kInfinity : 0.0f;
    if (r.combine == Combine::kMin) v = kInfinity;
    if (r.mean) v = std::numeric_limits<float>::quiet_NaN();
    if (r.logarithm) v = -kInfinity;
    y = b.constant_f32(v);
    if (dtype != kReal) y = b.function(Function::kCast, dtype, y);
  } else {
    const int bits = dtype_bits(dtype) - (dtype_is_signed(dtype) ? 1 : 0);
    const uint64_t most = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const uint64_t least = dtype_is_signed(dtype) ? ~most : 0;
    const uint64_t all = dtype == DType::kBool ? 1 : r.combine == Combine::kMin ? most : least;
    y = b.constant(dtype, r.combine == Combine::kProduct ? 1 : r.combine == Combine::kSum ? 0 : all);
    if (dtype == DType::kBool && r.combine == Combine::kMax) p.expression.steps.back().bits = 0;
  }
  b.output(y, view_of(to));
  Work& w = l.push(std::move(p));
  w.writes = {to.memory};
  return "";
}

std::string reduce(Lowering& l) {
  const Node& n = l.node();
  const Datum& x = l.in(0);
  Reduction r;
  if (std::string why = reduction_of(n, x.dtype, &r); !why.empty()) return why;
  if (x.count() == 0) return reduce_nothing(l, r);
  Extents axes;
  if (l.has(1) && !l.integers(1, &axes)) return "its axes are not constant";
  // Both tables begin with the same fields.
  const bool noop = n.op == VIREO_OP_REDUCE_NORM ? n.attrs<attrs::ReduceNorm>().noop_with_empty_axes()
                                                 : n.attrs<attrs::Reduce>().noop_with_empty_axes();
  uint32_t mask = axes.empty() && !noop ? (1u << x.rank()) - 1 : 0;
  for (const int64_t axis : axes) mask |= axis_bit(axis, x.rank());
  const Laid from = l.laid(n.inputs[0]);
  std::vector<Axis> kept, reduced;
  part_axes(x.dims, from.strides, mask, &kept, &reduced);
  return reduce(l, r, from, x.dtype, kept, reduced);
}

std::string global_pool(Lowering& l) {
  const Datum& x = l.in(0);
  Reduction r;
  r.mean = l.node().op == VIREO_OP_GLOBAL_AVERAGE_POOL;
  if (!r.mean) r.combine = Combine::kMax;
  const bool last = l.node().attrs<attrs::GlobalPool>().layout() == static_cast<uint8_t>(Layout::kNhwc);
  const uint32_t channel = last ? axis_bit(-1, x.rank()) : 2u;
  const uint32_t mask = ((1u << x.rank()) - 1) & ~(1u | channel);
  const Laid from = l.laid(l.node().inputs[0]);
  std::vector<Axis> kept, reduced;
  part_axes(x.dims, from.strides, mask, &kept, &reduced);
  return reduce(l, r, from, x.dtype, kept, reduced);
}

// A normalisation over rows: x's axes, and the same of its parameters and results.
struct Normalisation {
  std::vector<Axis> outer, row;
  struct Parameter {
    Laid at;
    DType dtype = kReal;
    std::vector<Axis> outer, row;
    bool there = false;
  };
  Parameter scale, bias, y;
  bool centre = true;
  float epsilon = 0;
  bool outside = false;  // epsilon is added to the deviation, not to the variance
};

// Mean (0 without `centre`) and 1 / sqrt(variance + epsilon), of the statistics that begin at `first`.
struct Moments {
  int mean, inverse;
};
Moments moments_of(ExpressionBuilder& b, const Normalisation& n, float count, int first) {
  const int of = b.constant_f32(count);
  const int mean = n.centre ? b.function(Function::kDiv, kReal, first, of) : -1;
  const int variance = b.function(Function::kDiv, kReal, n.centre ? first + 1 : first, of);
  const auto add = [&](int value) { return b.function(Function::kAdd, kReal, value, b.constant_f32(n.epsilon)); };
  const int deviation =
      n.outside ? add(b.function(Function::kSqrt, kReal, variance)) : b.function(Function::kSqrt, kReal, add(variance));
  return {mean, b.function(Function::kDiv, kReal, b.constant_f32(1), deviation)};
}

RowsBuilder statistics_of(Lowering& l, const Normalisation& n, const Laid& from, float count) {
  RowsBuilder rows(l, from, l.in(0).dtype, n.outer, n.row);
  if (n.centre) rows.statistic(Combine::kSum, [](ExpressionBuilder&) { return 0; });
  rows.statistic(Combine::kSum, [&](ExpressionBuilder& b) {
    int d = 0;
    if (n.centre) d = b.function(Function::kSub, kReal, 0, b.function(Function::kDiv, kReal, 1, b.constant_f32(count)));
    return b.function(Function::kMul, kReal, d, d);
  });
  return rows;
}

std::string normalise(Lowering& l, const Normalisation& n, const Laid& from) {
  float count = 1;
  for (const Axis& a : n.row) count *= static_cast<float>(a.extent);
  RowsBuilder rows = statistics_of(l, n, from, count);
  ExpressionBuilder b = rows.epilogue(false);
  int scale = -1, bias = -1;
  const auto parameter = [&](const Normalisation::Parameter& p) {
    rows.read(p.at.memory);
    return b.input(p.dtype, RowsBuilder::over(p.at.offset, p.outer, &p.row));
  };
  if (n.scale.there) scale = parameter(n.scale);
  if (n.bias.there) bias = parameter(n.bias);
  const auto real = [&b](int value, DType dtype) {
    return dtype == kReal ? value : b.function(Function::kCast, kReal, value);
  };
  const Moments m = moments_of(b, n, count, 1);
  int y = n.centre ? b.function(Function::kSub, kReal, 0, m.mean) : 0;
  y = b.function(Function::kMul, kReal, y, m.inverse);
  if (scale >= 0) y = b.function(Function::kMul, kReal, y, real(scale, n.scale.dtype));
  if (bias >= 0) y = b.function(Function::kAdd, kReal, y, real(bias, n.bias.dtype));
  if (n.y.dtype != kReal) y = b.function(Function::kCast, n.y.dtype, y);
  b.output(y, RowsBuilder::over(n.y.at.offset, n.y.outer, &n.y.row));
  return rows.push({n.y.at.memory});
}

// Mean or inverse deviation of each row, as an output of its own.
std::string moment(Lowering& l, const Normalisation& n, const Laid& from, size_t output) {
  float count = 1;
  for (const Axis& a : n.row) count *= static_cast<float>(a.extent);
  RowsBuilder rows = statistics_of(l, n, from, count);
  ExpressionBuilder b = rows.epilogue(true);
  const Moments m = moments_of(b, n, count, 0);
  int y = output == 1 ? m.mean : m.inverse;
  const DType dtype = l.out(output).dtype;
  if (dtype != kReal) y = b.function(Function::kCast, dtype, y);
  const Laid to = l.make(l.node().outputs[output]);
  b.output(y, RowsBuilder::over(to.offset, dense_axes(n.outer), nullptr));
  return rows.push({to.memory});
}

std::string layer_normalization(Lowering& l) {
  const Node& node = l.node();
  const Datum& x = l.in(0);
  if (!is_real(x.dtype)) return std::string("a normalisation of ") + dtype_name(x.dtype);
  Normalisation n;
  n.centre = node.op == VIREO_OP_LAYER_NORMALIZATION;
  int64_t axis = 0;
  if (n.centre) {
    axis = node.attrs<attrs::LayerNormalization>().axis();
    n.epsilon = node.attrs<attrs::LayerNormalization>().epsilon();
  } else {
    axis = node.attrs<attrs::RMSNormalization>().axis();
    n.epsilon = node.attrs<attrs::RMSNormalization>().epsilon();
  }
  if (axis < 0) axis += x.rank();
  const uint32_t mask = ((1u << x.rank()) - 1) & ~((1u << axis) - 1);
  const Laid from = l.laid(node.inputs[0]);
  part_axes(x.dims, from.strides, mask, &n.outer, &n.row);
  const auto parameter = [&](size_t i, Normalisation::Parameter* p) {
    if (!l.has(i)) return;
    p->there = true;
    p->dtype = l.in(i).dtype;
    p->at = l.laid(node.inputs[i]);
    part_axes(x.dims, broadcast_view(p->at, l.in(i).dims, x.dims.size()).strides, mask, &p->outer, &p->row);
  };
  for (size_t i = 1; i < 3; ++i) {
    if (l.has(i) && (!is_real(l.in(i).dtype) || l.in(i).rank() > x.rank()))
      return "a scale or bias that is not real numbers over x";
  }
  parameter(1, &n.scale);
  parameter(2, &n.bias);
  n.y.at = l.make(node.outputs[0]);
  n.y.dtype = l.out(0).dtype;
  part_axes(x.dims, n.y.at.strides, mask, &n.y.outer, &n.y.row);
  if (std::string why = normalise(l, n, from); !why.empty()) return why;
  for (size_t o = 1; o < node.outputs.size(); ++o) {
    if (node.outputs[o] < 0) continue;
    if (std::string why = moment(l, n, from, o); !why.empty()) return why;
  }
  return "";
}

std::string group_normalization(Lowering& l) {
  const Node& node = l.node();
  const Datum& x = l.in(0);
  if (!is_real(x.dtype)) return std::string("a normalisation of ") + dtype_name(x.dtype);
  const auto& a = node.attrs<attrs::GroupNormalization>();
  Normalisation n;
  n.epsilon = a.epsilon();
  const bool last = a.layout() == static_cast<uint8_t>(Layout::kNhwc);
  const size_t channel = last ? x.dims.size() - 1 : 1;
  const int64_t groups = a.num_groups() == 0 ? x.dims[channel] : a.num_groups();
  const int64_t width = x.dims[channel] / groups;
  const auto axes_of = [&](const Laid& at, std::vector<Axis>* outer, std::vector<Axis>* row) {
    *outer = {{x.dims[0], at.strides[0]}, {groups, at.strides[channel] * width}};
    *row = {{width, at.strides[channel]}};
    for (size_t i = 1; i < x.dims.size(); ++i) {
      if (i != channel) row->push_back({x.dims[i], at.strides[i]});
    }
  };
  const Laid from = l.laid(node.inputs[0]);
  axes_of(from, &n.outer, &n.row);
  const auto parameter = [&](size_t i, Normalisation::Parameter* p) {
    p->there = true;
    p->dtype = l.in(i).dtype;
    p->at = l.laid(node.inputs[i]);
    const int64_t step = p->at.strides[0];
    const bool by_channel = l.in(i).dims[0] == x.dims[channel];
    p->outer = {{x.dims[0], 0}, {groups, by_channel ? step * width : step}};
    p->row = {{width, by_channel ? step : 0}};
    for (size_t k = 1; k < x.dims.size(); ++k) {
      if (k != channel) p->row.push_back({x.dims[k], 0});
    }
  };
  for (size_t i = 1; i < 3; ++i) {
    if (!l.has(i) || !is_real(l.in(i).dtype) || l.in(i).rank() != 1)
      return "a scale or bias that is no list of real numbers";
  }
  parameter(1, &n.scale);
  parameter(2, &n.bias);
  n.y.at = l.make(node.outputs[0]);
  n.y.dtype = x.dtype;
  axes_of(n.y.at, &n.y.outer, &n.y.row);
  return normalise(l, n, from);
}

std::string mean_variance_normalization(Lowering& l) {
  const Datum& x = l.in(0);
  if (!is_real(x.dtype)) return std::string("a normalisation of ") + dtype_name(x.dtype);
  const auto* const axes = l.node().attrs<attrs::MeanVarianceNormalization>().axes();
  uint32_t mask = 0;
  for (uint32_t i = 0; axes != nullptr && i < axes->size(); ++i) mask |= axis_bit(axes->Get(i), x.rank());
  Normalisation n;
  n.epsilon = 1e-9f;
  n.outside = true;
  const Laid from = l.laid(l.node().inputs[0]);
  part_axes(x.dims, from.strides, mask, &n.outer, &n.row);
  n.y.at = l.make(l.node().outputs[0]);
  n.y.dtype = x.dtype;
  part_axes(x.dims, n.y.at.strides, mask, &n.y.outer, &n.y.row);
  return normalise(l, n, from);
}

std::string lp_normalization(Lowering& l) {
  const Datum& x = l.in(0);
  if (!is_real(x.dtype)) return std::string("a normalisation of ") + dtype_name(x.dtype);
  const auto& a = l.node().attrs<attrs::LpNormalization>();
  const bool squares = a.p() == 2;
  const AlongAxis along(l, a.axis());
  RowsBuilder rows = along.rows();
  rows.statistic(Combine::kSum, [squares](ExpressionBuilder& b) {
    return squares ? b.function(Function::kMul, kReal, 0, 0) : b.function(Function::kAbs, kReal, 0);
  });
  ExpressionBuilder b = rows.epilogue(false);
  const int zero = b.constant_f32(0);
  const int norm = squares ? b.function(Function::kSqrt, kReal, 1) : 1;
  const int nothing = b.function(Function::kEqual, DType::kBool, norm, zero);
  int y = b.function(Function::kWhere, kReal, nothing, zero, b.function(Function::kDiv, kReal, 0, norm));
  if (x.dtype != kReal) y = b.function(Function::kCast, x.dtype, y);
  return along.push(&rows, &b, y);
}

}  // namespace

std::string lower_rows(Lowering& l) {
  if (l.node().input(0) < 0) return "no input";
  switch (l.node().op) {
    case VIREO_OP_SOFTMAX:
      return softmax(l, false);
    case VIREO_OP_LOG_SOFTMAX:
      return softmax(l, true);
    case VIREO_OP_HARDMAX:
      return hardmax(l);
    case VIREO_OP_ARG_MAX:
    case VIREO_OP_ARG_MIN:
      return arg(l);
    case VIREO_OP_MEAN_VARIANCE_NORMALIZATION:
      return mean_variance_normalization(l);
    case VIREO_OP_LP_NORMALIZATION:
      return lp_normalization(l);
    case VIREO_OP_LAYER_NORMALIZATION:
    case VIREO_OP_RMSNORMALIZATION:
      return layer_normalization(l);
    case VIREO_OP_GROUP_NORMALIZATION:
      return group_normalization(l);
    case VIREO_OP_GLOBAL_AVERAGE_POOL:
    case VIREO_OP_GLOBAL_MAX_POOL:
      return global_pool(l);
    default:
      return reduce(l);
  }
}

}  // namespace vireo::gpu
