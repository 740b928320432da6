#include "delegates/gpu/templates/rows_body.h"

#include <math.h>

#include <algorithm>

#include "delegates/gpu/templates/math.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

// What leaves a number as it is.
Value neutral(Builder& b, Combine combine, Type type) {
  switch (combine) {
    case Combine::kSum:
      return b.number(type, 0);
    case Combine::kProduct:
      return b.number(type, 1);
    default:
      break;
  }
  const bool least = combine == Combine::kMax;
  if (type == Type::kF32) return b.f32(least ? -INFINITY : INFINITY);
  if (!is_signed(type)) return b.constant(type, least ? 0 : ~uint64_t{0});
  const int64_t low = is_wide(type) ? INT64_MIN : INT32_MIN, high = is_wide(type) ? INT64_MAX : INT32_MAX;
  return b.number(type, least ? low : high);
}

Value combined(Builder& b, Combine combine, Value x, Value y) {
  if (combine == Combine::kSum) return x + y;
  if (combine == Combine::kProduct) return x * y;
  const Value wins = combine == Combine::kMax ? y < x : x < y;
  return b.select(is_float(x.type) ? wins | is_nan(x) : wins, x, y);
}

std::vector<Value> numbers_of(Numbers& numbers, Extents::const_iterator begin, Extents::const_iterator end) {
  std::vector<Value> out;
  for (; begin != end; ++begin) out.push_back(numbers(*begin));
  return out;
}

}  // namespace

std::string refuse_rows(const RowsProblem& problem, const Target& target) {
  const size_t axes = problem.shape.size(), outer = axes - static_cast<size_t>(problem.row_axes);
  if (problem.row_axes < 0 || static_cast<size_t>(problem.row_axes) > axes) return "a row of axes that are not there";
  std::string why = refuse(problem.prologue, axes, target);
  if (why.empty() && problem.prologue.outputs.size() != 1) why = "a prologue without one output";
  for (const Statistic& s : problem.statistics) {
    if (why.empty()) why = refuse(s.map, axes, target);
    const bool operands =
        std::any_of(s.map.inputs.begin(), s.map.inputs.end(), [](const Input& in) { return !in.given && !in.indexed; });
    if (why.empty() && (operands || s.map.outputs.size() != 1)) why = "a statistic with operands";
  }
  if (why.empty()) why = refuse(problem.epilogue, problem.per_row ? outer : axes, target);
  return why;
}

void fit_rows(RowsProblem* problem, std::vector<size_t>* parts) {
  const size_t axes = problem->shape.size();
  problem->prologue.outputs[0].view = View();
  problem->prologue.outputs[0].view.strides.assign(axes, 0);
  const auto fit = [&](View& v) {
    v.strides.resize(axes, 0);
    if (v.begin.empty()) return;
    v.begin.resize(axes, 0);
    for (size_t i = v.extent.size(); i < axes; ++i) v.extent.push_back(problem->shape[i]);
  };
  for (Input& in : problem->epilogue.inputs) {
    if (!in.given) fit(in.view);
  }
  for (Output& o : problem->epilogue.outputs) fit(o.view);
  *parts = {axes - static_cast<size_t>(problem->row_axes), static_cast<size_t>(problem->row_axes)};
  const bool places = std::any_of(problem->statistics.begin(), problem->statistics.end(),
                                  [](const Statistic& s) { return sees_places(s.map); });
  if (!places) collapse(&problem->shape, {&problem->prologue, &problem->epilogue}, parts);
}

RowsBody::RowsBody(Builder& builder, const Target& target, Numbers& numbers, const RowsProblem& problem,
                   const std::vector<size_t>& parts, const RowsTiling& tiling, uint32_t* binding)
    : b_(builder),
      target_(target),
      numbers_(numbers),
      problem_(problem),
      tiling_(tiling),
      outer_extents_(
          numbers_of(numbers, problem.shape.begin(), problem.shape.begin() + static_cast<std::ptrdiff_t>(parts[0]))),
      inner_extents_(
          numbers_of(numbers, problem.shape.begin() + static_cast<std::ptrdiff_t>(parts[0]), problem.shape.end())),
      count_of_rows_(count_of({problem.shape.begin(), problem.shape.begin() + static_cast<std::ptrdiff_t>(parts[0])})),
      length_of_row_(count_of({problem.shape.begin() + static_cast<std::ptrdiff_t>(parts[0]), problem.shape.end()})),
      rows_(numbers(count_of_rows_)),
      length_(numbers(length_of_row_)),
      lane_(builder.lane()),
      within_(lane_ % int64_t{tiling.lanes_of_row}),
      prologue_(builder, target, numbers, problem.prologue, binding) {
  for (const Statistic& s : problem.statistics) maps_.emplace_back(builder, target, numbers, s.map, binding);
}

