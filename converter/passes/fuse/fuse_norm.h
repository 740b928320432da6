// A sum and the normalisation of it: fuse_norm.cc.
#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_NORM_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_NORM_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseNorm;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_NORM_H_
