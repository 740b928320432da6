// The integer operators of sdk/ops/INTEGER.md that compute an element of one element of each operand, IntSoftmax, and
// the borders between codes and real numbers. Each function of an expression rounds once, as the formulas there do.
#include <algorithm>
#include <array>
#include <cstring>

#include "delegates/gpu/lower/work.h"
#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/space.h"
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
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

// IntSoftmax with its axis as the last one of a space. A row's statistics are the greatest code that is kept, and the
// sum of the table's entries, exact in two words of 32 bits, which every device has.
class IntSoftmax {
 public:
  explicit IntSoftmax(Lowering& l) : l_(l), a_(l.node().attrs<attrs::IntSoftmax>()) {}

  std::string lower() {
    if (std::string why = check(); !why.empty()) return why;
    const size_t rank = l_.in(0).dims.size();
    for (size_t i = 0; i < rank; ++i) {
      if (i != axis()) order_.push_back(i);
    }
    Extents rows;
    for (const size_t i : order_) rows.push_back(l_.in(0).dims[i]);
    order_.push_back(axis());
    if (rows.empty()) rows = {1};
    share_out(std::move(rows));
    return "";
  }

 private:
  static constexpr int32_t kNone = -129;  // below every code
  static constexpr uint64_t kMostSum = uint64_t{1} << 38;

  size_t axis() const { return axis_of(a_.axis(), l_.in(0).rank()); }
  std::string check() const {
    if (!is_byte(l_.in(0).dtype)) return std::string("a softmax of ") + dtype_name(l_.in(0).dtype);
    const Datum& table = l_.in(1);
    constexpr size_t kEntries = 256;
    if (table.constant == nullptr || table.constant_bytes != kEntries * sizeof(int32_t))
      return "a softmax whose table comes with the data";
    std::array<int32_t, kEntries> entries{};
    std::memcpy(entries.data(), table.constant, sizeof(entries));
    const auto [least, most] = std::minmax_element(entries.begin(), entries.end());
    if (*least < 0 || *most > 1 << 24 || entries[0] == 0) return "a softmax by a table that is no exponential";
    const auto length = static_cast<uint64_t>(l_.in(0).dims[axis()]);
    return length * static_cast<uint64_t>(*most) < kMostSum && length <= 1 << 16
               ? ""
               : "a softmax whose sum of codes may be too large";
  }

  // Over the rows, then the axis; of `at`, which has the strides of all dimensions of x.
  View over(const View& at) const {
    View view = at;
    view.strides.clear();
    if (order_.size() == 1) view.strides.push_back(0);
    for (const size_t i : order_) view.strides.push_back(at.strides[i]);
    return view;
  }

  void share_out(Extents shape) {
    RowsProblem p;
    p.shape = std::move(shape);
    p.shape.push_back(l_.in(0).dims[axis()]);
    std::vector<int> reads;
    ExpressionBuilder v(&p.prologue);
    const auto input = [&](size_t i) {
      const Laid at = l_.laid(l_.node().inputs[i]);
      reads.push_back(at.memory);
      return v.input(l_.in(i).dtype, over(broadcast_view(at, l_.in(i).dims, l_.in(0).dims.size())));
    };
    const int code = input(0), kept = l_.has(2) ? input(2) : -1;
    int number = v.function(Function::kCast, kSum, code);
    if (kept >= 0) number = v.function(Function::kWhere, kSum, kept, number, none(&v));
    v.output(number, {});
    p.statistics.resize(3);
    p.statistics[0].combine = Combine::kMax;
    ExpressionBuilder g(&p.statistics[0].map);
    g.output(g.given(kSum), {});
    for (const bool high : {false, true}) {
      ExpressionBuilder b(&p.statistics[high ? 2 : 1].map);
      const int x = b.given(kSum), top = b.given(kSum);
      if (high) (void)b.given(kWord);
      const int e = entry(&b, p.shape.size(), x, top, &reads), half = b.constant(kWord, high ? 16 : 0xffff);
      b.output(b.function(high ? Function::kShiftRight : Function::kAnd, kWord, e, half), {});
    }
    ExpressionBuilder b(&p.epilogue);
    const int x = b.given(kSum), top = b.given(kSum), low = b.given(kWord), high = b.given(kWord);
    const int e = entry(&b, p.shape.size(), x, top, &reads);
    const int sum = total(&b, low, high), multiplier = b.constant_f32(a_.multiplier());
    const int q = b.function(Function::kDiv, kReal, multiplier, sum);
    b.last().p[0] = 1;
    const int real = b.function(Function::kCast, kReal, e);
    const Laid y = l_.make(l_.node().outputs[0]);
    b.output(b.code(b.function(Function::kMul, kReal, real, q), codes_of(a_)), over(view_of(y)));
    Work& w = l_.push(std::move(p));
    w.reads = std::move(reads);
    w.writes = {y.memory};
  }

