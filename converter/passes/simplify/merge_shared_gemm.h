// Products that share an input as one: merge_shared_gemm.cc.
#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_SHARED_GEMM_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_SHARED_GEMM_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kMergeSharedGemm;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_SHARED_GEMM_H_
