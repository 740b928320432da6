// LSTM in bfloat16 with the Casts in front of it: fuse_recurrent.cc.
#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_RECURRENT_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_RECURRENT_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseRecurrent;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_RECURRENT_H_
