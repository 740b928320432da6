// Minimum cuts over moves "some nodes go to label a". A label is a device, or all devices together that work node by
// node in the host's memory: nothing but the node's own time tells those apart, so a node takes the fastest of them.
//
// The total is a sum of three kinds of terms over labels x, and each is submodular in every such move (t = 1: goes):
//   time      of one node each.
//   launch    w(x_q) [x_p != x_q] of neighbours p, q that may join. From (x, y) to a: the cut pays
//             E01 + E10 - E00 - E11 = w(a) + w(y) - w(y) [x != y] >= 0.
//   transfer  of a value with the members M (maker, readers, the host where the value comes from there or goes there):
//             for each device d with memory of its own, h(d) where some members are on d and some are not. That is the
//             value's way over the edge between d and the host: up once however many read it, down once. For d = a it
//             is h [some t = 1 and some t = 0]; for others likewise over the members on d, the rest standing still.
//             "some = 1" and "some = 0" take one more point in the network each, which follows its members because it
//             has nothing else to pay: with u = max t and l = min t, h u (1 - l) is one edge.
// So a move is the best of all 2^n in one cut, and two labels, started with one of them wherever it can run, are solved
// exactly by one cut: every assignment is a move away. With more, moves go round until none helps (expansion: Boykov,
// Veksler, Zabih, IEEE PAMI 23, 2001).
#include "runtime/place/placement.h"

#include <math.h>

#include "sdk/base/carver.h"
#include "sdk/plan/min_cut.h"

namespace vireo {
namespace {

constexpr int64_t kNever = INT64_MAX;
// Rounds over all labels; each but the last made the total less. Tests meet 4 at most.
constexpr int kMostRounds = 32;

class Placer {
 public:
  // With a null base, counts only.
  void carve(Carver* c, int64_t devices, int64_t nodes, int64_t values, int64_t readers) {
    // A value has its readers, its maker and the host as members. The label that is moved to, and one that has them
    // all, take two points and two edges a member each; labels with some of them a point, and an edge for each.
    const int64_t members = readers + 2 * values;
    point_room_ = 2 + nodes + members + 2 * values;
    edge_room_ = 2 * nodes + 4 * members + 2 * values;
    const auto size = [](int64_t n) { return static_cast<size_t>(n); };
    time_ = c->array<int64_t>(size(nodes * devices));
    transfer_ = c->array<int64_t>(size(values * devices));
    lean_ = c->array<int64_t>(size(nodes));
    edges_ = c->array<CutEdge>(size(edge_room_));
    cut_bytes_ = size(min_cut_workspace_bytes(point_room_, edge_room_));
    cut_ = static_cast<uint8_t*>(c->bytes(cut_bytes_));
    open_ = c->array<uint64_t>(size(nodes));
    label_ = c->array<int32_t>(size(nodes));
    kept_ = c->array<int32_t>(size(nodes));
    point_ = c->array<int32_t>(size(nodes));
    at_sink_ = c->array<uint8_t>(size(point_room_));
    c->bytes(0);
  }

  Status solve(const PlaceProblem& problem, Span<int32_t> device_of, PlaceResult* result, Error* error) {
    p_ = &problem;
    VIREO_TRY(check(error));
    make_labels();
    start();
    VIREO_TRY(improve(error));
    for (size_t n = 0; n < node_count(); ++n) device_of[n] = device_of_label(n, label_[n]);
    placement_cost(problem, {device_of.data(), device_of.size()}, result);
    result->exact = labels_ <= 2;
    result->cuts = cuts_;
    result->operations = operations_;
    return Status::kOk;
  }

 private:
  size_t node_count() const { return p_->nodes.size(); }
  size_t device_count() const { return p_->devices.size(); }
  int64_t& time(size_t n, size_t label) { return time_[n * device_count() + label]; }
  int64_t& transfer(size_t v, size_t label) { return transfer_[v * device_count() + label]; }
  bool open(size_t n, int32_t label) const { return (open_[n] >> label & 1u) != 0; }
  bool can(size_t n, size_t d) const {
    const PlaceNode& node = p_->nodes[n];
    return isfinite(node.time_ns[d]) && (node.pinned < 0 || static_cast<size_t>(node.pinned) == d);
  }

