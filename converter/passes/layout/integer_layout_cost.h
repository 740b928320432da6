// What an integer convolution costs in either order of its channels: a part of choose_layout.
#ifndef VIREO_CONVERTER_PASSES_LAYOUT_INTEGER_LAYOUT_COST_H_
#define VIREO_CONVERTER_PASSES_LAYOUT_INTEGER_LAYOUT_COST_H_

#include "converter/passes/layout/layout_roles.h"

namespace vireo::passes {

LayoutCost integer_conv_cost(const ir::Node& int_conv, const LayoutRates& costs);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_LAYOUT_INTEGER_LAYOUT_COST_H_
