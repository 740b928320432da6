#include "converter/onnx/bundles/bundle.h"

#include <utility>

#include "converter/onnx/builder.h"
#include "converter/onnx/state.h"

namespace vireo::importer {

const char* kind(const Bundle& b) {
  if (b.map) return b.elements[1]->type.shape.rank == 1 ? "a map" : "a sequence of maps";
  return b.optional ? "an optional" : "a sequence";
}

ir::Value* length_of(ir::Graph& graph, const Bundle& sequence) {
  return sequence.length != nullptr ? sequence.length
                                    : constant_i64(graph, static_cast<int64_t>(sequence.elements.size()));
}

Bundle* Bundles::find(const ir::Value* v) const {
  const auto it = markers_.find(v);
  return it == markers_.end() ? nullptr : it->second;
}

ir::Value* Bundles::add(Bundle b) {
  if (!state_.spend(ir::Budget::kElements, static_cast<int64_t>(b.elements.size()))) return &state_.poison;
  all_.push_back(std::move(b));
  Bundle& kept = all_.back();
  markers_[&kept.marker] = &kept;
  return &kept.marker;
}

ir::Value* Bundles::presence(ir::Graph& graph, ir::Value* v) const {
  const Bundle* b = find(v);
  if (b == nullptr || !b->optional) return constant_bool(graph, true);
  return b->present != nullptr ? b->present : constant_bool(graph, !b->elements.empty());
}

const ElementsOption* Bundles::elements_option(const std::string& name) {
  for (const ElementsOption& option : state_.options.elements) {
    if (option.name == name) {
      asked_.insert(name);
      return &option;
    }
  }
  return nullptr;
}

void Bundles::warn_of_unasked() {
  for (const ElementsOption& option : state_.options.elements) {
    if (asked_.count(option.name) != 0) continue;
    state_.diagnostics.warning(Code::kBadShapeOption, "nothing asked for the elements of \"" + option.name + "\"",
                               "--elements names an input or output that is a sequence, an optional or a map");
  }
}

}  // namespace vireo::importer
