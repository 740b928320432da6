// What a node can do about the order of its channels: a part of choose_layout.
#ifndef VIREO_CONVERTER_PASSES_LAYOUT_LAYOUT_ROLES_H_
#define VIREO_CONVERTER_PASSES_LAYOUT_LAYOUT_ROLES_H_

#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/passes/layout/likely_extents.h"
#include "converter/target/costs.h"

namespace vireo::passes {

// Logical tensors are [N, C, spatial...]; channels last they lie [N, spatial..., C]. Ranks 3 to 5.
std::vector<int> channels_last(int rank);   // the permutation there
std::vector<int> channels_first(int rank);  // and back
// Nothing moves: one channel, or one pixel.
bool is_view_of_channels(const Shape& channels_first_shape);

// What times are worked out from.
struct LayoutRates : target::KernelCosts {
  LayoutRates(const ir::Graph& g, const target::KernelCosts& costs) : target::KernelCosts(costs), extent(g) {}
  double elements(const Shape& s, int from = 0) const;

  LikelyExtents extent;
};

enum class LayoutRole {
  kFixed,     // sees its operands as they are
  kSpatial,   // carries `layout`
  kAgnostic,  // axes and constants can be permuted
  kToLast,    // a Transpose to channels last
  kToFirst,   // a Transpose to channels first
};
// `reason`: why a node with `layout` is fixed nevertheless; else empty.
LayoutRole layout_role(const ir::Node& n, const LayoutRates& costs, std::string* reason);

// Operand `i` is a tensor in the region's layout (and no axes, bounds, filters, numbers).
bool follows_layout(const ir::Node& n, size_t i);
// Time in ns that the node takes in either layout.
struct LayoutCost {
  int64_t first = 0, last = 0;
};
LayoutCost layout_cost(const ir::Node& n, const LayoutRates& costs);
// Whether `n` says that its channels are last, or a node of its body does.
bool is_channels_last(const ir::Node& n);
// Time in ns to move a tensor from one layout to the other.
int64_t transpose_cost(const ir::Value& v, const LayoutRates& costs);
// Roughly what a node takes about whose layout nothing is left to decide: a convolution channels last, or a composite.
int64_t settled_time(const ir::Node& n, const LayoutRates& costs);

// `n` channels last, reading `inputs`, before `before`. Null when a shape function refuses.
ir::Node* with_channels_last(ir::Graph& g, const ir::Node& n, std::vector<ir::Value*> inputs, ir::Node* before);
// What `shape`, a Shape, is of the same tensor channels last: its extents, in the order channels first. Null when a
// shape function refuses.
ir::Node* extents_of_channels_first(ir::Graph& g, ir::Node& shape, ir::Value* channels_last);
// A constant operand of an agnostic node, of rank `rank` or broadcast to it, permuted.
ir::Value* constant_channels_last(ir::Graph& g, const ir::Value* v, int rank);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_LAYOUT_LAYOUT_ROLES_H_
