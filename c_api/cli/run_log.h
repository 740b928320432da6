// What each node of a session took, run by run: from it come percentiles, traces and timelines.
#ifndef VIREO_C_API_CLI_RUN_LOG_H_
#define VIREO_C_API_CLI_RUN_LOG_H_

#include <cstdint>
#include <vector>

#include "vireo/vireo.h"

namespace vireo::cli {

// A session tells how long each node took, and not when: nodes of a run are laid out in their order from its start, so
// lengths are measured and gaps are at the end of a run, where the session's own work and waiting show.
struct TracedRun {
  double start_us = 0, end_us = 0;  // by the clock of whoever ran it
  std::vector<uint64_t> ns;         // of each node, in this run
  std::vector<uint64_t> calls;
  uint64_t resident_bytes = 0;  // of the process behind the run; 0: not known

  double wall_us() const { return end_us - start_us; }
};

// Where a node lies in a run, in microseconds from the run's start.
struct Slice {
  size_t node = 0;
  double start_us = 0, length_us = 0;
};
// Nodes that took part, in their order, bodies inside their owners.
std::vector<Slice> slices_of(const std::vector<vireo_node_info>& nodes, const TracedRun& run);

// Of sorted numbers, at least one; between two of them by the distance.
double quantile(const std::vector<double>& sorted, double q);

struct Percentiles {
  double p10 = 0, p50 = 0, p90 = 0;
};
Percentiles percentiles(std::vector<double> values);  // of none: zeros

// The number of runs that a log keeps for a model of `nodes` nodes: about 400,000 node times, and at least 20 runs.
size_t logged_runs(size_t nodes);

// Collects the runs of a session that counts (profile on). Of more than logged_runs() every second, fourth... is kept,
// so that what is kept lies evenly over the whole time.
class RunLog {
 public:
  explicit RunLog(std::vector<vireo_node_info> nodes);  // as the session lists them before the first run

  // `now`: the session's nodes behind the run, with their sums over all runs.
  void add(TracedRun run, std::vector<vireo_node_info> now);

  const std::vector<vireo_node_info>& nodes() const { return nodes_; }  // with the sums of the last run
  const std::vector<TracedRun>& runs() const { return runs_; }          // kept, in their order
  const std::vector<TracedRun>& first() const { return first_; }        // the first, one behind the other
  size_t count() const { return wall_us_.size(); }                      // all

  Percentiles wall_us() const { return percentiles(wall_us_); }  // of all runs
  // Over the runs that are kept: of each node, and of what of a run is in no node.
  std::vector<Percentiles> node_us() const;
  Percentiles between_us() const;

 private:
  std::vector<vireo_node_info> nodes_;
  std::vector<TracedRun> runs_, first_;
  std::vector<double> wall_us_;
  size_t stride_ = 1;
};

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_RUN_LOG_H_
