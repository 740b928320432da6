#include "sdk/plan/groups.h"

#include "sdk/base/checked.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 60;  // of a group with parts: sums of places stay within int64
// Looks at members of groups for one operand: what takes more gets memory of its own, so that a plan takes time in
// proportion to its nodes.
constexpr size_t kMostLooks = 1024;

bool meet(int64_t low, int64_t high, int64_t other_low, int64_t other_high) {
  return low < other_high && other_low < high;
}

}  // namespace

Status Groups::start(Error* error) {
  const auto node_count = static_cast<int32_t>(nodes.size());
  placed_bytes = 0;
  for (size_t t = 0; t < tensors.size(); ++t) {
    const PlanTensor& tensor = tensors[t];
    if (tensor.bytes < 0) return fail(error, Status::kInvalidArgument, "tensor {} has no bounded size", t);
    const bool whole = tensor.kind == PlanTensor::kState;
    Member& m = members[t];
    m = Member{};
    m.root = m.next = static_cast<int32_t>(t);
    m.last = tensor.output || whole ? node_count : -1;
    m.first = tensor.kind == PlanTensor::kInput || whole ? -1 : node_count;
  }
  for (int32_t n = 0; n < node_count; ++n) {
    for (const int32_t x : nodes[static_cast<size_t>(n)].inputs) {
      if (x >= 0 && members[x].last < n) members[x].last = n;
    }
    for (const int32_t y : nodes[static_cast<size_t>(n)].outputs) {
      if (y < 0) continue;
      members[y].first = n;
      if (members[y].last < n) members[y].last = n;
    }
  }
  for (size_t t = 0; t < tensors.size(); ++t) {
    items[t] = Item{};
    items[t].high = tensors[t].bytes;
    items[t].first = members[t].first;
    items[t].last = members[t].last;
  }
  return Status::kOk;
}

Groups::Range Groups::range(int32_t t) const {
  return {members[t].shift, members[t].shift + tensors[static_cast<size_t>(t)].bytes};
}

bool Groups::is_value(int32_t t) const { return tensors[static_cast<size_t>(t)].kind == PlanTensor::kValue; }

bool Groups::fits_inside(int32_t part, int32_t whole, int64_t at) const {
  const int64_t bytes = tensors[static_cast<size_t>(part)].bytes, room = tensors[static_cast<size_t>(whole)].bytes;
  return at >= 0 && at % static_cast<int64_t>(kPartAlignment) == 0 && bytes > 0 && room <= kMostBytes &&
         bytes <= room && at <= room - bytes && is_value(part) && is_value(whole) && is_value(members[whole].root) &&
         is_value(members[part].root);
}

// The group of `t` becomes part of that of `root`; places move by `move` to be counted from there.
void Groups::join(int32_t t, int32_t root, int64_t move) {
  const int32_t before = members[t].root;
  Item &from = items[before], &to = items[root];
  int32_t last = t;
  for (int32_t m = t;; m = members[m].next) {
    members[m].root = root;
    members[m].shift += move;
    last = m;
    if (members[m].next == t) break;
  }
  members[last].next = members[root].next;
  members[root].next = t;
  if (from.low + move < to.low) to.low = from.low + move;
  if (from.high + move > to.high) to.high = from.high + move;
  if (from.first < to.first) to.first = from.first;
  if (from.last > to.last) to.last = from.last;
}

// May node `n` write where its operand `i` lies? Everything that shares bytes with it is dead, or is its very range and
// read by this node as another operand that it offers to write over. A body reads each of its inputs when it likes:
// there no other input may share them.
bool Groups::may_overwrite(int32_t n, size_t i) const {
  const PlanNode& node = nodes[static_cast<size_t>(n)];
  const int32_t x = node.inputs[i];
  const Range mine = range(x);
  for (size_t j = 0; j < node.inputs.size(); ++j) {
    const int32_t t = node.inputs[j];
    const bool offered = node.region_bytes < 0 && j < 32 && (node.inplace >> j & 1u) != 0;
    if (j == i || t < 0 || offered || members[t].root != members[x].root) continue;
    if (meet(mine.low, mine.high, range(t).low, range(t).high)) return false;
  }
  size_t looks = 0;
  for (int32_t m = members[x].next;; m = members[m].next) {
    if (++looks > kMostLooks) return false;
    const Range other = range(m);
    if (members[m].last >= n && meet(mine.low, mine.high, other.low, other.high)) {
      const bool same = mine.low == other.low && mine.high == other.high;
      if (!same || members[m].last > n || members[m].first == n) return false;
    }
    if (m == x) return true;
  }
}

