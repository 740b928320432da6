#include "sdk/graph/node_view.h"

namespace vireo {
namespace {

GraphValue value_at(const GraphReader& graph, int32_t number) {
  GraphValue v;
  vireo_graph_value shown;
  if (!graph.read_value(number, &shown)) return v;
  v.type = type_of(shown);
  v.is_static = shown.is_static != 0;
  v.constant = shown.constant;
  return v;
}

}  // namespace

NodeView::NodeView() = default;

bool view_node(const vireo_host& host, const vireo_graph* graph, uint32_t index, NodeView* out) {
  const GraphReader reader(host, graph);
  out->host = &host;
  out->graph = graph;
  if (!reader.read_node(index, &out->node)) return false;
  const vireo_graph_node& n = out->node;
  out->op = static_cast<Op>(n.op);
  for (uint32_t i = 0; i < n.input_count && i < kMaxNodeArgs; ++i)
    out->inputs[out->input_count++] = value_at(reader, n.inputs[i]);
  for (uint32_t o = 0; o < n.output_count && o < kMaxNodeArgs; ++o)
    out->outputs[out->output_count++] = value_at(reader, n.outputs[o]);
  return n.input_count <= kMaxNodeArgs && n.output_count <= kMaxNodeArgs;
}

}  // namespace vireo
