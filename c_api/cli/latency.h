// How long nodes take, as a report shows it.
#ifndef VIREO_C_API_CLI_LATENCY_H_
#define VIREO_C_API_CLI_LATENCY_H_

#include <vector>

#include "c_api/cli/handles.h"
#include "c_api/cli/run_log.h"
#include "sdk/json/json.h"

namespace vireo::cli {

// Of a session whose runs are in `log`:
//   {"runs", "threads", "device", "p10_us", "median_us", "p90_us", "between": {"p10_us", "p50_us", "p90_us"},
//    "rest_us", "timeline": [...],
//    "nodes": [{"name", "op", "device", "kernel", "depth", "calls", "p10_us", "p50_us", "p90_us", "share",
//               "operations", "bytes", "least_us", "under_half"}]}, nodes in the session's order.
// All times are percentiles over the runs; "share" is the node's median over that of a run. "between": what of a
// run is in no node. "rest_us": what the medians of the nodes (of depth 0) and of that leave of the run's, for medians
// add up only nearly: where each run is interrupted in another node, no node's median has it.
// "timeline": the runs nearest to the three percentiles, {"quantile", "wall_us", "slices": [[node, start_us,
// length_us], ...]}, nodes as places in "nodes". `threads` 0: one per core. "least_us": what this machine allows
// (roofline.h), for nodes of the CPU and of devices whose rates are known; "under_half": a node of such a device takes
// more than twice as long.
Json latency_json(const Model& model, const vireo_session* session, const RunLog& log, int threads);

// Runs such a session for `seconds`, at least three times behind a first one. Throws Failure.
Json measure_latency(const Model& model, SessionChoice choice, const Bounds& bounds, const std::vector<Array>& inputs,
                     double seconds);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_LATENCY_H_
