#include "delegates/cpu/depth_first/segments.h"

#include <algorithm>

#include "delegates/cpu/depth_first/by_image.h"

namespace vireo::cpu {
namespace {

constexpr uint32_t kMostNodes = 32;
// Of the values between nodes: at most what stays near a core, and an eighth of what the whole values take, because
// strips lie beside the arena.
constexpr double kStripBytes = 1 << 20, kStripShare = 8;
constexpr int64_t kLeastRows = 2;

// Multiplications of one thread a ns, as in cost.cc; what strips add to them.
constexpr double kProducts = 40, kProductsOfCodes = 120, kRagged = 0.06;

// The part of a value's way that is seen beside the work of a node that makes or reads it.
double seen(double way_ns, double work_ns) {
  constexpr double kHidden = 0.1, kWhole = 0.5;  // of the work
  if (way_ns >= kWhole * work_ns) return way_ns;
  return way_ns * std::max(0.0, (way_ns / work_ns - kHidden) / (kWhole - kHidden));
}

// What nodes [a, b] save as one segment; its strips' height.
double saved_by(Span<const RowNode> nodes, Span<const RowValue> values, uint32_t a, uint32_t b, int32_t slots,
                int64_t* height) {
  const RowValue& last = values[static_cast<size_t>(nodes[b].output)];
  double fixed = 0, each = last.row_bytes, inner = 0, saved = 0, constants = 0, work = 0;
  for (uint32_t k = a; k <= b; ++k) {
    constants += nodes[k].constant_bytes;
    work += nodes[k].work_ns;
    const RowValue& v = values[static_cast<size_t>(nodes[k].output)];
    if (k == b || v.whole || v.last_reader > static_cast<int32_t>(b)) continue;
    inner += static_cast<double>(v.rows) * v.row_bytes;
    const double way = traffic_ns(static_cast<double>(v.rows) * v.row_bytes) / 2;
    saved += seen(way, nodes[k].work_ns) + seen(way, nodes[static_cast<size_t>(v.last_reader)].work_ns);
    each += v.row_bytes * static_cast<double>(v.rows) / static_cast<double>(last.rows);
    fixed += 2 * v.row_bytes;  // what the rows of a 3 x 3 window reach into the next strip
  }
  const double room = std::min(kStripBytes, inner / kStripShare) * slots - fixed;
  if (saved <= 0 || inner < 2 * kStripBytes || room < each * kLeastRows) return 0;
  *height = static_cast<int64_t>(room / each) / kLeastRows * kLeastRows;
  if (*height >= last.rows) return 0;
  const int64_t strips = (last.rows + *height - 1) / *height;
  // Few weights stay where they are.
  return saved - kRagged * work - added_ns(strips, 0) * (b - a) -
         added_ns(strips, constants > kStripBytes ? constants : 0);
}

}  // namespace

double row_work_ns(const RowForm& form, const TensorType& y) {
  const bool codes = dtype_bits(y.dtype) == 8;
  return static_cast<double>(product(y.shape, 0, y.shape.rank) * form.products) /
         (codes ? kProductsOfCodes : kProducts);
}

uint32_t find_segments(Span<const RowNode> nodes, Span<const RowValue> values, int32_t slots, Span<SegmentRoom> room,
                       Segment* out) {
  // room[n]: the best that the nodes before n give.
  room[0] = SegmentRoom();
  for (uint32_t end = 1; end <= nodes.size(); ++end) {
    room[end] = {room[end - 1].saved, end, 0};  // node end - 1 is in none
    for (uint32_t first = end; first-- > 0 && nodes[first].able && end - first <= kMostNodes;) {
      int64_t height = 0;
      const double saved = end - first < 2 ? 0 : saved_by(nodes, values, first, end - 1, slots, &height);
      if (saved > 0 && room[first].saved + saved > room[end].saved)
        room[end] = {room[first].saved + saved, first, height};
    }
  }
  uint32_t count = 0;
  for (auto end = static_cast<uint32_t>(nodes.size()); end > 0;) {
    if (room[end].height == 0) {
      --end;
      continue;
    }
    out[count++] = {room[end].from, end - room[end].from, room[end].height};
    end = room[end].from;
  }
  std::reverse(out, out + count);
  return count;
}

}  // namespace vireo::cpu