  Status check(Error* error) {
    double sum = 0;
    const auto time_ok = [&](double t) {
      sum += t;
      return t >= 0 && isfinite(t);
    };
    for (size_t d = 0; d < device_count(); ++d) {
      const PlaceDevice& dev = p_->devices[d];
      if (!time_ok(dev.launch_ns) || (!dev.unified && (!time_ok(dev.transfer_ns) || !(dev.transfer_rate > 0))))
        return fail(error, Status::kInvalidArgument, "device {}: its launch or transfer is no time", d);
    }
    const double launches = sum;
    for (size_t n = 0; n < node_count(); ++n) {
      const PlaceNode& node = p_->nodes[n];
      if (node.time_ns.size() != device_count() || node.pinned >= static_cast<int32_t>(device_count()))
        return refuse(n, Status::kInvalidArgument, "node {}: it needs {} times and a device below that", error);
      bool any = false;
      for (size_t d = 0; d < device_count(); ++d) {
        const double t = node.time_ns[d];
        if (!(t >= 0)) return refuse(n, Status::kInvalidArgument, "node {}: a time of {} devices is none", error);
        any = any || can(n, d);
        if (isfinite(t)) sum += t;
      }
      if (any) continue;
      return node.pinned < 0 ? refuse(n, Status::kUnsupported, "node {}: none of the {} devices can run it", error)
                             : refuse(n, Status::kUnsupported,
                                      "node {}: of {} devices, the one that it is pinned to cannot run it", error);
    }
    sum += launches * static_cast<double>(node_count());
    const auto is_node = [&](int32_t n) { return n >= 0 && static_cast<size_t>(n) < node_count(); };
    for (size_t v = 0; v < p_->values.size(); ++v) {
      const PlaceValue& value = p_->values[v];
      bool fine = value.maker == -1 || is_node(value.maker);
      for (const int32_t r : value.readers) fine = fine && is_node(r);
      if (!fine) return fail(error, Status::kInvalidArgument, "value {}: made or read by a node that there is not", v);
      for (const PlaceDevice& d : p_->devices) sum += 2 * transfer_of(d, value.bytes);
    }
    if (!isfinite(sum)) return fail(error, Status::kInvalidArgument, "the times are too large to be added");
    // Cuts are of integers, 2^-10 ns apart, or wider where their sum would pass 2^58.
    exponent_ = 10;
    while (ldexp(sum, exponent_) > ldexp(1, 58)) --exponent_;
    return Status::kOk;
  }

  Status refuse(size_t n, Status status, const char* format, Error* error) const {
    return fail(error, status, format, n, device_count());
  }

  static double transfer_of(const PlaceDevice& d, uint64_t bytes) {
    return d.unified ? 0 : d.transfer_ns + static_cast<double>(bytes) * 1e9 / d.transfer_rate;
  }
  int64_t units(double ns) const { return isfinite(ns) ? llround(ldexp(ns, exponent_)) : kNever; }

