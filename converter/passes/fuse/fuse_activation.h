#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_ACTIVATION_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_ACTIVATION_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseActivation;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_ACTIVATION_H_
