#include "sdk/plan/min_cut.h"

#include <initializer_list>

#include "sdk/base/checked.h"

namespace vireo {
namespace {

struct Arc {
  int32_t to = 0;
  int32_t pair = 0;  // the arc that leads back
  int64_t room = 0;
};

// A point's label never exceeds its distance to the sink; a label of `points` says that it cannot reach it any more.
struct Network {
  int32_t points = 0;
  int32_t* first = nullptr;    // points + 1: arcs of a point lie behind each other
  int32_t* current = nullptr;  // arcs before it lead nowhere at the point's label
  int32_t* label = nullptr;
  int32_t* active = nullptr;  // by label: points that have too much, linked by `next`
  int32_t* quiet = nullptr;   // by label: the others, linked both ways
  int32_t* next = nullptr;
  int32_t* prev = nullptr;
  int32_t* queue = nullptr;
  int64_t* excess = nullptr;
  Arc* arcs = nullptr;
  int32_t highest_active = -1, highest = 0;
  uint64_t operations = 0;

  // With a null base, counts only.
  size_t carve(uint8_t* base, int64_t point_count, int64_t edge_count) {
    size_t used = 0;
    const auto take = [&](size_t count, size_t size) {
      uint8_t* const p = base == nullptr ? nullptr : base + used;
      used += static_cast<size_t>(align_up(count * size, 8));
      return p;
    };
    const auto n = static_cast<size_t>(point_count), m = 2 * static_cast<size_t>(edge_count);
    excess = reinterpret_cast<int64_t*>(take(n, sizeof(int64_t)));
    arcs = reinterpret_cast<Arc*>(take(m, sizeof(Arc)));
    const auto list = [&](size_t count) { return reinterpret_cast<int32_t*>(take(count, sizeof(int32_t))); };
    first = list(n + 1);
    current = list(n);
    label = list(n);
    active = list(n);
    quiet = list(n);
    next = list(n);
    prev = list(n);
    queue = list(n);
    return used;
  }

  void build(Span<const CutEdge> edges) {
    for (int32_t p = 0; p <= points; ++p) first[p] = 0;
    for (const CutEdge& e : edges) {
      ++first[e.from + 1];
      ++first[e.to + 1];
    }
    for (int32_t p = 0; p < points; ++p) {
      first[p + 1] += first[p];
      current[p] = first[p];
      excess[p] = 0;
    }
    for (const CutEdge& e : edges) {
      const int32_t a = current[e.from]++, b = current[e.to]++;
      arcs[a] = {e.to, b, e.cost};
      arcs[b] = {e.from, a, e.back};
    }
  }

  void put_active(int32_t p) {
    const int32_t l = label[p];
    next[p] = active[l];
    active[l] = p;
    if (l > highest_active) highest_active = l;
    if (l > highest) highest = l;
  }
  void put_quiet(int32_t p) {
    const int32_t l = label[p];
    next[p] = quiet[l];
    prev[p] = -1;
    if (next[p] >= 0) prev[next[p]] = p;
    quiet[l] = p;
    if (l > highest) highest = l;
  }
  void take_quiet(int32_t p) {
    (prev[p] < 0 ? quiet[label[p]] : next[prev[p]]) = next[p];
    if (next[p] >= 0) prev[next[p]] = prev[p];
  }

  // Labels as far from the sink as points are now.
  void relabel_all() {
    for (int32_t p = 0; p < points; ++p) {
      label[p] = points;
      active[p] = quiet[p] = -1;
      current[p] = first[p];
    }
    highest = 0;
    highest_active = -1;
    label[kCutSink] = 0;
    int32_t end = 0;
    queue[end++] = kCutSink;
    for (int32_t i = 0; i < end; ++i) {
      const int32_t p = queue[i];
      operations += static_cast<uint64_t>(first[p + 1] - first[p]);
      for (int32_t a = first[p]; a < first[p + 1]; ++a) {
        const int32_t q = arcs[a].to;
        if (label[q] < points || q == kCutSource || arcs[arcs[a].pair].room <= 0) continue;
        label[q] = label[p] + 1;
        queue[end++] = q;
      }
      if (p == kCutSink) continue;
      if (excess[p] > 0) {
        put_active(p);
      } else {
        put_quiet(p);
      }
    }
  }