// Node `n` writes output 0 at its place in the group `whole`. Are the bytes `needed` there among those of inputs that
// lie in place, once the group `joining` has moved?
bool Groups::finds_in_place(int32_t n, Range needed, int32_t whole, int32_t joining, int64_t move) const {
  const PlanNode& node = nodes[static_cast<size_t>(n)];
  if (node.at.size() > kMostLooks) return false;
  const int32_t w = node.outputs[0];
  const Range written = range(w);
  for (size_t i = 0; i < node.at.size(); ++i) {
    const int64_t low = written.low + node.at[i];
    const int64_t high = i + 1 < node.at.size() ? written.low + node.at[i + 1] : written.high;
    if (!meet(low, high, needed.low, needed.high)) continue;
    const int32_t p = node.inputs[i];
    if (p < 0 || !fits_inside(p, w, node.at[i])) return false;
    const Member& m = members[p];
    const int64_t shift = m.shift + (m.root == joining ? move : 0);
    if ((m.root != joining && m.root != whole) || shift != low) return false;
  }
  return true;
}

// Input `i` of a node whose inputs are runs of its output: its group, moved so that it lies in place.
bool Groups::place_input(int32_t n, size_t i) {
  const PlanNode& node = nodes[static_cast<size_t>(n)];
  const int32_t w = node.outputs[0], p = node.inputs[i];
  if (p < 0 || !fits_inside(p, w, node.at[i])) return false;
  const int32_t whole = members[w].root, joining = members[p].root;
  const int64_t move = members[w].shift + node.at[i] - members[p].shift;
  if (joining == whole) return move == 0;
  const Item &from = items[joining], &to = items[whole];
  if (from.alias >= 0 || from.low + move < -kMostBytes || from.high + move > kMostBytes) return false;
  if (from.high + move - to.low > kMostBytes || to.high - (from.low + move) > kMostBytes) return false;
  size_t looks = 0;
  for (int32_t a = p;; a = members[a].next) {
    const Range mine = {range(a).low + move, range(a).high + move};
    for (int32_t b = members[w].next; b != w; b = members[b].next) {
      if (++looks > kMostLooks) return false;
      const Range other = range(b);
      if (members[a].first <= members[b].last && members[b].first <= members[a].last &&
          meet(mine.low, mine.high, other.low, other.high)) {
        return false;
      }
    }
    if (members[a].last >= n && !finds_in_place(n, mine, whole, joining, move)) return false;
    if (members[a].next == p) break;
  }
  join(p, whole, move);
  return true;
}

// Outputs that are runs of input 0: nothing is written, so nothing can be lost.
void Groups::place_outputs(int32_t n) {
  const PlanNode& node = nodes[static_cast<size_t>(n)];
  const int32_t x = node.inputs.empty() ? -1 : node.inputs[0];
  for (size_t o = 0; x >= 0 && o < node.at.size(); ++o) {
    const int32_t y = node.outputs[o];
    if (y < 0 || members[y].next != y || !fits_inside(y, x, node.at[o]) || items[members[x].root].alias >= 0) continue;
    join(y, members[x].root, members[x].shift + node.at[o]);
    placed_bytes += static_cast<uint64_t>(tensors[static_cast<size_t>(y)].bytes);
  }
}

// Output 0 in the very bytes of an input: a view, or an operator that works in place.
void Groups::share_result(int32_t n, bool body) {
  const PlanNode& node = nodes[static_cast<size_t>(n)];
  const int32_t y = node.outputs[0];
  const PlanTensor& out = tensors[static_cast<size_t>(y)];
  for (size_t i = 0; i < node.inputs.size() && i < 32; ++i) {
    const bool view = node.view && i == 0;
    const int32_t x = node.inputs[i];
    if (x < 0 || (!view && (node.inplace >> i & 1u) == 0)) continue;
    const int32_t root = members[x].root;
    Item& from = items[root];
    if (tensors[static_cast<size_t>(x)].bytes != out.bytes || out.bytes == 0 || !is_value(root)) continue;
    if (!view && !may_overwrite(n, i)) continue;
    if (out.kind == PlanTensor::kValue) {
      join(y, root, members[x].shift);
      return;
    }
    // y lies in memory that the owner of this body provides. Its input may be made there already, if nobody needs that
    // input later, it is not an output itself and its group has no other bytes.
    const bool alone = from.low == members[x].shift && from.high == members[x].shift + out.bytes;
    if (body && out.kind == PlanTensor::kBound && out.output && from.last <= n && from.alias < 0 && alone) {
      bool same = true;  // an alias says where, not how far inside
      for (int32_t m = members[x].next; m != x; m = members[m].next)
        same = same && members[m].shift == members[x].shift;
      if (!same) continue;
      from.alias = y;
      return;
    }
  }
}

void Groups::share(int32_t n, bool body, bool parts) {
  const PlanNode& node = nodes[static_cast<size_t>(n)];
  if (node.outputs.empty()) return;
  if (VIREO_PARTS && !node.at.empty()) {
    if (!parts) return;
    if (!node.joins) return place_outputs(n);
    if (node.outputs[0] < 0) return;
    for (size_t i = 0; i < node.at.size(); ++i) {
      if (place_input(n, i)) placed_bytes += static_cast<uint64_t>(tensors[static_cast<size_t>(node.inputs[i])].bytes);
    }
    return;
  }
  if ((node.inplace != 0 || node.view) && node.outputs[0] >= 0) share_result(n, body);
}

}  // namespace vireo
