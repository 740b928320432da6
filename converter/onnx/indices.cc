// A run would end at a constant index that lies outside, whatever its inputs are, so the model is refused before it is
// on a device. Bodies are left to the run: exporters write branches that no run takes.
#include "converter/onnx/indices.h"

#include <set>
#include <vector>

#include "converter/onnx/names.h"
#include "converter/onnx/report.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::importer {
namespace {

// The extents that the numbers of one row of indices point into, first to last; empty: none that is known here.
std::vector<Dim> extents_of(const std::string& op, const Shape& data, const Shape& indices, int64_t axis,
                            int64_t batch) {
  if (op != "GatherND" && op != "ScatterND") {
    const int at = normalize_axis(axis, data.rank);
    return at < 0 ? std::vector<Dim>() : std::vector<Dim>{data[at]};
  }
  std::vector<Dim> out;
  const int64_t depth = indices.rank == 0 ? 0 : indices[indices.rank - 1];
  for (int64_t k = batch; k < batch + depth && k < data.rank; ++k) out.push_back(data[static_cast<int>(k)]);
  return out;
}

}  // namespace

bool check_indices(const Tools& tools, Scope& scope, const ::onnx::NodeProto& node) {
  static const std::set<std::string> kOperators = {"Gather",  "GatherElements",  "GatherND",
                                                   "Scatter", "ScatterElements", "ScatterND"};
  if (scope.graph != tools.state.main || !plain_domain(node.domain()).empty() || kOperators.count(node.op_type()) == 0)
    return true;
  const ir::Value *data = tools.names.lookup(scope, node.input(0)), *value = tools.names.lookup(scope, node.input(1));
  const ir::ConstantPtr indices = tools.state.finder.find(value);
  if (indices == nullptr) return true;
  const ConstTensor& c = indices->tensor;
  const std::vector<Dim> extents =
      extents_of(node.op_type(), data->type.shape, c.type.shape, int_attribute(node, scope, "axis", 0),
                 int_attribute(node, scope, "batch_dims", 0));
  for (int64_t i = 0; !extents.empty() && i < c.count(); ++i) {
    const Dim extent = extents[static_cast<size_t>(i) % extents.size()];
    const int64_t index = read_integer(c.type.dtype, c.bytes.data(), i);
    const Interval range = tools.state.dims->interval(extent);
    if (range.open() || (index >= -range.hi && index < range.hi)) continue;
    tools.report.record(node, &scope, Code::kBadNode,
                        "its constant index " + std::to_string(index) + " lies outside an extent of " +
                            tools.state.dims->text(extent) + ": every run would fail",
                        "correct the index, or the shape of \"" + node.input(0) + "\"");
    return false;
  }
  return true;
}

}  // namespace vireo::importer
