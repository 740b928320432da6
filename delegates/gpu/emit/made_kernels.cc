#include "delegates/gpu/emit/made_kernels.h"

#include <utility>
#include <vector>

#include "delegates/gpu/emit/kernel.h"

namespace vireo::gpu {

struct MadeKernels::Made {
  Program program;
  Kernel kernel;
};

namespace {

// Structured bindings name every member, so a new member does not compile until it counts here.
bool same(const Statement& a, const Statement& b) {
  const auto& [op, type, x, y, z, bits] = a;
  return op == b.op && type == b.type && x == b.a && y == b.b && z == b.c && bits == b.bits;
}
bool same(const Buffer& a, const Buffer& b) {
  const auto& [binding, element, written] = a;
  return binding == b.binding && element == b.element && written == b.written;
}
bool same(const SharedArray& a, const SharedArray& b) {
  const auto& [type, count] = a;
  return type == b.type && count == b.count;
}
bool same(const Unit& a, const Unit& b) {
  const auto& [m, n, k, lanes, known, reads_tiles, codes, left_signed, right_signed] = a;
  return m == b.m && n == b.n && k == b.k && lanes == b.lanes && known == b.known && reads_tiles == b.reads_tiles &&
         codes == b.codes && left_signed == b.left_signed && right_signed == b.right_signed;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}
bool same(const Program& a, const Program& b) {
  const auto& [name, size, bindings, push_words, buffers, shared, body, unit] = a;
  return name == b.name && size == b.size && bindings == b.bindings && push_words == b.push_words &&
         same(buffers, b.buffers) && same(shared, b.shared) && same(body, b.body) && same(unit, b.unit);
}

uint64_t hash_of(const Program& p) {
  uint64_t hash = p.body.size();
  const auto add = [&hash](uint64_t v) {
    hash = (hash ^ v) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  add(p.size[0] | uint64_t{p.push_words} << 32);
  for (const Statement& s : p.body) {
    add(static_cast<uint64_t>(s.op) | static_cast<uint64_t>(s.type) << 16 | uint64_t{s.a} << 32);
    add(s.b | uint64_t{s.c} << 32);
    add(s.bits);
  }
  return hash;
}

}  // namespace

std::shared_ptr<const Kernel> MadeKernels::of(const Program& program, const Target& target) {
  const uint64_t hash = hash_of(program);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [begin, end] = made_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (same(at->second->program, program)) return {at->second, &at->second->kernel};
    }
  }
  auto made = std::make_shared<Made>();
  made->program = program;
  made->kernel = kernel_of(program, target);
  const std::shared_ptr<const Kernel> kernel(made, &made->kernel);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (made_.size() == kMost) made_.clear();
  made_.emplace(hash, std::move(made));
  return kernel;
}

size_t MadeKernels::count() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return made_.size();
}

}  // namespace vireo::gpu