void RowsBody::run(Value row, const Store& store) {
  const Value there = row < rows_;
  place_ = unravel(b_.select(there, row, rows_ - 1), outer_extents_);
  keep();
  std::vector<Value> statistics;
  for (size_t i = 0; i < maps_.size(); ++i)
    statistics.push_back(statistic(problem_.statistics[i], &maps_[i], statistics));
  if (problem_.per_row) {
    std::vector<Value> place = place_;
    place.resize(problem_.shape.size(), b_.u32(0));
    b_.when(there & (within_ == 0), [&] { store(place, b_.u32(0), statistics); });
    return;
  }
  b_.when(there, [&] {
    for_elements([&](const Kept& k) {
      std::vector<Value> given = {k.v};
      given.insert(given.end(), statistics.begin(), statistics.end());
      b_.when(k.inside, [&] { store(k.place, k.element, given); });
    });
  });
}

std::vector<Value> RowsBody::place_at(Value element) {
  std::vector<Value> place = place_;
  for (const Value v : unravel(element, inner_extents_)) place.push_back(v);
  return place;
}

void RowsBody::keep() {
  const bool whole = !target_.open && length_of_row_ == int64_t{tiling_.kept} * tiling_.lanes_of_row;
  for (uint32_t j = 0; j < tiling_.kept; ++j) {
    const Value at = within_ + int64_t{j} * tiling_.lanes_of_row;
    Kept k;
    k.inside = whole ? b_.boolean(true) : at < length_;
    k.element = whole ? at : b_.select(k.inside, at, length_ - 1);
    k.place = place_at(k.element);
    k.v = prologue_.output(prologue_.at(k.place), 0);
    kept_.push_back(k);
  }
}

// The lane's elements of its row; where one is not inside, its place and v are another's.
void RowsBody::for_elements(const Visit& visit) {
  for (const Kept& k : kept_) visit(k);
  if (!kept_.empty()) return;
  b_.loop(within_, length_, tiling_.lanes_of_row, [&](Value at) {
    Kept k;
    k.place = place_at(at);
    k.element = at;
    k.v = prologue_.output(prologue_.at(k.place), 0);
    k.inside = b_.boolean(true);
    visit(k);
  });
}

Value RowsBody::statistic(const Statistic& s, Evaluator* map, const std::vector<Value>& before) {
  const Type type = lane_type(s.map.type_of(s.map.outputs[0].value), target_);
  const Value start = neutral(b_, s.combine, type);
  const Variable sum = b_.variable(start);
  for_elements([&](const Kept& k) {
    std::vector<Value> given = {k.v};
    given.insert(given.end(), before.begin(), before.end());
    const Value one = b_.select(k.inside, map->output(map->at(k.place, given), 0), start);
    sum.set(combined(b_, s.combine, sum.get(), one));
  });
  return over_lanes(s, sum.get());
}

// Of all lanes of the row, the same in each.
Value RowsBody::over_lanes(const Statistic& s, Value mine) {
  if (tiling_.lanes_of_row == 1) return mine;
  if (target_.shuffles && tiling_.lanes % target_.subgroup == 0) return over_subgroups(s, mine);
  const uint32_t array = b_.shared(mine.type, tiling_.lanes);
  b_.shared_store(array, lane_, mine);
  b_.barrier();
  for (uint32_t half = tiling_.lanes_of_row / 2; half > 0; half /= 2) {
    b_.when(within_ < half, [&] {
      const Value other = b_.shared_load(array, lane_ + half);
      b_.shared_store(array, lane_, combined(b_, s.combine, b_.shared_load(array, lane_), other));
    });
    b_.barrier();
  }
  return b_.shared_load(array, lane_ - within_);
}

// The lanes of a subgroup exchange what they have; only subgroups of one row meet in shared memory.
Value RowsBody::over_subgroups(const Statistic& s, Value mine) {
  const uint32_t subgroup = target_.subgroup, of_row = tiling_.lanes_of_row;
  for (uint32_t mask = 1; mask < std::min(of_row, subgroup); mask *= 2)
    mine = combined(b_, s.combine, mine, b_.shuffle(mine, mask));
  if (of_row <= subgroup) return mine;
  const uint32_t array = b_.shared(mine.type, tiling_.lanes / subgroup);
  b_.when(lane_ % subgroup == 0, [&] { b_.shared_store(array, lane_ / subgroup, mine); });
  b_.barrier();
  const Value first = (lane_ - within_) / subgroup;
  Value all = b_.shared_load(array, first);
  for (uint32_t i = 1; i < of_row / subgroup; ++i) all = combined(b_, s.combine, all, b_.shared_load(array, first + i));
  return all;
}

}  // namespace vireo::gpu
