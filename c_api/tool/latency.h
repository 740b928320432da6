// How long nodes take, as a report shows it.
#ifndef VIREO_C_API_TOOL_LATENCY_H_
#define VIREO_C_API_TOOL_LATENCY_H_

#include <vector>

#include "c_api/tool/handles.h"
#include "sdk/json/json.h"

namespace vireo::tool {

// Of a session that was measured: {"runs", "threads", "device", "median_us", "nodes": [{"name", "op", "device",
// "kernel", "depth", "calls", "mean_us", "share", "operations", "bytes", "least_us"}]}, nodes in the session's order.
// `threads` 0: one per core. "least_us": what this machine allows (roofline.h), for nodes of the CPU.
Json latency_json(const Model& model, const vireo_session* session, double median_ms, int threads);

// Runs such a session for `seconds`, at least three times behind a first one. Throws Failure.
Json measure_latency(const Model& model, SessionChoice choice, const Bounds& bounds, const std::vector<Array>& inputs,
                     double seconds);

}  // namespace vireo::tool

#endif  // VIREO_C_API_TOOL_LATENCY_H_
