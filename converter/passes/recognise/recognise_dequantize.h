// Constant codes that are widened by hand: recognise_dequantize.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_DEQUANTIZE_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_DEQUANTIZE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseDequantize;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_DEQUANTIZE_H_
