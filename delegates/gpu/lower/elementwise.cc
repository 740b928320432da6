// Operators that make an element of one element of each operand.
#include <cstring>

#include "delegates/gpu/lower/work.h"
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/unary/unary_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

struct Row {
  uint16_t op;
  Function function;
  int operands;
};
constexpr Row kRows[] = {
    {VIREO_OP_ABS, Function::kAbs, 1},
    {VIREO_OP_NEG, Function::kNeg, 1},
    {VIREO_OP_SQRT, Function::kSqrt, 1},
    {VIREO_OP_EXP, Function::kExp, 1},
    {VIREO_OP_LOG, Function::kLog, 1},
    {VIREO_OP_SIN, Function::kSin, 1},
    {VIREO_OP_COS, Function::kCos, 1},
    {VIREO_OP_TAN, Function::kTan, 1},
    {VIREO_OP_ASIN, Function::kAsin, 1},
    {VIREO_OP_ACOS, Function::kAcos, 1},
    {VIREO_OP_ATAN, Function::kAtan, 1},
    {VIREO_OP_SINH, Function::kSinh, 1},
    {VIREO_OP_COSH, Function::kCosh, 1},
    {VIREO_OP_ASINH, Function::kAsinh, 1},
    {VIREO_OP_ACOSH, Function::kAcosh, 1},
    {VIREO_OP_ATANH, Function::kAtanh, 1},
    {VIREO_OP_TANH, Function::kTanh, 1},
    {VIREO_OP_SIGMOID, Function::kSigmoid, 1},
    {VIREO_OP_RELU, Function::kRelu, 1},
    {VIREO_OP_LEAKY_RELU, Function::kLeakyRelu, 1},
    {VIREO_OP_ELU, Function::kElu, 1},
    {VIREO_OP_HARD_SIGMOID, Function::kHardSigmoid, 1},
    {VIREO_OP_HARD_SWISH, Function::kHardSwish, 1},
    {VIREO_OP_SOFTPLUS, Function::kSoftplus, 1},
    {VIREO_OP_GELU, Function::kGeluErf, 1},
    {VIREO_OP_ERF, Function::kErf, 1},
    {VIREO_OP_FLOOR, Function::kFloor, 1},
    {VIREO_OP_CEIL, Function::kCeil, 1},
    {VIREO_OP_ROUND, Function::kRound, 1},
    {VIREO_OP_SIGN, Function::kSign, 1},
    {VIREO_OP_NOT, Function::kNot, 1},
    {VIREO_OP_IS_NA_N, Function::kIsNaN, 1},
    {VIREO_OP_IS_INF, Function::kIsInf, 1},
    {VIREO_OP_MISH, Function::kMish, 1},
    {VIREO_OP_SWISH, Function::kSwish, 1},
    {VIREO_OP_SHRINK, Function::kShrink, 1},
    {VIREO_OP_CAST, Function::kCast, 1},
    {VIREO_OP_BIT_CAST, Function::kBitcast, 1},
    {VIREO_OP_ADD, Function::kAdd, 2},
    {VIREO_OP_SUB, Function::kSub, 2},
    {VIREO_OP_MUL, Function::kMul, 2},
    {VIREO_OP_DIV, Function::kDiv, 2},
    {VIREO_OP_POW, Function::kPow, 2},
    {VIREO_OP_MOD, Function::kModFloored, 2},
    {VIREO_OP_MIN, Function::kMin, 2},
    {VIREO_OP_MAX, Function::kMax, 2},
    {VIREO_OP_EQUAL, Function::kEqual, 2},
    {VIREO_OP_LESS, Function::kLess, 2},
    {VIREO_OP_LESS_OR_EQUAL, Function::kLessOrEqual, 2},
    {VIREO_OP_BIT_SHIFT, Function::kShiftLeft, 2},
    {VIREO_OP_BITWISE_AND, Function::kAnd, 2},
    {VIREO_OP_BITWISE_OR, Function::kOr, 2},
    {VIREO_OP_BITWISE_XOR, Function::kXor, 2},
    {VIREO_OP_PRELU, Function::kPRelu, 2},
    {VIREO_OP_WHERE, Function::kWhere, 3},
    {VIREO_OP_CLIP, Function::kClip, 3},
};

