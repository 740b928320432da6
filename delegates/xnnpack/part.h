// A node as the host shows it, or the body of a composite: read, checked, and turned into steps for XNNPACK.
#ifndef VIREO_DELEGATES_XNNPACK_PART_H_
#define VIREO_DELEGATES_XNNPACK_PART_H_

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "sdk/graph/node_view.h"
#include "sdk/ops/op.h"

namespace vireo::xnnpack {

constexpr uint32_t kMaxNodes = 16, kMaxValues = 48, kMaxArgs = 6;

// Where a value lies when the part runs.
enum class Place : uint8_t { kNone, kInput, kOutput, kScratch, kConstant };

struct Value {
  int32_t number = -1;
  TensorType type;
  const void* constant = nullptr;
  bool is_static = false;
  bool from_caller = false;  // may lie in the caller's memory, behind which nothing may be read
  Place place = Place::kNone;
  uint32_t index = 0;    // of the node's input or output
  size_t offset = 0;     // in scratch
  uint32_t readers = 0;  // nodes, and the part's outputs
  uint32_t last_step = 0;

  size_t bytes() const { return static_cast<size_t>(tensor_bytes(type)); }
  bool scalar(float* out) const;  // a float32 constant of one element
};

struct Node {
  Op op = Op::kNone;
  const uint8_t* attrs = nullptr;
  size_t attrs_size = 0;
  Value* inputs[kMaxArgs] = {};  // null: absent
  Value* outputs[kMaxArgs] = {};
  uint32_t input_count = 0, output_count = 0;

  const Value* in(uint32_t i) const { return i < input_count ? inputs[i] : nullptr; }
  template <class T>
  const T& read() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};

// A node with what was folded into it.
struct Step {
  const Node* node = nullptr;
  Value* out = nullptr;
  const Value* bias = nullptr;  // of an Add behind it
  const Node* codes = nullptr;  // the DequantizeLinear that makes a product's weights
  float low = -INFINITY, high = INFINITY;
  Value spare;  // scratch of the output's size, where the rule wants it
};

class Writer;

// Element types that a rule serves: of everything that it reads or writes at run time.
enum Types : uint8_t {
  kFloat32 = 1,
  kFloat16 = 2,
  kBytes = 4,  // int8, uint8: moved or compared, never scaled
  kCodes = 8,  // int8, uint8: by the formulas of INTEGER.md
};

// What XNNPACK can do with an operator.
struct Rule {
  // Tells the writer, or says why not (static text). Null when done.
  const char* (*define)(Writer& w, const Step& step);
  bool elementwise;  // the output may lie on an input
  bool clamps;       // a Relu or Clip behind it costs nothing
  bool biased;       // so does an Add of one constant value a channel, when it has no bias of its own
  bool spare = false;
  uint8_t types = kFloat32;
  bool reshapes = false;  // XNNPACK allocates nothing when its extents change
};
const Rule* find_rule(Op op);
// Why there is none.
const char* why_no_rule(Op op);

class Part {
 public:
  // "" or why XNNPACK cannot run it.
  const char* read(const vireo_host& host, const vireo_graph* graph, uint32_t node);

  // Whether some extent changes between runs; shapes are upper bounds until set_shapes.
  bool varies() const { return varies_; }
  // The shapes of this run. False when they cannot be.
  bool set_shapes(const vireo_tensor* const* inputs, vireo_tensor* const* outputs, bool* changed);

  Span<const Step> steps() const { return Span<const Step>(steps_, step_count_); }
  uint32_t input_count() const { return input_count_; }
  uint32_t output_count() const { return output_count_; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  // The node's own, for kernels' names.
  Op op() const { return op_; }

 private:
  Value* value(const GraphReader& graph, int32_t number);
  const char* read_nodes(const GraphReader& graph, const vireo_graph_node* nodes, uint32_t count);
  bool may_be_callers(const GraphReader& graph, uint32_t reader, int32_t number) const;
  const char* check() const;
  void fold();
  void place();

  Op op_ = Op::kNone;
  Value values_[kMaxValues];
  uint32_t value_count_ = 0;
  Node nodes_[kMaxNodes];
  uint32_t node_count_ = 0;
  Step steps_[kMaxNodes];
  uint32_t step_count_ = 0;
  uint32_t input_count_ = 0, output_count_ = 0;
  size_t scratch_bytes_ = 0;
  bool varies_ = false;
};

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_PART_H_
