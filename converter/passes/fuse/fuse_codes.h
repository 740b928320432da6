// A product of codes and what is done with its codes at once: fuse_codes.cc.
#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_CODES_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_CODES_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseCodes;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_CODES_H_
