#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_EPILOGUE_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_EPILOGUE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseEpilogue;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_EPILOGUE_H_
