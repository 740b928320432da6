// Nodes that run together strip by strip of an image: which rows of each value a strip makes, reads and keeps.
//
// A row of a value is what has one index along the axis of an image's height. A node makes row r of its output of rows
// [r * stride - pad, + taps) of one input (a window) and of row r of others. Each row is made once: a value between two
// nodes keeps the rows that a later strip still reads, moved to the front of its memory. Weighed against it: making the
// rows between two strips twice. That needs no moves, but each 3 x 3 window in a row of nodes adds two rows to every
// strip of all nodes before it.
#ifndef VIREO_SDK_PLAN_STRIPS_H_
#define VIREO_SDK_PLAN_STRIPS_H_

#include <stdint.h>

#include "sdk/base/span.h"

namespace vireo {

struct StripNode {
  int32_t output = 0;
  Span<const int32_t> inputs;  // with rows
  int32_t window = -1;         // index among the inputs of the one that is read by windows
  int64_t taps = 1;            // rows from a window's first to its last
  int64_t stride = 1;
  int64_t pad = 0;  // rows in front of the image
};

struct StripValue {
  int64_t rows = 0;
  bool whole = false;  // has memory for all its rows: an input, or read by somebody else
  bool made = false;   // by one of the nodes
  // As a run goes.
  int64_t low = 0;     // rows before it are forgotten
  int64_t done = 0;    // rows before it are made
  int64_t wanted = 0;  // by the strip in hand
  int64_t most = 0;    // rows in its memory at once
};

// Output rows [first, + count) of a node, from rows [from, + read) of its window's input, which has `above` and `below`
// rows of padding around those.
struct StripCall {
  uint32_t node = 0;
  int64_t first = 0, count = 0;
  int64_t from = 0, read = 0;
  int64_t above = 0, below = 0;
};

class Strips {
 public:
  // The nodes in the order in which they run, and all their values; the last node's output gets `height` rows a strip.
  Strips(Span<const StripNode> nodes, Span<StripValue> values, int64_t height)
      : nodes_(nodes), values_(values), height_(height) {}

  // `forget(value, rows)`: the first `rows` of those in its memory are not read any more, move up the others.
  // `call(StripCall)`: false ends the run.
  template <class Forget, class Call>
  bool run(const Forget& forget, const Call& call) {
    begin();
    for (int64_t end = height_;; end += height_) {
      const bool last = want(end);
      for (uint32_t k = 0; k < nodes_.size(); ++k) {
        StripValue& y = values_[nodes_[k].output];
        if (y.wanted <= y.done) continue;
        if (const int64_t rows = unread(nodes_[k].output); rows > 0) {
          forget(nodes_[k].output, rows);
          y.low += rows;
        }
        if (!call(call_of(k))) return false;
        y.done = y.wanted;
        if (y.done - y.low > y.most) y.most = y.done - y.low;
      }
      if (last) return true;
    }
  }

 private:
  void begin();
  // What the strip that ends at row `end` of the last output wants of each value. True: it is the last one.
  bool want(int64_t end);
  // Rows at the front of a value's memory that no node reads any more.
  int64_t unread(int32_t value) const;
  StripCall call_of(uint32_t node) const;

  Span<const StripNode> nodes_;
  Span<StripValue> values_;
  int64_t height_;
};

}  // namespace vireo

#endif  // VIREO_SDK_PLAN_STRIPS_H_
