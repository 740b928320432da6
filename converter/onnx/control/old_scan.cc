// The Scan of opset 8, which has a batch axis of its own in front of every state and every scanned tensor: a Scan of
// opset 9 over that axis whose body is the Scan of opset 9 over the sequence.
//
//   y.., z.. = Scan8("", s.., x..) { body }
//   y.., z.. = Scan9(s.., x..) { y1.., z1.. = Scan9(s1.., x1..) { body } }    all of the outer one's inputs are scanned
//
// The node is rewritten where it stands, because whoever imports a body may do so more than once.
#include "converter/onnx/control/old_scan.h"

#include "converter/onnx/protos.h"
#include "converter/onnx/report.h"
#include "converter/onnx/scope.h"

namespace vireo::importer {
namespace {

constexpr char kAxes[] = "scan_input_axes";

void set_ints(::onnx::NodeProto* node, const char* name, const std::vector<int64_t>& values) {
  ::onnx::AttributeProto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(::onnx::AttributeProto::INTS);
  for (const int64_t v : values) a->add_ints(v);
}

void set_int(::onnx::NodeProto* node, const char* name, int64_t value) {
  ::onnx::AttributeProto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(::onnx::AttributeProto::INT);
  a->set_i(value);
}

}  // namespace

bool OldScans::without_batch_axis(const Scope& scope, ::onnx::NodeProto& node) {
  if (find_attribute(node, scope, kRewrittenScan) != nullptr) return true;
  ::onnx::GraphProto* body = graph_attribute(node, "body");
  const ::onnx::AttributeProto* number = find_attribute(node, scope, "num_scan_inputs");
  const int inputs = node.input_size() - 1;  // behind sequence_lens
  const int64_t scanned = number == nullptr ? 0 : number->i();
  if (body == nullptr || scanned < 1 || scanned > inputs) {
    report_.record(node, &scope, Code::kBadNode,
                   "wants a body, and num_scan_inputs between 1 and the number of its inputs");
    return false;
  }
  if (!node.input(0).empty()) {
    report_.record(
        node, &scope, Code::kUnsupportedNode,
        "is the Scan of opset 8 with sequence_lens, and what its outputs hold behind the end of a sequence is not "
        "defined",
        "leave sequence_lens out, or export the model with opset 9 or newer");
    return false;
  }
  const ::onnx::AttributeProto* directions = find_attribute(node, scope, "directions");

  ::onnx::NodeProto inner;
  inner.set_op_type(node.op_type());
  inner.set_name("sequence");
  ::onnx::GraphProto batch;
  batch.set_name(body->name());
  const std::string stem = node_name(node, &scope) + "/batch.";
  for (int i = 0; i < inputs; ++i) {
    inner.add_input(stem + "in" + std::to_string(i));
    batch.add_input()->set_name(inner.input(i));
  }
  for (int i = 0; i < body->output_size(); ++i) {
    inner.add_output(stem + "out" + std::to_string(i));
    batch.add_output()->set_name(inner.output(i));
  }
  set_int(&inner, kRewrittenScan, 1);
  set_int(&inner, "num_scan_inputs", scanned);
  set_ints(&inner, kAxes, std::vector<int64_t>(static_cast<size_t>(scanned), 0));
  if (directions != nullptr)
    set_ints(&inner, "scan_input_directions", {directions->ints().begin(), directions->ints().end()});
  ::onnx::AttributeProto* a = inner.add_attribute();
  a->set_name("body");
  a->set_type(::onnx::AttributeProto::GRAPH);
  a->mutable_g()->Swap(body);
  batch.add_node()->Swap(&inner);

  std::string* lens = nullptr;
  node.mutable_input()->ExtractSubrange(0, 1, &lens);
  dropped_names_.emplace_back(lens);
  node.clear_attribute();
  set_int(&node, kRewrittenScan, 1);
  set_int(&node, "num_scan_inputs", inputs);
  set_ints(&node, kAxes, std::vector<int64_t>(static_cast<size_t>(inputs), 0));
  a = node.add_attribute();
  a->set_name("body");
  a->set_type(::onnx::AttributeProto::GRAPH);
  a->mutable_g()->Swap(&batch);
  return true;
}

}  // namespace vireo::importer
