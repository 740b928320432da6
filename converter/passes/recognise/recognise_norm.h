// Normalisations that exporters spell out: recognise_norm.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_NORM_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_NORM_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseNorm;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_NORM_H_
