#include "quant/shared/writer.h"

#include <utility>

#include "converter/ir/infer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace vireo::quant {

ir::Node* Writer::node(Op op, std::vector<uint8_t> attributes, std::vector<ir::Value*> inputs, const std::string& name,
                       const std::vector<std::string>& suffixes) {
  if (!good_) return nullptr;
  ir::Node* const n = graph_.add_node(op, std::move(attributes), std::move(inputs), 1 + suffixes.size(), before_);
  made_.push_back(n);
  n->name = title_.empty() ? name : title_;
  n->out()->name = name;
  for (size_t i = 0; i < suffixes.size(); ++i) n->out(i + 1)->name = name + suffixes[i];
  std::string message;
  good_ = ok(ir::infer_node(graph_, n, nullptr, &message));
  return good_ ? n : nullptr;
}

ir::Value* Writer::binary(Op op, ir::Value* a, ir::Value* b, const std::string& name) {
  return add(op, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}, name);
}

ir::Value* Writer::to_float(ir::Value* x, const std::string& name) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(DType::kF32);
  return add(Op::kCast, pack<attrs::Cast>(a), {x}, name);
}

ir::Value* Writer::transpose(ir::Value* x, const std::vector<int32_t>& perm, const std::string& name) {
  attrs::TransposeT a;
  a.perm = perm;
  return add(Op::kTranspose, pack<attrs::Transpose>(a), {x}, name);
}

ir::Value* Writer::reshape(ir::Value* x, const std::vector<int64_t>& extents, const std::string& name) {
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int64_t>(extents.size());
  ir::Value* const to =
      graph_.add_constant(name + "_shape", ir::make_constant_of<int64_t>(DType::kI64, shape, extents));
  return add(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {x, to}, name);
}

ir::Value* Writer::number(float x, const std::string& name) {
  return graph_.add_constant(name, ir::make_constant_of<float>(DType::kF32, Shape{}, {x}));
}

void Writer::undo() {
  while (!made_.empty()) {
    graph_.remove(made_.back());
    made_.pop_back();
  }
}

}  // namespace vireo::quant
