// Where to draw the nodes of a graph: layers from top to bottom, after Sugiyama et al., "Methods for Visual
// Understanding of Hierarchical System Structures", 1981.
//
// Computed at conversion and not in the page: the page then opens at once however large the model is, draws the same
// picture everywhere, and a test can hold the layout to its promises. The price is some ten bytes an edge in the file.
#ifndef VIREO_CONVERTER_REPORT_LAYOUT_H_
#define VIREO_CONVERTER_REPORT_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace vireo::report {

struct Point {
  int32_t x = 0;
  int32_t y = 0;
};

constexpr int32_t kItemHeight = 40;
constexpr int32_t kRowHeight = 76;  // of a layer
constexpr int32_t kGap = 22;        // between neighbours of a layer

struct LayoutEdge {
  int32_t from = 0, to = 0;  // items
  // Places between the two that the line passes through, from top to bottom. Filled in.
  std::vector<Point> by;
  // The two are so far from each other that a line would only hide others: to be drawn as two stumps. Filled in.
  bool cut = false;
};

struct Layout {
  std::vector<Point> at;  // an item's middle, and its upper edge
  int32_t width = 0, height = 0;
};

// `widths`: one an item. Edges lead from lower to higher numbers; others are left out of the ranking. The same input
// gives the same picture. Time is about linear: some 20 ms for 3,000 items.
Layout lay_out(const std::vector<int32_t>& widths, std::vector<LayoutEdge>* edges);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_LAYOUT_H_
