// A composite of a graph, shown as a host shows it to delegates (vireo/delegate.h): passes and schemes ask the very
// matchers that devices use (sdk/composites).
#ifndef VIREO_CONVERTER_IR_SHOWN_H_
#define VIREO_CONVERTER_IR_SHOWN_H_

#include <vector>

#include "converter/ir/graph.h"
#include "sdk/graph/node_view.h"

namespace vireo::ir {

// Extents that are not known are shown as the symbols that they are: equal ones are the same extent. The node and its
// body must outlive this, and keep as they are.
class ShownComposite {
 public:
  explicit ShownComposite(const Node& node);
  ShownComposite(const ShownComposite&) = delete;
  ShownComposite& operator=(const ShownComposite&) = delete;

  const NodeView& view() const { return view_; }

  // What vireo_graph stands for: a body, with the numbers of its values in lists. A value's number is its id.
  struct Body {
    const Graph* graph = nullptr;
    std::vector<const Node*> nodes;
    std::vector<std::vector<int32_t>> inputs, outputs;  // of each node
  };

 private:
  Body body_;
  std::vector<int32_t> inputs_, outputs_;  // of the node
  NodeView view_;
};

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_SHOWN_H_
