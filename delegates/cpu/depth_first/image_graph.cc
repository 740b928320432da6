#include "delegates/cpu/depth_first/image_graph.h"

#include "sdk/graph/graph_host.h"
#include "sdk/graph/graph_reader.h"

namespace vireo::cpu {
namespace {

// For graph_host().
class View {
 public:
  explicit View(const vireo_graph* graph) : g_(*reinterpret_cast<const ImageGraph::Shown*>(graph)) {}
  uint32_t node_count() const { return g_.host->node_count(g_.graph); }
  uint32_t value_count() const { return g_.host->value_count(g_.graph); }
  uint32_t input_count() const { return g_.host->input_count(g_.graph); }
  uint32_t output_count() const { return g_.host->output_count(g_.graph); }
  int32_t input(uint32_t i) const { return g_.host->input(g_.graph, i); }
  int32_t output(uint32_t i) const { return g_.host->output(g_.graph, i); }
  void node(uint32_t index, vireo_graph_node* out) const {
    (void)g_.host->node(g_.graph, index, out);
    if (g_.rows.attrs != nullptr && g_.rows.in_body == in_body() && static_cast<int32_t>(index) == g_.rows.node)
      out->attrs = g_.rows.attrs;
    if (out->body == nullptr || g_.body == nullptr) return;
    *g_.body = {g_.host, out->body, nullptr, &g_, out->inputs, out->input_count, g_.rows};
    out->body = reinterpret_cast<const vireo_graph*>(g_.body);
  }
  void value(uint32_t number, vireo_graph_value* out) const {
    (void)g_.host->value(g_.graph, number, out);
    if (out->rank == 0 || is_constant(static_cast<int32_t>(number), *out)) return;
    out->max_dims[0] = 1;
    if (out->only_first_open != 0) out->is_static = 1;
    out->only_first_open = 0;
    if (g_.rows.made == 0 || out->rank != 4 || out->max_dims[1] < 2) return;
    const bool by_window = static_cast<int32_t>(number) == (in_body() ? g_.rows.inner_x : g_.rows.x);
    out->max_dims[1] = by_window ? g_.rows.read : g_.rows.made;
    out->is_static = 0;
  }

 private:
  bool in_body() const { return g_.owner != nullptr; }
  bool is_constant(int32_t number, const vireo_graph_value& value) const {
    if (value.constant != nullptr || g_.owner == nullptr) return value.constant != nullptr;
    const int32_t i = GraphReader(*g_.host, g_.graph).input_of(number, g_.input_count);
    return i >= 0 && GraphReader(*g_.host, g_.owner->graph).value(g_.inputs[i]).constant != nullptr;
  }

  const ImageGraph::Shown& g_;
};

}  // namespace

ImageGraph::ImageGraph(const vireo_host& host, const vireo_graph* graph) : view_(graph_host<View>()) {
  view_.context = host.context;
  view_.log = host.log;
  view_.allocate = host.allocate;
  view_.release = host.release;
  own_.host = &host;
  own_.graph = graph;
  own_.body = &body_;
}

}  // namespace vireo::cpu
