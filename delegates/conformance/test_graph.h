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
  bool varies = false;  // its shape is of upper bounds
};

vireo_host test_host();

}  // namespace vireo

struct vireo_graph {
  std::vector<vireo::TestNode> nodes;
  std::vector<vireo::TestValue> values;
  std::vector<int32_t> inputs, outputs;  // of a body
};

namespace vireo {

// What a part wants packed, as a host keeps it: each in a block of just its size.
class TestPacks {
 public:
  TestPacks(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph,
            const vireo_part& part);
  // For vireo_part.packed.
  const void* const* data() const { return pointers_.data(); }
  // "" or what was done wrong.
  const std::string& fault() const { return fault_; }

 private:
  struct Free {
    void operator()(void* p) const;
  };
  std::vector<std::unique_ptr<void, Free>> blocks_;
  std::vector<const void*> pointers_;
  std::string fault_;
};

}  // namespace vireo

#endif  // VIREO_DELEGATES_CONFORMANCE_TEST_GRAPH_H_
