// The model's inputs: declared types, dimensions by name, and what --shape says about them. Private to this folder.
//
// Called once, before any node is imported: bounds are set before an expression is built, because simplification uses
// them.
#ifndef VIREO_CONVERTER_ONNX_INPUTS_H_
#define VIREO_CONVERTER_ONNX_INPUTS_H_

#include <set>
#include <string>

#include "converter/onnx/tools.h"

namespace vireo::importer {

// Initialisers that are listed as inputs and stay inputs (--keep-input); those that do not are named in a warning.
std::set<std::string> kept_inputs(ImportState& state);
// Those that the scope, which has the model's initialisers, has no value of.
void add_inputs(const Tools& tools, Scope& scope);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_INPUTS_H_
