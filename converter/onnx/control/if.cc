// An If of tensors. One whose condition is known here becomes the branch that is taken.
#include <algorithm>
#include <map>
#include <utility>

#include "converter/onnx/advice.h"
#include "converter/onnx/builder.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/control/nodes.h"
#include "converter/onnx/control/unit_extents.h"
#include "converter/onnx/report.h"
#include "converter/onnx/reproduce.h"
#include "converter/onnx/state.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::importer {
namespace {

class IfNode : private NodeBuilder {
 public:
  IfNode(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node)
      : NodeBuilder(tools, scope, node), lifted_(lifted) {}

  void import() {
    ::onnx::GraphProto* branches[2] = {graph_attribute(node_, "then_branch"), graph_attribute(node_, "else_branch")};
    ir::Value* cond = node_.input_size() == 1 ? lookup(node_.input(0)) : nullptr;
    const int count = node_.output_size();
    if (cond == nullptr || cond->type.dtype != DType::kBool)
      return refuse(Code::kBadNode, "wants one bool as its condition");
    if (branches[0] == nullptr || branches[1] == nullptr)
      return refuse(Code::kBadNode, "wants a then_branch and an else_branch");
    if (branches[0]->output_size() != count || branches[1]->output_size() != count) {
      return refuse(Code::kBadNode, "has " + std::to_string(count) + " outputs, its branches have " +
                                        std::to_string(branches[0]->output_size()) + " and " +
                                        std::to_string(branches[1]->output_size()));
    }
    const int taken = known_bool(tools_.state.finder, cond);
    if (taken >= 0) {
      if (!inline_branch(*branches[taken == 1 ? 0 : 1])) bind_failed();
      return;
    }
    if (makes_bundles(*branches[0]) || makes_bundles(*branches[1]))
      return choose_branch(tools_, scope_, node_, cond, branches);
    Dim extent = 1;
    const int squeezes = count == 1 ? squeezing_branch(*cond, branches, &extent) : -1;
    if (squeezes >= 0) {
      const bool one = tools_.state.guess != Guess::kNoneOnes;
      tools_.report.assume_extents(
          node_, scope_, {extent}, one,
          std::string("drops an extent if it is 1: it is taken to be ") + (one ? "1" : "larger and stays"),
          shape_advice(*tools_.state.dims, scope_, cond));
      if (!inline_branch(*branches[one ? squeezes : 1 - squeezes])) bind_failed();
      return;
    }
    const bool both[2] = {import_body(tools_, scope_, node_, *branches[0], {}, &bodies_[0]),
                          import_body(tools_, scope_, node_, *branches[1], {}, &bodies_[1])};
    if (!both[0] || !both[1]) return bind_failed();
    std::vector<ir::Value*> inputs = join_inputs(cond);
    std::vector<TensorType> types(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      if (!join_output(i, cond, &types[static_cast<size_t>(i)])) return bind_failed();
    }
    ir::Node* n = scope_.graph->add_node(Op::kIf, pack<attrs::If>(attrs::IfT{}), std::move(inputs), types.size());
    n->name = node_name(node_, &scope_);
    for (Body& b : bodies_) n->bodies.push_back(std::move(b.graph));
    for (size_t i = 0; i < types.size(); ++i) {
      n->outputs[i]->type = types[i];
      bind(static_cast<int>(i), n->outputs[i]);
    }
    for (auto& [i, differ] : differ_) lifted_.remember(n->outputs[static_cast<size_t>(i)], std::move(differ));
  }

 private:
  const TensorType& made(int branch, int output) const {
    return bodies_[branch].graph->outputs()[static_cast<size_t>(output)]->type;
  }

  // The node's inputs: both branches get the same further ones in the same order.
  std::vector<ir::Value*> join_inputs(ir::Value* cond) {
    std::vector<ir::Value*> inputs{cond};
    for (const Body& b : bodies_) {
      for (ir::Value* v : b.outer) {
        if (std::find(inputs.begin() + 1, inputs.end(), v) == inputs.end()) inputs.push_back(v);
      }
    }
    for (Body& b : bodies_) {
      const std::vector<ir::Value*> own = b.graph->inputs();
      std::vector<ir::Value*> ordered;
      for (size_t i = 1; i < inputs.size(); ++i) {
        const auto at = std::find(b.outer.begin(), b.outer.end(), inputs[i]);
        ordered.push_back(at != b.outer.end() ? own[static_cast<size_t>(at - b.outer.begin())]
                                              : b.graph->add_input(inputs[i]->name, inputs[i]->type));
      }
      b.graph->order_inputs(std::move(ordered));
    }
    return inputs;
  }

