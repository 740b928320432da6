// What names mean while nodes are imported. Private to this folder.
//
// Owns nothing: what a name means is in its Scope. Made behind Report and Declared, before everything that imports
// nodes.
#ifndef VIREO_CONVERTER_ONNX_NAMES_H_
#define VIREO_CONVERTER_ONNX_NAMES_H_

#include <set>
#include <string>

#include "converter/ir/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

class Bundles;
class Declared;
struct ImportState;
class Report;
struct Scope;
class WideTensors;

class Names {
 public:
  Names(ImportState& state, Bundles& bundles, WideTensors& wides, Report& report, const Declared& declared)
      : state_(state), bundles_(bundles), wides_(wides), report_(report), declared_(declared) {}

  // The value `name` means in `scope`: null when nothing makes it, the state's poison when its maker failed. A value of
  // a graph around is handed in.
  ir::Value* lookup(Scope& scope, const std::string& name);
  // `name` means `value`, which `node` makes. Recorded where it means something already.
  void bind(Scope& scope, const ::onnx::NodeProto& node, const std::string& name, ir::Value* value);
  // The outputs of a node that failed.
  void bind_failed(Scope& scope, const ::onnx::NodeProto& node);
  // Reads a graph's initialisers into the scope, without those in `left`.
  void add_initializers(Scope& scope, ::onnx::GraphProto& graph, const std::set<std::string>& left = {});

 private:
  // What `outer`, a value of the graph around, is inside.
  ir::Value* hand_in(Scope& scope, ir::Value* outer);

  ImportState& state_;
  Bundles& bundles_;
  WideTensors& wides_;
  Report& report_;
  const Declared& declared_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_NAMES_H_
