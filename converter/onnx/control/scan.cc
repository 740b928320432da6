// A Scan. In the graph it slices and stacks only along axis 0: other axes are moved before and behind it.
#include <algorithm>
#include <utility>

#include "converter/onnx/builder.h"
#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/control/nodes.h"
#include "converter/onnx/control/old_scan.h"
#include "converter/onnx/state.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::importer {
namespace {

class ScanNode : private NodeBuilder {
 public:
  ScanNode(const Tools& tools, OldScans& old_scans, Scope& scope, ::onnx::NodeProto& node)
      : NodeBuilder(tools, scope, node), old_scans_(old_scans) {}

  void import() {
    if (scope_.opsets[""] < 9 && !old_scans_.without_batch_axis(scope_, node_)) return bind_failed();
    ::onnx::GraphProto* proto = graph_attribute(node_, "body");
    const ::onnx::AttributeProto* number = find_attribute(node_, scope_, "num_scan_inputs");
    const int scanned = number == nullptr ? 0 : static_cast<int>(std::min<int64_t>(number->i(), INT32_MAX));
    const int carried = node_.input_size() - scanned;
    if (proto == nullptr || scanned < 1 || carried < 0 || proto->input_size() != node_.input_size() ||
        proto->output_size() < carried || node_.output_size() > proto->output_size()) {
      return refuse(
          Code::kBadNode,
          "its body's inputs must be (states..., slices...) and its outputs (states..., scanned...), as many as "
          "the node has, with at least one scanned input",
          "");
    }
    const int made = proto->output_size() - carried;
    const std::vector<int64_t> in_axes = ints_attribute(node_, scope_, "scan_input_axes");
    const std::vector<int64_t> in_reverse = ints_attribute(node_, scope_, "scan_input_directions");
    const std::vector<int64_t> out_axes = ints_attribute(node_, scope_, "scan_output_axes");
    const std::vector<int64_t> out_reverse = ints_attribute(node_, scope_, "scan_output_directions");
    const auto fits = [](const std::vector<int64_t>& list, int n) {
      return list.empty() || list.size() == static_cast<size_t>(n);
    };
    if (!fits(in_axes, scanned) || !fits(in_reverse, scanned) || !fits(out_axes, made) || !fits(out_reverse, made)) {
      return refuse(Code::kBadNode, "its axes and directions must be one for each scanned input or output", "");
    }
    attrs::ScanT a;
    a.carried = static_cast<uint32_t>(carried);
    a.scanned_in = static_cast<uint32_t>(scanned);
    std::vector<TensorType> types;
    std::vector<ir::Value*> inputs;
    Dim length = 0;
    for (int i = 0; i < node_.input_size(); ++i) {
      if (node_.input(i).empty()) return refuse(Code::kBadNode, "its input " + std::to_string(i) + " is missing", "");
      ir::Value* v = lookup(node_.input(i));
      if (bundle(v) != nullptr)
        return refuse(Code::kUnsupportedNode, "its input \"" + node_.input(i) + "\" is " + kind(*bundle(v)), "");
      inputs.push_back(v);
      TensorType t = v->type;
      if (i >= carried) {
        const size_t k = static_cast<size_t>(i - carried);
        const int axis = normalize_axis(in_axes.empty() ? 0 : in_axes[k], t.shape.rank);
        if (axis < 0)
          return refuse(Code::kBadNode, "the axis of scanned input " + std::to_string(k) + " is outside its rank", "");
        const Dim d = t.shape[axis];
        if (k == 0 || is_symbolic(length)) {
          length = d;
        } else if (d != length && !is_symbolic(d)) {
          return refuse(Code::kBadNode,
                        "scanned inputs have different lengths: " + tools_.state.dims->text(length) + " and " +
                            tools_.state.dims->text(d),
                        "");
        }
        for (int j = axis; j + 1 < t.shape.rank; ++j) t.shape[j] = t.shape[j + 1];
        --t.shape.rank;
        inputs.back() = move_axis(cast_to(*scope_.graph, v, whole_bytes(t.dtype)), axis, 0);
        a.in_axes.push_back(0);
        a.in_reverse.push_back(!in_reverse.empty() && in_reverse[k] != 0);
      }
      types.push_back(t);
    }
    Body body;
    if (!import_body(tools_, scope_, node_, *proto, types, &body)) return bind_failed();
    if (keeps_text(*body.graph)) return refuse(Code::kUnsupportedNode, kKeepsText, kKeepsTextHelp);
    for (size_t i = static_cast<size_t>(carried); i < types.size(); ++i) take_whole_bytes(*body.graph, i);
    std::vector<TensorType> results;
    std::vector<int> made_axes;
    std::vector<DType> packed;  // of the results
    for (int i = 0; i < proto->output_size(); ++i) {
      const TensorType& t = body.graph->outputs()[static_cast<size_t>(i)]->type;
      packed.push_back(t.dtype);
      if (i < carried) {
        const TensorType& in = types[static_cast<size_t>(i)];
        bool same = in.dtype == t.dtype && in.shape.rank == t.shape.rank;
        for (int d = 0; same && d < t.shape.rank; ++d)
          same = in.shape[d] == t.shape[d] || is_symbolic(in.shape[d]) || is_symbolic(t.shape[d]);
        if (!same) {
          return refuse(Code::kBranchMismatch,
                        "state " + std::to_string(i) + " goes into a step as " + dtype_name(in.dtype) +
                            tools_.state.dims->text(in.shape) + " and comes out as " + dtype_name(t.dtype) +
                            tools_.state.dims->text(t.shape),
                        "type and shape of a scan's state must not change");
        }
        results.push_back(in);
        continue;
      }
      const size_t k = static_cast<size_t>(i - carried);
      std::string message;
      if (!stack_slices(*tools_.state.dims, t, length, &results.emplace_back(), &message))
        return refuse(Code::kUnsupportedNode, message, "");
      const int axis = normalize_axis(out_axes.empty() ? 0 : out_axes[k], t.shape.rank + 1);
      if (axis < 0)
        return refuse(Code::kBadNode, "the axis of scanned output " + std::to_string(k) + " is outside its rank", "");
      give_whole_bytes(*body.graph, static_cast<size_t>(i));
      made_axes.push_back(axis);
      a.out_axes.push_back(0);
      a.out_reverse.push_back(!out_reverse.empty() && out_reverse[k] != 0);
    }
    inputs.insert(inputs.end(), body.outer.begin(), body.outer.end());
    ir::Node* n = scope_.graph->add_node(Op::kScan, pack<attrs::Scan>(a), std::move(inputs), results.size());
    n->name = node_name(node_, &scope_);
    n->bodies.push_back(std::move(body.graph));
    for (size_t i = 0; i < results.size(); ++i) {
      ir::Value* v = n->outputs[i];
      v->type = results[i];
      if (static_cast<int>(i) >= node_.output_size()) continue;
      if (static_cast<int>(i) >= carried) v = move_axis(v, 0, made_axes[i - static_cast<size_t>(carried)]);
      bind(static_cast<int>(i), cast_to(*scope_.graph, v, packed[i]));
    }
  }

 private:
  OldScans& old_scans_;
};

}  // namespace

void import_scan(const Tools& tools, OldScans& old_scans, Scope& scope, ::onnx::NodeProto& node) {
  ScanNode(tools, old_scans, scope, node).import();
}

}  // namespace vireo::importer