  void make_labels() {
    // Where the launch is paid whatever runs before, it is a part of the node's time.
    uint64_t ever_open = 0;
    for (size_t n = 0; n < node_count(); ++n) {
      open_[n] = 0;
      for (size_t d = 0; n > 0 && d < device_count(); ++d) {
        const bool joins =
            (p_->nodes[n - 1].joins & p_->nodes[n].joins & uint64_t{1} << d) != 0 && can(n - 1, d) && can(n, d);
        if (joins && units(p_->devices[d].launch_ns) > 0) open_[n] |= uint64_t{1} << d;
      }
      ever_open |= open_[n];
    }
    labels_ = 0;
    int32_t together = -1;
    for (size_t d = 0; d < device_count(); ++d) {
      const bool alike = p_->devices[d].unified && (ever_open & uint64_t{1} << d) == 0;
      label_of_[d] = alike && together >= 0 ? together : labels_++;
      if (alike) together = label_of_[d];
    }
    for (size_t d = 0; d < device_count(); ++d) {
      const auto l = static_cast<size_t>(label_of_[d]);
      launch_[l] = units(p_->devices[d].launch_ns);
      unified_[l] = p_->devices[d].unified;
      for (size_t v = 0; v < p_->values.size(); ++v)
        transfer(v, l) = units(transfer_of(p_->devices[d], p_->values[v].bytes));
    }
    for (size_t n = 0; n < node_count(); ++n) {
      uint64_t open_labels = 0;
      for (size_t l = 0; l < static_cast<size_t>(labels_); ++l) time(n, l) = kNever;
      for (size_t d = 0; d < device_count(); ++d) {
        const auto l = static_cast<size_t>(label_of_[d]);
        const int64_t t = time_on(n, d);
        if (t < time(n, l)) time(n, l) = t;
        if ((open_[n] & uint64_t{1} << d) != 0) open_labels |= uint64_t{1} << l;
      }
      open_[n] = open_labels;
    }
  }

  // With the launch where it is the node's own. Before open_ is of labels, or for a label of several devices (no bit).
  int64_t time_on(size_t n, size_t d) const {
    if (!can(n, d)) return kNever;
    const bool joined = (open_[n] & uint64_t{1} << d) != 0;
    return units(p_->nodes[n].time_ns[d]) + (joined ? 0 : units(p_->devices[d].launch_ns));
  }

  int32_t device_of_label(size_t n, int32_t label) const {
    int32_t best = -1;
    int64_t least = kNever;
    for (size_t d = 0; d < device_count(); ++d) {
      if (label_of_[d] != label || !can(n, d)) continue;
      const int64_t t = units(p_->nodes[n].time_ns[d]) + units(p_->devices[d].launch_ns);
      if (t < least) best = static_cast<int32_t>(d);
      if (t < least) least = t;
    }
    return best;
  }

  int32_t first_label(size_t n) const {
    for (size_t d = 0; d < device_count(); ++d) {
      if (can(n, d)) return label_of_[d];
    }
    return 0;  // check() has seen one
  }

  int64_t launch_between(int32_t from, int32_t to, size_t n) const {
    return from != to && open(n, to) ? launch_[to] : 0;
  }

  int64_t total() {
    int64_t sum = 0;
    for (size_t n = 0; n < node_count(); ++n) {
      sum += time(n, static_cast<size_t>(label_[n]));
      if (n > 0) sum += launch_between(label_[n - 1], label_[n], n);
    }
    for (size_t v = 0; v < p_->values.size(); ++v) {
      int32_t count[kMostPlaceDevices] = {}, all = 0;
      each_member(p_->values[v], [&](int32_t n) {
        ++all;
        if (n >= 0) ++count[label_[n]];
      });
      for (size_t l = 0; l < static_cast<size_t>(labels_); ++l) {
        if (!unified_[l] && count[l] > 0 && count[l] < all) sum += transfer(v, l);
      }
    }
    return sum;
  }

  // -1: the host.
  template <class See>
  static void each_member(const PlaceValue& value, const See& see) {
    see(value.maker);
    for (const int32_t r : value.readers) see(r);
    if (value.to_host && value.maker >= 0) see(-1);
  }

  // The best of: each label wherever it can run a node, else the first device that can; each device likewise.
  void start() {
    int64_t best = kNever;
    const auto consider = [&] {
      const int64_t sum = total();
      if (sum >= best) return;
      best = sum;
      for (size_t n = 0; n < node_count(); ++n) kept_[n] = label_[n];
    };
    const int32_t starts = labels_ <= 2 ? 1 : labels_;
    for (int32_t l = 0; l < starts; ++l) {
      for (size_t n = 0; n < node_count(); ++n)
        label_[n] = time(n, static_cast<size_t>(l)) != kNever ? l : first_label(n);
      consider();
    }
    for (size_t d = 0; labels_ > 2 && d < device_count(); ++d) {
      for (size_t n = 0; n < node_count(); ++n) label_[n] = can(n, d) ? label_of_[d] : first_label(n);
      consider();
    }
    for (size_t n = 0; n < node_count(); ++n) label_[n] = kept_[n];
    total_ = best;
  }

