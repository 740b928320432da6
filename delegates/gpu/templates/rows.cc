#include "delegates/gpu/templates/rows.h"

#include <math.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/math.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kMostKept = 8;

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

class Rows {
 public:
  Rows(const RowsProblem& problem, const RowsTiling& tiling, const Target& target)
      : problem_(problem), tiling_(tiling), target_(target), numbers_(b_, target) {}

  Dispatch run() {
    Dispatch out;
    out.refusal = refusal();
    if (!out.refusal.empty()) return out;
    const std::string name = "rows" + describe(problem_.prologue) + describe(problem_.epilogue);
    fit_views();
    std::vector<size_t> parts = {problem_.shape.size() - static_cast<size_t>(problem_.row_axes),
                                 static_cast<size_t>(problem_.row_axes)};
    bool places = false;
    for (const Statistic& s : problem_.statistics) places = places || sees_places(s.map);
    if (!places) collapse(&problem_.shape, {&problem_.prologue, &problem_.epilogue}, &parts);
    outer_.assign(problem_.shape.begin(), problem_.shape.begin() + static_cast<std::ptrdiff_t>(parts[0]));
    inner_.assign(problem_.shape.begin() + static_cast<std::ptrdiff_t>(parts[0]), problem_.shape.end());
    const int64_t rows_of_group = tiling_.lanes / tiling_.lanes_of_row;
    out.refusal = cover((count_of(outer_) + rows_of_group - 1) / rows_of_group, target_, &out);
    if (!out.refusal.empty()) return out;
    write(out);
    out.program = std::move(b_.program());
    out.program.name = name;
    out.program.size = {tiling_.lanes, 1, 1};
    out.push = numbers_.words();
    return out;
  }

 private:
  std::string refusal() const {
    const size_t axes = problem_.shape.size(), outer = axes - static_cast<size_t>(problem_.row_axes);
    if (problem_.row_axes < 0 || static_cast<size_t>(problem_.row_axes) > axes)
      return "a row of axes that are not there";
    std::string why = refuse(problem_.prologue, axes, target_);
    if (why.empty() && problem_.prologue.outputs.size() != 1) why = "a prologue without one output";
    for (const Statistic& s : problem_.statistics) {
      if (why.empty()) why = refuse(s.map, axes, target_);
      if (why.empty() && (bound_inputs(s.map) != 0 || s.map.outputs.size() != 1)) why = "a statistic with operands";
    }
    if (why.empty()) why = refuse(problem_.epilogue, problem_.per_row ? outer : axes, target_);
    for (const Output& o : problem_.epilogue.outputs) {
      const DType type = problem_.epilogue.type_of(o.value);
      if (why.empty() && !can_store(type, target_))
        why = "this GPU cannot write elements of " + std::string(dtype_name(type)) + " one by one";
    }
    return why;
  }

  // Every view has an entry for every axis, so that they can be joined together.
  void fit_views() {
    const size_t axes = problem_.shape.size();
    problem_.prologue.outputs[0].view = View();
    problem_.prologue.outputs[0].view.strides.assign(axes, 0);
    const auto fit = [&](View& v) {
      v.strides.resize(axes, 0);
      if (v.begin.empty()) return;
      v.begin.resize(axes, 0);
      for (size_t i = v.extent.size(); i < axes; ++i) v.extent.push_back(problem_.shape[i]);
    };
    for (Input& in : problem_.epilogue.inputs) {
      if (!in.given) fit(in.view);
    }
    for (Output& o : problem_.epilogue.outputs) fit(o.view);
  }

  void write(const Dispatch& launch) {
    std::vector<Value> outer_extents;
    for (const int64_t d : outer_) outer_extents.push_back(numbers_(d));
    for (const int64_t d : inner_) inner_extents_.push_back(numbers_(d));
    const Value rows = numbers_(count_of(outer_));
    length_ = numbers_(count_of(inner_));
    uint32_t binding = 0;
    prologue_ = std::make_unique<Evaluator>(b_, target_, numbers_, problem_.prologue, &binding);
    Evaluator epilogue(b_, target_, numbers_, problem_.epilogue, &binding);
    epilogue.bind_outputs(numbers_, &binding);

    const int64_t of_row = tiling_.lanes_of_row;
    lane_ = b_.lane();
    within_ = lane_ % of_row;
    const Value row = group_number(b_, numbers_, launch) * (tiling_.lanes / of_row) + lane_ / of_row;
    const Value there = row < rows;
    place_ = unravel(b_.select(there, row, rows - 1), outer_extents);
    keep();
    std::vector<Value> statistics;
    for (const Statistic& s : problem_.statistics) statistics.push_back(statistic(s, statistics));

    if (problem_.per_row) {
      std::vector<Value> place = place_;
      place.resize(problem_.shape.size(), b_.u32(0));
      b_.when(there & (within_ == 0), [&] { epilogue.store(epilogue.at(place, statistics), place); });
      return;
    }
    b_.when(there, [&] {
      for_elements([&](const std::vector<Value>& place, Value v, Value inside) {
        std::vector<Value> given = {v};
        given.insert(given.end(), statistics.begin(), statistics.end());
        b_.when(inside, [&] { epilogue.store(epilogue.at(place, given), place); });
      });
    });
  }

