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

// What a delegate says of a call that failed.
struct TestFault : vireo_fault {
  char text[256] = "";

  TestFault() : vireo_fault(VIREO_FAULT_INIT) {
    message = static_cast<char*>(text);
    message_bytes = sizeof(text);
  }
  TestFault(const TestFault&) = delete;
  TestFault& operator=(const TestFault&) = delete;
};

// What a host keeps of a claim: texts, and a copy of the state.
class TestClaim {
 public:
  TestClaim() = default;
  explicit TestClaim(const vireo_claim& claim);

  std::string kernel, reason;
  bool joins = false;  // VIREO_CLAIM_JOINS
  // For vireo_part.claimed.
  const void* state() const { return copy_.empty() ? pointer_ : copy_.data(); }
  // As after load has returned: nobody may look there any more.
  void end();

 private:
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };
  std::vector<Piece> copy_;
  const void* pointer_ = nullptr;
};

// vireo_claims, for as long as `context` and `fault` live.
vireo_claims test_claims(void* context, vireo_status (*take)(void*, const vireo_claim*),
                         vireo_status (*leave)(void*, uint32_t, const char*), vireo_fault* fault);

// What a part wants packed, as a host keeps it: each in a block of just its size.
class TestPacks {
 public:
  TestPacks() = default;
  TestPacks(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph,
            const vireo_part& part);
  // For vireo_load_request.packed.
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

// One node of a graph as a part by itself, asked and loaded as a host does it. What it is made from outlives it.
class TestPart {
 public:
  // `packs`: the host keeps what the part wants packed.
  TestPart(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph, uint32_t node,
           TestClaim claim, bool packs);
  TestPart(const TestPart&) = delete;
  TestPart& operator=(const TestPart&) = delete;

  vireo_status memory(int32_t slots, vireo_part_memory* out) const;
  vireo_status pack(uint32_t index, vireo_packed* out) const;
  // `state`: as many bytes as memory() says. Once: the claim's state ends with it.
  vireo_status load(int32_t slots, void* state, void** loaded);
  // "" or what was done wrong in pack().
  const std::string& fault() const { return packed_.fault(); }
  // Of load().
  const char* message() const { return fault_.text; }

 private:
  const vireo_delegate& d_;
  void* device_;
  const vireo_host& host_;
  const vireo_graph* graph_;
  uint32_t node_;
  TestClaim claim_;
  const void* claimed_;
  vireo_part part_ = VIREO_PART_INIT;
  bool packs_;
  TestPacks packed_;
  TestFault fault_;
};

}  // namespace vireo

#endif  // VIREO_DELEGATES_CONFORMANCE_TEST_GRAPH_H_
