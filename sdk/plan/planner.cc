#include "sdk/plan/planner.h"

#include "sdk/base/checked.h"

namespace vireo {
namespace {

// Tensors that share memory form a group; each group, and each region of a node, is one item to place.
struct Item {
  uint64_t bytes = 0;
  uint64_t offset = kNoOffset;
  int32_t first = 0;   // node before whose run the memory is written; -1: from the start
  int32_t last = -1;   // node after which it is free
  int32_t alias = -1;  // lies in the memory of the body's bound output `alias`
};

// Bump allocation over the workspace.
class Workspace {
 public:
  explicit Workspace(Span<uint8_t> bytes) : at_(bytes.data()), left_(bytes.size()) {}
  template <class T>
  T* take(size_t count) {
    const size_t bytes = static_cast<size_t>(align_up(count * sizeof(T), 8));
    if (bytes > left_) return nullptr;
    T* p = reinterpret_cast<T*>(at_);
    at_ += bytes;
    left_ -= bytes;
    return p;
  }

 private:
  uint8_t* at_;
  size_t left_;
};

struct Planner {
  Span<const PlanTensor> tensors;
  Span<const PlanNode> nodes;
  int32_t* group = nullptr;  // per tensor: the tensor that stands for its group
  int32_t* last_use = nullptr;
  Item* items = nullptr;      // per tensor (only representatives count), then per region
  int32_t* sorted = nullptr;  // items to place, in packing order
  int32_t* placed = nullptr;  // by offset
  int32_t* kept = nullptr;    // the packing order of the best plan
  size_t item_count = 0;
  size_t live_count = 0;

