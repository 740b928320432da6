#include "c_api/tool/trace.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace vireo::tool {
namespace {

constexpr int kProcess = 1;
constexpr int kRunTrack = 1;  // devices follow

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace) {}

  Json write() {
    name(0, "process_name", trace_.model);
    name(kRunTrack, "thread_name", "runs");
    for (const vireo_node_info& n : trace_.nodes) track_of(n.device);
    double free = 0;  // until then tracks are taken
    for (size_t r = 0; r < trace_.runs.size(); ++r) free = run(r, free);
    // By time, what holds others first, so that slices nest.
    std::stable_sort(timed_.begin(), timed_.end(), [](const Json& a, const Json& b) { return key(a) < key(b); });
    Json events = std::move(names_);
    for (Json& e : timed_) events.push_back(std::move(e));
    return events;
  }

 private:
  static std::tuple<int, double, double> key(const Json& e) {
    return {e.value("tid", 0), e["ts"].get<double>(), -e.value("dur", 0.0)};
  }

  int track_of(const std::string& device) {
    const auto [at, fresh] = tracks_.emplace(device, kRunTrack + 1 + static_cast<int>(tracks_.size()));
    if (fresh) name(at->second, "thread_name", device == "-" ? "control flow" : device);
    return at->second;
  }

  void name(int track, const char* what, const std::string& text) {
    names_.push_back({{"ph", "M"}, {"pid", kProcess}, {"tid", track}, {"name", what}, {"args", {{"name", text}}}});
    if (track == 0) return;
    names_.push_back({{"ph", "M"},
                      {"pid", kProcess},
                      {"tid", track},
                      {"name", "thread_sort_index"},
                      {"args", {{"sort_index", track}}}});
  }

  void slice(int track, double start, double length, const std::string& title, const char* category, Json args) {
    timed_.push_back({{"ph", "X"},
                      {"pid", kProcess},
                      {"tid", track},
                      {"ts", start},
                      {"dur", length},
                      {"name", title},
                      {"cat", category},
                      {"args", std::move(args)}});
  }

  void counter(double at, const char* what, Json values) {
    timed_.push_back(
        {{"ph", "C"}, {"pid", kProcess}, {"tid", 0}, {"ts", at}, {"name", what}, {"args", std::move(values)}});
  }

  double run(size_t index, double free) {
    const TracedRun& run = trace_.runs[index];
    const double begin = std::max(run.start_us, free);
    std::vector<double> next(1, begin), end;  // by depth: where the next node begins, where its owner ends
    double last = begin;
    size_t before = SIZE_MAX;  // the last node at depth 0 that took part
    double before_start = begin, before_end = begin;
    for (size_t i = 0; i < trace_.nodes.size() && i < run.ns.size(); ++i) {
      const vireo_node_info& n = trace_.nodes[i];
      const size_t depth = n.depth;
      if (depth >= next.size()) next.resize(depth + 1, next.back());
      if (run.calls[i] == 0) continue;  // a branch that was not taken
      const double start = next[depth];
      double length = static_cast<double>(run.ns[i]) / 1000;
      // Clocks are read at different moments: what is inside may not reach out.
      if (depth > 0 && depth <= end.size()) length = std::max(0.0, std::min(length, end[depth - 1] - start));
      next[depth] = start + length;
      for (size_t deeper = depth + 1; deeper < next.size(); ++deeper) next[deeper] = start;
      if (next.size() == depth + 1) next.push_back(start);
      end.resize(depth + 1);
      end[depth] = start + length;
      last = std::max(last, start + length);
      Json args = {{"node", n.name},
                   {"kernel", n.kernel},
                   {"dtype", vireo_dtype_text(n.dtype)},
                   {"calls", run.calls[i]},
                   {"bytes", n.bytes}};
      if (n.operations != 0) args["operations"] = n.operations;
      const TracedPart* part = i < trace_.parts.size() ? &trace_.parts[i] : nullptr;
      if (part != nullptr && part->part != UINT32_MAX) args["part"] = part->part;
      if (part != nullptr && part->bytes_crossing != 0) args["bytes_crossing"] = part->bytes_crossing;
      slice(track_of(n.device), start, length, n.op, n.device, std::move(args));
      if (depth > 0) continue;
      if (before != SIZE_MAX && crosses(before, i)) arrow(before, std::max(before_start, before_end - 0.001), i, start);
      before = i;
      before_start = start;
      before_end = start + length;
    }
    const double done = std::max(begin + (run.end_us - run.start_us), last);
    slice(kRunTrack, begin, done - begin, "run " + std::to_string(index), "run",
          {{"wall_us", run.end_us - run.start_us}});
    Json bytes = {{"arena", trace_.memory.total_bytes}, {"packed weights", trace_.memory.packed_bytes}};
    counter(begin, "session memory", bytes);
    if (run.resident_bytes != 0) counter(done, "resident memory", {{"bytes", run.resident_bytes}});
    return done;
  }

  bool crosses(size_t a, size_t b) const {
    if (std::string(trace_.nodes[a].device) != trace_.nodes[b].device) return true;
    return !trace_.parts.empty() && trace_.parts[a].part != trace_.parts[b].part;
  }

  // From inside the one slice to the beginning of the other: arrows bind to the slices around their ends.
  void arrow(size_t from, double leaves, size_t to, double start) {
    const Json base = {{"pid", kProcess}, {"name", "next part"}, {"cat", "part"}, {"id", ++arrows_}};
    Json begin = base, end = base;
    begin.update({{"ph", "s"}, {"tid", track_of(trace_.nodes[from].device)}, {"ts", leaves}});
    end.update({{"ph", "f"}, {"bp", "e"}, {"tid", track_of(trace_.nodes[to].device)}, {"ts", start}});
    timed_.push_back(std::move(begin));
    timed_.push_back(std::move(end));
  }

  const Trace& trace_;
  Json names_ = Json::array();
  std::vector<Json> timed_;
  std::map<std::string, int> tracks_;
  int arrows_ = 0;
};

// Over all runs of the session, those that are not in the trace as well.
Json table_of(const Trace& trace) {
  double total = 0, runs = 1;
  for (const vireo_node_info& n : trace.nodes) {
    if (n.depth != 0) continue;
    total += static_cast<double>(n.total_ns);
    runs = std::max(runs, static_cast<double>(n.calls));
  }
  Json table = Json::array();
  for (const vireo_node_info& n : trace.nodes) {
    const auto ns = static_cast<double>(n.total_ns);
    table.push_back({{"name", n.name},
                     {"op", n.op},
                     {"device", n.device},
                     {"kernel", n.kernel},
                     {"depth", n.depth},
                     {"calls", n.calls},
                     {"mean_us", ns / runs / 1000},
                     {"share", total > 0 ? ns / total : 0.0}});
  }
  return table;
}

}  // namespace

size_t traced_runs(size_t nodes) { return std::clamp<size_t>(20000 / std::max<size_t>(1, nodes), 1, 20); }

Json trace_json(const Trace& trace) {
  return {{"traceEvents", Writer(trace).write()},
          {"displayTimeUnit", "ns"},
          {"otherData",
           {{"model", trace.model},
            {"note", "lengths of nodes are measured; their starts follow from their order in a run"}}},
          {"nodes", table_of(trace)}};
}

}  // namespace vireo::tool
