#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_FLUSH_SUBNORMALS_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_FLUSH_SUBNORMALS_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFlushSubnormals;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_FLUSH_SUBNORMALS_H_
