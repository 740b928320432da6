// Reads a graph that a host shows to delegates (vireo/delegate.h): nodes, values, constants and bodies. Only this file
// fills the structs of that contract in.
//
// A reader is two pointers. It keeps nothing, and what it returns points into the host's graph, which lives for the
// call that gave the graph. This header needs only the public one, so that a vendor's plug-in can take it along.
#ifndef VIREO_SDK_GRAPH_GRAPH_READER_H_
#define VIREO_SDK_GRAPH_GRAPH_READER_H_

#include <stdint.h>

#include "vireo/delegate.h"

namespace vireo {

class GraphReader {
 public:
  GraphReader(const vireo_host& host, const vireo_graph* graph) : host_(&host), graph_(graph) {}

  uint32_t node_count() const { return host_->node_count(graph_); }
  uint32_t value_count() const { return host_->value_count(graph_); }

  // False where the host does not show the node: *out then has no operator and no values.
  bool read_node(uint32_t index, vireo_graph_node* out) const {
    *out = {};
    out->struct_size = sizeof(*out);
    return host_->node(graph_, index, out) == VIREO_OK;  // else the host changed nothing
  }
  vireo_graph_node node(uint32_t index) const {
    vireo_graph_node n;
    (void)read_node(index, &n);
    return n;
  }

  // False where `number` is negative, which is an absent value, or where the host does not show it: *out then has no
  // type.
  bool read_value(int32_t number, vireo_graph_value* out) const {
    *out = {};
    out->struct_size = sizeof(*out);
    return number >= 0 && host_->value(graph_, static_cast<uint32_t>(number), out) == VIREO_OK;
  }
  vireo_graph_value value(int32_t number) const {
    vireo_graph_value v;
    (void)read_value(number, &v);
    return v;
  }

  // The values that go into and come out of a composite's body, in the order of the composite's own.
  uint32_t input_count() const { return host_->input_count(graph_); }
  int32_t input(uint32_t index) const { return host_->input(graph_, index); }
  uint32_t output_count() const { return host_->output_count(graph_); }
  int32_t output(uint32_t index) const { return host_->output(graph_, index); }
  // Which of the first `count` inputs `number` is; -1: none of them.
  int32_t input_of(int32_t number, uint32_t count) const {
    for (uint32_t i = 0; i < input_count() && i < count; ++i) {
      if (input(i) == number) return static_cast<int32_t>(i);
    }
    return -1;
  }

 private:
  const vireo_host* host_;
  const vireo_graph* graph_;
};

}  // namespace vireo

#endif  // VIREO_SDK_GRAPH_GRAPH_READER_H_