  Status improve(Error* error) {
    if (labels_ < 2) return Status::kOk;
    if (labels_ == 2) return expand(1, error);
    int32_t still = 0;  // labels in a row that did not help
    for (int i = 0; i < kMostRounds * labels_ && still < labels_; ++i) {
      const int64_t before = total_;
      VIREO_TRY(expand(i % labels_, error));
      still = total_ < before ? 1 : still + 1;
    }
    return Status::kOk;
  }

  void edge(int32_t from, int32_t to, int64_t cost, int64_t back = 0) {
    if (cost > 0 || back > 0) edges_[edge_count_++] = {from, to, cost, back};
  }

  // Which of the nodes go to `a`: the best of all such moves.
  Status expand(int32_t a, Error* error) {
    points_ = 2;
    edge_count_ = 0;
    for (size_t n = 0; n < node_count(); ++n) {
      const int64_t there = time(n, static_cast<size_t>(a));
      const bool may = label_[n] != a && there != kNever;
      point_[n] = may ? points_++ : -1;
      lean_[n] = may ? there - time(n, static_cast<size_t>(label_[n])) : 0;
    }
    if (points_ == 2) return Status::kOk;
    for (size_t n = 1; n < node_count(); ++n) {
      const int32_t x = label_[n - 1], y = label_[n];
      const int64_t e00 = launch_between(x, y, n), e11 = 0;
      const int64_t e01 = launch_between(x, a, n), e10 = launch_between(a, y, n);
      if (point_[n - 1] >= 0 && point_[n] >= 0) {
        lean_[n - 1] += e10 - e00;
        lean_[n] += e11 - e10;
        edge(point_[n - 1], point_[n], e01 + e10 - e00 - e11);
      } else if (point_[n - 1] >= 0) {
        lean_[n - 1] += e10 - e00;
      } else if (point_[n] >= 0) {
        lean_[n] += e01 - e00;
      }
    }
    for (size_t v = 0; v < p_->values.size(); ++v) connect(v, a);
    for (size_t n = 0; n < node_count(); ++n) {
      if (point_[n] < 0) continue;
      edge(kCutSource, point_[n], lean_[n]);
      edge(point_[n], kCutSink, -lean_[n]);
    }
    CutResult cut;
    VIREO_TRY(min_cut(points_, {edges_, edge_count_}, {cut_, cut_bytes_}, {at_sink_, static_cast<size_t>(point_room_)},
                      &cut, error));
    ++cuts_;
    operations_ += cut.operations;
    for (size_t n = 0; n < node_count(); ++n) {
      if (point_[n] >= 0 && at_sink_[point_[n]] != 0) label_[n] = a;
    }
    total_ = total();
    return Status::kOk;
  }

  // The transfers of value `v` in a move to `a`, label by label.
  void connect(size_t v, int32_t a) {
    const PlaceValue& value = p_->values[v];
    uint64_t seen = uint64_t{1} << a;
    across(v, a, a);
    each_member(value, [&](int32_t n) {
      if (n < 0 || (seen & uint64_t{1} << label_[n]) != 0) return;
      seen |= uint64_t{1} << label_[n];
      across(v, label_[n], a);
    });
  }

