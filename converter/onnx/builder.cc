#include "converter/onnx/builder.h"

#include <utility>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/bundles/refuse.h"
#include "converter/onnx/names.h"
#include "converter/onnx/report.h"
#include "converter/onnx/state.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::importer {

ir::Value* constant_i64(ir::Graph& graph, const std::vector<int64_t>& values) {
  Shape s;
  s.rank = 1;
  s[0] = static_cast<int64_t>(values.size());
  return graph.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, s, values));
}

ir::Value* constant_i64(ir::Graph& graph, int64_t value) {
  return graph.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, {}, {value}));
}

ir::Value* constant_bool(ir::Graph& graph, bool value) {
  return graph.add_constant("",
                            ir::make_constant({DType::kBool, {}}, std::vector<uint8_t>{static_cast<uint8_t>(value)}));
}

int known_bool(ir::ConstantFinder& finder, const ir::Value* v) {
  std::vector<Dim> elements;
  if (!ir::known_elements(v, &finder, &elements) || elements.size() != 1 || is_symbolic(elements[0])) return -1;
  return elements[0] != 0 ? 1 : 0;
}

void NodeBuilder::record(Code code, std::string what, std::string help) {
  tools_.report.record(node_, &scope_, code, std::move(what), std::move(help));
}

ir::Value* NodeBuilder::lookup(const std::string& name) { return tools_.names.lookup(scope_, name); }

Bundle* NodeBuilder::bundle(const ir::Value* v) const { return tools_.bundles.find(v); }

void NodeBuilder::bind(int i, ir::Value* v) { tools_.names.bind(scope_, node_, node_.output(i), v); }

void NodeBuilder::bind_failed() { tools_.names.bind_failed(scope_, node_); }

void NodeBuilder::refuse(Code code, std::string what, std::string help) {
  record(code, std::move(what), std::move(help));
  bind_failed();
}

ir::Value* NodeBuilder::emit(Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> inputs) {
  for (const ir::Value* v : inputs) {
    if (v == nullptr) return nullptr;
    if (const Bundle* b = bundle(v)) {
      refuse_bundle(tools_.report, scope_, node_, "one of its operands", *b);
      return nullptr;
    }
  }
  ir::Node* n = scope_.graph->add_node(op, std::move(attrs), std::move(inputs), 1);
  n->name = node_name(node_, &scope_);
  std::string message;
  if (ok(ir::infer_node(*scope_.graph, n, &tools_.state.finder, &message))) return n->outputs[0];
  record(Code::kBadNode, message);
  scope_.graph->remove(n);
  return nullptr;
}

ir::Value* NodeBuilder::both(ir::Value* a, ir::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return emit(Op::kBitwiseAnd, pack<attrs::Binary>(attrs::BinaryT{}), {a, b});
}

ir::Value* NodeBuilder::compare(Op op, int64_t a, ir::Value* b) {
  return emit(op, pack<attrs::Binary>(attrs::BinaryT{}), {constant_i64(a), b});
}

ir::Value* NodeBuilder::as_scalar(ir::Value* v, DType dtype) {
  if (v != nullptr && v->type.dtype != dtype) {
    attrs::CastT a;
    a.to = static_cast<uint8_t>(dtype);
    v = emit(Op::kCast, pack<attrs::Cast>(a), {v});
  }
  if (v == nullptr || v->type.shape.rank == 0) return v;
  return emit(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {v, constant_i64(std::vector<int64_t>{})});
}

// A Gather from one zero fails at every other index than 0: the graph's way to say "must hold".
ir::Value* NodeBuilder::checked(ir::Value* index, ir::Value* condition) {
  const ir::ConstantPtr c = condition == nullptr ? nullptr : tools_.state.finder.find(condition);
  if (c != nullptr && *c->tensor.as<uint8_t>() != 0) return index;
  ir::Value* wrong = emit(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {condition});
  attrs::CastT to;
  to.to = static_cast<uint8_t>(DType::kI64);
  wrong = emit(Op::kCast, pack<attrs::Cast>(to), {wrong});
  ir::Value* zero =
      emit(Op::kGather, pack<attrs::Gather>(attrs::GatherT{}), {constant_i64(std::vector<int64_t>{0}), wrong});
  return emit(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {index, zero});
}

ir::Value* NodeBuilder::slice(ir::Value* x, int axis, ir::Value* start, ir::Value* end, bool keep) {
  ir::Value* axes = constant_i64(std::vector<int64_t>{axis});
  ir::Value* y = emit(Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}), {x, start, end, axes});
  return keep ? y : emit(Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {y, axes});
}

ir::Value* NodeBuilder::move_axis(ir::Value* v, int from, int to) {
  if (from == to) return v;
  attrs::TransposeT a;
  for (int i = 0; i < v->type.shape.rank; ++i) {
    if (i != from) a.perm.push_back(i);
  }
  a.perm.insert(a.perm.begin() + to, from);
  ir::Node* n = scope_.graph->add_node(Op::kTranspose, pack<attrs::Transpose>(a), {v}, 1);
  n->name = node_name(node_, &scope_);
  std::string message;
  if (!ok(ir::infer_node(*scope_.graph, n, &tools_.state.finder, &message))) record(Code::kBadNode, message);
  return n->outputs[0];
}

}  // namespace vireo::importer
