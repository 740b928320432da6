// Operators whose elements depend on where they stand.
#include "delegates/gpu/lower/work.h"
#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/trilu/trilu_generated.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

int number(ExpressionBuilder& b, int64_t n) { return b.constant(kPlaceType, static_cast<uint32_t>(n)); }

std::string push_chain(Lowering& l, ChainProblem* p, ExpressionBuilder& b, int value, std::vector<int> reads) {
  const Laid y = l.make(l.node().outputs[0]);
  b.output(value, view_of(y));
  Work& w = l.push(std::move(*p));
  w.reads = std::move(reads);
  w.writes = {y.memory};
  return "";
}

// Numbers of places are held within 32 bits: beyond there is no element.
constexpr int64_t kFar = INT32_MAX / 2;
int64_t held(int64_t n) { return n < -kFar ? -kFar : n > kFar ? kFar : n; }

std::string trilu(Lowering& l) {
  const Datum& x = l.in(0);
  const DType given = l.has(1) ? l.in(1).dtype : kPlaceType;
  if (given != kPlaceType && given != DType::kI64) return std::string("a diagonal of ") + dtype_name(given);
  if (x.dtype == DType::kF64) return "Trilu of float64";
  const bool upper = l.node().attrs<attrs::Trilu>().upper();
  const Laid at = l.laid(l.node().inputs[0]);
  ChainProblem p;
  p.shape = x.dims;
  ExpressionBuilder b(&p.expression);
  const int value = b.input(x.dtype, view_of(at));
  std::vector<int> reads = {at.memory};
  int diagonal = -1;
  if (l.has(1)) {
    const Laid k = l.laid(l.node().inputs[1]);
    View one;
    one.offset = k.offset;
    one.strides.assign(p.shape.size(), 0);
    diagonal = b.input(given, one);
    reads.push_back(k.memory);
    // Far beyond every element is as far as an int32 says.
    const int low = b.constant(given, static_cast<uint64_t>(-kFar)), high = b.constant(given, kFar);
    diagonal = b.function(Function::kClip, given, diagonal, low, high);
    if (given != kPlaceType) diagonal = b.function(Function::kCast, kPlaceType, diagonal);
  } else {
    diagonal = number(b, 0);
  }
  const uint32_t rows = static_cast<uint32_t>(x.rank() - 2);
  const int right = b.function(Function::kSub, kPlaceType, b.place(rows + 1), b.place(rows));
  const int kept = upper ? b.function(Function::kLessOrEqual, DType::kBool, diagonal, right)
                         : b.function(Function::kLessOrEqual, DType::kBool, right, diagonal);
  const int y = b.function(Function::kWhere, x.dtype, kept, value, b.constant(x.dtype, 0));
  return push_chain(l, &p, b, y, std::move(reads));
}

std::string eye_like(Lowering& l) {
  const DType dtype = l.out(0).dtype;
  if (dtype == DType::kF64) return "EyeLike of float64";
  ChainProblem p;
  p.shape = l.out(0).dims;
  ExpressionBuilder b(&p.expression);
  const int right = b.function(Function::kSub, kPlaceType, b.place(1), b.place(0));
  const int on =
      b.function(Function::kEqual, DType::kBool, right, number(b, held(l.node().attrs<attrs::EyeLike>().k())));
  return push_chain(l, &p, b, b.function(Function::kCast, dtype, on), {});
}

std::string one_hot(Lowering& l) {
  if (!l.constant(1)) return "its depth comes with the data";
  const Datum &index = l.in(0), &y = l.out(0);
  if (index.dtype != DType::kI32 && index.dtype != DType::kI64)
    return std::string("indices of ") + dtype_name(index.dtype);
  if (index.dtype == DType::kI64 && !l.target().int64) return "this GPU does not compute with int64";
  const int64_t given = l.node().attrs<attrs::OneHot>().axis();
  const auto axis = static_cast<size_t>(given < 0 ? given + y.rank() : given);
  const Laid at = l.laid(l.node().inputs[0]), values = l.laid(l.node().inputs[2]);
  ChainProblem p;
  p.shape = y.dims;
  View where = view_of(at);
  where.strides.insert(where.strides.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  ExpressionBuilder b(&p.expression);
  int i = b.input(index.dtype, where);
  View off;
  off.offset = values.offset;
  off.strides.assign(p.shape.size(), 0);
  View on = off;
  on.offset += values.strides[0];
  const int is_off = b.input(l.in(2).dtype, off), is_on = b.input(l.in(2).dtype, on);
  const DType wide = index.dtype;
  const auto depth = static_cast<uint64_t>(y.dims[axis]);
  const int negative = b.function(Function::kLess, DType::kBool, i, b.constant(wide, 0));
  i = b.function(Function::kWhere, wide, negative, b.function(Function::kAdd, wide, i, b.constant(wide, depth)), i);
  int place = b.place(static_cast<uint32_t>(axis));
  if (wide != kPlaceType) place = b.function(Function::kCast, wide, place);
  const int equal = b.function(Function::kEqual, DType::kBool, i, place);
  return push_chain(l, &p, b, b.function(Function::kWhere, y.dtype, equal, is_on, is_off),
                    {at.memory, values.memory, values.memory});
}

}  // namespace

std::string lower_position(Lowering& l) {
  if (l.node().input(0) < 0) return "no input";
  switch (l.node().op) {
    case VIREO_OP_TRILU:
      return trilu(l);
    case VIREO_OP_EYE_LIKE:
      return eye_like(l);
    default:
      return one_hot(l);
  }
}

}  // namespace vireo::gpu
