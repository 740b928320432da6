// Which device runs each node, so that all of it together takes least time. README.md: the model; DESIGN.md: its bound.
//
// No heap: the caller brings workspace. Every number is a time that follows from other numbers, nothing is measured
// here: the same problem has the same answer on every machine.
#ifndef VIREO_RUNTIME_PLACE_PLACEMENT_H_
#define VIREO_RUNTIME_PLACE_PLACEMENT_H_

#include <stdint.h>

#include "sdk/base/error.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"

namespace vireo {

constexpr uint32_t kMostPlaceDevices = 64;  // bits of PlaceNode::joins

struct PlaceDevice {
  // For each maximal run of neighbouring nodes that join; a node that does not join pays it alone. 0 for a device that
  // runs node by node.
  double launch_ns = 0;
  // Works in the host's memory, as the host's processor does: nothing is moved. Else what a value costs, each way.
  bool unified = false;
  double transfer_ns = 0;    // however small it is
  double transfer_rate = 0;  // bytes a second
};

struct PlaceNode {
  Span<const double> time_ns;   // one a device; infinite: cannot run it
  int32_t pinned = -1;          // the device that it must run on
  uint64_t joins = UINT64_MAX;  // bit d: on device d it may join its neighbours
};

struct PlaceValue {
  int32_t maker = -1;  // a node; -1: it comes from the host
  Span<const int32_t> readers;
  uint64_t bytes = 0;
  bool to_host = false;  // an output of the model, or read where no device stands for it
};

// Nodes in the order in which they run: neighbours in it may become one part.
struct PlaceProblem {
  Span<const PlaceDevice> devices;
  Span<const PlaceNode> nodes;
  Span<const PlaceValue> values;
};

struct PlaceResult {
  double total_ns = 0;  // the sum of the next three
  double compute_ns = 0;
  double launch_ns = 0;
  double transfer_ns = 0;
  uint64_t moved_bytes = 0;  // between host and devices, each way counted
  bool exact = false;        // no assignment is better (to 2^-10 ns a term)
  uint32_t cuts = 0;         // minimum cuts that were solved
  uint64_t operations = 0;   // edges looked at in them: what the time depends on
};

// Bytes of workspace for a problem with so many devices, nodes, values and, of all values together, readers.
int64_t placement_workspace_bytes(int64_t devices, int64_t nodes, int64_t values, int64_t readers);

// Fills `device_of` (one a node). `workspace` is aligned to 8. kOutOfArena when it is too small; kInvalidArgument for
// numbers that are no times or name what there is not; kUnsupported, with the node's number in the message, for a
// node that no device can run, or that is pinned to one that cannot.
Status place_nodes(const PlaceProblem& problem, Span<uint8_t> workspace, Span<int32_t> device_of, PlaceResult* result,
                   Error* error);

// What the assignment costs. Fills all of `result` that is about time and bytes. Infinite where a device cannot.
void placement_cost(const PlaceProblem& problem, Span<const int32_t> device_of, PlaceResult* result);

// What a node's values move, whoever else reads them there.
struct PlaceTraffic {
  uint64_t in_bytes = 0;   // values that it reads and that were made in another memory
  uint64_t out_bytes = 0;  // values that it makes and that are wanted in another memory
};

// What each node would take on each device if it alone moved there. `alone_ns` has a row a node and a column a device:
// the node's time, the launches of its own run and of the one behind it, and the transfers of all values that it reads
// and makes. Differences within a row are what the total would change by; infinite where the device cannot. `stamps`:
// one a node, to work in.
void explain_placement(const PlaceProblem& problem, Span<const int32_t> device_of, Span<int32_t> stamps,
                       Span<double> alone_ns, Span<PlaceTraffic> traffic);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PLACE_PLACEMENT_H_
