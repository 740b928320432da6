// Cached keys and values that attention joins itself: join_cache.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_JOIN_CACHE_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_JOIN_CACHE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kJoinCache;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_JOIN_CACHE_H_
