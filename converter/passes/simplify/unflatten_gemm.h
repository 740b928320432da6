// A product of rows without the views that made them rows: unflatten_gemm.cc.
#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_UNFLATTEN_GEMM_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_UNFLATTEN_GEMM_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kUnflattenGemm;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_UNFLATTEN_GEMM_H_