  // No point has the label `l` any more: what lies above it cannot reach the sink.
  void give_up_above(int32_t l) {
    for (int32_t k = l + 1; k <= highest && k < points; ++k) {
      for (int32_t** lists : {&active, &quiet}) {
        for (int32_t p = (*lists)[k]; p >= 0; p = next[p]) label[p] = points;
        (*lists)[k] = -1;
      }
    }
    highest = l > 0 ? l - 1 : 0;
    if (highest_active > highest) highest_active = highest;
  }

  // `p` has been taken out of its list and has too much.
  void discharge(int32_t p) {
    for (;;) {
      for (int32_t& a = current[p]; a < first[p + 1]; ++a) {
        ++operations;
        Arc& arc = arcs[a];
        const int32_t q = arc.to;
        if (arc.room <= 0 || label[q] != label[p] - 1) continue;
        const int64_t pushed = excess[p] < arc.room ? excess[p] : arc.room;
        arc.room -= pushed;
        arcs[arc.pair].room += pushed;
        if (q != kCutSink && excess[q] == 0) {
          take_quiet(q);
          put_active(q);
        }
        excess[q] += pushed;
        excess[p] -= pushed;
        if (excess[p] == 0) return put_quiet(p);
      }
      const int32_t old = label[p];
      int32_t least = points;
      for (int32_t a = first[p]; a < first[p + 1]; ++a) {
        if (arcs[a].room > 0 && label[arcs[a].to] + 1 < least) least = label[arcs[a].to] + 1;
      }
      operations += static_cast<uint64_t>(first[p + 1] - first[p]);
      label[p] = least;
      current[p] = first[p];
      if (active[old] < 0 && quiet[old] < 0) {
        give_up_above(old);
        label[p] = points;
      }
      if (label[p] >= points) return;
    }
  }

  int64_t solve(Span<uint8_t> at_sink) {
    for (int32_t a = first[kCutSource]; a < first[kCutSource + 1]; ++a) {
      const int64_t room = arcs[a].room;
      if (room <= 0) continue;
      excess[arcs[a].to] += room;
      arcs[arcs[a].pair].room += room;
      arcs[a].room = 0;
    }
    relabel_all();
    // As often as the work in between is worth it: once for some six looks at every point and one at every arc.
    const uint64_t often = 6 * static_cast<uint64_t>(points) + static_cast<uint64_t>(first[points]);
    for (uint64_t since = operations; highest_active >= 0;) {
      const int32_t p = active[highest_active];
      if (p < 0) {
        --highest_active;
        continue;
      }
      active[highest_active] = next[p];
      discharge(p);
      if (operations - since > 2 * often) {
        relabel_all();
        since = operations;
      }
    }
    // What still reaches the sink cannot be elsewhere in any cheapest cut. What is left over elsewhere would flow back
    // to the source without meeting these points.
    relabel_all();
    for (int32_t p = 0; p < points; ++p) at_sink[static_cast<size_t>(p)] = label[p] < points ? 1 : 0;
    return excess[kCutSink];
  }
};

}  // namespace

int64_t min_cut_workspace_bytes(int64_t points, int64_t edges) {
  return static_cast<int64_t>(Network().carve(nullptr, points, edges));
}

Status min_cut(int32_t points, Span<const CutEdge> edges, Span<uint8_t> workspace, Span<uint8_t> at_sink,
               CutResult* result, Error* error) {
  const auto edge_count = static_cast<int64_t>(edges.size());
  if (points < 2 || edge_count > INT32_MAX / 2 || at_sink.size() < static_cast<size_t>(points))
    return fail(error, Status::kInvalidArgument, "a cut of {} points, {} edges, into {} answers", points, edge_count,
                at_sink.size());
  const int64_t needed = min_cut_workspace_bytes(points, edge_count);
  if (workspace.data() == nullptr || static_cast<int64_t>(workspace.size()) < needed)
    return fail(error, Status::kOutOfArena, "a cut takes {} bytes of workspace, {} are there", needed,
                workspace.size());
  for (const CutEdge& e : edges) {
    if (e.from < 0 || e.to < 0 || e.from >= points || e.to >= points || e.from == e.to || e.cost < 0 || e.back < 0)
      return fail(error, Status::kInvalidArgument, "a cut has an edge from {} to {} that costs {} and {}", e.from, e.to,
                  e.cost, e.back);
  }
  Network net;
  net.points = points;
  net.carve(workspace.data(), points, edge_count);
  net.build(edges);
  result->cost = net.solve(at_sink);
  result->operations = net.operations;
  return Status::kOk;
}

}  // namespace vireo
