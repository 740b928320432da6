#include "sdk/plan/strips.h"

#include <algorithm>

#include "sdk/plan/rows/strip_rows.h"

namespace vireo {
namespace {

// Of a window among a node's inputs, or of what is read row by row. Rows of images have 32 bits.
vireo_row_window window_of(const StripNode& n, size_t input) {
  if (static_cast<int32_t>(input) != n.window) return {1, 1, 0};
  return {static_cast<int32_t>(n.taps), static_cast<int32_t>(n.stride), static_cast<int32_t>(n.pad)};
}
int32_t rows_of(int64_t rows) { return static_cast<int32_t>(rows); }

}  // namespace

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
      const vireo_row_window w = window_of(n, i);
      x.wanted = std::max<int64_t>(x.wanted, vireo_rows_needed(&w, rows_of(made), rows_of(x.rows)));
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
      const vireo_row_window w = window_of(n, i);
      const StripValue& y = values_[n.output];
      keep = std::min<int64_t>(keep, vireo_rows_unread(&w, rows_of(y.done), rows_of(y.rows), rows_of(v.rows)));
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
  const auto input = static_cast<size_t>(n.window);
  const vireo_row_window w = window_of(n, input);
  const vireo_rows_read r =
      vireo_rows_of(&w, rows_of(c.first), rows_of(c.count), rows_of(values_[n.inputs[input]].rows));
  c.from = r.from;
  c.read = r.read;
  c.above = r.above;
  c.below = r.below;
  return c;
}

}  // namespace vireo
