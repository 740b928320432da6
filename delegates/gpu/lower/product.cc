// Matrix products.
#include <algorithm>

#include "delegates/gpu/lower/work.h"
#include "delegates/gpu/templates/space.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

constexpr size_t kMostBatchAxes = 4;

std::string check_types(Lowering& l) {
  if (l.node().input(0) < 0 || l.node().input(1) < 0) return "an operand is left out";
  for (size_t i = 0; i < l.node().inputs.size(); ++i) {
    if (l.has(i) && !is_real(l.in(i).dtype)) return std::string("a product of ") + dtype_name(l.in(i).dtype);
  }
  return "";
}

// A matrix of the last two dimensions, or a vector as one with a single row (x) or column (w).
struct Operand {
  int64_t rows = 1, columns = 1;
  MatrixView view;
  Extents batch, steps;  // the dimensions before
};

Operand operand_of(const Datum& v, const Laid& at, bool row) {
  Operand o;
  o.view.dtype = v.dtype;
  o.view.offset = at.offset;
  const size_t rank = v.dims.size();
  if (rank == 1) {
    (row ? o.columns : o.rows) = v.dims[0];
    (row ? o.view.column : o.view.row) = at.strides[0];
    return o;
  }
  o.rows = v.dims[rank - 2];
  o.columns = v.dims[rank - 1];
  o.view.row = at.strides[rank - 2];
  o.view.column = at.strides[rank - 1];
  o.batch.assign(v.dims.begin(), v.dims.end() - 2);
  o.steps.assign(at.strides.begin(), at.strides.end() - 2);
  return o;
}

void turn(Operand* o) {
  std::swap(o->rows, o->columns);
  std::swap(o->view.row, o->view.column);
}

// What becomes of the sum: value `y` of the epilogue, in the type of the result.
struct Ending {
  ExpressionBuilder builder;
  int y = 0;
  std::vector<int> reads;
};

std::string push(Lowering& l, ProductProblem* p, Ending end, View view, const Laid& to) {
  const DType dtype = l.out(0).dtype;
  if (p->sum == kReal && dtype != kReal) end.y = end.builder.function(Function::kCast, dtype, end.y);
  end.builder.output(end.y, std::move(view));
  // A unit that reads tiles takes narrower ones of weights that follow the depth, a unit of bytes no others, and lanes
  // that share the depth of few rows read them 16 bytes at a time.
  constexpr int64_t kLeastRows = 32;
  bool turned = false;
  const int64_t rows = count_of(p->batch) * p->m;
  CodedWeights coded;
  if (rows == 1 && p->sum == kReal && p->w.offset == 0 &&
      l.memories[static_cast<size_t>(l.laid(l.node().inputs[1]).memory)].where == Where::kInner) {
    if (p->w.row == 1 && p->w.column == p->k) coded = coded_weights(l, l.node().inputs[1], p->k, p->n, true);
    if (p->w.column == 1 && p->w.row == p->n) coded = coded_weights(l, l.node().inputs[1], p->k, p->n, false);
  }
  const bool narrower = l.target().tile_unit && l.target().half_products && rows >= kLeastRows && p->sum == kReal;
  const bool few = rows <= kFewRows && p->sum == kReal;
  const bool turns = (narrower || few || p->raw) && p->w.column == 1 && p->w.row == p->n && p->w.offset == 0 &&
                     std::all_of(p->w.batch.begin(), p->w.batch.end(), [](int64_t step) { return step == 0; });
  const Laid w = l.weights(l.node().inputs[1], l.laid(l.node().inputs[1]), turns ? p->k : 1, turns ? p->n : 1, true,
                           &p->w.dtype, &turned);
  if (turned) {
    p->w.row = 1;
    p->w.column = p->k;
  }
  Work& work = l.push(std::move(*p));
  work.operands = {l.laid(l.node().inputs[0]).memory, w.memory};
  work.reads = std::move(end.reads);
  work.writes = {to.memory};
  work.coded = coded;
  return "";
}

