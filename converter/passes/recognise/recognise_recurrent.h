// LSTM and GRU cells that exporters spell out: recognise_recurrent.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_RECURRENT_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_RECURRENT_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseRecurrent;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_RECURRENT_H_