const Row* row_of(uint16_t op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

// What the attributes change of the row's function.
void set_attributes(const Node& n, Step* step) {
  switch (n.op) {
    case VIREO_OP_CAST:
      step->p[0] = n.attrs<attrs::Cast>().saturate() ? 0.0f : 1.0f;
      break;
    case VIREO_OP_LEAKY_RELU:
      step->p[0] = n.attrs<attrs::LeakyRelu>().alpha();
      break;
    case VIREO_OP_ELU: {
      const auto& a = n.attrs<attrs::Elu>();
      step->p[0] = a.alpha();
      step->p[1] = a.gamma();
      step->p[2] = a.divisor();
      break;
    }
    case VIREO_OP_HARD_SIGMOID:
      step->p[0] = n.attrs<attrs::HardSigmoid>().alpha();
      step->p[1] = n.attrs<attrs::HardSigmoid>().beta();
      break;
    case VIREO_OP_GELU:
      if (n.attrs<attrs::Gelu>().form() == attrs::GeluForm::Tanh) step->function = Function::kGeluTanh;
      break;
    case VIREO_OP_SWISH:
      step->p[0] = n.attrs<attrs::Swish>().alpha();
      break;
    case VIREO_OP_IS_INF:
      step->p[0] = n.attrs<attrs::IsInf>().detect_negative() ? 1.0f : 0.0f;
      step->p[1] = n.attrs<attrs::IsInf>().detect_positive() ? 1.0f : 0.0f;
      break;
    case VIREO_OP_SHRINK:
      step->p[0] = n.attrs<attrs::Shrink>().lambd();
      step->p[1] = n.attrs<attrs::Shrink>().bias();
      break;
    case VIREO_OP_MOD:
      if (n.attrs<attrs::Mod>().truncated()) step->function = Function::kModTruncated;
      break;
    case VIREO_OP_BIT_SHIFT:
      if (n.attrs<attrs::BitShift>().right()) step->function = Function::kShiftRight;
      break;
    default:
      break;
  }
}

// An integer that is divided by zero is an error of the run.
bool may_divide_by_zero(const Lowering& l) {
  if (l.node().op != VIREO_OP_DIV && l.node().op != VIREO_OP_MOD) return false;
  if (!dtype_is_integer(l.in(0).dtype)) return false;
  const Datum& divisor = l.in(1);
  if (divisor.constant == nullptr || dtype_bits(divisor.dtype) < 8) return true;
  const auto size = static_cast<size_t>(dtype_bits(divisor.dtype) / 8);
  for (size_t at = 0; at < divisor.bytes(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, divisor.constant + at, size);
    if (bits == 0) return true;
  }
  return false;
}

// A node's values as operands over the space of its output: those with memory first, then the constants of one element.
class Operands {
 public:
  Operands(Lowering& l, ChainProblem* p) : l_(l), problem_(*p), builder(&p->expression) {}
  void read(const std::vector<int>& values) {
    ids_.assign(values.size(), -1);
    for (size_t i = 0; i < values.size(); ++i) {
      const int v = values[i];
      if (v < 0 || is_scalar(v)) continue;
      const Laid at = l_.laid(v);
      ids_[i] = builder.input(l_.value(v).dtype, broadcast_view(at, l_.value(v).dims, problem_.shape.size()));
      reads.push_back(at.memory);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= 0 && is_scalar(values[i]))
        ids_[i] = builder.constant(l_.value(values[i]).dtype, bits(values[i]));
    }
  }
  int operator[](size_t i) const { return i < ids_.size() ? ids_[i] : -1; }

 private:
  bool is_scalar(int v) const { return l_.value(v).constant != nullptr && l_.value(v).count() == 1; }
  uint64_t bits(int v) const {
    uint64_t bits = 0;
    std::memcpy(&bits, l_.value(v).constant, static_cast<size_t>(l_.value(v).bytes()));
    return bits;
  }

  Lowering& l_;
  ChainProblem& problem_;
  std::vector<int> ids_;

 public:
  ExpressionBuilder builder;
  std::vector<int> reads;
};

