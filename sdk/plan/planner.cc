#include "sdk/plan/planner.h"

#include "sdk/base/checked.h"
#include "sdk/base/config.h"
#include "sdk/plan/groups.h"

namespace vireo {
namespace {

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

// Groups of tensors and regions of nodes are the items to place.
struct Planner {
  Groups groups;
  Item* items = nullptr;      // per tensor (only roots of groups count), then per region
  int32_t* sorted = nullptr;  // items to place, in packing order
  int32_t* placed = nullptr;  // by offset
  int32_t* kept = nullptr;    // the packing order of the best plan
  size_t item_count = 0;
  size_t live_count = 0;
};

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
    case PackOrder::kLastUse:
      return UINT64_MAX - static_cast<uint64_t>(static_cast<int64_t>(it.last) + 1);
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

// Heap sort of the items to place: no recursion, no memory.
void sort_items(const Planner& p, int32_t* v, PackOrder order) {
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

// `sorted` by first use and `placed` by last use: a walk over the first meets in the second what has ended by then.
void sort_lives(const Planner& p) {
  for (size_t i = 0; i < p.live_count; ++i) p.placed[i] = p.sorted[i];
  sort_items(p, p.sorted, PackOrder::kFirstUse);
  sort_items(p, p.placed, PackOrder::kLastUse);
}

// Memory that was given back, below a top. A few holes are known and others lost, so that looking for one takes the
// same time however many there are.
class Holes {
 public:
  uint64_t top() const { return top_; }

  uint64_t take(uint64_t bytes) {
    size_t best = count_;
    for (size_t i = 0; i < count_; ++i) {
      if (size(i) >= bytes && (best == count_ || size(i) < size(best))) best = i;
    }
    if (best == count_) {
      top_ += bytes;
      return top_ - bytes;
    }
    const uint64_t at = holes_[best].begin;
    holes_[best].begin += bytes;
    if (size(best) == 0) holes_[best] = holes_[--count_];
    return at;
  }

  void give(uint64_t begin, uint64_t end) {
    for (size_t i = 0; i < count_;) {
      const Hole hole = holes_[i];
      if (hole.end == begin) begin = hole.begin;
      if (hole.begin == end) end = hole.end;
      if (begin <= hole.begin && hole.end <= end) {
        holes_[i] = holes_[--count_];
      } else {
        ++i;
      }
    }
    if (count_ < kMost) holes_[count_++] = {begin, end};
  }

 private:
  struct Hole {
    uint64_t begin, end;
  };
  static constexpr size_t kMost = 32;
  uint64_t size(size_t i) const { return holes_[i].end - holes_[i].begin; }

  Hole holes_[kMost];
  size_t count_ = 0;
  uint64_t top_ = 0;
};

// Items in the order in which their lives begin, each into the smallest hole that those before have left.
uint64_t pack_by_life(Planner& p) {
  sort_lives(p);
  Holes holes;
  size_t ended = 0;
  for (size_t s = 0; s < p.live_count; ++s) {
    Item& it = p.items[p.sorted[s]];
    for (; p.items[p.placed[ended]].last < it.first; ++ended) {
      const Item& free = p.items[p.placed[ended]];
      holes.give(free.offset, free.offset + free.bytes);
    }
    it.offset = holes.take(it.bytes);
  }
  return holes.top();
}

// Best fit: the smallest gap between items whose lives overlap.
uint64_t pack(Planner& p) {
  if (VIREO_BRANCHES && p.live_count > kMostBestFit) return pack_by_life(p);
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

// What nodes that run at the same time make or read lives as long as any of them runs. No node is in two such windows.
void live_together(Planner& p) {
  const Span<const PlanNode> nodes = p.groups.nodes;
  const auto count = static_cast<int32_t>(nodes.size());
  int32_t *const firsts = p.placed, *const lasts = p.kept;  // of each node's window; of itself where it has none
  for (int32_t n = 0; n < count;) {
    const auto window = static_cast<int32_t>(nodes[static_cast<size_t>(n)].together);
    const int32_t first = n, last = window < 2 ? n : n + window - 1;
    for (; n <= last && n < count; ++n) {
      firsts[n] = first;
      lasts[n] = last;
    }
  }
  for (size_t i = 0; i < p.item_count; ++i) {
    Item& it = p.items[i];
    if (it.first >= 0 && it.first < count) it.first = firsts[it.first];
    if (it.last >= 0 && it.last < count) it.last = lasts[it.last];
  }
}

Status build(Planner& p, bool body, bool parts, Error* error) {
  const Span<const PlanTensor> tensors = p.groups.tensors;
  const Span<const PlanNode> nodes = p.groups.nodes;
  const auto node_count = static_cast<int32_t>(nodes.size());
  VIREO_TRY(p.groups.start(error));
  for (int32_t n = 0; n < node_count; ++n) p.groups.share(n, body, parts);
  for (size_t t = 0; t < tensors.size(); ++t) {
    p.items[t].bytes = align_up(static_cast<uint64_t>(p.items[t].high - p.items[t].low), kTensorAlignment);
  }
  p.item_count = tensors.size();
  for (int32_t n = 0; n < node_count; ++n) {
    const int64_t bytes = nodes[static_cast<size_t>(n)].region_bytes;
    if (bytes < 0) continue;
    Item& it = p.items[p.item_count++];
    it = Item{};
    it.bytes = align_up(static_cast<uint64_t>(bytes), kTensorAlignment);
    it.first = it.last = n;
  }
  if (VIREO_BRANCHES) live_together(p);
  p.live_count = 0;
  for (size_t i = 0; i < p.item_count; ++i) {
    if (i < tensors.size()) {
      const PlanTensor::Kind kind = tensors[i].kind;
      const bool root = p.groups.members[i].root == static_cast<int32_t>(i);
      if (kind == PlanTensor::kConstant || kind == PlanTensor::kBound || !root) continue;
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
  sort_lives(p);
  uint64_t live = 0, most = 0;
  size_t ended = 0;
  for (size_t s = 0; s < p.live_count; ++s) {
    const Item& it = p.items[p.sorted[s]];
    for (; p.items[p.placed[ended]].last < it.first; ++ended) live -= p.items[p.placed[ended]].bytes;
    live += it.bytes;
    if (live > most) most = live;
  }
  return most;
}

void store(const Planner& p, Span<uint64_t> offsets, Span<uint64_t> regions) {
  const Span<const PlanTensor> tensors = p.groups.tensors;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].kind == PlanTensor::kConstant || tensors[t].kind == PlanTensor::kBound) {
      offsets[t] = kNoOffset;
      continue;
    }
    const Member& m = p.groups.members[t];
    const Item& it = p.items[m.root];
    offsets[t] = it.alias >= 0 ? output_alias(static_cast<uint32_t>(it.alias))
                               : it.offset + static_cast<uint64_t>(m.shift - it.low);
  }
  for (size_t i = tensors.size(); i < p.item_count; ++i) regions[i - tensors.size()] = p.items[i].offset;
}

Status prepare(Planner& p, Span<const PlanTensor> tensors, Span<const PlanNode> nodes, Span<uint8_t> workspace,
               Error* error) {
  Workspace w(workspace);
  const size_t most = tensors.size() + nodes.size();
  p.groups.tensors = tensors;
  p.groups.nodes = nodes;
  p.groups.items = p.items = w.take<Item>(most);
  p.groups.members = w.take<Member>(tensors.size());
  p.sorted = w.take<int32_t>(most);
  p.placed = w.take<int32_t>(most);
  p.kept = w.take<int32_t>(most);
  if (p.kept == nullptr) return fail(error, Status::kOutOfArena, "the planner's workspace is too small");
  return Status::kOk;
}

// The best plan of the groups as they are. Stored once it takes less than `limit`.
PlanResult pack_best(Planner& p, uint64_t limit, int64_t tries, Span<uint64_t> offsets, Span<uint64_t> regions) {
  PlanResult best;
  best.bytes = UINT64_MAX;
  best.lower_bound = lower_bound(p);
  best.placed_bytes = p.groups.placed_bytes;
  const auto keep = [&](uint64_t bytes) {
    if (bytes < best.bytes && bytes < limit) store(p, offsets, regions);
    best.bytes = bytes;
    for (size_t i = 0; i < p.live_count; ++i) p.kept[i] = p.sorted[i];
  };
  for (int o = 0; o < static_cast<int>(PackOrder::kCount) && best.bytes > best.lower_bound; ++o) {
    sort_items(p, p.sorted, static_cast<PackOrder>(o));
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
  return best;
}

}  // namespace

int64_t plan_workspace_bytes(int64_t tensors, int64_t nodes) {
  const int64_t most = tensors + nodes;
  return most * static_cast<int64_t>(sizeof(Item) + 3 * sizeof(int32_t)) +
         tensors * static_cast<int64_t>(sizeof(Member)) + 64;
}

Status plan_arena(Span<const PlanTensor> tensors, Span<const PlanNode> nodes, PackOrder order, bool body,
                  Span<uint8_t> workspace, Span<uint64_t> offsets, Span<uint64_t> regions, PlanResult* result,
                  Error* error) {
  Planner p;
  VIREO_TRY(prepare(p, tensors, nodes, workspace, error));
  VIREO_TRY(build(p, body, /*parts=*/true, error));
  sort_items(p, p.sorted, order);
  result->bytes = pack(p);
  result->lower_bound = lower_bound(p);
  result->placed_bytes = p.groups.placed_bytes;
  store(p, offsets, regions);
  return Status::kOk;
}

Status plan_arena_best(Span<const PlanTensor> tensors, Span<const PlanNode> nodes, bool body, Span<uint8_t> workspace,
                       Span<uint64_t> offsets, Span<uint64_t> regions, PlanResult* result, Error* error,
                       int64_t tries) {
  Planner p;
  VIREO_TRY(prepare(p, tensors, nodes, workspace, error));
  VIREO_TRY(build(p, body, /*parts=*/true, error));
  *result = pack_best(p, UINT64_MAX, tries, offsets, regions);
  if (!VIREO_PARTS || p.groups.placed_bytes == 0) return Status::kOk;
  VIREO_TRY(build(p, body, /*parts=*/false, error));
  const PlanResult apart = pack_best(p, result->bytes, tries, offsets, regions);
  if (apart.bytes < result->bytes) *result = apart;
  return Status::kOk;
}

}  // namespace vireo
