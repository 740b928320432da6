// ONNX's messages as several parts of the import read them. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_PROTOS_H_
#define VIREO_CONVERTER_ONNX_PROTOS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

constexpr int kMostNested = 64;  // graphs in graphs, functions in functions

// "" for ai.onnx, under whichever of its two names.
std::string plain_domain(const std::string& domain);
// The other way.
std::string domain_text(const std::string& domain);
inline std::string in_quotes(const std::string& name) { return "\"" + name + "\""; }
// The first `most` names in quotes, and how many more there are.
std::string names_text(const std::vector<std::string>& names, size_t most);

bool is_constant(const ::onnx::NodeProto& node);
// What a graph calls its outputs.
std::set<std::string> result_names(const ::onnx::GraphProto& g);
// Names that a graph takes from outside.
void free_names(const ::onnx::GraphProto& g, int depth, std::set<std::string>* out);
// Names that a node and its bodies read.
std::set<std::string> read_names(const ::onnx::NodeProto& node);
// The graph that is a node's attribute, or null if the node has no such attribute.
::onnx::GraphProto* graph_attribute(::onnx::NodeProto& node, const char* name);
// An attribute of this name without a value yet, in place of any that the node has.
::onnx::AttributeProto* set_attribute(::onnx::NodeProto* node, const char* name,
                                      ::onnx::AttributeProto::AttributeType type);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_PROTOS_H_