std::string store(Lowering& l, ChainProblem* problem, Operands* operands, int value) {
  const Laid y = l.make(l.node().outputs[0]);
  operands->builder.output(value, view_of(y));
  std::vector<int> reads = std::move(operands->reads);
  const bool reports = problem->expression.reports();
  Work& w = l.push(std::move(*problem));
  w.reads = std::move(reads);
  w.writes = {y.memory};
  if (reports) l.report(&w);
  return "";
}

std::string batch_normalization(Lowering& l) {
  const auto& a = l.node().attrs<attrs::BatchNormalization>();
  if (a.training_mode()) return "BatchNormalization in training mode";
  if (l.in(0).dtype == DType::kF64) return "BatchNormalization of float64";
  const Datum& x = l.in(0);
  for (size_t i = 1; i < 5; ++i) {
    if (l.in(i).rank() != 1) return "BatchNormalization with more than one parameter a channel";
    if (l.in(i).dtype != DType::kF32) return "BatchNormalization whose parameters are not float32";
  }
  ChainProblem p;
  p.shape = x.dims;
  Operands operands(l, &p);
  ExpressionBuilder& b = operands.builder;
  const size_t axis = x.rank() == 1 ? 0 : a.layout() == static_cast<uint8_t>(Layout::kNchw) ? 1 : p.shape.size() - 1;
  operands.read({l.node().inputs[0]});
  if (operands[0] < 0 || l.in(0).constant != nullptr) return "BatchNormalization of a constant";
  int ids[5] = {operands[0]};
  for (size_t i = 1; i < 5; ++i) {
    const Laid at = l.laid(l.node().inputs[i]);
    View view;
    view.offset = at.offset;
    view.strides.assign(p.shape.size(), 0);
    if (x.rank() > 1) view.strides[axis] = at.strides[0];
    ids[i] = b.input(DType::kF32, view);
    operands.reads.push_back(at.memory);
  }
  const DType f = DType::kF32;
  const int real = x.dtype == f ? ids[0] : b.function(Function::kCast, f, ids[0]);
  const int variance = b.function(Function::kAdd, f, ids[4], b.constant_f32(a.epsilon()));
  const int scale = b.function(Function::kDiv, f, ids[1], b.function(Function::kSqrt, f, variance));
  const int centred = b.function(Function::kSub, f, real, ids[3]);
  int y = b.function(Function::kAdd, f, b.function(Function::kMul, f, centred, scale), ids[2]);
  if (x.dtype != f) y = b.function(Function::kCast, x.dtype, y);
  return store(l, &p, &operands, y);
}

}  // namespace

std::string lower_elementwise(Lowering& l) {
  const Node& n = l.node();
  if (n.op == VIREO_OP_BATCH_NORMALIZATION) return batch_normalization(l);
  const Row* const row = row_of(n.op);
  if (row == nullptr) return "no kernel of the GPU does this operator";
  if (n.output(1) >= 0) return "more than one output";
  if (n.input(0) < 0) return "an operand is left out";
  const DType type = l.out(0).dtype;
  ChainProblem p;
  p.shape = l.out(0).dims;
  Operands operands(l, &p);
  operands.read(n.inputs);
  ExpressionBuilder& b = operands.builder;
  int y = operands[0];
  if (n.op == VIREO_OP_CLIP && operands[1] < 0 && operands[2] < 0) {
    y = b.function(Function::kCast, type, y);
  } else {
    int second = operands[1];
    if (n.op == VIREO_OP_POW && l.in(0).dtype != l.in(1).dtype) {
      if (l.in(0).dtype != DType::kF32) return "Pow of operands of two types";
      second = b.function(Function::kCast, DType::kF32, second);
    }
    for (int i = 0; i < row->operands; ++i) {
      if (n.op != VIREO_OP_CLIP && operands[static_cast<size_t>(i)] < 0) return "an operand is left out";
    }
    if (may_divide_by_zero(l)) second = b.function(Function::kDivisor, l.in(1).dtype, second);
    y = b.function(row->function, type, y, second, operands[2]);
    set_attributes(n, &b.last());
  }
  return store(l, &p, &operands, y);
}

}  // namespace vireo::gpu
