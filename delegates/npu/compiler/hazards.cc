#include "delegates/npu/compiler/hazards.h"

#include <algorithm>
#include <array>

#include "delegates/npu/machine/cost.h"

namespace vireo::npu {
namespace {

const Field* const kWaits[kQueues] = {&field::wait_load, &field::wait_store, &field::wait_matrix, &field::wait_vector};

}  // namespace

void Hazards::split(Spans* spans, uint64_t at) {
  auto next = spans->upper_bound(at);
  if (next == spans->begin()) return;
  const auto before = std::prev(next);
  if (before->first == at || before->second.end <= at) return;
  const Span rest = before->second;
  before->second.end = at;
  spans->emplace_hint(next, at, rest);
}

void Hazards::access(Spans* spans, uint64_t begin, uint64_t end, bool write, uint32_t queue, uint32_t number,
                     uint32_t* waits) {
  split(spans, begin);
  split(spans, end);
  auto at = spans->lower_bound(begin);
  for (uint64_t from = begin; from < end;) {
    if (at == spans->end() || at->first > from) {  // nobody was here
      const uint64_t to = at == spans->end() ? end : std::min(end, at->first);
      Span fresh;
      fresh.end = to;
      at = spans->emplace_hint(at, from, fresh);
    }
    Span& s = at->second;
    if (s.writer >= 0) waits[s.writer] = std::max(waits[s.writer], s.written);
    if (write) {
      for (uint32_t q = 0; q < kQueues; ++q) waits[q] = std::max(waits[q], s.read[q]);
    } else {
      s.read[queue] = number;
    }
    from = s.end;
    ++at;
  }
  if (!write) return;
  spans->erase(spans->lower_bound(begin), spans->lower_bound(end));
  Span& s = (*spans)[begin];
  s = Span();
  s.end = end;
  s.writer = static_cast<int>(queue);
  s.written = number;
}

void Hazards::add(Command* command) {
  const uint32_t queue = op_info(command->u(field::op))->queue;
  const uint32_t number = ++count_[queue];
  const Cost c = cost_of(config_, *command);
  uint32_t waits[kQueues] = {};
  for (int i = 0; i < c.extents; ++i)
    access(&sram_, c.extent[i].begin, c.extent[i].end, c.extent[i].written, queue, number, waits);
  if (c.outside.used && c.outside.region != kConstants)
    access(&outside_[c.outside.region], c.outside.begin, c.outside.end, c.outside.written, queue, number, waits);
  waits[queue] = 0;  // a queue is in order
  for (uint32_t q = 0; q < kQueues; ++q) command->set(*kWaits[q], waits[q]);
}

std::string find_race(const MachineConfig& config, const std::vector<Command>& commands) {
  // before[i][q]: commands of queue q that are finished when command i starts. A queue's first n commands bring along
  // what they waited for themselves.
  const size_t n = commands.size();
  std::vector<std::array<uint32_t, kQueues>> before(n);
  std::vector<size_t> of_queue[kQueues];
  std::vector<uint32_t> number(n);
  std::vector<Cost> costs(n);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t queue = op_info(commands[i].u(field::op))->queue;
    costs[i] = cost_of(config, commands[i]);
    std::array<uint32_t, kQueues>& b = before[i];
    b.fill(0);
    const auto after = [&](size_t other) {  // everything that `other` knows, and itself
      const uint32_t q = op_info(commands[other].u(field::op))->queue;
      for (uint32_t k = 0; k < kQueues; ++k) b[k] = std::max(b[k], before[other][k]);
      b[q] = std::max(b[q], number[other]);
    };
    if (!of_queue[queue].empty()) after(of_queue[queue].back());
    for (uint32_t q = 0; q < kQueues; ++q) {
      const uint32_t wait = commands[i].u(*kWaits[q]);
      if (wait > of_queue[q].size()) return "command " + std::to_string(i) + " waits for one behind it";
      if (wait > 0) after(of_queue[q][wait - 1]);
    }
    of_queue[queue].push_back(i);
    number[i] = static_cast<uint32_t>(of_queue[queue].size());
    for (uint32_t q = 0; q < kQueues; ++q) {
      if (q == queue) continue;
      for (size_t k = b[q]; k < of_queue[q].size(); ++k) {
        const size_t other = of_queue[q][k];
        const Cost &x = costs[i], &y = costs[other];
        bool meet = x.outside.used && y.outside.used && x.outside.region == y.outside.region &&
                    (x.outside.written || y.outside.written) && x.outside.begin < y.outside.end &&
                    y.outside.begin < x.outside.end;
        for (int e = 0; e < x.extents; ++e) {
          for (int f = 0; f < y.extents; ++f) {
            meet = meet || ((x.extent[e].written || y.extent[f].written) && x.extent[e].begin < y.extent[f].end &&
                            y.extent[f].begin < x.extent[e].end);
          }
        }
        if (meet)
          return "commands " + std::to_string(other) + " and " + std::to_string(i) + " meet in memory unordered";
      }
    }
  }
  return "";
}

}  // namespace vireo::npu
