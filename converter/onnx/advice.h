// What to say when a model leaves open what a conversion must know. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_ADVICE_H_
#define VIREO_CONVERTER_ONNX_ADVICE_H_

#include <string>

#include "converter/ir/graph.h"

namespace vireo::importer {

struct Scope;

// What to do about an operator that no importer serves.
std::string unknown_operator_advice(const std::string& domain, const std::string& op);
// How to settle an If's condition that is not known, for the help line.
std::string shape_advice(const ir::DimTable& dims, const Scope& scope, const ir::Value* condition);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_ADVICE_H_
