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
      : NodeBuilder(tools, scope, node), old_scans_(old_scans), dims_(*tools.state.dims) {}

  void import() {
    if (scope_.opsets[""] < 9 && !old_scans_.without_batch_axis(scope_, node_)) return bind_failed();
    if (!read_attributes() || !read_inputs()) return;
    if (!import_body(tools_, scope_, node_, *proto_, types_, &body_)) return bind_failed();
    if (keeps_text(*body_.graph)) return refuse(Code::kUnsupportedNode, kKeepsText, kKeepsTextHelp);
    for (size_t i = static_cast<size_t>(carried_); i < types_.size(); ++i) take_whole_bytes(*body_.graph, i);
    if (read_results()) add_scan();
  }

 private:
  // An error about the node; false.
  bool wrong(Code code, std::string what, std::string help = "") {
    refuse(code, std::move(what), std::move(help));
    return false;
  }

  bool read_attributes() {
    const int64_t number = int_attribute(node_, scope_, "num_scan_inputs", 0);
    const int scanned = static_cast<int>(std::min<int64_t>(number, INT32_MAX));
    proto_ = graph_attribute(node_, "body");
    carried_ = node_.input_size() - scanned;
    if (proto_ == nullptr || scanned < 1 || carried_ < 0 || proto_->input_size() != node_.input_size() ||
        proto_->output_size() < carried_ || node_.output_size() > proto_->output_size()) {
      return wrong(Code::kBadNode,
                   "its body's inputs must be (states..., slices...) and its outputs (states..., scanned...), as many "
                   "as the node has, with at least one scanned input");
    }
    in_axes_ = ints_attribute(node_, scope_, "scan_input_axes");
    in_reverse_ = ints_attribute(node_, scope_, "scan_input_directions");
    out_axes_ = ints_attribute(node_, scope_, "scan_output_axes");
    out_reverse_ = ints_attribute(node_, scope_, "scan_output_directions");
    const int stacked = proto_->output_size() - carried_;
    const auto fits = [](const std::vector<int64_t>& list, int n) {
      return list.empty() || list.size() == static_cast<size_t>(n);
    };
    if (!fits(in_axes_, scanned) || !fits(in_reverse_, scanned) || !fits(out_axes_, stacked) ||
        !fits(out_reverse_, stacked))
      return wrong(Code::kBadNode, "its axes and directions must be one for each scanned input or output");
    attrs_.carried = static_cast<uint32_t>(carried_);
    attrs_.scanned_in = static_cast<uint32_t>(scanned);
    return true;
  }

  bool read_inputs() {
    for (int i = 0; i < node_.input_size(); ++i) {
      if (node_.input(i).empty()) return wrong(Code::kBadNode, "its input " + std::to_string(i) + " is missing");
      ir::Value* v = lookup(node_.input(i));
      if (const Bundle* b = bundle(v))
        return wrong(Code::kUnsupportedNode, "its input \"" + node_.input(i) + "\" is " + kind(*b));
      inputs_.push_back(v);
      types_.push_back(v->type);
      if (i >= carried_ && !slice_input(static_cast<size_t>(i - carried_))) return false;
    }
    return true;
  }

  // The last input is scanned input `k`.
  bool slice_input(size_t k) {
    TensorType& t = types_.back();
    const int axis = normalize_axis(in_axes_.empty() ? 0 : in_axes_[k], t.shape.rank);
    if (axis < 0)
      return wrong(Code::kBadNode, "the axis of scanned input " + std::to_string(k) + " is outside its rank");
    const Dim d = t.shape[axis];
    if (k == 0 || is_symbolic(length_)) {
      length_ = d;
    } else if (d != length_ && !is_symbolic(d)) {
      return wrong(Code::kBadNode,
                   "scanned inputs have different lengths: " + dims_.text(length_) + " and " + dims_.text(d));
    }
    for (int j = axis; j + 1 < t.shape.rank; ++j) t.shape[j] = t.shape[j + 1];
    --t.shape.rank;
    inputs_.back() = move_axis(cast_to(*scope_.graph, inputs_.back(), whole_bytes(t.dtype)), axis, 0);
    attrs_.in_axes.push_back(0);
    attrs_.in_reverse.push_back(!in_reverse_.empty() && in_reverse_[k] != 0);
    return true;
  }

  bool read_results() {
    for (int i = 0; i < proto_->output_size(); ++i) {
      packed_.push_back(made(i).dtype);
      if (!(i < carried_ ? keep_state(i) : stack_output(i))) return false;
    }
    return true;
  }

  const TensorType& made(int output) const { return body_.graph->outputs()[static_cast<size_t>(output)]->type; }

  bool keep_state(int i) {
    const TensorType &in = types_[static_cast<size_t>(i)], &out = made(i);
    bool same = in.dtype == out.dtype && in.shape.rank == out.shape.rank;
    for (int d = 0; same && d < out.shape.rank; ++d)
      same = in.shape[d] == out.shape[d] || is_symbolic(in.shape[d]) || is_symbolic(out.shape[d]);
    if (!same) {
      return wrong(Code::kBranchMismatch,
                   "state " + std::to_string(i) + " goes into a step as " + dtype_name(in.dtype) +
                       dims_.text(in.shape) + " and comes out as " + dtype_name(out.dtype) + dims_.text(out.shape),
                   "type and shape of a scan's state must not change");
    }
    results_.push_back(in);
    return true;
  }

  bool stack_output(int i) {
    const size_t k = static_cast<size_t>(i - carried_);
    std::string message;
    if (!stack_slices(dims_, made(i), length_, &results_.emplace_back(), &message))
      return wrong(Code::kUnsupportedNode, message);
    const int axis = normalize_axis(out_axes_.empty() ? 0 : out_axes_[k], made(i).shape.rank + 1);
    if (axis < 0)
      return wrong(Code::kBadNode, "the axis of scanned output " + std::to_string(k) + " is outside its rank");
    give_whole_bytes(*body_.graph, static_cast<size_t>(i));
    stacked_at_.push_back(axis);
    attrs_.out_axes.push_back(0);
    attrs_.out_reverse.push_back(!out_reverse_.empty() && out_reverse_[k] != 0);
    return true;
  }

  void add_scan() {
    inputs_.insert(inputs_.end(), body_.outer.begin(), body_.outer.end());
    ir::Node* n = scope_.graph->add_node(Op::kScan, pack<attrs::Scan>(attrs_), std::move(inputs_), results_.size());
    n->name = node_name(node_, &scope_);
    n->bodies.push_back(std::move(body_.graph));
    for (size_t i = 0; i < results_.size(); ++i) {
      ir::Value* v = n->outputs[i];
      v->type = results_[i];
      if (static_cast<int>(i) >= node_.output_size()) continue;
      if (static_cast<int>(i) >= carried_) v = move_axis(v, 0, stacked_at_[i - static_cast<size_t>(carried_)]);
      bind(static_cast<int>(i), cast_to(*scope_.graph, v, packed_[i]));
    }
  }

  OldScans& old_scans_;
  ir::DimTable& dims_;
  ::onnx::GraphProto* proto_ = nullptr;
  int carried_ = 0;
  std::vector<int64_t> in_axes_, in_reverse_, out_axes_, out_reverse_;  // empty: 0 for all
  attrs::ScanT attrs_;
  std::vector<ir::Value*> inputs_;
  std::vector<TensorType> types_;  // of the body's own inputs
  Dim length_ = 0;                 // of what is scanned
  Body body_;
  std::vector<TensorType> results_;
  std::vector<DType> packed_;    // of the results
  std::vector<int> stacked_at_;  // axes of the scanned results
};

}  // namespace

void import_scan(const Tools& tools, OldScans& old_scans, Scope& scope, ::onnx::NodeProto& node) {
  ScanNode(tools, old_scans, scope, node).import();
}

}  // namespace vireo::importer
