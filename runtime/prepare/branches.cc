#include "runtime/prepare/branches.h"

#include <string.h>

#include "sdk/base/checked.h"
#include "sdk/plan/planner.h"

namespace vireo {
namespace {

// A window has to save this share of what its nodes take one after another, and this much: costs are estimates.
constexpr double kShare = 0.1, kLeastNs = 2000;
constexpr uint32_t kNone = UINT32_MAX;

struct Window {
  uint32_t first = 0, count = 0, branches = 0;
  uint8_t branch_of[kMostWindow];
  double costs[kMostBranches];
  double alone = 0;  // one node after another
};

class Finder {
 public:
  Finder(const SessionLayout& l, const PlanWorkspace& w) : s_(l.subs[0]), w_(w), slots_(l.slots), g_(l.graph(0)) {}

  bool may_run_beside(uint32_t n) const {
    const NodeChoice& choice = s_.nodes[n];
    const fb::Node& node = *g_.nodes()->Get(n);
    const OpRow* row = find_op(static_cast<Op>(node.op()));
    if (row == nullptr || choice.device == kNoDevice || choice.cost_ns <= 0) return false;
    if (w_.nodes[n].region_bytes >= 0 && static_cast<Op>(node.op()) != Op::kComposite) return false;
    return (row->def->flags & (OpDef::kDataDependent | OpDef::kRandom)) == 0;
  }

  // The last node that makes what node `n` reads; kNone: none does. `maker`: of each tensor.
  uint32_t latest_maker(const int32_t* maker, uint32_t n) const {
    int32_t latest = -1;
    for (const int32_t x : w_.nodes[n].inputs) {
      if (x >= 0 && maker[x] > latest) latest = maker[x];
    }
    return latest < 0 ? kNone : static_cast<uint32_t>(latest);
  }

  // The branches of [window.first, + 1), grown node by node while the nodes fall into several.
  bool append(Window& window, uint32_t n) const {
    uint32_t found = kNone;
    for (uint32_t i = 0; i < window.count; ++i) {
      if (window.branch_of[i] == found || !reads(n, window.first + i)) continue;
      if (found != kNone) return false;
      found = window.branch_of[i];
    }
    if (found == kNone) {
      if (window.branches == kMostBranches) return false;
      found = window.branches++;
      window.costs[found] = 0;
    }
    window.branch_of[window.count++] = static_cast<uint8_t>(found);
    window.costs[found] += cost(n);
    window.alone += spread_ns(cost(n), slots_);
    return true;
  }

  // What running it in lanes saves; 0 where that is too little to count on.
  double saving(const Window& window) const {
    if (window.branches < 2) return 0;
    uint8_t lane_of[kMostBranches];
    const double saved = window.alone - kForkNs - fill_lanes(window.costs, window.branches, lanes(window), lane_of);
    return saved < kLeastNs || saved < kShare * window.alone ? 0 : saved;
  }
  int32_t lanes(const Window& window) const {
    const auto branches = static_cast<int32_t>(window.branches);
    const int32_t most = slots_ < kMostLanes ? slots_ : kMostLanes;
    return branches < most ? branches : most;
  }

  // Branches that share bytes become one. True when there were any.
  bool merge_sharing(Window& window) const {
    bool any = false;
    for (uint32_t j = 1; j < window.count; ++j) {
      for (uint32_t i = 0; i < j; ++i) {
        const uint8_t from = window.branch_of[j], to = window.branch_of[i];
        if (from == to || !shares_bytes(window.first + i, window.first + j)) continue;
        for (uint32_t k = 0; k < window.count; ++k) {
          if (window.branch_of[k] == from) window.branch_of[k] = to;
        }
        any = true;
      }
    }
    if (!any) return false;
    uint8_t number[kMostBranches];
    memset(number, UINT8_MAX, sizeof(number));
    window.branches = 0;
    for (uint32_t k = 0; k < window.count; ++k) {
      uint8_t& now = number[window.branch_of[k]];
      if (now == UINT8_MAX) {
        now = static_cast<uint8_t>(window.branches++);
        window.costs[now] = 0;
      }
      window.branch_of[k] = now;
      window.costs[now] += cost(window.first + k);
    }
    return true;
  }

  double cost(uint32_t n) const { return s_.nodes[n].in_place ? 0 : s_.nodes[n].cost_ns; }

 private:
  bool reads(uint32_t n, uint32_t made_by) const {
    for (const int32_t y : w_.nodes[made_by].outputs) {
      for (const int32_t x : w_.nodes[n].inputs) {
        if (x >= 0 && x == y) return true;
      }
    }
    return false;
  }
  bool overlap(int32_t a, int32_t b) const {
    if (a < 0 || b < 0) return false;
    const uint64_t oa = s_.offsets[a], ob = s_.offsets[b];
    if (oa >= kFirstAlias || ob >= kFirstAlias) return oa != kNoOffset && oa == ob;
    return oa < ob + static_cast<uint64_t>(w_.tensors[b].bytes) && ob < oa + static_cast<uint64_t>(w_.tensors[a].bytes);
  }
  bool writes_into(uint32_t writer, uint32_t other) const {
    if (s_.nodes[writer].in_place) return false;  // it does not run
    for (const int32_t y : w_.nodes[writer].outputs) {
      for (const int32_t x : w_.nodes[other].inputs) {
        if (overlap(y, x)) return true;
      }
      for (const int32_t x : w_.nodes[other].outputs) {
        if (!s_.nodes[other].in_place && overlap(y, x)) return true;
      }
    }
    return false;
  }
  bool shares_bytes(uint32_t a, uint32_t b) const { return writes_into(a, b) || writes_into(b, a); }

