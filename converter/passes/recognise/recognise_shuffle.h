// Pixel shuffles that exporters spell out: recognise_shuffle.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_SHUFFLE_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_SHUFFLE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseShuffle;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_SHUFFLE_H_
