// What a session did over time, in the trace-event format that trace viewers such as Perfetto open.
#ifndef VIREO_C_API_CLI_TRACE_H_
#define VIREO_C_API_CLI_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "c_api/cli/run_log.h"
#include "sdk/json/json.h"
#include "vireo/vireo.h"

namespace vireo::cli {

// As placement has it, for each node that a session lists; parts of one device that run as a whole bear one number.
struct TracedPart {
  uint32_t part = UINT32_MAX;
  uint64_t bytes_crossing = 0;
};

struct Trace {
  std::string model;
  std::vector<vireo_node_info> nodes;
  std::vector<TracedPart> parts;  // as many as nodes, or none
  std::vector<TracedRun> runs;
  std::vector<Percentiles> times;  // of each node, over all runs; as many as nodes, or none
  double median_us = 0;            // of a run
  vireo_memory memory = {};
};

// The number of runs that a trace keeps for a model of `nodes` nodes: about 20,000 slices, which Perfetto opens at
// once, and at most 20 runs.
size_t traced_runs(size_t nodes);

// {"traceEvents": [...], "displayTimeUnit", "otherData", "nodes": percentiles of each}. One track for runs and
// one a device; a slice for each node of each run, with bodies inside their owners; arrows where work goes from one
// part or device to another; counters of memory. Events of a track are in the order of their time.
Json trace_json(const Trace& trace);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_TRACE_H_
