#ifndef VIREO_CONVERTER_PASSES_QUANTIZED_SINK_DEQUANTIZE_H_
#define VIREO_CONVERTER_PASSES_QUANTIZED_SINK_DEQUANTIZE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kSinkDequantize;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_QUANTIZED_SINK_DEQUANTIZE_H_
