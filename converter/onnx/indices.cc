// Constant indices against the extents that they point into. A run would end at one that lies outside, whatever its
// inputs are, so the model is refused before it is on a device. Bodies are left to the run: exporters write branches
// that no run takes.
#include "converter/onnx/importer.h"
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

bool Importer::check_indices(Scope& scope, const ::onnx::NodeProto& node) {
  static const std::set<std::string> kOperators = {"Gather",  "GatherElements",  "GatherND",
                                                   "Scatter", "ScatterElements", "ScatterND"};
  if (scope.graph != main_ || !plain_domain(node.domain()).empty() || kOperators.count(node.op_type()) == 0)
    return true;
  const ir::Value *data = lookup(scope, node.input(0)), *value = lookup(scope, node.input(1));
  const ir::ConstantPtr indices = finder_.find(value);
  if (indices == nullptr) return true;
  const auto number = [&](const char* name) {
    const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
    return a == nullptr ? 0 : a->i();
  };
  const ConstTensor& c = indices->tensor;
  const std::vector<Dim> extents =
      extents_of(node.op_type(), data->type.shape, c.type.shape, number("axis"), number("batch_dims"));
  for (int64_t i = 0; !extents.empty() && i < c.count(); ++i) {
    const Dim extent = extents[static_cast<size_t>(i) % extents.size()];
    const int64_t index = read_integer(c.type.dtype, c.bytes.data(), i);
    const Interval range = dims_->interval(extent);
    if (range.open() || (index >= -range.hi && index < range.hi)) continue;
    record(&node, &scope, Code::kBadNode,
           "its constant index " + std::to_string(index) + " lies outside an extent of " + dims_->text(extent) +
               ": every run would fail",
           "correct the index, or the shape of \"" + node.input(0) + "\"");
    return false;
  }
  return true;
}

}  // namespace vireo::importer
