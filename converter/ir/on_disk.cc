#include "converter/ir/on_disk.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace vireo::ir {
namespace {

constexpr size_t kLarge = 64 << 10;  // bytes: smaller ones are not worth a page of their own
constexpr size_t kAlignment = 64;    // of each in the file

void each_constant(const Graph& graph, const std::function<void(Value*)>& visit) {
  for (const Node& n : graph.nodes()) {
    for (Value* v : n.inputs) {
      if (v != nullptr && v->constant != nullptr) visit(v);
    }
    for (const auto& body : n.bodies) each_constant(*body, visit);
  }
}

bool is_large(const Constant& c) {
  return !c.mapped && c.tensor.type.dtype != DType::kString && c.tensor.bytes.size() >= kLarge;
}

}  // namespace

uint64_t bytes_in_memory(const Graph& graph) {
  std::set<const uint8_t*> seen;  // constants of two shapes may share bytes
  uint64_t sum = 0;
  each_constant(graph, [&](Value* v) {
    const Span<const uint8_t> bytes = v->constant->tensor.bytes;
    if (is_large(*v->constant) && seen.insert(bytes.data()).second) sum += bytes.size();
  });
  return sum;
}

bool move_to_disk(Graph& graph) {
  std::map<const uint8_t*, Span<const uint8_t>> windows;  // by where the bytes are in memory
  std::vector<Span<const uint8_t>> parts;
  each_constant(graph, [&](Value* v) {
    const Span<const uint8_t> bytes = v->constant->tensor.bytes;
    if (is_large(*v->constant) && windows.emplace(bytes.data(), Span<const uint8_t>()).second) parts.push_back(bytes);
  });
  if (parts.empty()) return true;
  const std::shared_ptr<MappedFile> file = MappedFile::write(parts, kAlignment);
  if (file == nullptr) return false;
  size_t at = 0;
  for (const Span<const uint8_t> part : parts) {
    windows[part.data()] = {file->bytes().data() + at, part.size()};
    at += (part.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::map<const Constant*, ConstantPtr> moved;
  each_constant(graph, [&](Value* v) {
    if (!is_large(*v->constant)) return;
    ConstantPtr& now = moved[v->constant.get()];
    if (now == nullptr) now = make_window(v->constant->tensor.type, file, windows.at(v->constant->tensor.bytes.data()));
    v->constant = now;
  });
  return true;
}

ConstantPtr on_disk(const ConstantPtr& c) {
  if (!is_large(*c)) return c;
  const std::shared_ptr<MappedFile> file = MappedFile::write({c->tensor.bytes}, kAlignment);
  return file == nullptr ? c : make_window(c->tensor.type, file, {file->bytes().data(), c->tensor.bytes.size()});
}

void forget_pages(const Graph& graph) {
  each_constant(graph, [](Value* v) {
    if (v->constant->mapped) MappedFile::forget(v->constant->tensor.bytes);
  });
}

}  // namespace vireo::ir
