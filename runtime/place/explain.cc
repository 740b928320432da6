// The model of README.md in plain sums: apart from the search, so that each checks the other.
#include <math.h>

#include "runtime/place/placement.h"

namespace vireo {
namespace {

constexpr size_t kHost = kMostPlaceDevices;  // as a place for values

class Model {
 public:
  Model(const PlaceProblem& problem, Span<const int32_t> device_of) : p_(problem), device_of_(device_of) {}

  size_t devices() const { return p_.devices.size(); }
  size_t on(size_t n) const { return static_cast<size_t>(device_of_[n]); }
  size_t memory(size_t d) const { return p_.devices[d].unified ? kHost : d; }
  size_t memory_of(int32_t n) const { return n < 0 ? kHost : memory(on(static_cast<size_t>(n))); }

  // Of node `n` on device `d` behind one on `before`.
  double launch(size_t n, size_t before, size_t d) const {
    const bool joins = n > 0 && before == d && (p_.nodes[n - 1].joins & p_.nodes[n].joins & uint64_t{1} << d) != 0;
    return joins ? 0 : p_.devices[d].launch_ns;
  }
  double launch(size_t n) const { return launch(n, n > 0 ? on(n - 1) : 0, on(n)); }

  double transfer(size_t memory, uint64_t bytes) const {
    if (memory == kHost) return 0;
    const PlaceDevice& d = p_.devices[memory];
    return d.transfer_ns + static_cast<double>(bytes) * 1e9 / d.transfer_rate;
  }

 private:
  const PlaceProblem& p_;
  Span<const int32_t> device_of_;
};

// How many of a value's members (maker, readers, the host) are in each memory.
struct Members {
  int32_t count[kMostPlaceDevices + 1] = {};
  int32_t all = 0;

  void add(size_t memory) {
    ++count[memory];
    ++all;
  }
  bool parted(size_t memory) const { return count[memory] > 0 && count[memory] < all; }
};

bool with_host(const PlaceValue& v) { return v.maker < 0 || v.to_host; }

}  // namespace

void placement_cost(const PlaceProblem& problem, Span<const int32_t> device_of, PlaceResult* result) {
  const Model model(problem, device_of);
  result->compute_ns = result->launch_ns = result->transfer_ns = 0;
  result->moved_bytes = 0;
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    const PlaceNode& node = problem.nodes[n];
    const bool held = node.pinned >= 0 && node.pinned != device_of[n];
    result->compute_ns += held ? static_cast<double>(INFINITY) : node.time_ns[model.on(n)];
    result->launch_ns += model.launch(n);
  }
  for (const PlaceValue& v : problem.values) {
    Members members;
    if (v.maker >= 0) members.add(model.memory_of(v.maker));
    for (const int32_t r : v.readers) members.add(model.memory_of(r));
    if (with_host(v)) members.add(kHost);
    for (size_t d = 0; d < model.devices(); ++d) {
      if (!members.parted(d)) continue;
      result->transfer_ns += model.transfer(d, v.bytes);
      result->moved_bytes += v.bytes;
    }
  }
  result->total_ns = result->compute_ns + result->launch_ns + result->transfer_ns;
}

void explain_placement(const PlaceProblem& problem, Span<const int32_t> device_of, Span<int32_t> stamps,
                       Span<double> alone_ns, Span<PlaceTraffic> traffic) {
  const Model model(problem, device_of);
  const size_t nodes = problem.nodes.size(), devices = problem.devices.size();
  for (size_t n = 0; n < nodes; ++n) {
    const PlaceNode& node = problem.nodes[n];
    stamps[n] = -1;
    traffic[n] = PlaceTraffic();
    for (size_t d = 0; d < devices; ++d) {
      double& there = alone_ns[n * devices + d];
      const bool held = node.pinned >= 0 && static_cast<size_t>(node.pinned) != d;
      there = held ? static_cast<double>(INFINITY) : node.time_ns[d];
      there += model.launch(n, n > 0 ? model.on(n - 1) : 0, d);
      if (n + 1 < nodes) there += model.launch(n + 1, d, model.on(n + 1));
    }
  }
  for (size_t i = 0; i < problem.values.size(); ++i) {
    const PlaceValue& v = problem.values[i];
    Members members;
    const auto each_node = [&](const auto& see) {  // once, however often it reads the value
      if (v.maker >= 0) see(static_cast<size_t>(v.maker));
      for (const int32_t r : v.readers) see(static_cast<size_t>(r));
    };
    if (with_host(v)) members.add(kHost);
    each_node([&](size_t n) {
      if (stamps[n] != static_cast<int32_t>(2 * i)) members.add(model.memory(model.on(n)));
      stamps[n] = static_cast<int32_t>(2 * i);
    });
    double paid = 0;
    for (size_t d = 0; d < devices; ++d) paid += members.parted(d) ? model.transfer(d, v.bytes) : 0;
    const size_t home = model.memory_of(v.maker);
    each_node([&](size_t n) {
      if (stamps[n] == static_cast<int32_t>(2 * i + 1)) return;
      stamps[n] = static_cast<int32_t>(2 * i + 1);
      const size_t from = model.memory(model.on(n));
      const auto here = [&](size_t a, size_t b) {  // of the two memories that a move changes
        return (members.parted(a) ? model.transfer(a, v.bytes) : 0) +
               (members.parted(b) ? model.transfer(b, v.bytes) : 0);
      };
      for (size_t d = 0; d < devices; ++d) {
        const size_t to = model.memory(d);
        double there = paid;
        if (to != from) {
          there -= here(from, to);
          --members.count[from];
          ++members.count[to];
          there += here(from, to);
          ++members.count[from];
          --members.count[to];
        }
        alone_ns[n * devices + d] += there;
      }
      const bool maker = v.maker >= 0 && static_cast<size_t>(v.maker) == n;
      if (!maker && from != home) traffic[n].in_bytes += v.bytes;
      if (maker && members.count[from] < members.all) traffic[n].out_bytes += v.bytes;
    });
  }
}

}  // namespace vireo