  // A type that holds what either branch gives as output `i`. False, and recorded, where no type does.
  bool join_output(int i, const ir::Value* cond, TensorType* type) {
    ir::DimTable& dims = *tools_.state.dims;
    Diagnostic differ;
    differ.code = Code::kBranchMismatch;
    differ.op = node_.op_type();
    differ.node = node_name(node_, &scope_);
    differ.what = "output " + std::to_string(i) + " is " + dtype_name(made(0, i).dtype) + dims.text(made(0, i).shape) +
                  " in one branch and " + dtype_name(made(1, i).dtype) + dims.text(made(1, i).shape) +
                  " in the other, and which is taken is not known here";
    if (made(0, i).shape.rank != made(1, i).shape.rank) tools_.reproducer.describe(node_, scope_, &differ);
    const bool lifts = lifted_.lift(bodies_[0].graph.get(), bodies_[1].graph.get(), static_cast<size_t>(i));
    const TensorType &a = made(0, i), &b = made(1, i);
    const bool mismatch = a.dtype != b.dtype || a.shape.rank != b.shape.rank;
    if (lifts || mismatch) differ.help = shape_advice(dims, scope_, cond);  // walks the graph
    if (lifts) differ_[i] = differ;
    if (mismatch) {
      if (a.shape.rank == b.shape.rank) tools_.reproducer.describe(node_, scope_, &differ);
      tools_.state.diagnostics.add(std::move(differ));
      return false;
    }
    *type = a;
    for (int d = 0; d < a.shape.rank; ++d) {
      if (a.shape[d] == b.shape[d]) continue;
      type->shape[d] = dims.fresh_bounded(node_name(node_, &scope_) + ".size", dims.max(a.shape[d], b.shape[d]));
    }
    return true;
  }

  bool inline_branch(::onnx::GraphProto& branch) {
    std::vector<ir::Value*> outputs;
    if (!inline_graph(tools_, scope_, node_, branch, scope_.prefix, {}, &outputs)) return false;
    for (int i = 0; i < node_.output_size(); ++i) bind(i, outputs[static_cast<size_t>(i)]);
    return true;
  }

  // How exporters write x.squeeze(axis) when they do not know the extent: if it equals 1 Squeeze(x, axis), else x. The
  // index of the branch that squeezes; -1: something else.
  int squeezing_branch(const ir::Value& cond, ::onnx::GraphProto* const branches[2], Dim* squeezed) {
    const ir::Node* equal = cond.producer;
    if (equal != nullptr && equal->op == Op::kCast) equal = equal->in(0)->producer;
    if (equal == nullptr || equal->op != Op::kEqual) return -1;
    // One side is an extent, the other the constant 1.
    Dim& extent = *squeezed = 1;
    for (int i = 0; i < 2; ++i) {
      const ir::Value* v = equal->in(i);
      const ir::ConstantPtr c = tools_.state.finder.find(v);
      if (c != nullptr && c->tensor.type.dtype == DType::kI64 && c->tensor.count() == 1) {
        if (*c->tensor.as<int64_t>() != 1) return -1;
      } else if (v->contents && v->contents->size() == 1) {
        extent = (*v->contents)[0];
      }
    }
    if (!is_symbolic(extent)) return -1;
    for (int s = 0; s < 2; ++s) {
      // One Squeeze of a value from outside, by constant axes...
      const ::onnx::NodeProto* squeeze = nullptr;
      for (const auto& n : branches[s]->node()) {
        if (n.op_type() == "Constant") continue;
        if (n.op_type() != "Squeeze" || squeeze != nullptr || n.input_size() == 0) return -1;
        squeeze = &n;
      }
      const ::onnx::GraphProto& rest = *branches[1 - s];
      if (squeeze == nullptr) continue;
      // ... and the same value as it is.
      const bool identity = rest.node_size() == 1 && rest.node(0).op_type() == "Identity" &&
                            rest.node(0).input_size() == 1 && rest.node(0).output_size() == 1 &&
                            rest.node(0).output(0) == rest.output(0).name();
      const std::string& same = identity ? rest.node(0).input(0) : rest.output(0).name();
      const ir::Value* x = lookup(squeeze->input(0));
      if ((!identity && rest.node_size() != 0) || same != squeeze->input(0) || x == nullptr) return -1;
      const Shape& shape = x->type.shape;
      return std::find(shape.dims, shape.dims + shape.rank, extent) == shape.dims + shape.rank ? -1 : s;
    }
    return -1;
  }

  UnitExtents& lifted_;
  Body bodies_[2];
  std::map<int, Diagnostic> differ_;  // outputs that were lifted, with what is wrong if somebody minds
};

}  // namespace

void import_if(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node) {
  IfNode(tools, lifted, scope, node).import();
}

}  // namespace vireo::importer
