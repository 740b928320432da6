// Taps of filters that see padding alone: crop_filters.cc.
#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_CROP_FILTERS_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_CROP_FILTERS_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kCropFilters;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_CROP_FILTERS_H_
