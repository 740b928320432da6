// The integer operators of sdk/ops/INTEGER.md that compute an element of one element of each operand, and the borders
// between codes and real numbers. Each function of an expression rounds once, as the formulas there do.
#include "delegates/gpu/lower/work.h"
#include "delegates/gpu/templates/elements.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

// Chains of one output over its dimensions.
struct Chain {
  explicit Chain(Lowering& lowering) : l(lowering), b(&p.expression) { p.shape = l.out(0).dims; }
  int read(size_t input) {
    const Laid at = l.laid(l.node().inputs[input]);
    return read(input, broadcast_view(at, l.in(input).dims, p.shape.size()));
  }
  int read(size_t input, View view) {
    reads.push_back(l.laid(l.node().inputs[input]).memory);
    return b.input(l.in(input).dtype, std::move(view));
  }
  int less(int code, int32_t zero) {
    const int wide = b.function(Function::kCast, kSum, code);
    return zero == 0 ? wide : b.function(Function::kSub, kSum, wide, b.constant(kSum, static_cast<uint32_t>(zero)));
  }
  int real(int sum) { return b.function(Function::kCast, kReal, sum); }
  std::string store(int value) {
    const Laid y = l.make(l.node().outputs[0]);
    b.output(value, view_of(y));
    Work& w = l.push(std::move(p));
    w.reads = std::move(reads);
    w.writes = {y.memory};
    return "";
  }

  Lowering& l;
  ChainProblem p;
  ExpressionBuilder b;
  std::vector<int> reads;
};

std::string int_add(Lowering& l) {
  const auto& a = l.node().attrs<attrs::IntAdd>();
  Chain c(l);
  const int first = c.read(0), second = c.read(1);
  const auto part = [&c](int code, int32_t zero, float multiplier) {
    return c.b.function(Function::kMul, kReal, c.real(c.less(code, zero)), c.b.constant_f32(multiplier));
  };
  const int x = part(first, a.a_zero(), a.a_multiplier());
  const int v = c.b.function(Function::kAdd, kReal, x, part(second, a.b_zero(), a.b_multiplier()));
  return c.store(c.b.code(v, codes_of(a)));
}

std::string int_mul(Lowering& l) {
  if (!is_byte(l.in(0).dtype) || !is_byte(l.in(1).dtype)) return "products of codes of 16 bits";
  const auto& a = l.node().attrs<attrs::IntMul>();
  Chain c(l);
  const int first = c.read(0), second = c.read(1);
  const int x = c.less(first, a.a_zero());
  const int product = c.b.function(Function::kMul, kSum, x, c.less(second, a.b_zero()));
  const int v = c.b.function(Function::kMul, kReal, c.real(product), c.b.constant_f32(a.multiplier()));
  return c.store(c.b.code(v, codes_of(a)));
}

std::string int_affine(Lowering& l) {
  const auto& a = l.node().attrs<attrs::IntAffine>();
  Chain c(l);
  const int x = c.read(0);
  int factor = c.read(1);
  const int below = l.has(2) ? c.read(2) : -1, offset = l.has(3) ? c.read(3) : -1;
  const int difference = c.less(x, a.x_zero());
  if (below >= 0) {
    const int negative = c.b.function(Function::kLess, DType::kBool, difference, c.b.constant(kSum, 0));
    factor = c.b.function(Function::kWhere, kReal, negative, below, factor);
  }
  int v = c.b.function(Function::kMul, kReal, c.real(difference), factor);
  if (offset >= 0) v = c.b.function(Function::kAdd, kReal, v, offset);
  return c.store(c.b.code(v, codes_of(a)));
}

