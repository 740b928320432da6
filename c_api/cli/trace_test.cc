#include "c_api/cli/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace vireo::cli::trace_test {
namespace {

vireo_node_info node(const char* name, const char* device, uint32_t depth) {
  vireo_node_info n = VIREO_NODE_INFO_INIT;
  n.name = name;
  n.op = "Op";
  n.device = device;
  n.kernel = "k";
  n.reason = "";
  n.dtype = VIREO_FLOAT32;
  n.depth = depth;
  n.bytes = 64;
  return n;
}

// The rules of the format that a viewer depends on: "Trace Event Format", Google, sections "JSON Object Format",
// "Complete Events", "Flow Events", "Metadata Events", "Counter Events".
void expect_valid(const Json& trace) {
  ASSERT_TRUE(trace["traceEvents"].is_array());
  struct Open {
    double end;
  };
  std::map<int, double> last;
  std::map<int, std::vector<Open>> stack;
  std::set<int> named;
  std::map<int, double> begun;  // arrows
  std::map<int, std::vector<std::pair<double, double>>> slices;
  for (const Json& e : trace["traceEvents"]) {
    const auto kind = e["ph"].get<std::string>();
    ASSERT_TRUE(e["pid"].is_number_integer());
    ASSERT_TRUE(e["name"].is_string());
    const int track = e["tid"].get<int>();
    if (kind == "M") {
      EXPECT_TRUE(e["name"] == "process_name" || e["name"] == "thread_name" || e["name"] == "thread_sort_index");
      if (e["name"] == "thread_name") {
        EXPECT_TRUE(named.insert(track).second) << track;
      }
      continue;
    }
    const auto ts = e["ts"].get<double>();
    EXPECT_GE(ts, 0);
    EXPECT_GE(ts, last[track]) << e;
    last[track] = ts;
    if (kind == "X") {
      EXPECT_TRUE(named.count(track)) << e;
      const double end = ts + e["dur"].get<double>();
      EXPECT_GE(e["dur"].get<double>(), 0);
      auto& open = stack[track];
      while (!open.empty() && open.back().end <= ts + 1e-6) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back().end + 1e-6) << e;  // inside, not across
      }
      open.push_back({end});
      slices[track].emplace_back(ts, end);
    } else if (kind == "s") {
      EXPECT_TRUE(begun.emplace(e["id"].get<int>(), ts).second);
    } else if (kind == "f") {
      EXPECT_EQ(e["bp"], "e");
    } else {
      EXPECT_EQ(kind, "C") << e;
      for (const auto& [key, value] : e["args"].items()) EXPECT_TRUE(value.is_number()) << key;
    }
  }
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "f" && e["ph"] != "s") continue;
    ASSERT_TRUE(begun.count(e["id"].get<int>()));
    EXPECT_GE(e["ts"].get<double>(), begun[e["id"].get<int>()]);
    bool inside = false;  // arrows bind to a slice
    const auto ts = e["ts"].get<double>();
    for (const auto& [from, to] : slices[e["tid"].get<int>()]) inside = inside || (from <= ts && ts <= to);
    EXPECT_TRUE(inside) << e;
  }
}

size_t count_of(const Json& trace, const char* kind) {
  size_t n = 0;
  for (const Json& e : trace["traceEvents"]) n += e["ph"] == kind ? 1 : 0;
  return n;
}

Trace example() {
  Trace trace;
  trace.model = "m.vireo";
  trace.nodes = {node("a", "cpu", 0), node("b", "npu", 0), node("loop", "-", 0), node("inner", "cpu", 1),
                 node("c", "cpu", 0)};
  trace.parts = {{UINT32_MAX, 0}, {0, 512}, {UINT32_MAX, 0}, {UINT32_MAX, 0}, {UINT32_MAX, 0}};
  trace.memory.total_bytes = 4096;
  trace.runs.push_back({0, 100, {10000, 20000, 30000, 25000, 5000}, {1, 1, 1, 3, 1}, 1 << 20});
  trace.runs.push_back({90, 200, {10000, 20000, 30000, 31000, 5000}, {1, 1, 1, 3, 1}, 1 << 20});
  return trace;
}

TEST(Trace, IsWhatViewersOpen) {
  const Json trace = trace_json(example());
  expect_valid(trace);
  EXPECT_EQ(count_of(trace, "X"), 12u);  // five nodes and the run itself, twice
  EXPECT_EQ(count_of(trace, "s"), 6u);   // cpu to npu, npu to control flow, and back to cpu
  EXPECT_EQ(count_of(trace, "f"), 6u);
  EXPECT_EQ(count_of(trace, "C"), 4u);
}

TEST(Trace, ASliceTellsWhatRan) {
  const Json trace = trace_json(example());
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "X" || e["args"].value("node", "") != "b") continue;
    EXPECT_EQ(e["cat"], "npu");
    EXPECT_EQ(e["dur"], 20.0);
    EXPECT_EQ(e["args"]["part"], 0);
    EXPECT_EQ(e["args"]["bytes_crossing"], 512);
    return;
  }
  FAIL() << "no slice of b";
}

TEST(Trace, WhatDidNotRunHasNoSlice) {
  Trace trace = example();
  trace.runs.resize(1);
  trace.runs[0].calls[3] = 0;
  trace.runs[0].ns[3] = 0;
  const Json json = trace_json(trace);
  expect_valid(json);
  EXPECT_EQ(count_of(json, "X"), 5u);
}

TEST(Trace, WithoutRunsThereAreTracksAlone) {
  Trace trace = example();
  trace.runs.clear();
  expect_valid(trace_json(trace));
}

TEST(Trace, RunsAreBounded) {
  EXPECT_EQ(traced_runs(0), 20u);
  EXPECT_EQ(traced_runs(100), 20u);
  EXPECT_EQ(traced_runs(4000), 5u);
  EXPECT_EQ(traced_runs(1000000), 1u);
}

}  // namespace
}  // namespace vireo::cli::trace_test
