#include "sdk/plan/strips.h"

#include <algorithm>

namespace vireo {

void Strips::begin() {
  for (StripValue& v : values_) {
    v.low = v.most = 0;
    v.done = v.made ? 0 : v.rows;
  }
}

bool Strips::want(int64_t end) {
  const StripValue& final = values_[nodes_[nodes_.size() - 1].output];
  const bool last = end >= final.rows;
  for (StripValue& v : values_) v.wanted = last ? v.rows : 0;
  values_[nodes_[nodes_.size() - 1].output].wanted = std::min(end, final.rows);
  for (size_t k = nodes_.size(); k-- > 0;) {
    const StripNode& n = nodes_[k];
    const StripValue& y = values_[n.output];
    const int64_t made = std::max(y.wanted, y.done);
    if (made == 0) continue;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      StripValue& x = values_[n.inputs[i]];
      const bool by_window = static_cast<int32_t>(i) == n.window;
      const int64_t needed = by_window ? (made - 1) * n.stride - n.pad + n.taps : made;
      x.wanted = std::max(x.wanted, std::min(std::max<int64_t>(needed, 0), x.rows));
    }
  }
  return last;
}

int64_t Strips::unread(int32_t value) const {
  const StripValue& v = values_[value];
  if (v.whole) return 0;
  int64_t keep = v.done;
  for (const StripNode& n : nodes_) {
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != value) continue;
      const int64_t next = values_[n.output].done;
      keep = std::min(keep, static_cast<int32_t>(i) == n.window ? next * n.stride - n.pad : next);
    }
  }
  return std::max<int64_t>(keep - v.low, 0);
}

StripCall Strips::call_of(uint32_t node) const {
  const StripNode& n = nodes_[node];
  const StripValue& y = values_[n.output];
  StripCall c;
  c.node = node;
  c.first = y.done;
  c.count = y.wanted - y.done;
  if (n.window < 0) return c;
  const int64_t rows = values_[n.inputs[static_cast<size_t>(n.window)]].rows;
  const int64_t begin = c.first * n.stride - n.pad, end = (c.first + c.count - 1) * n.stride - n.pad + n.taps;
  c.from = std::min(std::max<int64_t>(begin, 0), rows);
  c.read = std::max<int64_t>(std::min(end, rows) - c.from, 0);
  c.above = c.from - begin;
  c.below = std::max<int64_t>(end - rows, 0);
  return c;
}

}  // namespace vireo
