#include "delegates/gpu/templates/scan.h"

#include <algorithm>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/numbers.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kLanes = 64;

// Sums of floats carry what each addition loses to the next one (Kahan 1965), unless they left the numbers.
Value add(Builder& b, Value before, Value v, const Variable& lost) {
  if (!is_float(v.type)) return before + v;
  const Value corrected = v - lost.get(), after = before + corrected;
  const Value rest = (after - before) - corrected;
  lost.set(b.select(rest == rest, rest, b.f32(0)));
  return after;
}

}  // namespace

Dispatch make_scan(const ScanProblem& p, const Target& target) {
  Dispatch out;
  const Type type = lane_type(p.dtype, target);
  if (type == Type::kNone || type == Type::kBool)
    out.refusal = std::string("the GPU has no running sums of ") + dtype_name(p.dtype);
  if (out.refusal.empty() && !can_store(p.dtype, target))
    out.refusal = std::string("this GPU cannot write elements of ") + dtype_name(p.dtype) + " one by one";
  const int64_t length = p.shape.empty() ? 0 : p.shape.back(), rows = length == 0 ? 0 : count_of(p.shape) / length;
  const uint32_t lanes = std::min(kLanes, target.workgroup_x);
  if (out.refusal.empty()) out.refusal = cover((rows + lanes - 1) / lanes, target, &out);
  if (!out.refusal.empty()) return out;

  Builder b;
  Numbers numbers(b, target);
  Elements elements(b, target);
  std::vector<Value> extents;
  for (size_t i = 0; i + 1 < p.shape.size(); ++i) extents.push_back(numbers(p.shape[i]));
  const Value count = numbers(rows), last = numbers(length - 1), end = numbers(length);
  const Value row = group_number(b, numbers, out) * lanes + b.lane();
  const std::vector<Value> place = unravel(row, extents);
  const Line x = line_of(numbers, p.x, place), y = line_of(numbers, p.y, place);
  b.when(row < count, [&] {
    const Variable total = b.variable(b.number(type, p.product ? 1 : 0)), lost = b.variable(b.number(type, 0));
    b.loop(b.u32(0), end, 1, [&](Value k) {
      const Value i = p.reverse ? last - k : k;
      const Value before = total.get(), v = elements.load({p.dtype, 0}, x.first + i * x.step);
      const Value after = p.product ? before * v : add(b, before, v, lost);
      total.set(after);
      elements.store({p.dtype, 1}, y.first + i * y.step, p.exclusive ? before : after);
    });
  });
  out.program = std::move(b.program());
  out.program.name = p.product ? "scan_product" : "scan_sum";
  out.program.size = {lanes, 1, 1};
  out.push = numbers.words();
  return out;
}

}  // namespace vireo::gpu
