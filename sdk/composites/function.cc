#include "sdk/composites/function.h"

#include <math.h>

#include "sdk/base/half.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::composites {

bool read_number(const GraphReader& graph, const vireo_graph_node& n, uint32_t input, float otherwise, float* out) {
  *out = otherwise;
  if (input >= n.input_count || n.inputs[input] < 0) return true;
  const vireo_graph_value v = graph.value(n.inputs[input]);
  if (v.constant != nullptr && v.dtype == VIREO_FLOAT16 && v.constant_size == sizeof(uint16_t)) {
    *out = f16_to_f32(read_element<uint16_t>(v.constant, 0));
    return true;
  }
  if (v.constant == nullptr || v.dtype != VIREO_FLOAT32 || v.constant_size != sizeof(float)) return false;
  *out = read_element<float>(v.constant, 0);
  return true;
}

bool read_function(const GraphReader& graph, const vireo_graph_node& n, Function* out) {
  const auto op = static_cast<Op>(n.op);
  *out = {};
  out->op = op;
  switch (op) {
    case Op::kLeakyRelu:
      out->a = ::flatbuffers::GetRoot<attrs::LeakyRelu>(n.attrs)->alpha();
      return true;
    case Op::kSwish:
      out->a = ::flatbuffers::GetRoot<attrs::Swish>(n.attrs)->alpha();
      return true;
    case Op::kHardSigmoid: {
      const auto* a = ::flatbuffers::GetRoot<attrs::HardSigmoid>(n.attrs);
      out->a = a->alpha();
      out->b = a->beta();
      return true;
    }
    case Op::kGelu:
      out->tanh_form = ::flatbuffers::GetRoot<attrs::Gelu>(n.attrs)->form() == attrs::GeluForm::Tanh;
      return true;
    case Op::kElu: {
      const auto* a = ::flatbuffers::GetRoot<attrs::Elu>(n.attrs);
      out->a = a->alpha();
      out->b = a->gamma();
      out->c = a->divisor();
      return true;
    }
    case Op::kClip:
      return read_number(graph, n, 1, -INFINITY, &out->a) && read_number(graph, n, 2, INFINITY, &out->b);
    default:
      return (function_uses(op) & kChainStep) != 0;
  }
}

}  // namespace vireo::composites
