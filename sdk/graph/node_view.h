// One node of a graph that a host shows, with its values as the SDK's types: what a delegate looks at when it claims.
#ifndef VIREO_SDK_GRAPH_NODE_VIEW_H_
#define VIREO_SDK_GRAPH_NODE_VIEW_H_

#include <stdint.h>

#include "sdk/base/shape.h"
#include "sdk/graph/graph_reader.h"
#include "sdk/ops/op.h"

namespace vireo {

// The type of a value at its upper bounds; kNone of one that the host does not show.
inline TensorType type_of(const vireo_graph_value& value) {
  TensorType t;
  t.dtype = static_cast<DType>(value.dtype);
  t.shape.rank = value.rank;
  for (int i = 0; i < value.rank; ++i) t.shape[i] = value.max_dims[i];
  return t;
}
inline TensorType type_at(const GraphReader& graph, int32_t number) { return type_of(graph.value(number)); }

constexpr uint32_t kMaxNodeArgs = 16;  // inputs, and outputs, of one view

// One value of the node, at the session's upper bounds.
struct GraphValue {
  TensorType type;         // kNone: absent
  bool is_static = false;  // type.shape is the shape, not only its bound
  const void* constant = nullptr;
  template <class T>
  const T* as() const {
    return static_cast<const T*>(constant);
  }
};

struct NodeView {
  const vireo_host* host = nullptr;
  const vireo_graph* graph = nullptr;  // that the node stands in
  vireo_graph_node node = {};
  Op op = Op::kNone;  // kComposite: look at node.hint and body()
  GraphValue inputs[kMaxNodeArgs];
  GraphValue outputs[kMaxNodeArgs];
  uint32_t input_count = 0;  // of what fits above
  uint32_t output_count = 0;

  NodeView();  // not inline: every call of a delegate makes one
  // No extent changes between runs: scratch can be for exactly these sizes.
  bool is_static() const {
    for (uint32_t i = 0; i < input_count; ++i) {
      if (inputs[i].type.dtype != DType::kNone && !inputs[i].is_static) return false;
    }
    for (uint32_t o = 0; o < output_count; ++o) {
      if (outputs[o].type.dtype != DType::kNone && !outputs[o].is_static) return false;
    }
    return true;
  }
  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(node.attrs);
  }
  GraphReader body() const { return {*host, node.body}; }  // of a composite
};

// Reads node `index` of `graph` into a fresh view. False when the host does not show it, or when it has more than
// kMaxNodeArgs inputs or outputs: the view then has the first ones.
bool view_node(const vireo_host& host, const vireo_graph* graph, uint32_t index, NodeView* out);

}  // namespace vireo

#endif  // VIREO_SDK_GRAPH_NODE_VIEW_H_
