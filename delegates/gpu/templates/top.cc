#include "delegates/gpu/templates/top.h"

#include <algorithm>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/math.h"
#include "delegates/gpu/templates/numbers.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kMostOfLine = 1 << 14;  // 2^28 comparisons a line

// a < b, with NaN above every number.
Value is_less(Value a, Value b) { return is_float(a.type) ? (!is_nan(a)) & (is_nan(b) | (a < b)) : a < b; }

}  // namespace

Dispatch make_top(const TopProblem& p, const Target& target) {
  Dispatch out;
  const Type type = lane_type(p.dtype, target);
  const int64_t length = p.shape.back(), total = count_of(p.shape);
  if (type == Type::kNone || type == Type::kBool || is_narrow_float(p.dtype)) {
    out.refusal = std::string("the GPU has no order of ") + dtype_name(p.dtype);
  } else if (!p.values.strides.empty() && !can_store(p.dtype, target)) {
    out.refusal = std::string("this GPU cannot write elements of ") + dtype_name(p.dtype) + " one by one";
  } else if (length > kMostOfLine) {
    out.refusal = "a line of more than 16384 elements";
  }
  const uint32_t lanes = std::min(64u, target.workgroup_x);
  if (out.refusal.empty()) out.refusal = cover((total + lanes - 1) / lanes, target, &out);
  if (!out.refusal.empty()) return out;
  Builder b;
  Numbers numbers(b, target);
  Elements elements(b, target);
  std::vector<Value> extents;
  for (const int64_t extent : p.shape) extents.push_back(numbers(extent));
  const Value all = numbers(total), end = numbers(length), count = numbers(p.count);
  const Value at = group_number(b, numbers, out) * lanes + b.lane();
  std::vector<Value> place = unravel(at, extents);
  const Value own = place.back();
  place.pop_back();
  const Line x = line_of(numbers, p.x, place);
  Line values, indices;
  uint32_t binding = 1;
  if (!p.values.strides.empty()) values = line_of(numbers, p.values, place);
  if (!p.indices.strides.empty()) indices = line_of(numbers, p.indices, place);
  b.when(at < all, [&] {
    const Value v = elements.load({p.dtype, 0}, x.first + own * x.step);
    const Variable before = b.variable(b.u32(0));
    b.loop(b.u32(0), end, 1, [&](Value k) {
      const Value other = elements.load({p.dtype, 0}, x.first + k * x.step);
      const Value comes = p.largest ? is_less(v, other) : is_less(other, v);
      const Value behind = p.largest ? is_less(other, v) : is_less(v, other);
      const Value earlier = comes | ((!behind) & (k < own));
      before.set(before.get() + b.convert(earlier, Type::kU32));
    });
    const Value rank = before.get();
    b.when(rank < count, [&] {
      if (values.first.valid()) elements.store({p.dtype, binding++}, values.first + rank * values.step, v);
      if (!indices.first.valid()) return;
      const uint32_t words = b.buffer(binding, Element::kWord, true);
      const Value word = (indices.first + rank * indices.step) * 2;
      b.store(words, word, own);
      b.store(words, word + 1, b.u32(0));
    });
  });
  out.program = std::move(b.program());
  out.program.name = p.largest ? "top_largest" : "top_smallest";
  out.program.size = {lanes, 1, 1};
  out.push = numbers.words();
  return out;
}

}  // namespace vireo::gpu
