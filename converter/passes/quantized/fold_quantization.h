#ifndef VIREO_CONVERTER_PASSES_QUANTIZED_FOLD_QUANTIZATION_H_
#define VIREO_CONVERTER_PASSES_QUANTIZED_FOLD_QUANTIZATION_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFoldQuantization;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_QUANTIZED_FOLD_QUANTIZATION_H_
