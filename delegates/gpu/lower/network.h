// Some nodes of a graph as the host shows it, with composites standing by their bodies: what is lowered.
#ifndef VIREO_DELEGATES_GPU_LOWER_NETWORK_H_
#define VIREO_DELEGATES_GPU_LOWER_NETWORK_H_

#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "delegates/gpu/templates/expression.h"
#include "flatbuffers/flatbuffers.h"
#include "sdk/base/dtype.h"
#include "sdk/graph/graph_reader.h"

namespace vireo::gpu {

// ReduceSum and its like, over axes that its second input says.
bool is_reduction(uint16_t op);

// A value of the graph or of a composite's body, at its fixed shape or at its bounds.
struct Datum {
  DType dtype = DType::kNone;  // kNone: the host does not show it
  Extents dims;
  const uint8_t* constant = nullptr;
  size_t constant_bytes = 0;
  bool open = false;     // extents change from run to run
  bool brought = false;  // the contents are a run's: they say where elements lie, and are in memory as an input's are
  int32_t number = -1;   // in its graph
  int32_t body = -1;     // of the part's node, counted from 0, in whose body it is; -1: of the graph
  const char* name = "";

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t count() const;  // -1: above 2^31 - 1, where no kernel reaches
  uint64_t bytes() const;
};

struct Node {
  uint16_t op = 0;
  const uint8_t* attributes = nullptr;
  std::vector<int> inputs, outputs;  // indices of Datum; -1 absent
  const char* name = "";             // the host's, as long as the model
  uint32_t source = 0;               // of the part, counted from 0

  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attributes);
  }
  int input(size_t i) const { return i < inputs.size() ? inputs[i] : -1; }
  int output(size_t o) const { return o < outputs.size() ? outputs[o] : -1; }
};

struct Network {
  std::vector<Datum> values;
  std::vector<Node> nodes;
  std::map<int32_t, int> number;  // of the graph's values: their index
  uint32_t sources = 0;           // nodes of the part that were added
  bool in_run = false;            // extents are those of a run
  bool open = false;              // extents change from run to run: those here are bounds

  // Contents of a value that steers; they live as long as the network.
  void set_contents(int value, const void* contents);

  // Appends node `index` of `graph`, the part's next one. "" or why it cannot be read.
  const char* add(const vireo_host& host, const vireo_graph* graph, uint32_t index);

 private:
  const char* add_node(const vireo_host& host, const vireo_graph* graph, uint32_t index, int32_t body,
                       std::map<int32_t, int>* numbers);
  int value(const GraphReader& graph, int32_t number, int32_t body, std::map<int32_t, int>* numbers);
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_NETWORK_H_
