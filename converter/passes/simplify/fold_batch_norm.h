#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_FOLD_BATCH_NORM_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_FOLD_BATCH_NORM_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFoldBatchNorm;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_FOLD_BATCH_NORM_H_
