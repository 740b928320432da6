#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_EQUAL_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_EQUAL_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kMergeEqual;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_EQUAL_H_
