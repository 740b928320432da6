#include "delegates/gpu/device/source.h"

#include <set>

#include "delegates/gpu/lower/lower.h"
#include "sdk/graph/graph_reader.h"
#include "sdk/ops/kernel.h"

namespace vireo::gpu {
namespace {

class PartSource final : public Source {
 public:
  PartSource(const Target& target, const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
             MadeBefore* made)
      : target_(target),
        made_(made),
        host_(host),
        nodes_(part.nodes, part.nodes + part.node_count),
        inputs_(part.inputs, part.inputs + part.input_count),
        outputs_(part.outputs, part.outputs + part.output_count) {
    const GraphReader reader(host_, graph);
    std::set<int32_t> open;
    for (const uint32_t n : nodes_) {
      const vireo_graph_node node = reader.node(n);
      for (uint32_t i = 0; i < node.input_count + node.output_count; ++i) {
        const int32_t v = i < node.input_count ? node.inputs[i] : node.outputs[i - node.input_count];
        vireo_graph_value value;
        if (reader.read_value(v, &value) && value.is_static == 0) open.insert(v);
      }
    }
    open_.assign(open.begin(), open.end());
    steering_ = steering_inputs(host_, graph, part);
  }

  std::vector<int64_t> key(const Run& run) const override {
    std::vector<int64_t> all;
    const GraphReader reader(host_, run.graph);
    for (const int32_t v : open_) {
      const vireo_graph_value value = reader.value(v);
      all.insert(all.end(), value.max_dims, value.max_dims + value.rank);
    }
    for (const uint32_t i : steering_) {
      const auto& t = *reinterpret_cast<const Tensor*>(run.inputs[i]);
      const auto* const bytes = static_cast<const uint8_t*>(t.data);
      if (bytes != nullptr) all.insert(all.end(), bytes, bytes + tensor_bytes(t));
    }
    return all;
  }

  std::string lower(const Run& run, Schedule* out) const override {
    const vireo_part part = this->part();
    std::vector<const void*> contents(inputs_.size(), nullptr);
    for (const uint32_t i : steering_) contents[i] = run.inputs[i]->data;
    return lower_run(target_, host_, run.graph, part, contents.data(), out, made_).why;
  }

 private:
  vireo_part part() const {
    vireo_part part = VIREO_PART_INIT;
    part.nodes = nodes_.data();
    part.node_count = static_cast<uint32_t>(nodes_.size());
    part.inputs = inputs_.data();
    part.input_count = static_cast<uint32_t>(inputs_.size());
    part.outputs = outputs_.data();
    part.output_count = static_cast<uint32_t>(outputs_.size());
    return part;
  }

  const Target& target_;
  MadeBefore* const made_;
  const vireo_host host_;
  const std::vector<uint32_t> nodes_;
  const std::vector<int32_t> inputs_, outputs_;
  std::vector<int32_t> open_;       // values with extents that change
  std::vector<uint32_t> steering_;  // inputs with contents that steer
};

}  // namespace

std::unique_ptr<Source> make_source(const Target& target, const vireo_host& host, const vireo_graph* graph,
                                    const vireo_part& part, MadeBefore* made) {
  return std::make_unique<PartSource>(target, host, graph, part, made);
}

}  // namespace vireo::gpu