  int32_t root(int32_t t) const {
    while (group[t] != t) t = group[t];
    return t;
  }
};

// Is input `i` of a node that owns bodies in the same memory as another of its inputs? A body reads each when it likes.
bool read_twice(const Planner& p, const PlanNode& node, size_t i) {
  if (node.region_bytes < 0) return false;
  for (size_t j = 0; j < node.inputs.size(); ++j) {
    if (j != i && node.inputs[j] >= 0 && p.root(node.inputs[j]) == p.root(node.inputs[i])) return true;
  }
  return false;
}

// Lets output 0 of node `n` share the memory of one of its inputs where the operator allows it.
void share(Planner& p, int32_t n, bool body) {
  const PlanNode& node = p.nodes[static_cast<size_t>(n)];
  if ((node.inplace == 0 && !node.view) || node.outputs.empty() || node.outputs[0] < 0) return;
  const int32_t y = node.outputs[0];
  const PlanTensor& out = p.tensors[static_cast<size_t>(y)];
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    const bool view = node.view && i == 0;
    const int32_t x = node.inputs[i];
    if (x < 0 || (!view && (node.inplace >> i & 1u) == 0)) continue;
    const int32_t rx = p.root(x);
    const Item& from = p.items[rx];
    if (p.tensors[static_cast<size_t>(x)].bytes != out.bytes || out.bytes == 0) continue;
    if (p.tensors[static_cast<size_t>(rx)].kind != PlanTensor::kValue) continue;
    if (!view && (from.last > n || read_twice(p, node, i))) continue;  // somebody still needs the input
    if (out.kind == PlanTensor::kValue) {
      // The whole group dies here or is only read on: y joins it.
      p.group[y] = rx;
      Item& g = p.items[rx];
      if (p.last_use[y] > g.last) g.last = p.last_use[y];
      return;
    }
    // y lies in memory that the owner of this body provides. Its input may be made there already, if nobody needs that
    // input later and it is not an output itself.
    if (body && out.kind == PlanTensor::kBound && out.output && from.last <= n && from.alias < 0) {
      p.items[rx].alias = y;
      return;
    }
  }
}

uint64_t sort_key(const Item& it, PackOrder order) {
  const auto life = static_cast<uint64_t>(it.last - it.first) + 1;
  switch (order) {
    case PackOrder::kSizeTimesLife: {
      uint64_t area = 0;
      return checked_mul(it.bytes, life, &area) ? area : UINT64_MAX;
    }
    case PackOrder::kLife:
      return life;
    case PackOrder::kFirstUse:
      return UINT64_MAX - static_cast<uint64_t>(static_cast<int64_t>(it.first) + 1);
    default:
      return it.bytes;
  }
}

bool before(const Planner& p, int32_t a, int32_t b, PackOrder order) {
  const Item &x = p.items[a], &y = p.items[b];
  const uint64_t kx = sort_key(x, order), ky = sort_key(y, order);
  if (kx != ky) return kx > ky;
  if (x.bytes != y.bytes) return x.bytes > y.bytes;
  return a < b;
}

// Heap sort: no recursion, no memory.
void sort_items(Planner& p, PackOrder order) {
  int32_t* v = p.sorted;
  const auto n = static_cast<int64_t>(p.live_count);
  const auto sift = [&](int64_t i, int64_t end) {
    for (;;) {
      int64_t child = 2 * i + 1;
      if (child >= end) return;
      if (child + 1 < end && before(p, v[child], v[child + 1], order)) ++child;
      if (!before(p, v[i], v[child], order)) return;
      const int32_t t = v[i];
      v[i] = v[child];
      v[child] = t;
      i = child;
    }
  };
  for (int64_t i = n / 2; i-- > 0;) sift(i, n);
  for (int64_t end = n; end-- > 1;) {
    const int32_t t = v[0];
    v[0] = v[end];
    v[end] = t;
    sift(0, end);
  }
}

// Best fit: the smallest gap between items whose lives overlap.
uint64_t pack(Planner& p) {
  uint64_t total = 0;
  size_t placed = 0;
  for (size_t s = 0; s < p.live_count; ++s) {
    Item& it = p.items[p.sorted[s]];
    uint64_t at = 0, best = kNoOffset, best_gap = UINT64_MAX;
    for (size_t k = 0; k < placed; ++k) {
      const Item& other = p.items[p.placed[k]];
      if (other.last < it.first || other.first > it.last) continue;
      if (other.offset > at && other.offset - at >= it.bytes && other.offset - at < best_gap) {
        best = at;
        best_gap = other.offset - at;
      }
      if (other.offset + other.bytes > at) at = other.offset + other.bytes;
    }
    it.offset = best == kNoOffset ? at : best;
    if (it.offset + it.bytes > total) total = it.offset + it.bytes;
    size_t k = placed++;
    for (; k > 0 && p.items[p.placed[k - 1]].offset > it.offset; --k) p.placed[k] = p.placed[k - 1];
    p.placed[k] = p.sorted[s];
  }
  return total;
}

Status build(Planner& p, bool body, Error* error) {
  const auto node_count = static_cast<int32_t>(p.nodes.size());
  for (size_t t = 0; t < p.tensors.size(); ++t) {
    const PlanTensor& tensor = p.tensors[t];
    p.group[t] = static_cast<int32_t>(t);
    p.items[t] = Item{};
    const bool whole = tensor.kind == PlanTensor::kState;
    p.last_use[t] = tensor.output || whole ? node_count : -1;
    p.items[t].first = tensor.kind == PlanTensor::kInput || whole ? -1 : node_count;
    if (tensor.bytes < 0) return fail(error, Status::kInvalidArgument, "tensor {} has no bounded size", t);
    p.items[t].bytes = align_up(static_cast<uint64_t>(tensor.bytes), kTensorAlignment);
  }
  for (int32_t n = 0; n < node_count; ++n) {
    for (const int32_t x : p.nodes[static_cast<size_t>(n)].inputs) {
      if (x >= 0 && p.last_use[x] < n) p.last_use[x] = n;
    }
    for (const int32_t y : p.nodes[static_cast<size_t>(n)].outputs) {
      if (y < 0) continue;
      p.items[y].first = n;
      if (p.last_use[y] < n) p.last_use[y] = n;
    }
  }
  for (size_t t = 0; t < p.tensors.size(); ++t) p.items[t].last = p.last_use[t];
  for (int32_t n = 0; n < node_count; ++n) share(p, n, body);

  p.item_count = p.tensors.size();
  for (int32_t n = 0; n < node_count; ++n) {
    const int64_t bytes = p.nodes[static_cast<size_t>(n)].region_bytes;
    if (bytes < 0) continue;
    Item& it = p.items[p.item_count++];
    it = Item{};
    it.bytes = align_up(static_cast<uint64_t>(bytes), kTensorAlignment);
    it.first = it.last = n;
  }
  p.live_count = 0;
  for (size_t i = 0; i < p.item_count; ++i) {
    if (i < p.tensors.size()) {
      const PlanTensor::Kind kind = p.tensors[i].kind;
      if (kind == PlanTensor::kConstant || kind == PlanTensor::kBound || p.group[i] != static_cast<int32_t>(i))
        continue;
      if (p.items[i].alias >= 0) continue;
      if (kind == PlanTensor::kValue && p.items[i].first == node_count) continue;  // made by nobody
    }
    p.sorted[p.live_count++] = static_cast<int32_t>(i);
  }
  return Status::kOk;
}

// One step of the climb: an item that reaches `top`, or one that is in its way, moves to an earlier place of the
// packing order. `random`: state of a multiplicative congruential generator, so that every run climbs the same way.
void lift_top(Planner& p, uint64_t top, uint64_t* random) {
  const auto draw = [random](uint64_t n) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (*random >> 33) % n;
  };
  size_t at = 0;
  for (size_t i = 0, seen = 0; i < p.live_count; ++i) {
    const Item& it = p.items[p.sorted[i]];
    if (it.offset + it.bytes == top && draw(++seen) == 0) at = i;
  }
  const Item& highest = p.items[p.sorted[at]];
  if (draw(2) == 0) {  // one that lives beside it
    for (size_t i = 0, seen = 0; i < p.live_count; ++i) {
      const Item& it = p.items[p.sorted[i]];
      if (it.last >= highest.first && it.first <= highest.last && draw(++seen) == 0) at = i;
    }
  }
  if (at == 0) return;
  const auto to = static_cast<size_t>(draw(at));
  const int32_t moved = p.sorted[at];
  for (size_t i = at; i > to; --i) p.sorted[i] = p.sorted[i - 1];
  p.sorted[to] = moved;
}