  const SubLayout& s_;
  const PlanWorkspace& w_;
  int32_t slots_;
  const fb::Subgraph& g_;
};

// The best window that begins at node `first`; none: count is 0.
Window best_window(const Finder& f, const int32_t* maker, uint32_t first, uint32_t node_count) {
  Window window, best;
  window.first = first;
  const uint32_t end = node_count - first < kMostWindow ? node_count : first + kMostWindow;
  // Most nodes follow one another: without a second branch there is nothing to look for.
  bool second = false;
  for (uint32_t n = first + 1; n < end && !second && f.may_run_beside(n); ++n) {
    const uint32_t latest = f.latest_maker(maker, n);
    second = latest == kNone || latest < first;
  }
  double most = 0;
  for (uint32_t n = first; second && n < end && f.may_run_beside(n) && f.append(window, n); ++n) {
    const double saved = f.saving(window);
    if (saved <= most) continue;
    most = saved;
    best = window;
  }
  return best;
}

}  // namespace

double spread_ns(double cost, int32_t slots) {
  const double spread = cost / slots + kSpreadNs;
  return spread < cost ? spread : cost;
}

double fill_lanes(const double* costs, uint32_t count, int32_t lanes, uint8_t* lane_of) {
  double load[kMostLanes] = {};
  bool done[kMostBranches] = {};
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t longest = kNone;
    for (uint32_t b = 0; b < count; ++b) {
      if (!done[b] && (longest == kNone || costs[b] > costs[longest])) longest = b;
    }
    int32_t free_first = 0;
    for (int32_t lane = 1; lane < lanes; ++lane) {
      if (load[lane] < load[free_first]) free_first = lane;
    }
    done[longest] = true;
    lane_of[longest] = static_cast<uint8_t>(free_first);
    load[free_first] += costs[longest];
  }
  double fullest = 0;
  for (int32_t lane = 0; lane < lanes; ++lane) fullest = load[lane] > fullest ? load[lane] : fullest;
  return fullest;
}

Status plan_branches(SessionLayout& l, const PlanWorkspace& w, Error* error) {
  SubLayout& s = l.subs[0];
  if (l.slots < 2 || s.node_count < 2) return Status::kOk;
  const Finder f(l, w);
  int32_t* maker = w.last_use;
  for (uint32_t t = 0; t < s.tensor_count; ++t) maker[t] = -1;
  for (uint32_t n = 0; n < s.node_count; ++n) {
    for (const int32_t y : w.nodes[n].outputs) {
      if (y >= 0) maker[y] = static_cast<int32_t>(n);
    }
  }
  bool any = false, sharing = false;
  for (uint32_t n = 0; n < s.node_count;) {
    Window window = best_window(f, maker, n, s.node_count);
    s.nodes[n].window = window.count;
    w.nodes[n].together = window.count;
    any = any || window.count != 0;
    n += window.count == 0 ? 1 : window.count;
    sharing = (window.count != 0 && f.merge_sharing(window)) || sharing;
  }
  if (!any) return Status::kOk;
  if (sharing) VIREO_TRY(plan_together(l, w, error));

  for (uint32_t n = 0; n < s.node_count; n += s.nodes[n].window == 0 ? 1 : s.nodes[n].window) {
    if (s.nodes[n].window == 0) continue;
    Window window;
    window.first = n;
    for (uint32_t k = 0; k < s.nodes[n].window; ++k) (void)f.append(window, n + k);
    (void)f.merge_sharing(window);
    if (f.saving(window) <= 0) {
      s.nodes[n].window = 0;
      continue;
    }
    uint8_t lane_of[kMostBranches];
    fill_lanes(window.costs, window.branches, f.lanes(window), lane_of);
    if (f.lanes(window) > l.lanes) l.lanes = f.lanes(window);
    for (uint32_t k = 0; k < window.count; ++k) {
      NodeChoice& choice = s.nodes[n + k];
      choice.lane = lane_of[window.branch_of[k]];
      if (choice.lane_scratch_bytes > l.lane_scratch_bytes) l.lane_scratch_bytes = choice.lane_scratch_bytes;
    }
  }
  l.lane_scratch_bytes = static_cast<size_t>(align_up(l.lane_scratch_bytes, kTensorAlignment));
  const size_t scratch = static_cast<size_t>(l.lanes) * l.lane_scratch_bytes;
  if (scratch > l.scratch_bytes) l.scratch_bytes = scratch;
  return Status::kOk;
}

}  // namespace vireo
