#include "c_api/cli/run_log.h"

#include <algorithm>
#include <utility>

#include "c_api/cli/trace.h"

namespace vireo::cli {

std::vector<Slice> slices_of(const std::vector<vireo_node_info>& nodes, const TracedRun& run) {
  std::vector<Slice> slices;
  std::vector<double> next(1, 0), end;  // by depth: where the next node begins, where its owner ends
  for (size_t i = 0; i < nodes.size() && i < run.ns.size(); ++i) {
    const size_t depth = nodes[i].depth;
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
    slices.push_back({i, start, length});
  }
  return slices;
}

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

Percentiles percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9)};
}

size_t logged_runs(size_t nodes) { return std::max<size_t>(20, 400000 / std::max<size_t>(1, nodes)); }

RunLog::RunLog(std::vector<vireo_node_info> nodes) : nodes_(std::move(nodes)) {}

void RunLog::add(TracedRun run, std::vector<vireo_node_info> now) {
  for (size_t i = 0; i < now.size(); ++i) {
    run.ns.push_back(now[i].total_ns - nodes_[i].total_ns);
    run.calls.push_back(now[i].calls - nodes_[i].calls);
  }
  nodes_ = std::move(now);
  const size_t index = wall_us_.size();
  wall_us_.push_back(run.wall_us());
  if (first_.size() < traced_runs(nodes_.size())) first_.push_back(run);
  if (index % stride_ != 0) return;
  runs_.push_back(std::move(run));
  if (runs_.size() <= logged_runs(nodes_.size())) return;
  stride_ *= 2;
  size_t kept = 0;
  for (size_t i = 0; i < runs_.size(); i += 2) std::swap(runs_[kept++], runs_[i]);
  runs_.resize(kept);
}

std::vector<Percentiles> RunLog::node_us() const {
  std::vector<Percentiles> out;
  std::vector<double> times(runs_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (size_t r = 0; r < runs_.size(); ++r) times[r] = static_cast<double>(runs_[r].ns[n]) / 1000;
    out.push_back(percentiles(times));
  }
  return out;
}

Percentiles RunLog::between_us() const {
  std::vector<double> times;
  for (const TracedRun& run : runs_) {
    double inside = 0;
    for (size_t n = 0; n < nodes_.size(); ++n)
      inside += nodes_[n].depth == 0 ? static_cast<double>(run.ns[n]) / 1000 : 0;
    times.push_back(std::max(0.0, run.wall_us() - inside));
  }
  return percentiles(times);
}

}  // namespace vireo::cli
