// How two bundles become one where a condition that only a run knows decides. Private to this folder's parent.
#ifndef VIREO_CONVERTER_ONNX_BUNDLES_CHOOSE_H_
#define VIREO_CONVERTER_ONNX_BUNDLES_CHOOSE_H_

#include "converter/onnx/builder.h"
#include "converter/onnx/bundles/bundle.h"

namespace vireo::importer {

// A NodeBuilder whose operands may be bundles. For one node, as that is.
class BundleBuilder : public NodeBuilder {
 public:
  using NodeBuilder::NodeBuilder;

  ir::Value* length_of(const Bundle& sequence) { return importer::length_of(*scope_.graph, sequence); }
  ir::Value* presence(ir::Value* v);
  // What is in an optional; `v` itself when it is none. Null, and recorded: it is empty.
  ir::Value* held(ir::Value* v);
  // `a` where `condition`, a bool scalar, is true, else `b`: tensors or bundles of one kind.
  ir::Value* choose(ir::Value* condition, ir::Value* a, ir::Value* b);

 private:
  ir::Value* choose_tensor(ir::Value* condition, ir::Value* a, ir::Value* b);
  ir::Value* choose_optional(ir::Value* condition, ir::Value* a, ir::Value* b);
  ir::Value* choose_sequence(ir::Value* condition, const Bundle& x, const Bundle& y);
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BUNDLES_CHOOSE_H_
