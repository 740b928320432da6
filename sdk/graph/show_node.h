// A node of a file as delegates see it (vireo_graph_node), but for the body and hint of a composite.
#ifndef VIREO_SDK_GRAPH_SHOW_NODE_H_
#define VIREO_SDK_GRAPH_SHOW_NODE_H_

#include "vireo/delegate.h"

namespace vireo {

// FbNode: fb::Node. What is shown lies in the file.
template <class FbNode>
void show_node(const FbNode& n, vireo_graph_node* out) {
  out->op = n.op();
  out->version = n.version();
  out->attrs = n.attrs()->data();
  out->attrs_size = n.attrs()->size();
  out->inputs = n.inputs()->data();
  out->input_count = n.inputs()->size();
  out->outputs = n.outputs()->data();
  out->output_count = n.outputs()->size();
  out->name = n.name() != nullptr ? n.name()->c_str() : "";
  out->body = nullptr;
  out->hint = nullptr;
}

}  // namespace vireo

#endif  // VIREO_SDK_GRAPH_SHOW_NODE_H_
