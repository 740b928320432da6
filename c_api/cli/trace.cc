#include "c_api/cli/trace.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace vireo::cli {
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
    double last = begin;
    size_t before = SIZE_MAX;  // the last node at depth 0 that took part
    double before_start = begin, before_end = begin;
    for (const Slice& s : slices_of(trace_.nodes, run)) {
      const size_t i = s.node;
      const vireo_node_info& n = trace_.nodes[i];
      const double start = begin + s.start_us, length = s.length_us;
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
      if (n.depth > 0) continue;
      if (before != SIZE_MAX && crosses(before, i)) arrow(before, std::max(before_start, before_end - 0.001), i, start);
      before = i;
      before_start = start;
      before_end = start + length;
    }
    const double done = std::max(begin + run.wall_us(), last);
    slice(kRunTrack, begin, done - begin, "run " + std::to_string(index), "run", {{"wall_us", run.wall_us()}});
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
  Json table = Json::array();
  for (size_t i = 0; i < trace.nodes.size() && i < trace.times.size(); ++i) {
    const vireo_node_info& n = trace.nodes[i];
    const Percentiles& t = trace.times[i];
    table.push_back({{"name", n.name},
                     {"op", n.op},
                     {"device", n.device},
                     {"kernel", n.kernel},
                     {"depth", n.depth},
                     {"calls", n.calls},
                     {"p10_us", t.p10},
                     {"p50_us", t.p50},
                     {"p90_us", t.p90},
                     {"share", trace.median_us > 0 ? t.p50 / trace.median_us : 0.0}});
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

}  // namespace vireo::cli