  std::vector<Value> place_at(Value element) {
    std::vector<Value> place = place_;
    for (const Value v : unravel(element, inner_extents_)) place.push_back(v);
    return place;
  }
  Value made(const std::vector<Value>& place) { return prologue_->output(prologue_->at(place), 0); }

  void keep() {
    const bool whole = !target_.open && count_of(inner_) == int64_t{tiling_.kept} * tiling_.lanes_of_row;
    for (uint32_t j = 0; j < tiling_.kept; ++j) {
      const Value at = within_ + int64_t{j} * tiling_.lanes_of_row;
      Kept k;
      k.inside = whole ? b_.boolean(true) : at < length_;
      k.place = place_at(whole ? at : b_.select(k.inside, at, length_ - 1));
      k.v = made(k.place);
      kept_.push_back(k);
    }
  }

  // f(place, v, inside) for the lane's elements of its row; where one is not inside, its place and v are another's.
  void for_elements(const std::function<void(const std::vector<Value>&, Value, Value)>& f) {
    for (const Kept& k : kept_) f(k.place, k.v, k.inside);
    if (!kept_.empty()) return;
    b_.loop(within_, length_, tiling_.lanes_of_row, [&](Value at) {
      const std::vector<Value> place = place_at(at);
      f(place, made(place), b_.boolean(true));
    });
  }

  Value statistic(const Statistic& s, const std::vector<Value>& before) {
    Evaluator map(b_, target_, numbers_, s.map, nullptr);
    const Type type = lane_type(s.map.type_of(s.map.outputs[0].value), target_);
    const Value start = neutral(b_, s.combine, type);
    const Variable sum = b_.variable(start);
    for_elements([&](const std::vector<Value>& place, Value v, Value inside) {
      std::vector<Value> given = {v};
      given.insert(given.end(), before.begin(), before.end());
      const Value one = b_.select(inside, map.output(map.at(place, given), 0), start);
      sum.set(combined(b_, s.combine, sum.get(), one));
    });
    return over_lanes(s, sum.get());
  }

  // Of all lanes of the row, the same in each.
  Value over_lanes(const Statistic& s, Value mine) {
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
  Value over_subgroups(const Statistic& s, Value mine) {
    const uint32_t subgroup = target_.subgroup, of_row = tiling_.lanes_of_row;
    for (uint32_t mask = 1; mask < std::min(of_row, subgroup); mask *= 2)
      mine = combined(b_, s.combine, mine, b_.shuffle(mine, mask));
    if (of_row <= subgroup) return mine;
    const uint32_t array = b_.shared(mine.type, tiling_.lanes / subgroup);
    b_.when(lane_ % subgroup == 0, [&] { b_.shared_store(array, lane_ / subgroup, mine); });
    b_.barrier();
    const Value first = (lane_ - within_) / subgroup;
    Value all = b_.shared_load(array, first);
    for (uint32_t i = 1; i < of_row / subgroup; ++i)
      all = combined(b_, s.combine, all, b_.shared_load(array, first + i));
    return all;
  }

  struct Kept {
    std::vector<Value> place;
    Value v, inside;
  };

  RowsProblem problem_;
  RowsTiling tiling_;
  const Target& target_;
  Builder b_;
  Numbers numbers_;
  Extents outer_, inner_;
  std::unique_ptr<Evaluator> prologue_;
  std::vector<Value> inner_extents_, place_;
  Value length_, lane_, within_;
  std::vector<Kept> kept_;
};

}  // namespace

RowsTiling choose_rows(const RowsProblem& problem, const Target& target) {
  int64_t length = 1, rows = 1;
  const size_t outer = problem.shape.size() - static_cast<size_t>(problem.row_axes);
  for (size_t i = 0; i < problem.shape.size(); ++i) (i < outer ? rows : length) *= problem.shape[i];
  bool along = true;  // a row's elements are neighbours in memory
  for (const Input& in : problem.prologue.inputs) {
    if (!in.given && problem.row_axes > 0) along = along && in.view.strides.back() >= -1 && in.view.strides.back() <= 1;
  }
  RowsTiling t;
  t.lanes = 64;
  while (along && t.lanes * kMostKept < length && t.lanes < 256 && t.lanes * 2 <= target.workgroup_x) t.lanes *= 2;
  t.lanes_of_row = 1;
  const bool many = !along && rows >= 4096;  // enough lanes without sharing rows: neighbours read neighbours
  while (!many && t.lanes_of_row * 4 < length && t.lanes_of_row < t.lanes) t.lanes_of_row *= 2;
  const int64_t each = (length + t.lanes_of_row - 1) / t.lanes_of_row;
  t.kept = each <= kMostKept ? static_cast<uint32_t>(each) : 0;
  while (target.open && (t.kept & (t.kept - 1)) != 0) ++t.kept;
  return t;
}

Dispatch make_rows(const RowsProblem& problem, const RowsTiling& tiling, const Target& target) {
  return Rows(problem, tiling, target).run();
}

}  // namespace vireo::gpu
