// Operators that nothing serves. Private to this folder.
//
// Owns the list of them. Made behind Report; taken once before any node is imported, so that all are named at once, and
// asked for each node that is.
#ifndef VIREO_CONVERTER_ONNX_SURVEY_H_
#define VIREO_CONVERTER_ONNX_SURVEY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "converter/onnx/protos.h"

namespace vireo::importer {

struct ImportState;
class Reproducer;
struct Scope;

class Survey {
 public:
  using Served = std::function<bool(const std::string& domain, const std::string& op)>;

  Survey(ImportState& state, Reproducer& reproducer) : state_(state), reproducer_(reproducer) {}

  // Looks everywhere in the model, and records each operator once that is neither served nor a function.
  void take(const Served& served);
  // Whether the node's operator is among them. Its first node stands for all: the record gets what that node reads.
  bool lacks(const ::onnx::NodeProto& node, const Scope& scope);

 private:
  struct Unknown {
    std::vector<std::string> nodes;  // names
    size_t diagnostic = 0;
    bool described = false;
  };

  void look_at(const Nodes& nodes, const Served& served, int depth);

  ImportState& state_;
  Reproducer& reproducer_;
  std::set<const ::onnx::FunctionProto*> looked_at_;
  std::map<std::pair<std::string, std::string>, Unknown> unknown_;  // by domain and operator
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_SURVEY_H_
