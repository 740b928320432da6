// Reads the body of a composite as a product followed by an elementwise tail: core -> bias -> residual -> activation ->
// residual or factor. What does not read so is left to its body.
#ifndef VIREO_DELEGATES_CPU_FUSED_H_
#define VIREO_DELEGATES_CPU_FUSED_H_

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/packed.h"

namespace vireo::cpu {

// Where an operand comes from: an input of the composite, or a constant of its body.
struct Operand {
  int32_t input = -1;
  const void* constant = nullptr;
  TensorType type;  // at the upper bounds; kNone: there is none

  bool given() const { return type.dtype != DType::kNone; }
  const void* data(const KernelContext& ctx) const {
    return input >= 0 ? ctx.required(static_cast<size_t>(input)).as<const uint8_t>()
                      : static_cast<const uint8_t*>(constant);
  }
  const float* f32(const KernelContext& ctx) const {
    return input >= 0 ? ctx.required(static_cast<size_t>(input)).as<const float>()
                      : static_cast<const float*>(constant);
  }
  // Its bytes where they are the same in every run, else null.
  const void* fixed(const NodeView& query) const { return input >= 0 ? query.inputs[input].constant : constant; }
  bool is_static(const NodeView& query) const { return input < 0 || query.inputs[input].is_static; }
  const Shape& shape(const KernelContext& ctx) const {
    return input >= 0 ? ctx.required(static_cast<size_t>(input)).shape : type.shape;
  }
};

constexpr uint32_t kMaxCoreInputs = 4;

struct Fused {
  Op core = Op::kNone;
  const uint8_t* attrs = nullptr;
  size_t attrs_size = 0;
  Operand inputs[kMaxCoreInputs];  // of the core
  uint32_t input_count = 0;
  TensorType core_type;         // of the core's output
  Operand bias;                 // an Add of one value a channel; only where the core has no bias of its own
  Operand residual;             // an Add of a whole tensor
  bool residual_last = false;   // after the activation
  bool residual_times = false;  // after the activation, and a Mul
  Activate act;
  Operand slope;        // of a PRelu, one value a channel; there is no `act` then
  bool half = false;    // the result is rounded to bfloat16 at the end
  bool varies = false;  // there is a tail, and extents that change between runs

  template <class T>
  const T& core_attrs() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};

// The body of a composite, or the graph that a plain node stands in.
GraphReader body_of(const NodeView& query);
// Where value `number` of body_of(query) comes from.
Operand operand_of(const NodeView& query, int32_t number);

// Whether the node of a body is a Cast of its value `from` to this type.
bool is_cast(const NodeView& query, const vireo_graph_node& node, int32_t from, DType to);

// True when the node's function is one of `Activate`. `graph` is the node's.
bool read_activation(const GraphReader& graph, const vireo_graph_node& node, Activate* out);

// A plain node becomes a core without a tail. `channel_axis` of the core's output: where a bias lies; negative from the
// end. False with `reason` when the body has another form.
bool read_fused(const NodeView& query, int channel_axis, Fused* out, const char** reason);

// The same of a composite whose product takes both operands through bfloat16: x -> Cast -> Cast back and weights ->
// Cast in front of it. inputs[0] is x, float32, and inputs[1] the weights, bfloat16. What lies in bfloat16 between
// nodes has one Cast less: x, and the residual or factor, are then bfloat16 as well, and `half` is a Cast at the end.
bool read_fused_bf16(const NodeView& query, int channel_axis, Fused* out, const char** reason);

// The same of a product with constant weights in float16: their Cast to float32 in front of it in a composite, or all
// values float16. inputs[1] is the weights, float16.
bool read_fused_f16(const NodeView& query, int channel_axis, Fused* out, const char** reason);

// Weights in codes: the DequantizeLinear in front of the product.
struct CodedOperand {
  Operand scale, zero;  // zero: absent where all are 0
  int32_t axis = 0;
  int64_t block = 0;  // 0: one scale for each index of `axis`, or one for all
};

// The same of a composite whose weights are codes: DequantizeLinear of constants in front of it. inputs[1] is the
// codes.
bool read_fused_codes(const NodeView& query, int channel_axis, Fused* out, CodedOperand* coded, const char** reason);

// A product of codes, IntConv or IntGemm, and what is done with its codes at once: IntAdd or IntAffine.
struct IntFused {
  const uint8_t* attrs = nullptr;  // the product's
  size_t attrs_size = 0;
  bool varies = false;  // there is a step, and extents that change between runs
  int32_t bias = -1;    // an input of the node; its first three are the product's first three
  Op step = Op::kNone;  // kNone: a plain node
  const uint8_t* step_attrs = nullptr;
  int32_t operands[3] = {-1, -1, -1};  // inputs of the node: the other codes; factor, below, offset
  bool second = false;                 // the product is IntAdd's second operand
  bool per_column = false;             // factor and what lies alike: one a channel, which is the last axis

  template <class T>
  const T& product() const {
    return *::flatbuffers::GetRoot<T>(attrs);
  }
};
// A plain node becomes a product without a step. False with `reason` when the body has another form.
bool read_int_fused(const NodeView& query, IntFused* out, const char** reason);

// Whether an operator's own result, by its shape function, is of the output's shape; `count` <= kMaxCoreInputs.
bool has_shape_of_output(const KernelContext& ctx, Op op, Span<const uint8_t> attrs, const TensorType* inputs,
                         uint32_t count);
// Values that were given to the session's run must be as the body was read: the residual and the core's own result are
// of the output's shape, none is broadcast.
bool fits(const KernelContext& ctx, const Fused& f);
// The same of a product of codes, which is operator `core`.
bool fits(const KernelContext& ctx, Op core, const IntFused& f);

// The state of a kernel that runs such a body and reads the core's constant packed where it can, and its `prepare`.
struct FusedState {
  Fused fused;
  const float* packed = nullptr;
};
template <int kChannelAxis, PackConstant kPack>
void prepare_fused(const CpuQuery& q, void* state) {
  const char* reason = "";
  auto* const s = new (state) FusedState();
  (void)read_fused(q, kChannelAxis, &s->fused, &reason);
  s->packed = static_cast<const float*>(packed_at(q, kPack));
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_FUSED_H_