// Codes become places in the table, in memory: a gather reads its indices there.
std::string int_table(Lowering& l) {
  const Datum& x = l.in(0);
  const Laid from = l.laid(l.node().inputs[0]), table = l.laid(l.node().inputs[1]);
  const Laid y = l.make(l.node().outputs[0]);
  Extents shape = x.dims.empty() ? Extents{1} : x.dims;
  const auto count = static_cast<uint64_t>(x.count());
  const Laid places{l.make_memory(count * sizeof(int32_t)), 0, dense_strides(shape)};
  ChainProblem widen;
  widen.shape = shape;
  ExpressionBuilder w(&widen.expression);
  View codes = view_of(from);
  codes.strides.resize(shape.size(), 0);
  const int code = w.function(Function::kBitcast, DType::kU8, w.input(x.dtype, codes));
  w.output(w.function(Function::kCast, kSum, code), view_of(places));
  Work& first = l.push(std::move(widen));
  first.reads = {from.memory};
  first.writes = {places.memory};
  ChainProblem pick;
  pick.shape = shape;
  ExpressionBuilder b(&pick.expression);
  View entry;
  entry.offset = table.offset;
  entry.strides.assign(shape.size(), 0);
  entry.strides.back() = table.strides[0];
  entry.gather_axis = static_cast<int>(shape.size()) - 1;
  entry.gather_input = b.input(kSum, view_of(places));
  entry.gather_extent = 256;
  View out = view_of(y);
  out.strides.resize(shape.size(), 0);
  b.output(b.input(l.in(1).dtype, entry), out);
  Work& second = l.push(std::move(pick));
  second.reads = {places.memory, table.memory};
  second.writes = {y.memory};
  return "";
}

// Scale or zero point of each element: one for all, or one an index of the axis.
View parameter_view(const Lowering& l, size_t input, const Laid& at, int64_t axis) {
  View view;
  view.offset = at.offset;
  view.strides.assign(l.in(0).dims.size(), 0);
  if (l.in(input).count() != 1)
    view.strides[static_cast<size_t>(axis < 0 ? axis + l.in(0).rank() : axis)] = at.strides[0];
  return view;
}

std::string check_border(const Lowering& l, int32_t block) {
  if (block != 0) return "scales of blocks";
  if (l.in(1).dtype != kReal) return std::string("a scale of ") + dtype_name(l.in(1).dtype);
  return l.in(1).rank() > 1 ? "scales of more than one axis" : "";
}

std::string quantize(Lowering& l) {
  const auto& a = l.node().attrs<attrs::QuantizeLinear>();
  if (std::string why = check_border(l, a.block_size()); !why.empty()) return why;
  if (l.in(0).dtype != kReal || (a.precision() != 0 && a.precision() != static_cast<uint8_t>(kReal)))
    return "codes of another type than float32";
  const DType y = l.out(0).dtype;
  if (!is_code(y)) return std::string("codes of ") + dtype_name(y);
  Chain c(l);
  const int x = c.read(0);
  const int scale = c.read(1, parameter_view(l, 1, l.laid(l.node().inputs[1]), a.axis()));
  const int zero = l.has(2) ? c.read(2, parameter_view(l, 2, l.laid(l.node().inputs[2]), a.axis())) : -1;
  return c.store(c.b.function(Function::kQuantize, y, x, scale, zero));
}

// Floats of 8 and 4 bits by a scale. Their zero point can only be 0.
std::string widen(Lowering& l, int64_t axis) {
  if (l.has(2) && !l.constant(2)) return "a zero point that a run brings";
  for (size_t i = 0; l.has(2) && i < l.in(2).bytes(); ++i) {
    if (l.in(2).constant[i] != 0) return "a zero point of codes of floats";
  }
  Chain c(l);
  const int x = c.read(0);
  const int scale = c.read(1, parameter_view(l, 1, l.laid(l.node().inputs[1]), axis));
  return c.store(c.b.function(Function::kMul, kReal, c.b.function(Function::kCast, kReal, x), scale));
}