uint64_t lower_bound(const Planner& p) {
  uint64_t most = 0;
  for (int32_t n = -1; n <= static_cast<int32_t>(p.nodes.size()); ++n) {
    uint64_t live = 0;
    for (size_t s = 0; s < p.live_count; ++s) {
      const Item& it = p.items[p.sorted[s]];
      if (it.first <= n && it.last >= n) live += it.bytes;
    }
    if (live > most) most = live;
  }
  return most;
}

void store(const Planner& p, Span<uint64_t> offsets, Span<uint64_t> regions) {
  for (size_t t = 0; t < p.tensors.size(); ++t) {
    const PlanTensor::Kind kind = p.tensors[t].kind;
    if (kind == PlanTensor::kConstant || kind == PlanTensor::kBound) {
      offsets[t] = kNoOffset;
      continue;
    }
    const Item& it = p.items[p.root(static_cast<int32_t>(t))];
    offsets[t] = it.alias >= 0 ? output_alias(static_cast<uint32_t>(it.alias)) : it.offset;
  }
  for (size_t i = p.tensors.size(); i < p.item_count; ++i) regions[i - p.tensors.size()] = p.items[i].offset;
}

Status prepare(Planner& p, bool body, Span<uint8_t> workspace, Error* error) {
  Workspace w(workspace);
  const size_t most = p.tensors.size() + p.nodes.size();
  p.items = w.take<Item>(most);
  p.group = w.take<int32_t>(p.tensors.size());
  p.last_use = w.take<int32_t>(p.tensors.size());
  p.sorted = w.take<int32_t>(most);
  p.placed = w.take<int32_t>(most);
  p.kept = w.take<int32_t>(most);
  if (p.kept == nullptr) return fail(error, Status::kOutOfArena, "the planner's workspace is too small");
  return build(p, body, error);
}

}  // namespace

int64_t plan_workspace_bytes(int64_t tensors, int64_t nodes) {
  const int64_t most = tensors + nodes;
  return most * static_cast<int64_t>(sizeof(Item) + 3 * sizeof(int32_t)) +
         tensors * 2 * static_cast<int64_t>(sizeof(int32_t)) + 64;
}

Status plan_arena(Span<const PlanTensor> tensors, Span<const PlanNode> nodes, PackOrder order, bool body,
                  Span<uint8_t> workspace, Span<uint64_t> offsets, Span<uint64_t> regions, PlanResult* result,
                  Error* error) {
  Planner p;
  p.tensors = tensors;
  p.nodes = nodes;
  VIREO_TRY(prepare(p, body, workspace, error));
  sort_items(p, order);
  result->bytes = pack(p);
  result->lower_bound = lower_bound(p);
  store(p, offsets, regions);
  return Status::kOk;
}

Status plan_arena_best(Span<const PlanTensor> tensors, Span<const PlanNode> nodes, bool body, Span<uint8_t> workspace,
                       Span<uint64_t> offsets, Span<uint64_t> regions, PlanResult* result, Error* error,
                       int64_t tries) {
  Planner p;
  p.tensors = tensors;
  p.nodes = nodes;
  VIREO_TRY(prepare(p, body, workspace, error));
  PlanResult best;
  best.bytes = UINT64_MAX;
  best.lower_bound = lower_bound(p);
  const auto keep = [&](uint64_t bytes) {
    if (bytes < best.bytes) store(p, offsets, regions);
    best.bytes = bytes;
    for (size_t i = 0; i < p.live_count; ++i) p.kept[i] = p.sorted[i];
  };
  for (int o = 0; o < static_cast<int>(PackOrder::kCount) && best.bytes > best.lower_bound; ++o) {
    sort_items(p, static_cast<PackOrder>(o));
    const uint64_t bytes = pack(p);
    if (bytes < best.bytes) keep(bytes);
  }
  uint64_t random = 1;
  for (int64_t i = 0; i < tries && best.bytes > best.lower_bound; ++i) {
    lift_top(p, best.bytes, &random);
    const uint64_t bytes = pack(p);
    if (bytes <= best.bytes) {
      keep(bytes);  // equal ones too: a walk over a plateau finds its edge
    } else {
      for (size_t k = 0; k < p.live_count; ++k) p.sorted[k] = p.kept[k];
      pack(p);
    }
  }
  *result = best;
  return Status::kOk;
}

}  // namespace vireo