  static int none(ExpressionBuilder* b) { return b->constant(kSum, static_cast<uint32_t>(kNone)); }

  // The table's entry of code `x` in a row whose greatest is `top`. What is not kept has none; where nothing is, the
  // greatest and all others are kNone, and everything has the first one.
  int entry(ExpressionBuilder* b, size_t axes, int x, int top, std::vector<int>* reads) const {
    const Laid table = l_.laid(l_.node().inputs[1]);
    View entries;
    entries.offset = table.offset;
    entries.strides.assign(axes, 0);
    const int from = b->table(kSum, entries);
    reads->push_back(table.memory);
    int below = b->function(Function::kSub, kSum, top, x), counts = -1;
    const int zero = b->constant(kSum, 0);
    if (l_.has(2)) {
      const int out = none(b), hidden = b->function(Function::kEqual, DType::kBool, x, out);
      const int nothing = b->function(Function::kEqual, DType::kBool, top, out);
      below = b->function(Function::kWhere, kSum, hidden, zero, below);
      counts = b->function(Function::kOr, DType::kBool, b->function(Function::kNot, DType::kBool, hidden), nothing);
    }
    int e = b->function(Function::kElement, kSum, from, below);
    if (counts >= 0) e = b->function(Function::kWhere, kSum, counts, e, zero);
    return b->function(Function::kBitcast, kWord, e);
  }

  // high * 2^16 + low, rounded once. From 2^32 on, a float drops 9 bits at least: 6 of them become one that says
  // whether any was set.
  static int total(ExpressionBuilder* b, int low, int high) {
    const auto word = [&](uint32_t v) { return b->constant(kWord, v); };
    const auto make = [&](Function f, int x, int y) { return b->function(f, kWord, x, y); };
    const int upper = make(Function::kAdd, high, make(Function::kShiftRight, low, word(16)));
    const int lower = make(Function::kAnd, low, word(0xffff));
    const int exact = make(Function::kOr, make(Function::kShiftLeft, upper, word(16)), lower);
    const int one = word(1), last = make(Function::kMin, make(Function::kAnd, lower, word(63)), one);
    const int first = make(Function::kShiftLeft, upper, word(10)), next = make(Function::kShiftRight, lower, word(6));
    const int kept = make(Function::kOr, make(Function::kOr, first, next), last);
    const int unit = b->constant_f32(64), real = b->function(Function::kCast, kReal, kept);
    const int rounded = b->function(Function::kMul, kReal, real, unit);
    const int fits = b->function(Function::kLess, DType::kBool, upper, word(1 << 16));
    return b->function(Function::kWhere, kReal, fits, b->function(Function::kCast, kReal, exact), rounded);
  }

  static constexpr DType kWord = DType::kU32;

  Lowering& l_;
  const attrs::IntSoftmax& a_;
  std::vector<size_t> order_;  // of x's axes in the space
};

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
    case VIREO_OP_INT_SOFTMAX:
      return IntSoftmax(l).lower();
    case VIREO_OP_INT_TABLE:
      return int_table(l);
    case VIREO_OP_QUANTIZE_LINEAR:
      return quantize(l);
    default:
      return dequantize(l);
  }
}

}  // namespace vireo::gpu
