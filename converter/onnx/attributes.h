// Which attributes an operator has in a version of its domain. Private to this folder. A node's are checked first of
// all, so that nothing reads one that is not meant.
//
// The table is made of the schemas of onnx and ONNX Runtime (attributes_def.py), whose checkers refuse other attributes
// too. The other way would have been to refuse what no importer has asked for. That needs no table, but importers ask
// for what they come to need: a Dropout for inference never asks for `seed`, and a Conv whose auto_pad decides need not
// ask for `pads`. So what nobody asks for is often legal; and an importer that asks for `axes` in every version hides
// that this one has none. Nor would it know where the attribute belongs.
#ifndef VIREO_CONVERTER_ONNX_ATTRIBUTES_H_
#define VIREO_CONVERTER_ONNX_ATTRIBUTES_H_

#include <string>
#include <string_view>

#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

class Report;
struct Scope;

struct OperatorAttributes {
  std::string_view domain, op;
  int first;              // version of the operator
  std::string_view text;  // attributes.def says how it is written
};

// Null: nothing is known of the operator. `domain`: "" for ai.onnx.
const OperatorAttributes* operator_attributes(std::string_view domain, std::string_view op);
bool has_attribute(const OperatorAttributes& row, int version, std::string_view name);
// Where an attribute belongs that this version does not have, as a help line.
std::string attribute_advice(const OperatorAttributes& row, int version, std::string_view name);

// Whether the operator, or the function that is called (null: none), has all of the node's attributes. Records which it
// does not have, or which are there twice.
bool check_attributes(Report& report, const Scope& scope, const ::onnx::NodeProto& node,
                      const ::onnx::FunctionProto* function);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_ATTRIBUTES_H_
