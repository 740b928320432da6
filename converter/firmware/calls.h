// Calls of kernels before it is settled where their operands lie.
#ifndef VIREO_CONVERTER_FIRMWARE_CALLS_H_
#define VIREO_CONVERTER_FIRMWARE_CALLS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vireo::firmware {

// Operands are the file's values, or what lies beside them.
constexpr int32_t kNothing = -1, kScratch = -2;

struct Call {
  uint32_t node = 0;
  uint16_t kernel = 0;  // 0: the same bytes in another shape
  std::vector<uint8_t> parameters;
  std::vector<int32_t> operands;
  uint32_t inplace = 0;  // bit i: the result may take the memory of the node's input i
  uint64_t products = 0;
  uint32_t scratch_bytes = 0;
  std::vector<int32_t> inputs, outputs;  // of the node
};

// Values that the file does not have by themselves: numbers of their own, behind the file's. What is inside of
// composites, and constants in the order in which a kernel reads them.
class MadeValues {
 public:
  struct Value {
    int64_t bytes = 0;
    uint32_t element_bytes = 1;
    std::vector<uint8_t> constant;  // empty: made in a run
  };

  explicit MadeValues(uint32_t first) : first_(first) {}
  int32_t add(int64_t bytes, uint32_t element_bytes = 1) { return push({bytes, element_bytes, {}}); }
  int32_t constant(std::vector<uint8_t> data) {
    const auto bytes = static_cast<int64_t>(data.size());
    return push({bytes, 1, std::move(data)});
  }
  bool has(int32_t value) const { return value >= 0 && static_cast<uint32_t>(value) >= first_; }
  const Value& operator[](int32_t value) const { return values_[static_cast<uint32_t>(value) - first_]; }
  uint32_t end() const { return first_ + static_cast<uint32_t>(values_.size()); }
  uint32_t first() const { return first_; }

 private:
  int32_t push(Value v) {
    values_.push_back(std::move(v));
    return static_cast<int32_t>(end()) - 1;
  }
  uint32_t first_;
  std::vector<Value> values_;
};

template <class Parameters>
std::vector<uint8_t> bytes_of(const Parameters& p) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&p);
  return {bytes, bytes + sizeof p};
}

// What read_*() says of a node that is none of its operators.
inline constexpr const char* kUnknownNode = "?";
struct CallTensor {
  int64_t bytes = 0;
  bool constant = false, input = false, output = false;  // of the model
  uint32_t element_bytes = 1;
  std::vector<int64_t> dims;
};

struct CallList {
  std::vector<Call> calls;
  std::vector<CallTensor> tensors;
};

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_CALLS_H_
