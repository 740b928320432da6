#include "delegates/gpu/templates/attention_body.h"

#include <utility>

#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {

AttentionBody::AttentionBody(const AttentionProblem& problem, const AttentionTiling& tiling, const Target& target)
    : p_(problem), t_(tiling), target_(target), numbers_(b_, target) {}

AttentionBody::Operands AttentionBody::find_operands() {
  b_.program().unit = t_.unit;
  std::vector<Value> extents;
  for (const int64_t d : p_.batch) extents.push_back(numbers_(d));
  batch_ = unravel(b_.group(2), extents);
  queries_ = numbers_(p_.queries);
  keys_ = numbers_(p_.keys);
  head_ = numbers_(p_.head);
  value_head_ = numbers_(p_.value_head);
  const auto operand = [&](const MatrixView& view, uint32_t binding, int64_t lines, int64_t line, int64_t depth,
                           int64_t step) {
    return matrix_operand(b_, numbers_, view, binding, 0, lines, line, depth, step, batch_);
  };
  return {operand(p_.q, 0, p_.queries, p_.q.row, p_.head, p_.q.column),
          operand(p_.k, 1, p_.keys, p_.k.row, p_.head, p_.k.column),
          operand(p_.v, 2, p_.value_head, p_.v.column, p_.keys, p_.v.row)};
}

void AttentionBody::find_tile(uint32_t rows) {
  row0_ = b_.group(0) * rows;
  lane_ = b_.lane();
}

void AttentionBody::find_share() {
  share_ = b_.group(1);
  first_ = b_.u32(0);
  end_ = keys_;
  if (p_.shares > 1) {
    const Value each = numbers_(p_.share_keys);
    first_ = share_ * each;
    end_ = b_.select(first_ + each < keys_, first_ + each, keys_);
  }
}

Dispatch AttentionBody::take(uint32_t rows, uint32_t lanes) {
  Dispatch out;
  out.groups = {static_cast<uint32_t>((p_.queries + rows - 1) / rows), static_cast<uint32_t>(p_.shares),
                static_cast<uint32_t>(count_of(p_.batch))};
  out.program = std::move(b_.program());
  out.program.name = "attention" + describe(p_.score);
  out.program.size = {lanes, 1, 1};
  out.push = numbers_.words();
  return out;
}

std::vector<Value> AttentionBody::place_of(Value row, Value column) const {
  std::vector<Value> there = batch_;
  if (p_.shares > 1) there.insert(there.begin(), share_);
  there.push_back(row);
  there.push_back(column);
  return there;
}

void AttentionBody::store_four(Evaluator& epilogue, Value row, Value column, const std::array<Value, 4>& four) {
  if (p_.value_head % 4 == 0) return epilogue.store_four(place_of(row, column), four);
  for (uint32_t j = 0; j < 4; ++j) {
    const std::vector<Value> there = place_of(row, column + j);
    b_.when(column + j < value_head_, [&] { epilogue.store(epilogue.at(there, {four[j]}), there); });
  }
}

void AttentionBody::write_statistics(uint32_t binding, Value row, Value most, Value sum) {
  const uint32_t words = b_.buffer(binding, Element::kWord, true);
  const Value batch = share_ * numbers_(count_of(p_.batch)) + b_.group(2);
  const Value at = (batch * queries_ + row) * 2;
  b_.store(words, at, most);
  b_.store(words, at + 1, sum);
}

}  // namespace vireo::gpu
