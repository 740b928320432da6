#include "delegates/cpu/depth_first/stretch.h"

#include <string.h>

#include <new>

#include "delegates/cpu/depth_first/image_graph.h"
#include "delegates/cpu/forms.h"
#include "sdk/base/carver.h"
#include "sdk/plan/planner.h"

namespace vireo::cpu {
namespace {

// A node as it is for one image.
struct ImageQuery : CpuQuery {
  CpuForms room;
  ImageQuery(const ImageGraph& image, uint32_t index, int32_t slots_of) {
    forms = &room;
    (void)view_node(image.host(), image.graph(), index, this);
    slots = slots_of;
  }
};

struct Value {
  enum Place : uint8_t { kInner, kConstant, kInput, kOutput };
  Tensor tensor;  // of the image in hand
  Place place = kInner;
  uint32_t index = 0;   // among the part's inputs or outputs
  int32_t number = -1;  // in the graph
  uint64_t at = 0;      // of an inner value, in the scratch
  int64_t stride = 0;   // bytes from image to image, of the part's inputs and outputs
};

struct Node {
  const CpuKernel* kernel = nullptr;
  Span<const uint8_t> attrs;
  const char* name = "";
  void* state = nullptr;
  Tensor** args = nullptr;  // inputs, then outputs
  int32_t* values = nullptr;
  uint32_t input_count = 0;
  uint32_t output_count = 0;
  bool alone = false;
};

struct Stretch {
  vireo_host host = VIREO_HOST_INIT;  // a copy: the host's table lives for a call
  Node* nodes = nullptr;
  uint32_t node_count = 0;
  Value* values = nullptr;
  uint32_t value_count = 0;
  uint64_t inner_bytes = 0;  // in front of the kernels' scratch
  bool is_static = true;     // but for the number of images, no extent changes between runs
};

uint32_t most_values(const StretchPart& c) {
  uint32_t sum = 0;
  const GraphReader reader(c.host, c.graph);
  for (uint32_t k = 0; k < c.part.node_count; ++k) {
    const vireo_graph_node node = reader.node(c.part.nodes[k]);
    sum += node.input_count + node.output_count;
  }
  return sum;
}

// Temporary memory from the host.
class Temporary {
 public:
  Temporary(const vireo_host& host, size_t bytes) : host_(host), bytes_(bytes == 0 ? 1 : bytes) {
    if (host.allocate != nullptr) block_ = host.allocate(host.context, bytes_, 64);
  }
  ~Temporary() {
    if (block_ != nullptr) host_.release(host_.context, block_, bytes_, 64);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  void* get() const { return block_; }

 private:
  const vireo_host& host_;
  size_t bytes_;
  void* block_ = nullptr;
};

int32_t index_in(const int32_t* list, uint32_t count, int32_t number) {
  for (uint32_t i = 0; i < count; ++i) {
    if (list[i] == number) return static_cast<int32_t>(i);
  }
  return -1;
}

// Takes the stretch's memory from `c` and fills it in; all but the kernels' states, and where inner values lie.
void describe(const StretchPart& from, Carver& c, Stretch* stretch) {
  const ImageGraph image(from.host, from.graph);
  const GraphReader reader(image.host(), image.graph());
  stretch->host = from.host;
  stretch->node_count = from.part.node_count;
  stretch->nodes = c.array<Node>(stretch->node_count);
  stretch->values = c.array<Value>(most_values(from));
  const auto value_of = [&](int32_t number) -> int32_t {
    if (number < 0) return -1;
    for (uint32_t v = 0; v < stretch->value_count; ++v) {
      if (stretch->values[v].number == number) return static_cast<int32_t>(v);
    }
    const vireo_graph_value shown = reader.value(number);
    Value& v = *new (&stretch->values[stretch->value_count]) Value();
    static_cast<TensorType&>(v.tensor) = type_of(shown);
    v.tensor.capacity = tensor_bytes(v.tensor);
    v.number = number;
    stretch->is_static = stretch->is_static && shown.is_static != 0;
    if (shown.constant != nullptr) {
      v.place = Value::kConstant;
      v.tensor.data = const_cast<void*>(shown.constant);
    } else if (const int32_t i = index_in(from.part.inputs, from.part.input_count, number); i >= 0) {
      v.place = Value::kInput;
      v.index = static_cast<uint32_t>(i);
    } else if (const int32_t o = index_in(from.part.outputs, from.part.output_count, number); o >= 0) {
      v.place = Value::kOutput;
      v.index = static_cast<uint32_t>(o);
    }
    return static_cast<int32_t>(stretch->value_count++);
  };
  for (uint32_t k = 0; k < stretch->node_count; ++k) {
    const vireo_graph_node shown = reader.node(from.part.nodes[k]);
    const uint32_t args = shown.input_count + shown.output_count;
    Tensor** const list = c.array<Tensor*>(args);
    int32_t* const values = c.array<int32_t>(args);
    if (c.counting()) continue;
    const ImageQuery q(image, from.part.nodes[k], from.slots);
    Node& node = *new (&stretch->nodes[k]) Node();
    node.kernel = from.link(from.part.claimed[k]).kernel;
    node.attrs = {shown.attrs, shown.attrs_size};
    node.name = shown.name;
    node.args = list;
    node.values = values;
    node.input_count = shown.input_count;
    node.output_count = shown.output_count;
    node.alone = from.slots <= 1 || from.stays_alone(q);
    for (uint32_t i = 0; i < args; ++i) {
      const bool input = i < shown.input_count;
      values[i] = value_of(input ? shown.inputs[i] : shown.outputs[i - shown.input_count]);
      list[i] = values[i] < 0 ? nullptr : &stretch->values[values[i]].tensor;
    }
  }
}

// Where inner values lie, among themselves.
vireo_status place_inner(const vireo_host& host, Stretch* stretch) {
  PlanTensor* tensors = nullptr;
  PlanNode* nodes = nullptr;
  uint64_t* offsets = nullptr;
  uint8_t* work = nullptr;
  const auto work_bytes = static_cast<size_t>(plan_workspace_bytes(stretch->value_count, stretch->node_count));
  const auto carve = [&](Carver& c) {
    tensors = c.array<PlanTensor>(stretch->value_count);
    nodes = c.array<PlanNode>(stretch->node_count);
    offsets = c.array<uint64_t>(stretch->value_count);
    work = static_cast<uint8_t*>(c.bytes(work_bytes));
  };
  Carver counted;
  carve(counted);
  const Temporary block(host, counted.used());
  if (block.get() == nullptr) return VIREO_OUT_OF_ARENA;
  Carver real(block.get());
  carve(real);
  for (uint32_t v = 0; v < stretch->value_count; ++v) {
    tensors[v] = PlanTensor();
    tensors[v].bytes = stretch->values[v].tensor.capacity;
    tensors[v].kind = stretch->values[v].place == Value::kInner ? PlanTensor::kValue : PlanTensor::kConstant;
  }
  for (uint32_t k = 0; k < stretch->node_count; ++k) {
    const Node& node = stretch->nodes[k];
    nodes[k] = PlanNode();
    nodes[k].region_bytes = -1;
    nodes[k].inputs = {node.values, node.input_count};
    nodes[k].outputs = {node.values + node.input_count, node.output_count};
  }
  PlanResult result;
  const Status status = plan_arena_best({tensors, stretch->value_count}, {nodes, stretch->node_count}, false,
                                        {work, work_bytes}, {offsets, stretch->value_count}, {}, &result, nullptr);
  if (status != Status::kOk) return static_cast<vireo_status>(status);
  for (uint32_t v = 0; v < stretch->value_count; ++v) stretch->values[v].at = offsets[v];
  stretch->inner_bytes = result.bytes;
  return VIREO_OK;
}

// The stretch's memory, in one order for counting and taking: its struct, what describe() takes, the kernels' states.
template <class Each>
void walk(const StretchPart& from, Carver& c, Stretch** stretch, const Each& each) {
  Stretch none;
  Stretch* const at = c.array<Stretch>(1);
  *stretch = c.counting() ? &none : new (at) Stretch();
  describe(from, c, *stretch);
  uint32_t packs = 0;
  for (uint32_t k = 0; k < from.part.node_count; ++k) {
    const Link link = from.link(from.part.claimed[k]);
    void* const state = link.kernel->state_bytes == 0 ? nullptr : c.bytes(link.kernel->state_bytes, 64);
    if (!c.counting()) each(k, link, packs, state);
    packs += link.packs;
  }
  if (c.counting()) *stretch = nullptr;
}

// Images, and what each value has of this run.
Status bind(const Stretch& c, Span<const Tensor* const> inputs, Span<Tensor* const> outputs, const vireo_graph* now,
            int64_t* images, Error* error) {
  *images = 1;
  for (uint32_t v = 0; v < c.value_count; ++v) {
    Value& value = c.values[v];
    if (value.place == Value::kConstant || value.place == Value::kInner) continue;
    const Tensor& whole = value.place == Value::kInput ? *inputs[value.index] : *outputs[value.index];
    if (whole.shape[0] != 1) *images = whole.shape[0];
  }
  for (uint32_t v = 0; v < c.value_count; ++v) {
    Value& value = c.values[v];
    if (value.place == Value::kConstant) continue;
    Tensor& image = value.tensor;
    if (value.place == Value::kInner) {
      if (c.is_static) continue;
      const TensorType type = type_at(GraphReader(c.host, now), value.number);
      if (type.shape[0] != *images && type.shape[0] != 1)
        return fail(error, Status::kInvalidArgument, "a value has {} images, the batch has {}", type.shape[0], *images);
      static_cast<TensorType&>(image) = type;
      image.shape[0] = 1;
      if (tensor_bytes(image) < 0 || tensor_bytes(image) > image.capacity)
        return fail(error, Status::kOutOfArena, "a value is {}, above its bound: give larger ones to the session",
                    type.shape);
      continue;
    }
    const Tensor& whole = value.place == Value::kInput ? *inputs[value.index] : *outputs[value.index];
    if (whole.shape[0] != *images && whole.shape[0] != 1)
      return fail(error, Status::kInvalidArgument, "a value has {} images, the batch has {}", whole.shape[0], *images);
    static_cast<TensorType&>(image) = whole;
    image.data = whole.data;
    if (image.shape[0] != 0) image.shape[0] = 1;
    image.capacity = tensor_bytes(image);
    value.stride = whole.shape[0] == *images ? image.capacity : 0;
  }
  return Status::kOk;
}

}  // namespace

uint32_t count_packs(const vireo_host& host, const vireo_graph* graph, uint32_t node, const CpuKernel& kernel) {
  if (kernel.pack == nullptr) return 0;
  const ImageGraph image(host, graph);
  ImageQuery q(image, node, 1);
  q.packs = true;
  uint32_t count = 0;
  vireo_packed packed = VIREO_PACKED_INIT;
  while (count < VIREO_MAX_PACKED && kernel.pack(q, count, Parallel(), &packed, nullptr)) ++count;
  return count;
}

vireo_status stretch_memory(const StretchPart& from, bool packs, size_t* state_bytes, size_t* scratch_bytes) {
  Carver counted;
  Stretch* stretch = nullptr;
  walk(from, counted, &stretch, [](uint32_t, const Link&, uint32_t, void*) {});
  *state_bytes = counted.used();
  const Temporary block(from.host, counted.used());
  if (block.get() == nullptr) return VIREO_OUT_OF_ARENA;
  const ImageGraph image(from.host, from.graph);
  int64_t most = 0;
  Carver real(block.get());
  walk(from, real, &stretch, [&](uint32_t k, const Link& link, uint32_t, void*) {
    if (link.kernel->scratch_bytes == nullptr || most < 0) return;
    ImageQuery q(image, from.part.nodes[k], from.slots);
    q.packs = packs;
    const int64_t bytes = link.kernel->scratch_bytes(q);
    most = bytes < 0 || bytes > most ? bytes : most;
  });
  if (most < 0) return VIREO_INVALID_MODEL;
  const vireo_status status = place_inner(from.host, stretch);
  if (status != VIREO_OK) return status;
  const uint64_t all = stretch->inner_bytes + static_cast<uint64_t>(most);
  *scratch_bytes = static_cast<size_t>(all);
  return *scratch_bytes == all ? VIREO_OK : VIREO_OUT_OF_ARENA;
}

bool pack_stretch(const StretchPart& from, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  for (uint32_t k = 0; k < from.part.node_count; ++k) {
    const Link link = from.link(from.part.claimed[k]);
    if (index >= link.packs) {
      index -= link.packs;
      continue;
    }
    const ImageGraph image(from.host, from.graph);
    ImageQuery q(image, from.part.nodes[k], from.slots);
    q.packs = true;
    return link.kernel->pack(q, index, parallel, out, to);
  }
  return false;
}

vireo_status load_stretch(const StretchPart& from, const void* const* packed, void* state) {
  const ImageGraph image(from.host, from.graph);
  Stretch* stretch = nullptr;
  Carver real(state);
  walk(from, real, &stretch, [&](uint32_t k, const Link& link, uint32_t packs, void* at) {
    stretch->nodes[k].state = at;
    if (link.kernel->prepare == nullptr) return;
    ImageQuery q(image, from.part.nodes[k], from.slots);
    q.packs = packed != nullptr;
    q.packed = packed == nullptr ? nullptr : packed + packs;
    link.kernel->prepare(q, at);
  });
  return place_inner(from.host, stretch);
}

Status run_stretch(void* state, Span<const Tensor* const> inputs, Span<Tensor* const> outputs, const vireo_submit& with,
                   Error* error, const char** blamed) {
  const Stretch& c = *static_cast<const Stretch*>(state);
  int64_t images = 0;
  VIREO_TRY(bind(c, inputs, outputs, with.graph, &images, error));
  auto* const scratch = static_cast<uint8_t*>(with.scratch);
  for (uint32_t v = 0; v < c.value_count; ++v) {
    if (c.values[v].place == Value::kInner) c.values[v].tensor.data = scratch + c.values[v].at;
  }
  KernelContext ctx;
  ctx.scratch = {scratch + c.inner_bytes, with.scratch_bytes - static_cast<size_t>(c.inner_bytes)};
  ctx.error = error;
  Parallel parallel;
  if (with.threads != nullptr) parallel = {with.threads->run, with.threads->pool, with.threads->slots};
  for (int64_t image = 0; image < images; ++image) {
    for (uint32_t k = 0; k < c.node_count; ++k) {
      const Node& node = c.nodes[k];
      Tensor** const made = node.args + node.input_count;
      if (!c.is_static && made[0]->count() == 0) continue;
      ctx.inputs = {const_cast<const Tensor* const*>(node.args), node.input_count};
      ctx.outputs = {made, node.output_count};
      ctx.attr_bytes = node.attrs;
      ctx.parallel = node.alone ? Parallel() : parallel;
      const Status status = node.kernel->run(ctx, node.state);
      if (status != Status::kOk) {
        *blamed = node.name;
        return status;
      }
    }
    for (uint32_t v = 0; v < c.value_count; ++v) {
      Value& value = c.values[v];
      if (value.stride != 0) value.tensor.data = value.tensor.as<uint8_t>() + value.stride;
    }
  }
  return Status::kOk;
}

}  // namespace vireo::cpu
