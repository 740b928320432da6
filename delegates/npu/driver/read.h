// From nodes of a model, as the host shows them, to the compiler's graph. This is the only place that knows what an
// operator of the model means in layers of the machine.
#ifndef VIREO_DELEGATES_NPU_DRIVER_READ_H_
#define VIREO_DELEGATES_NPU_DRIVER_READ_H_

#include <map>
#include <string>
#include <vector>

#include "delegates/npu/compiler/graph.h"
#include "sdk/graph/graph_reader.h"

namespace vireo::npu {

// What a function that names a reason returns where it has none against a node.
constexpr const char* kTaken = "";

// A value of the graph or of a composite's body; composites stand by their bodies.
struct Value {
  vireo_dtype dtype = VIREO_NONE;
  int rank = 0;
  std::array<int64_t, VIREO_MAX_RANK> dims{};
  const uint8_t* constant = nullptr;
  size_t constant_size = 0;
  std::string name;

  // INT64_MAX: more than that.
  int64_t count() const;
};

struct ReadNode {
  uint16_t op = 0;
  const uint8_t* attrs = nullptr;
  std::vector<int> inputs, outputs;  // indices of Value; -1 absent
  const char* name = "";             // the host's, as long as the model
  uint32_t source = 0;               // the node of the graph that it comes from
};

// Some nodes of a graph, with bodies in the places of composites.
struct ReadGraph {
  std::vector<Value> values;
  std::vector<ReadNode> nodes;
  std::map<int32_t, int> number;  // of the graph's values: their index

  // Appends node `index` of `graph`. "" or why it cannot be read.
  const char* add(const vireo_host& host, const vireo_graph* graph, uint32_t index);

 private:
  const char* add_node(const vireo_host& host, const vireo_graph* graph, uint32_t index, uint32_t source,
                       std::map<int32_t, int>* numbers);
  int value(const GraphReader& graph, int32_t number, std::map<int32_t, int>* numbers);
};

// Whether the operator is one that the machine computes in float32, but only where codes are made of it.
bool is_real_sum(uint16_t op);

// The same as layers. What the machine does not take is not in it.
struct Lowered {
  Graph graph;
  std::vector<int> given;            // values that are inputs of the graph, in their order
  std::vector<std::string> reasons;  // one a node: "" or why the machine does not take it

  explicit Lowered(const ReadGraph& read);

  // The tensor that holds a value as the model has it; it becomes an output of the graph. -1: no layer makes it.
  int output(int value);

 private:
  class Reader;
  // How a value lies in the machine's memory: as it is, or channels innermost where the model has them second.
  struct Placed {
    int tensor = -1;
    bool planes = false;  // the model's dimensions are N C H W, the tensor's n h w c
  };
  const ReadGraph& read_;
  std::map<int, Placed> placed_;
  std::map<std::pair<int, std::array<int, 4>>, int> turned_;
  std::vector<bool> wants_pixels_;  // of every value
};

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_DRIVER_READ_H_
