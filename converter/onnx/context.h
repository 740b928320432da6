// The abstract node view of sdk/ops/view.h over one ONNX node. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_CONTEXT_H_
#define VIREO_CONVERTER_ONNX_CONTEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/tools.h"
#include "sdk/ops/view.h"

namespace vireo::importer {

class NodeContext final : public ImportContext {
 public:
  NodeContext(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, std::string domain, int opset);

  std::string_view op_type() const override { return node_.op_type(); }
  std::string_view domain() const override { return domain_; }
  int opset() const override { return opset_; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  int output_count() const override { return node_.output_size(); }
  Value input(int i) const override;
  bool wants_output(int i) const override;
  TensorType type(Value v) const override;
  const ConstTensor* constant(Value v) const override;
  bool differ(Dim a, Dim b) const override;
  bool equal(Dim a, Dim b) const override;
  bool knows_elements(Value v) const override;
  int declared_rank(int i) const override;
  int64_t declared_extent(int i, int axis) const override;
  bool unknown_is_one() const override;
  uint32_t string_bytes() const override;
  bool has_attr(std::string_view name) const override;
  int64_t attr_int(std::string_view name, int64_t otherwise) const override;
  float attr_float(std::string_view name, float otherwise) const override;
  std::string attr_string(std::string_view name, std::string_view otherwise) const override;
  std::vector<int64_t> attr_ints(std::string_view name) const override;
  std::vector<float> attr_floats(std::string_view name) const override;
  std::vector<std::string> attr_strings(std::string_view name) const override;
  const ConstTensor* attr_tensor(std::string_view name) const override;
  void each_attr_string(std::string_view name, const std::function<void(std::string_view)>& see) const override;
  void forget_attr(std::string_view name) override;
  std::vector<Value> emit(Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs, int outputs) override;
  Value add_constant(const TensorType& type, std::vector<uint8_t> bytes) override;
  Value add_string_constant(const Shape& shape, std::vector<std::string> strings) override;
  std::vector<Value> call(std::string_view name, const std::vector<Value>& inputs) override;
  void set_output(int i, Value v) override;
  void assume(const std::string& what, const std::string& help) override;
  void assume_extents(const std::vector<Dim>& extents, bool one, const std::string& what,
                      const std::string& help) override;
  void beyond_standard(const std::string& what) override;
  Status fail(Status status, const std::string& what, const std::string& help) override;

  bool failed() const { return failed_; }
  const std::vector<ir::Value*>& results() const { return results_; }

 private:
  const ::onnx::AttributeProto* typed(std::string_view name, ::onnx::AttributeProto::AttributeType type, bool present,
                                      const char* wanted) const;
  const ::onnx::AttributeProto* attribute(std::string_view name) const { return find_attribute(node_, scope_, name); }
  ir::Value* at(Value v) const { return scope_.graph->value(v.id); }

  const Tools& tools_;
  Scope& scope_;
  ::onnx::NodeProto& node_;
  std::string domain_;
  int opset_;
  std::vector<ir::Value*> inputs_;
  std::vector<ir::Value*> results_;
  mutable bool failed_ = false;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_CONTEXT_H_
