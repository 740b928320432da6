// What importers of nodes work with. Private to this folder.
//
// Each part of an import is a class in a header of its own. A file includes the headers of the parts that it uses, so
// that its includes say what it depends on.
#ifndef VIREO_CONVERTER_ONNX_TOOLS_H_
#define VIREO_CONVERTER_ONNX_TOOLS_H_

#include <set>
#include <string>

#include "converter/onnx/protos.h"

namespace vireo::importer {

class Bundles;
class Declared;
struct ImportState;
class Names;
class Report;
class Reproducer;
struct Scope;
class WideTensors;

// The way back, for parts that take a node for others: bodies of control flow, and forms that become plain nodes.
class NodeImporter {
 public:
  virtual ~NodeImporter() = default;

  // In the order in which they can be. `results`: names that leave what the nodes are of.
  virtual void import_nodes(Scope& scope, Nodes& nodes, const std::set<std::string>& results) = 0;
  // A node that reads and makes only tensors, by its operator's folder.
  virtual void import_operator(Scope& scope, ::onnx::NodeProto& node, const std::string& domain, int opset) = 0;
};

// In the order in which they are made: each knows only those before it.
struct Tools {
  ImportState& state;
  Bundles& bundles;
  WideTensors& wides;
  Reproducer& reproducer;
  Report& report;
  Declared& declared;
  Names& names;
  NodeImporter& nodes;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_TOOLS_H_
