// For tests: graphs with random contents, what the SDK's reference kernels make of them, and what the machine does.
#ifndef VIREO_DELEGATES_NPU_TESTING_H_
#define VIREO_DELEGATES_NPU_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegates/npu/compiler/compiler.h"

namespace vireo::npu {

using Bytes = std::vector<uint8_t>;

// The same numbers on every host.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 0x9e3779b97f4a7c15u) {}
  uint32_t next();
  int64_t between(int64_t least, int64_t most) {  // both included
    return least + static_cast<int64_t>(next() % static_cast<uint32_t>(most - least + 1));
  }
  float factor(float least, float most);

 private:
  uint64_t state_;
};

// Adds layers one by one; what is random comes from `random`. Each returns the tensor of its result.
struct GraphBuilder {
  Graph graph;
  Random random;

  explicit GraphBuilder(uint64_t seed) : random(seed) {}

  int tensor(const std::array<int64_t, 4>& shape, Type type, const char* name);
  int input(const std::array<int64_t, 4>& shape, Type type = kI8);
  int constant(const std::array<int64_t, 4>& shape, Type type = kI8);
  int conv(int x, int64_t channels, Layer like, Type type = kI8);
  int gemm(int x, int64_t channels) { return conv(x, channels, Layer()); }
  int binary(Kind kind, int a, int b, Type type = kI8);
  int affine(int x);
  int table(int x, Type type = kI8);
  int pool(Kind kind, int x, Layer like, bool ceil_mode = false);
  int resize(int x, int64_t rows, int64_t cols, int64_t taps);
  int softmax(int x);
  int real(int a, int b, float sign);  // float32: a + sign * b, or a * b where sign is 0
  int quantize(int x, Type type);
  int dequantize(int x);
  int concat(const std::vector<int>& inputs, int axis);
  int slice(int x, const std::array<int64_t, 4>& begin, const std::array<int64_t, 4>& step,
            const std::array<int64_t, 4>& shape);
  int reshape(int x, const std::array<int64_t, 4>& shape);
  int transpose(int x, const std::array<int, 4>& perm);

  const GraphTensor& at(int t) const { return graph.tensors[static_cast<size_t>(t)]; }
  int32_t zero(Type type);
  Layer* add(Layer layer, const std::array<int64_t, 4>& shape, Type type);  // its output is the last tensor
};

Bytes random_bytes(const GraphTensor& tensor, Random* random);

// Contents of every tensor, by the reference kernels.
std::vector<Bytes> run_reference(const Graph& graph, const std::vector<Bytes>& inputs);

// Contents of the graph's outputs, and how the machine ended.
struct Ran {
  Status status = Status::kOk;
  Fault fault;
  Counters counters;
  std::vector<Bytes> outputs;
};
Ran run_machine(const Graph& graph, const Compiled& compiled, const MachineConfig& config,
                const std::vector<Bytes>& inputs, const Faults& faults = {});

// Compiles, runs both, compares every output bit; gives the compiled graph back.
Compiled expect_same(const Graph& graph, const MachineConfig& config, const CompileOptions& options, uint64_t seed,
                     const std::string& what);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_TESTING_H_