  // Members that will be on `d` whatever moves, those that will not, and those that decide it.
  void across(size_t v, int32_t d, int32_t a) {
    const int64_t cost = transfer(v, static_cast<size_t>(d));
    if (unified_[d] || cost == 0) return;
    const PlaceValue& value = p_->values[v];
    bool on = false, off = false;
    int32_t one = -1, other = -1;  // the first two that decide
    bool more = false;
    const auto decides = [&](int32_t n) { return n >= 0 && point_[n] >= 0 && (d == a || label_[n] == d); };
    each_member(value, [&](int32_t n) {
      if (!decides(n)) {
        (n >= 0 && label_[n] == d ? on : off) = true;
      } else if (one < 0 || one == n) {
        one = n;
      } else if (other < 0 || other == n) {
        other = n;
      } else {
        more = true;
      }
    });
    if (one < 0 || (on && off)) return;
    // Paid when some go (t = 1), when some stay (t = 0), or when both.
    const bool ones = d == a ? off : on, zeros = d == a ? on : off;
    if (other < 0) {
      if (ones) lean_[one] += cost;
      if (zeros) lean_[one] -= cost;
    } else if (!more && !ones && !zeros) {
      edge(point_[one], point_[other], cost, cost);
    } else {
      const int32_t some_go = zeros ? -1 : points_++, some_stay = ones ? -1 : points_++;
      each_member(value, [&](int32_t n) {
        if (!decides(n)) return;
        if (some_go >= 0) edge(some_go, point_[n], cost);
        if (some_stay >= 0) edge(point_[n], some_stay, cost);
      });
      edge(some_stay >= 0 ? some_stay : kCutSource, some_go >= 0 ? some_go : kCutSink, cost);
    }
  }

  const PlaceProblem* p_ = nullptr;
  int exponent_ = 0;
  int32_t labels_ = 0;
  int32_t label_of_[kMostPlaceDevices] = {};
  int64_t launch_[kMostPlaceDevices] = {};
  bool unified_[kMostPlaceDevices] = {};
  int64_t* time_ = nullptr;      // a node and label
  int64_t* transfer_ = nullptr;  // a value and label: one way
  int64_t* lean_ = nullptr;      // what going costs a node more than staying
  uint64_t* open_ = nullptr;     // bit l: on label l, the node joins the one before it
  int32_t* label_ = nullptr;
  int32_t* kept_ = nullptr;
  int32_t* point_ = nullptr;  // of the node in the network; -1: it cannot go, or is there
  int64_t total_ = 0;
  // The network.
  CutEdge* edges_ = nullptr;
  uint8_t* cut_ = nullptr;
  uint8_t* at_sink_ = nullptr;
  size_t cut_bytes_ = 0, edge_count_ = 0;
  int64_t point_room_ = 0, edge_room_ = 0;
  int32_t points_ = 0;
  uint32_t cuts_ = 0;
  uint64_t operations_ = 0;
};

}  // namespace

int64_t placement_workspace_bytes(int64_t devices, int64_t nodes, int64_t values, int64_t readers) {
  Carver count;
  Placer().carve(&count, devices, nodes, values, readers);
  return static_cast<int64_t>(count.used());
}

Status place_nodes(const PlaceProblem& problem, Span<uint8_t> workspace, Span<int32_t> device_of, PlaceResult* result,
                   Error* error) {
  *result = PlaceResult();
  int64_t readers = 0;
  for (const PlaceValue& v : problem.values) readers += static_cast<int64_t>(v.readers.size());
  const auto devices = static_cast<int64_t>(problem.devices.size()), nodes = static_cast<int64_t>(problem.nodes.size());
  const auto values = static_cast<int64_t>(problem.values.size());
  constexpr int64_t kMost = INT32_MAX / 64;  // points and edges are counted in 32 bits
  if (devices > int64_t{kMostPlaceDevices} || nodes + values + readers > kMost)
    return fail(error, Status::kInvalidArgument, "{} devices, {} nodes, {} values: too many to be placed", devices,
                nodes, values);
  if (device_of.size() != problem.nodes.size())
    return fail(error, Status::kInvalidArgument, "{} nodes, {} answers", nodes, device_of.size());
  const int64_t needed = placement_workspace_bytes(devices, nodes, values, readers);
  if (static_cast<int64_t>(workspace.size()) < needed)
    return fail(error, Status::kOutOfArena, "placing {} nodes takes {} bytes of workspace, {} are there", nodes, needed,
                workspace.size());
  Carver carver(workspace.data());
  Placer placer;
  placer.carve(&carver, devices, nodes, values, readers);
  return placer.solve(problem, device_of, result, error);
}

}  // namespace vireo