// The products of the matrices in the last dimensions, for each place of those before; `view`: the result's.
std::string set_matrices(Lowering& l, ProductProblem* p, View* view, Laid* to) {
  Operand a = operand_of(l.in(0), l.laid(l.node().inputs[0]), true);
  Operand c = operand_of(l.in(1), l.laid(l.node().inputs[1]), false);
  const Datum& y = l.out(0);
  *to = l.make(l.node().outputs[0]);
  p->m = a.rows;
  p->k = a.columns;
  p->n = c.columns;
  const size_t axes = y.dims.size() - (l.in(0).rank() > 1 ? 1 : 0) - (l.in(1).rank() > 1 ? 1 : 0);
  const auto step = [&](const Operand& o, size_t axis) -> int64_t {
    const size_t skipped = axes - o.batch.size();
    if (axis < skipped || o.batch[axis - skipped] == 1) return 0;
    return o.steps[axis - skipped];
  };
  for (size_t i = 0; i < axes; ++i) {
    if (y.dims[i] == 1) continue;
    p->batch.push_back(y.dims[i]);
    a.view.batch.push_back(step(a, i));
    c.view.batch.push_back(step(c, i));
    view->strides.push_back(to->strides[i]);
  }
  if (p->batch.size() > kMostBatchAxes) return "a product of more than 4 batch dimensions";
  p->x = a.view;
  p->w = c.view;
  view->strides.push_back(l.in(0).rank() > 1 ? to->strides[axes] : 0);
  view->strides.push_back(l.in(1).rank() > 1 ? to->strides[y.dims.size() - 1] : 0);
  return "";
}

std::string mat_mul(Lowering& l) {
  ProductProblem p;
  View view;
  Laid to;
  if (std::string why = set_matrices(l, &p, &view, &to); !why.empty()) return why;
  Ending end{ExpressionBuilder(&p.epilogue), 0, {}};
  end.y = end.builder.given(kReal);
  return push(l, &p, std::move(end), std::move(view), to);
}

// Whether a unit may multiply the codes as they are; *addends: what makes up for it.
bool multiplies_raw(Lowering& l, ProductProblem p, int* addends) {
  if (l.target().open || p.w_zero != 0 ||
      !std::all_of(p.w.batch.begin(), p.w.batch.end(), [](int64_t s) { return s == 0; }))
    return false;
  p.raw = true;
  if (choose_product(p, l.target()).unit.m == 0) return false;
  *addends = raw_addends(l, p.x_zero, {p.n, p.k}, {p.w.column, p.w.row}, p.w.offset);
  return *addends >= 0;
}

std::string int_gemm(Lowering& l) {
  if (!is_byte(l.in(0).dtype) || !is_byte(l.in(1).dtype)) return "an integer product of other than bytes";
  const auto& attributes = l.node().attrs<attrs::IntGemm>();
  ProductProblem p;
  View view;
  Laid to;
  if (!l.zero_point(4, &p.w_zero)) return "zero points of columns";
  if (std::string why = set_matrices(l, &p, &view, &to); !why.empty()) return why;
  p.sum = DType::kI32;
  p.x_zero = attributes.a_zero();
  Ending end{ExpressionBuilder(&p.epilogue), 0, {}};
  Extents column(view.strides.size(), 0);
  column.back() = 1;
  int addends = -1;
  p.raw = multiplies_raw(l, p, &addends);
  end.y = requantized(l, &end.builder, codes_of(attributes), column, &end.reads, addends);
  return push(l, &p, std::move(end), std::move(view), to);
}

std::string gemm(Lowering& l) {
  const auto& attributes = l.node().attrs<attrs::Gemm>();
  const Laid x = l.laid(l.node().inputs[0]), w = l.laid(l.node().inputs[1]);
  Operand a = operand_of(l.in(0), x, true), c = operand_of(l.in(1), w, false);
  if (attributes.trans_a()) turn(&a);
  if (attributes.trans_b()) turn(&c);
  const Laid to = l.make(l.node().outputs[0]);
  ProductProblem p;
  p.m = a.rows;
  p.k = a.columns;
  p.n = c.columns;
  p.x = a.view;
  p.w = c.view;
  Ending end{ExpressionBuilder(&p.epilogue), 0, {}};
  ExpressionBuilder& b = end.builder;
  int y = b.given(kReal), addend = -1;
  const bool adds = l.has(2) && attributes.beta() != 0;
  if (adds) {
    const Laid at = l.laid(l.node().inputs[2]);
    addend = b.input(l.in(2).dtype, broadcast_view(at, l.in(2).dims, 2));
    end.reads.push_back(at.memory);
  }
  if (attributes.alpha() != 1) y = b.function(Function::kMul, kReal, y, b.constant_f32(attributes.alpha()));
  if (adds) {
    if (l.in(2).dtype != kReal) addend = b.function(Function::kCast, kReal, addend);
    if (attributes.beta() != 1) addend = b.function(Function::kMul, kReal, addend, b.constant_f32(attributes.beta()));
    y = b.function(Function::kAdd, kReal, y, addend);
  }
  end.y = y;
  return push(l, &p, std::move(end), view_of(to), to);
}

}  // namespace

std::string lower_product(Lowering& l) {
  if (l.node().op == VIREO_OP_INT_GEMM) return int_gemm(l);
  if (std::string why = check_types(l); !why.empty()) return why;
  return l.node().op == VIREO_OP_GEMM ? gemm(l) : mat_mul(l);
}

}  // namespace vireo::gpu
