// One side of a report: the graph as it was imported, or as the file has it, with all bodies, ready to be drawn.
#ifndef VIREO_CONVERTER_REPORT_SIDE_H_
#define VIREO_CONVERTER_REPORT_SIDE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sdk/json/json.h"
#include "sdk/ops/op.h"
#include "sdk/plan/bounds.h"

namespace vireo::ir {
class Graph;
}
namespace vireo::fb {
struct Model;
}

namespace vireo::report {

struct SideValue {
  std::string name, type;  // "float32[batch,3,224,224]"
  std::string dtype;
  int64_t bytes = -1;  // at the upper bounds; -1: open
  bool open = false;   // `bytes` takes open sizes as 1
  bool constant = false;
  std::string contents;  // of a constant, the first elements
};

struct SideNode {
  int32_t graph = 0;
  Op number = Op::kNone;
  std::string op, kind;  // "Composite", "conv"; otherwise both the operator
  std::string name;
  std::string module;  // "encoder/layer.0": modules.h
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<int32_t> inputs, outputs;  // values; -1: none
  std::vector<int32_t> bodies;           // graphs
  // Before: what became of it. After: what made it. Numbers of nodes of the other side.
  std::vector<int32_t> kin;
  std::vector<std::string> passes;
  std::string fate;  // before, where `kin` is empty: why
  // What the exporter wrote of it ("trace": lines of source). Before only.
  std::vector<std::pair<std::string, std::string>> origin;
};

struct SideGraph {
  std::string name;
  int32_t owner = -1;                    // node
  std::string role;                      // "then", "body"
  std::vector<int32_t> inputs, outputs;  // values
  std::vector<int32_t> nodes;            // in the order in which they run
};

// Graph 0 is the model.
struct Side {
  std::vector<SideGraph> graphs;
  std::vector<SideNode> nodes;
  std::vector<SideValue> values;
  std::map<std::string, Interval> bounds;  // of extents with a name, where there are any
};

Side side_of(const ir::Graph& graph);
// `file`: all its bytes, which a loader has verified.
Side side_of(const fb::Model& model, const uint8_t* file);

// With the boxes of each graph and their layouts: see SCHEMA.md.
Json side_json(const Side& side);

// What a body is to its owner.
std::string role_of(Op op, size_t body);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_SIDE_H_