// One scale for each `block` neighbours along an axis, which is two axes here: of blocks, and inside one.
std::string dequantize_blocks(Lowering& l, int64_t axis, int64_t block) {
  const Datum &x = l.in(0), &scale = l.in(1), &y = l.out(0);
  const size_t at = axis_of(axis, x.rank());
  if (x.rank() >= kMostAxes) return "scales of blocks in 8 dimensions";
  if (scale.rank() != x.rank() || x.dims[at] % block != 0 || scale.dims[at] != x.dims[at] / block)
    return "blocks that do not divide an axis";
  if (!dtype_is_integer(x.dtype) || dtype_bits(x.dtype) > 16) return std::string("codes of ") + dtype_name(x.dtype);
  if (!is_real(scale.dtype) || !is_real(y.dtype)) return std::string("a scale of ") + dtype_name(scale.dtype);
  ChainProblem p;
  p.shape = x.dims;
  p.shape[at] = x.dims[at] / block;
  p.shape.insert(p.shape.begin() + static_cast<std::ptrdiff_t>(at) + 1, block);
  // `inside`: how far neighbours in a block are apart, in steps along the axis.
  const auto cut = [&](const Laid& laid, int64_t of_block, int64_t inside) {
    View view = view_of(laid);
    const int64_t step = view.strides[at];
    view.strides[at] = step * of_block;
    view.strides.insert(view.strides.begin() + static_cast<std::ptrdiff_t>(at) + 1, step * inside);
    return view;
  };
  ExpressionBuilder b(&p.expression);
  std::vector<int> reads;
  const auto read = [&](size_t input, int64_t of_block, int64_t inside) {
    const Laid laid = l.laid(l.node().inputs[input]);
    reads.push_back(laid.memory);
    return b.input(l.in(input).dtype, cut(laid, of_block, inside));
  };
  const int codes = read(0, block, 1);
  int size = read(1, 1, 0);
  const int zero = l.has(2) ? read(2, 1, 0) : -1;
  if (scale.dtype != kReal) size = b.function(Function::kCast, kReal, size);
  int v = b.function(Function::kDequantize, kReal, codes, size, zero);
  if (y.dtype != kReal) v = b.function(Function::kCast, y.dtype, v);
  const Laid to = l.make(l.node().outputs[0]);
  b.output(v, cut(to, block, 1));
  Work& w = l.push(std::move(p));
  w.reads = std::move(reads);
  w.writes = {to.memory};
  return "";
}

std::string dequantize(Lowering& l) {
  const auto& a = l.node().attrs<attrs::DequantizeLinear>();
  if (a.block_size() > 0 && l.in(1).count() != 1 && !is_narrow_float(l.in(0).dtype))
    return dequantize_blocks(l, a.axis(), a.block_size());
  if (std::string why = check_border(l, a.block_size()); !why.empty()) return why;
  if (l.out(0).dtype != kReal) return "codes of another type than float32";
  if (is_narrow_float(l.in(0).dtype)) return widen(l, a.axis());
  if (!is_code(l.in(0).dtype) && l.in(0).dtype != kSum) return std::string("codes of ") + dtype_name(l.in(0).dtype);
  Chain c(l);
  const int x = c.read(0);
  const int scale = c.read(1, parameter_view(l, 1, l.laid(l.node().inputs[1]), a.axis()));
  const int zero = l.has(2) ? c.read(2, parameter_view(l, 2, l.laid(l.node().inputs[2]), a.axis())) : -1;
  return c.store(c.b.function(Function::kDequantize, kReal, x, scale, zero));
}

}  // namespace

std::string lower_integer(Lowering& l) {
  switch (l.node().op) {
    case VIREO_OP_INT_ADD:
      return int_add(l);
    case VIREO_OP_INT_MUL:
      return int_mul(l);
    case VIREO_OP_INT_AFFINE:
      return int_affine(l);
    case VIREO_OP_INT_TABLE:
      return int_table(l);
    case VIREO_OP_QUANTIZE_LINEAR:
      return quantize(l);
    default:
      return dequantize(l);
  }
}

}  // namespace vireo::gpu
