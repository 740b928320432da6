// What the model says about the shapes of values inside it. Private to this folder.
//
// Owns the declarations of the main graph. Made behind the Reproducer, whose texts its warnings have; read once the
// inputs are there (their symbols keep their meaning), asked by Names as values are bound and by operators, and held
// against the outputs at the end.
#ifndef VIREO_CONVERTER_ONNX_DECLARED_H_
#define VIREO_CONVERTER_ONNX_DECLARED_H_

#include <map>
#include <string>

#include "converter/ir/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

struct ImportState;
class Reproducer;
struct Scope;

class Declared {
 public:
  Declared(ImportState& state, const Reproducer& reproducer) : state_(state), reproducer_(reproducer) {}

  // Shapes, unless --shape changed what they were declared for, and the ranks that readers ask for.
  void read();
  // Drops the declarations of `name`: they count something else.
  void forget(const std::string& name);

  const ::onnx::TensorShapeProto* shape(const std::string& name) const;  // null: none
  int rank(const std::string& name) const;                               // also by a reader that says it; -1: none
  // The type of a real value, where its maker fails; null: not declared in numbers.
  const TensorType* stand_in(const std::string& name) const;
  // Gives extents of `value` that nothing else is known of the declared numbers.
  void adopt(const std::string& name, ir::Value* value) const;
  // Warns where an output is declared as something else than its node makes.
  void check(const ::onnx::ValueInfoProto& output, const ir::Value* value) const;
  // Warns once where values inside the graph are declared as other types than their nodes make.
  void check_inside(const Scope& scope) const;

 private:
  void check_open(const std::string& output, int axis, const std::string& name, Dim made) const;

  ImportState& state_;
  const Reproducer& reproducer_;
  std::map<std::string, const ::onnx::TensorShapeProto*> shapes_;
  std::map<std::string, TensorType> stand_ins_;
  std::map<std::string, int> needed_ranks_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_DECLARED_H_
