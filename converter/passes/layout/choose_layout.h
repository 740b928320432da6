// Channels first or last, chosen once for each region: choose_layout.cc.
#ifndef VIREO_CONVERTER_PASSES_LAYOUT_CHOOSE_LAYOUT_H_
#define VIREO_CONVERTER_PASSES_LAYOUT_CHOOSE_LAYOUT_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kChooseLayout;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_LAYOUT_CHOOSE_LAYOUT_H_
