// A graph in memory, shown through vireo_host: what a delegate sees of a model.
#ifndef VIREO_DELEGATES_CONFORMANCE_TEST_GRAPH_H_
#define VIREO_DELEGATES_CONFORMANCE_TEST_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sdk/ops/testing.h"
#include "vireo/delegate.h"

namespace vireo {

struct TestNode {
  std::string name;
  uint16_t op = 0;
  std::vector<uint64_t> attrs;  // aligned bytes
  size_t attrs_size = 0;
  std::vector<int32_t> inputs, outputs;
  std::shared_ptr<vireo_graph> body;  // of a composite
};

struct TestValue {
  TensorType type;
  const void* constant = nullptr;
  size_t constant_size = 0;
};

vireo_host test_host();

}  // namespace vireo

struct vireo_graph {
  std::vector<vireo::TestNode> nodes;
  std::vector<vireo::TestValue> values;
  std::vector<int32_t> inputs, outputs;  // of a body
};

#endif  // VIREO_DELEGATES_CONFORMANCE_TEST_GRAPH_H_
