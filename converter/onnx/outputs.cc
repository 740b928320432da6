#include "converter/onnx/outputs.h"

#include <map>
#include <set>
#include <string>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/bundles/refuse.h"
#include "converter/onnx/declared.h"
#include "converter/onnx/names.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"
#include "converter/onnx/wide.h"

namespace vireo::importer {
namespace {

// A sequence "y" leaves as "y.0", "y.1"..., and "y.length" where that is not how many there are; an optional as what it
// holds, and "y.present" where that may be nothing; a map, or a sequence of maps of the same keys, as "y.keys" and
// "y.values".
void add_bundle(const Tools& tools, ir::Graph& graph, const std::string& name, Bundle& b) {
  if (refuse_open_output(tools, b)) return;
  if (b.map) {
    graph.add_output(b.elements[0], name + ".keys");
    return graph.add_output(b.elements[1], name + ".values");
  }
  if (b.optional) {
    if (b.present != nullptr || b.elements.empty())
      graph.add_output(tools.bundles.presence(graph, &b.marker), name + ".present");
    if (b.elements.empty()) return;
    Bundle* inside = tools.bundles.find(b.elements[0]);
    if (inside != nullptr) return add_bundle(tools, graph, name, *inside);
    return graph.add_output(b.elements[0], name);
  }
  for (size_t i = 0; i < b.elements.size(); ++i) graph.add_output(b.elements[i], name + "." + std::to_string(i));
  if (b.length != nullptr || b.elements.empty()) graph.add_output(length_of(graph, b), name + ".length");
}

}  // namespace

void add_outputs(const Tools& tools, Scope& scope) {
  ImportState& state = tools.state;
  std::set<std::string> names;
  for (const auto& info : state.model.graph().output()) names.insert(info.name());
  std::map<std::string, int> met;  // the number that the last listing got
  for (const auto& info : state.model.graph().output()) {
    // A value may be listed again. Outputs are found by their names, so each listing gets its own.
    std::string name = info.name();
    int& last = met[name];
    if (++last > 1) {
      while (!names.insert(name).second) name = info.name() + "." + std::to_string(last++);
      --last;
      state.diagnostics.warning(
          Code::kDeclaredOtherwise,
          "output " + in_quotes(info.name()) + " is listed more than once: this one becomes " + in_quotes(name));
    }
    ir::Value* v = tools.names.lookup(scope, info.name());
    if (v == nullptr) {
      state.diagnostics.error(Code::kMissingValue, "nothing makes the model's output " + in_quotes(info.name()));
    } else if (Bundle* b = tools.bundles.find(v)) {
      add_bundle(tools, *scope.graph, name, *b);
    } else if (const WideTensor* w = tools.wides.find(v)) {
      state.diagnostics.error(Code::kUnsupportedNode,
                              "the model's output " + in_quotes(name) + " is " + tools.wides.text(*w) + ", at most " +
                                  std::to_string(kMaxRank) + " dimensions are supported",
                              "end the model with a Reshape to fewer dimensions");
    } else if (v != &state.poison) {
      tools.declared.check(info, v);
      scope.graph->add_output(v, name);
    }
  }
  tools.declared.check_inside(scope);
}

}  // namespace vireo::importer
