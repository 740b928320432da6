// What a session did over time, in the trace-event format that ui.perfetto.dev and chrome://tracing open.
#ifndef VIREO_C_API_TOOL_TRACE_H_
#define VIREO_C_API_TOOL_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/json/json.h"
#include "vireo/vireo.h"

namespace vireo::tool {

// As placement has it, for each node that a session lists; parts of one device that run as a whole bear one number.
struct TracedPart {
  uint32_t part = UINT32_MAX;
  uint64_t bytes_crossing = 0;
};

// A session tells how long each node took, and not when: nodes of a run are laid out in their order from its start, so
// lengths are measured and gaps are at the end of a run, where the session's own work and waiting show.
struct TracedRun {
  double start_us = 0, end_us = 0;  // by the clock of whoever ran it
  std::vector<uint64_t> ns;         // of each node, in this run
  std::vector<uint64_t> calls;
  uint64_t resident_bytes = 0;  // of the process behind the run; 0: not known
};

struct Trace {
  std::string model;
  std::vector<vireo_node_info> nodes;
  std::vector<TracedPart> parts;  // as many as nodes, or none
  std::vector<TracedRun> runs;
  vireo_memory memory = {};
};

// How many runs of so many nodes are kept: at most 20, and some 20,000 slices, which Perfetto opens at once.
size_t traced_runs(size_t nodes);

// {"traceEvents": [...], "displayTimeUnit", "otherData", "nodes": the same as a table of means}. One track for runs and
// one a device; a slice for each node of each run, with bodies inside their owners; arrows where work goes from one
// part or device to another; counters of memory. Events of a track are in the order of their time.
Json trace_json(const Trace& trace);

}  // namespace vireo::tool

#endif  // VIREO_C_API_TOOL_TRACE_H_
