#include "delegates/gpu/lower/indexed_chain.h"

namespace vireo::gpu {

DType moved_as(DType t) {
  switch (dtype_bits(t)) {
    case 8:
      return DType::kU8;
    case 16:
      return DType::kU16;
    case 32:
      return DType::kU32;
    default:
      return DType::kU64;
  }
}

int IndexedChain::input(int v, View view) {
  reads_.push_back(l_.laid(v).memory);
  return b.input(l_.value(v).dtype, std::move(view));
}

int IndexedChain::indexed(const Laid& at, DType type) {
  View view;
  view.offset = at.offset;
  view.strides.assign(problem_.shape.size(), 0);
  const int id = b.input(type, std::move(view));
  problem_.expression.inputs.back().indexed = true;
  reads_.push_back(at.memory);
  return id;
}

int IndexedChain::number(int64_t n) {
  const int v = b.function(Function::kNumber, kPlaceType, -1);
  b.last().bits = static_cast<uint32_t>(n);
  return v;
}

int IndexedChain::add(int sum, int v, int64_t step) {
  if (step == 0) return sum;
  if (step != 1) v = b.function(Function::kMul, kPlaceType, v, number(step));
  return sum < 0 ? v : b.function(Function::kAdd, kPlaceType, sum, v);
}

int IndexedChain::index(int v, int64_t extent) {
  v = b.function(Function::kIndex, kPlaceType, v);
  b.last().bits = static_cast<uint32_t>(extent);
  return v;
}

int IndexedChain::count(int v, DType type, int64_t extent) {
  const int negative = b.function(Function::kLess, DType::kBool, v, b.constant(type, 0));
  const int outside = b.constant(type, static_cast<uint64_t>(extent));
  return index(b.function(Function::kWhere, type, negative, outside, v), extent);
}

int IndexedChain::element(int input, int at, DType type) {
  return b.function(Function::kElement, type, input, at < 0 ? number(0) : at);
}

void IndexedChain::push(std::vector<int> writes) {
  const bool reports = problem_.expression.reports();
  Work& w = l_.push(std::move(problem_));
  w.reads = std::move(reads_);
  w.writes = std::move(writes);
  if (reports) l_.report(&w);
}

}  // namespace vireo::gpu
