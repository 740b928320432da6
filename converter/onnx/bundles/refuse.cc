#include "converter/onnx/bundles/refuse.h"

#include "converter/onnx/report.h"
#include "converter/onnx/state.h"

namespace vireo::importer {
namespace {

std::string what_is_open(const ir::DimTable& dims, const Bundle& b) {
  const Dim extent = b.whole->type.shape[b.axis];
  const bool bounded = !dims.interval(extent).open();
  return "sequence \"" + b.open + "\" is split from " + dims.text(extent) +
         (bounded ? " elements, and its parts are too many to list here"
                  : " elements, and how many parts there are at most must be known here");
}

std::string how_to_bound(const Bundle& b) {
  return "bound the extent with --shape, or the parts with --elements " + b.open + "=8";
}

}  // namespace

void refuse_bundle(Report& report, const Scope& scope, const ::onnx::NodeProto& node, const std::string& what,
                   const Bundle& b) {
  report.record(node, &scope, Code::kUnsupportedNode, what + " is " + kind(b) + ", wanted a tensor",
                b.map ? "CastMap and DictVectorizer make tensors of a map"
                      : "take the elements out with SequenceAt or OptionalGetElement");
}

bool refuse_open(const Tools& tools, const Scope& scope, const ::onnx::NodeProto& node, const ir::Value* v) {
  const Bundle* b = tools.bundles.find(v);
  if (b == nullptr || b->open.empty()) return false;
  tools.report.record(node, &scope, Code::kUnsupportedNode, what_is_open(*tools.state.dims, *b), how_to_bound(*b));
  return true;
}

bool refuse_open_output(const Tools& tools, const Bundle& b) {
  if (b.open.empty()) return false;
  tools.state.diagnostics.error(Code::kUnsupportedNode, what_is_open(*tools.state.dims, b), how_to_bound(b));
  return true;
}

}  // namespace vireo::importer
