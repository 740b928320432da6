// One node as a part that was claimed with VIREO_CLAIM_JOINS, as a host compiles, loads and runs it: its values in
// buffers where the device has them, else in the host's memory.
#ifndef VIREO_DELEGATES_CONFORMANCE_JOINED_PART_H_
#define VIREO_DELEGATES_CONFORMANCE_JOINED_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegates/conformance/test_graph.h"

namespace vireo {

class TestJoinedPart {
 public:
  TestJoinedPart(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph, uint32_t node,
                 TestClaim claim);
  ~TestJoinedPart();
  TestJoinedPart(const TestJoinedPart&) = delete;
  TestJoinedPart& operator=(const TestJoinedPart&) = delete;

  // Compiles and loads it. "" or what was done wrong.
  std::string load(int32_t slots);
  // `inputs` has the bytes of each of the node's; those of constants are not looked at. *output has the size of output
  // 0, and gets its bytes. "" or what was done wrong.
  std::string run(const std::vector<TestTensor>& inputs, const TensorType& type, std::vector<uint8_t>* output);

 private:
  struct Buffer {
    void* handle = nullptr;
    vireo_place place = VIREO_PLACE_INIT;
  };
  vireo_status compile();
  std::string place(uint64_t bytes, Buffer* out);
  std::string place_constants();
  std::string run_on_buffers(const std::vector<TestTensor>& inputs, std::vector<uint8_t>* output);

  const vireo_delegate& d_;
  void* device_;
  const vireo_host& host_;
  const vireo_graph* graph_;
  uint32_t node_;
  TestClaim claim_;
  const void* claimed_;
  vireo_part part_ = VIREO_PART_INIT;
  std::vector<int32_t> inputs_;
  std::vector<size_t> from_;  // of each input: which of the node's
  TestFault fault_;
  std::vector<uint8_t> blob_, state_, scratch_;
  std::vector<Buffer> constants_, values_;
  std::vector<const vireo_place*> constant_places_;
  Buffer on_device_[2];  // state, scratch
  void* loaded_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_DELEGATES_CONFORMANCE_JOINED_PART_H_
