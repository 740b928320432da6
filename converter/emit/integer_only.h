// Which nodes keep a model from being integer only: from giving the same bits on every device.
#ifndef VIREO_CONVERTER_EMIT_INTEGER_ONLY_H_
#define VIREO_CONVERTER_EMIT_INTEGER_ONLY_H_

#include <vector>

#include "sdk/format/model_generated.h"

namespace vireo::emit {

// All nodes that compute in floating point, in the order of the file; a composite stands for its body. None: the model
// is integer only. Two things with floats do not count, because each is correctly rounded IEEE operations in a fixed
// order: the integer operators (sdk/ops/INTEGER.md), whose multipliers are float constants, and the borders of the
// model: QuantizeLinear of one of its inputs, and DequantizeLinear whose result is nothing but an output.
std::vector<const fb::Node*> float_nodes(const fb::Model& model);

// Whether any node computes in integers of a scale, or was meant to: an integer operator, or QuantizeLinear. Only of
// such a model is it worth saying which nodes do not.
bool is_quantized(const fb::Model& model);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_INTEGER_ONLY_H_
