#include "delegates/gpu/templates/scatter.h"

#include <algorithm>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/functions.h"
#include "delegates/gpu/templates/numbers.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kScatterLanes = 64;

// An index that counts from the end where it is below 0, and whether it lies on its axis.
struct Held {
  Value at, inside;
};
Held held(Builder& b, Value index, Value extent) {
  if (!is_wide(index.type)) {
    const Value bits = b.bitcast(index, Type::kU32), at = b.select(index < 0, bits + extent, bits);
    return {at, at < extent};
  }
  const Value wide = b.convert(extent, Type::kI64), at = b.select(index < 0, index + wide, index);
  return {b.convert(at, Type::kU32), (at >= 0) & (at < wide)};
}

Value combined(Builder& b, const ScatterProblem& p, const Target& target, Value before, Value update) {
  Step step;
  step.function = p.combine;
  step.type = p.dtype;
  const DType types[3] = {p.dtype, p.dtype, DType::kNone};
  const Value values[3] = {update, before, Value()};  // of equal ones the first operand of min and max is left
  return apply(step, types, values, b, target);
}

std::string refuse(const ScatterProblem& p, const Target& target) {
  if (lane_type(p.dtype, target) == Type::kNone || lane_type(p.index_dtype, target) == Type::kNone)
    return "this GPU does not compute with " +
           std::string(dtype_name(lane_type(p.dtype, target) == Type::kNone ? p.dtype : p.index_dtype));
  if (!can_store(p.dtype, target))
    return std::string("this GPU cannot write elements of ") + dtype_name(p.dtype) + " one by one";
  if (p.combine == Function::kCast) return "";
  Step step;
  step.function = p.combine;
  step.type = p.dtype;
  const DType types[3] = {p.dtype, p.dtype, DType::kNone};
  return refuse(step, types, target);
}

}  // namespace

Dispatch make_scatter(const ScatterProblem& p, const Target& target) {
  Dispatch out;
  out.refusal = refuse(p, target);
  const uint32_t lanes = std::min(kScatterLanes, target.workgroup_x);
  const int64_t total = count_of(p.shape);
  if (out.refusal.empty()) out.refusal = cover((total + lanes - 1) / lanes, target, &out);
  if (!out.refusal.empty()) return out;
  Builder b;
  Numbers numbers(b, target);
  Elements elements(b, target);
  std::vector<Value> extents;
  for (const int64_t extent : p.shape) extents.push_back(numbers(extent));
  const Value count = numbers(total), updates = numbers(p.updates), slot = numbers(p.slot);
  const Value at = group_number(b, numbers, out) * lanes + b.lane();
  const std::vector<Value> place = unravel(at, extents);
  const Line index = line_of(numbers, p.index, place), update = line_of(numbers, p.update, place);
  const Value first = line_of(numbers, p.y, place).first;
  struct Numbered {
    Value offset, extent, step;
  };
  std::vector<Numbered> components;
  for (const ScatterProblem::Component& c : p.components)
    components.push_back({numbers(c.offset), numbers(c.extent), numbers(c.step)});
  b.when(at < count, [&] {
    b.loop(b.u32(0), updates, 1, [&](Value k) {
      const Value from = index.first + k * index.step;
      Value to = first, inside = b.boolean(true);
      for (const Numbered& c : components) {
        const Held h = held(b, elements.load({p.index_dtype, 0}, from + c.offset), c.extent);
        to = to + h.at * c.step;
        inside = inside & h.inside;
      }
      const auto make = [&] {
        const Tensor y = {p.dtype, 2};
        const Value v = elements.load({p.dtype, 1}, update.first + k * update.step);
        elements.store(y, to, p.combine == Function::kCast ? v : combined(b, p, target, elements.load(y, to), v));
      };
      if (!p.reports) return b.when(inside, make);
      b.when(inside, make,
             [&] { b.store(b.buffer(3, Element::kWord, true), slot, b.u32(static_cast<uint32_t>(RunError::kIndex))); });
    });
  });
  out.program = std::move(b.program());
  out.program.name = std::string("scatter") + (p.combine == Function::kCast ? "" : "_") +
                     (p.combine == Function::kCast ? "" : name_of(p.combine));
  out.program.size = {lanes, 1, 1};
  out.push = numbers.words();
  return out;
}

}  // namespace vireo::gpu
