#include "delegates/cpu/depth_first/stretch.h"

#include <string.h>

#include <new>

#include "delegates/cpu/depth_first/by_image.h"
#include "delegates/cpu/depth_first/image_graph.h"
#include "delegates/cpu/depth_first/segments.h"
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
  int64_t rows = 0;     // of an image; 0: it has none, or its extents are open
  int64_t row_bytes = 0;
  int64_t room = 0;         // bytes of an inner value: all rows, or those that are there at once
  uint8_t* base = nullptr;  // its first row that is there
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
  // Strip by strip.
  int32_t* strip_values = nullptr;  // by argument: among the segment's, or -1
  int32_t window = -1;              // argument that is read by windows
  int32_t* pads = nullptr;          // top, left, bottom, right, in a copy of the attributes; null: there are none
  ImageGraph::Rows most;            // of a call
  RowForm form;
  bool by_row = false;
  double constant_bytes = 0;
};

// Nodes that run strip by strip, or one node that does not.
struct Run {
  uint32_t first = 0;
  uint32_t count = 1;
  int64_t height = 0;  // 0: no strips
  Span<StripNode> nodes;
  Span<StripValue> values;
  int32_t* of = nullptr;  // by strip value: the value
};

struct Stretch {
  vireo_host host = VIREO_HOST_INIT;  // a copy: the host's table lives for a call
  Node* nodes = nullptr;
  uint32_t node_count = 0;
  Value* values = nullptr;
  uint32_t value_count = 0;
  Run* runs = nullptr;
  uint32_t run_count = 0;
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
  ImageGraph image(from.host, from.graph);
  const GraphReader reader(image.host(), image.graph());
  stretch->host = from.host;
  stretch->node_count = from.part.node_count;
  stretch->nodes = c.array<Node>(stretch->node_count);
  stretch->values = c.array<Value>(most_values(from));
  stretch->runs = c.array<Run>(stretch->node_count);
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
    v.room = v.tensor.capacity;
    if (shown.is_static != 0 && shown.constant == nullptr && shown.rank == 4 && shown.max_dims[1] > 1) {
      v.rows = shown.max_dims[1];
      v.row_bytes = v.tensor.capacity / v.rows;
    }
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
    int32_t* const strip_values = c.array<int32_t>(args);
    const ImageQuery q(image, from.part.nodes[k], from.slots);
    RowForm form;
    const bool by_row = runs_by_row(q, &form);
    auto* const attrs = static_cast<uint8_t*>(by_row && form.window >= 0 ? c.bytes(form.attrs_size, 16) : nullptr);
    if (c.counting()) continue;
    Node& node = *new (&stretch->nodes[k]) Node();
    node.kernel = from.link(from.part.claimed[k]).kernel;
    node.attrs = {shown.attrs, shown.attrs_size};
    node.name = shown.name;
    node.args = list;
    node.values = values;
    node.strip_values = strip_values;
    node.by_row = by_row;
    node.form = form;
    node.constant_bytes = constant_bytes(q);
    for (uint32_t i = 0; i < args; ++i) strip_values[i] = -1;
    if (attrs != nullptr) {
      memcpy(attrs, form.attrs, form.attrs_size);
      if (form.pads_at != 0) node.pads = reinterpret_cast<int32_t*>(attrs + form.pads_at);
      if (form.inner < 0) node.attrs = {attrs, form.attrs_size};
      node.window = form.window;
      node.most.attrs = attrs;
      node.most.x = shown.inputs[form.window];
      node.most.inner_x = form.inner_x;
      node.most.in_body = form.inner >= 0;
      node.most.node = form.inner >= 0 ? form.inner : static_cast<int32_t>(from.part.nodes[k]);
    }
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

// Lists of strips: the most that a stretch has.
struct StripLists {
  StripNode* nodes = nullptr;
  int32_t* inputs = nullptr;
  StripValue* values = nullptr;
  int32_t* of = nullptr;
};
StripLists take_lists(Carver& c, uint32_t nodes, uint32_t args) {
  StripLists l;
  l.nodes = c.array<StripNode>(nodes);
  l.inputs = c.array<int32_t>(args);
  l.values = c.array<StripValue>(args);
  l.of = c.array<int32_t>(args);
  return l;
}

// The nodes of a segment and their values, as Strips takes them; moves `lists` behind what they take.
void fill_strips(const Stretch& stretch, Run* run, StripLists* lists) {
  uint32_t values = 0;
  const auto strip_value = [&](int32_t v, bool made) -> int32_t {
    for (uint32_t i = 0; i < values; ++i) {
      if (lists->of[i] == v) return static_cast<int32_t>(i);
    }
    lists->of[values] = v;
    StripValue& s = *new (&lists->values[values]) StripValue();
    s.rows = stretch.values[v].rows;
    s.made = made;
    s.whole = stretch.values[v].place != Value::kInner || !made;
    return static_cast<int32_t>(values++);
  };
  for (uint32_t k = 0; k < run->count; ++k) {
    Node& node = stretch.nodes[run->first + k];
    StripNode& n = *new (&lists->nodes[k]) StripNode();
    int32_t* const inputs = lists->inputs;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const int32_t v = node.values[i];
      if (v < 0 || stretch.values[v].rows == 0) continue;
      if (static_cast<int32_t>(i) == node.window) n.window = static_cast<int32_t>(count);
      inputs[count++] = node.strip_values[i] = strip_value(v, false);
    }
    lists->inputs += count;
    n.inputs = {inputs, count};
    n.taps = node.form.taps;
    n.stride = node.form.stride;
    n.pad = node.form.pad;
    n.output = node.strip_values[node.input_count] = strip_value(node.values[node.input_count], true);
  }
  run->nodes = {lists->nodes, run->count};
  run->values = {lists->values, values};
  run->of = lists->of;
  lists->nodes += run->count;
  lists->values += values;
  lists->of += values;
  // Read behind the segment.
  for (uint32_t k = 0; k < stretch.node_count; ++k) {
    if (k - run->first < run->count) continue;
    for (uint32_t i = 0; i < stretch.nodes[k].input_count; ++i) {
      const int32_t at = index_in(run->of, values, stretch.nodes[k].values[i]);
      if (at >= 0) run->values[static_cast<size_t>(at)].whole = true;
    }
  }
}

// Which nodes run strip by strip; what their calls and their values take at most.
vireo_status cut_strips(const StretchPart& from, Stretch* stretch, StripLists lists) {
  RowNode* nodes = nullptr;
  RowValue* values = nullptr;
  int32_t* inputs = nullptr;
  Segment* segments = nullptr;
  SegmentRoom* room = nullptr;
  const auto carve = [&](Carver& c) {
    nodes = c.array<RowNode>(stretch->node_count);
    values = c.array<RowValue>(stretch->value_count);
    inputs = c.array<int32_t>(most_values(from));
    segments = c.array<Segment>(stretch->node_count);
    room = c.array<SegmentRoom>(stretch->node_count + 1);
  };
  Carver counted;
  carve(counted);
  const Temporary block(from.host, counted.used());
  if (block.get() == nullptr) return VIREO_OUT_OF_ARENA;
  Carver real(block.get());
  carve(real);
  for (uint32_t v = 0; v < stretch->value_count; ++v) {
    values[v] = RowValue();
    values[v].rows = stretch->values[v].rows;
    values[v].row_bytes = static_cast<double>(stretch->values[v].row_bytes);
    values[v].whole = stretch->values[v].place != Value::kInner;
  }
  for (uint32_t k = 0; k < stretch->node_count; ++k) {
    const Node& node = stretch->nodes[k];
    nodes[k] = RowNode();
    nodes[k].able = node.by_row;
    nodes[k].form = node.form;
    nodes[k].constant_bytes = node.constant_bytes;
    nodes[k].work_ns = row_work_ns(node.form, stretch->values[node.values[node.input_count]].tensor);
    uint32_t count = 0;
    for (uint32_t i = 0; i < node.input_count; ++i) {
      const int32_t v = node.values[i];
      if (v < 0) continue;
      values[v].last_reader = static_cast<int32_t>(k);
      if (values[v].rows != 0) inputs[count++] = v;
    }
    nodes[k].inputs = {inputs, count};
    inputs += count;
    nodes[k].output = node.values[node.input_count];
    values[nodes[k].output].maker = static_cast<int32_t>(k);
  }
  const uint32_t count = find_segments({nodes, stretch->node_count}, {values, stretch->value_count}, from.slots,
                                       {room, size_t{stretch->node_count} + 1}, segments);
  uint32_t next = 0;
  for (uint32_t k = 0; k < stretch->node_count;) {
    Run& run = *new (&stretch->runs[stretch->run_count++]) Run();
    run.first = k;
    if (next < count && segments[next].first == k) {
      run.count = segments[next].count;
      run.height = segments[next++].height;
      fill_strips(*stretch, &run, &lists);
      Strips(run.nodes, run.values, run.height)
          .run([](int32_t, int64_t) {},
               [&](const StripCall& call) {
                 ImageGraph::Rows& most = stretch->nodes[run.first + call.node].most;
                 most.made = call.count > most.made ? call.count : most.made;
                 most.read = call.read > most.read ? call.read : most.read;
                 return true;
               });
      for (size_t i = 0; i < run.values.size(); ++i) {
        Value& v = stretch->values[run.of[i]];
        if (!run.values[i].whole) v.room = run.values[i].most * v.row_bytes;
      }
    }
    k += run.count;
  }
  return VIREO_OK;
}

// Where inner values lie, among themselves.
vireo_status place_inner(const vireo_host& host, Stretch* stretch) {
  PlanTensor* tensors = nullptr;
  PlanNode* nodes = nullptr;
  int32_t* lists = nullptr;
  uint64_t* offsets = nullptr;
  uint8_t* work = nullptr;
  const auto work_bytes = static_cast<size_t>(plan_workspace_bytes(stretch->value_count, stretch->node_count));
  uint32_t args = 0;
  for (uint32_t k = 0; k < stretch->node_count; ++k)
    args += stretch->nodes[k].input_count + stretch->nodes[k].output_count;
  const auto carve = [&](Carver& c) {
    tensors = c.array<PlanTensor>(stretch->value_count);
    nodes = c.array<PlanNode>(stretch->run_count);
    lists = c.array<int32_t>(args);
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
    tensors[v].bytes = stretch->values[v].room;
    tensors[v].kind = stretch->values[v].place == Value::kInner ? PlanTensor::kValue : PlanTensor::kConstant;
  }
  for (uint32_t r = 0; r < stretch->run_count; ++r) {
    const Run& run = stretch->runs[r];
    const Span<const Node> inside(stretch->nodes + run.first, run.count);
    nodes[r] = PlanNode();
    nodes[r].region_bytes = -1;
    uint32_t made = 0, read = 0;
    for (const Node& node : inside) {
      for (uint32_t o = 0; o < node.output_count; ++o) lists[made++] = node.values[node.input_count + o];
    }
    nodes[r].outputs = {lists, made};
    lists += made;
    for (const Node& node : inside) {
      for (uint32_t i = 0; i < node.input_count; ++i) {
        // What the segment makes itself is alive while it runs anyway.
        if (index_in(nodes[r].outputs.data(), made, node.values[i]) < 0) lists[read++] = node.values[i];
      }
    }
    nodes[r].inputs = {lists, read};
    lists += read;
  }
  PlanResult result;
  const Status status = plan_arena_best({tensors, stretch->value_count}, {nodes, stretch->run_count}, false,
                                        {work, work_bytes}, {offsets, stretch->value_count}, {}, &result, nullptr);
  if (status != Status::kOk) return static_cast<vireo_status>(status);
  for (uint32_t v = 0; v < stretch->value_count; ++v) stretch->values[v].at = offsets[v];
  stretch->inner_bytes = result.bytes;
  return VIREO_OK;
}

// The stretch's memory, in one order for counting and taking: its struct, what describe() takes, strips, the kernels'
// states. `each` gets a node as its kernel is asked for it.
template <class Each>
vireo_status walk(const StretchPart& from, Carver& c, Stretch** stretch, const Each& each) {
  Stretch none;
  Stretch* const at = c.array<Stretch>(1);
  *stretch = c.counting() ? &none : new (at) Stretch();
  describe(from, c, *stretch);
  const StripLists lists = take_lists(c, from.part.node_count, most_values(from));
  if (!c.counting()) {
    const vireo_status status = cut_strips(from, *stretch, lists);
    if (status != VIREO_OK) return status;
  }
  ImageGraph image(from.host, from.graph);
  uint32_t packs = 0;
  for (uint32_t k = 0; k < from.part.node_count; ++k) {
    const Link link = from.link(from.part.claimed[k]);
    void* const state = link.kernel->state_bytes == 0 ? nullptr : c.bytes(link.kernel->state_bytes, 64);
    if (!c.counting()) {
      (*stretch)->nodes[k].state = state;
      image.show((*stretch)->nodes[k].most);
      ImageQuery q(image, from.part.nodes[k], from.slots);
      each(link, packs, state, &q);
    }
    packs += link.packs;
  }
  if (c.counting()) *stretch = nullptr;
  return VIREO_OK;
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
  vireo_status status = walk(from, counted, &stretch, [](const Link&, uint32_t, void*, ImageQuery*) {});
  *state_bytes = counted.used();
  const Temporary block(from.host, counted.used());
  if (block.get() == nullptr) return VIREO_OUT_OF_ARENA;
  int64_t most = 0;
  Carver real(block.get());
  status = walk(from, real, &stretch, [&](const Link& link, uint32_t, void*, ImageQuery* q) {
    if (link.kernel->scratch_bytes == nullptr || most < 0) return;
    q->packs = packs;
    const int64_t bytes = link.kernel->scratch_bytes(*q);
    most = bytes < 0 || bytes > most ? bytes : most;
  });
  if (status != VIREO_OK) return status;
  if (most < 0) return VIREO_INVALID_MODEL;
  status = place_inner(from.host, stretch);
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
  Stretch* stretch = nullptr;
  Carver real(state);
  const vireo_status status =
      walk(from, real, &stretch, [&](const Link& link, uint32_t packs, void* at, ImageQuery* q) {
        if (link.kernel->prepare == nullptr) return;
        q->packs = packed != nullptr;
        q->packed = packed == nullptr ? nullptr : packed + packs;
        link.kernel->prepare(*q, at);
      });
  return status == VIREO_OK ? place_inner(from.host, stretch) : status;
}

namespace {

// One image, whose boundary values are bound.
class ImageRun {
 public:
  ImageRun(const Stretch& stretch, KernelContext* ctx, const Parallel& parallel, const char** blamed)
      : s_(stretch), ctx_(*ctx), parallel_(parallel), blamed_(blamed) {}

  Status all() {
    for (uint32_t r = 0; r < s_.run_count; ++r)
      VIREO_TRY(s_.runs[r].height == 0 ? call(s_.nodes[s_.runs[r].first]) : strips(s_.runs[r]));
    return Status::kOk;
  }

 private:
  Status call(const Node& node) {
    Tensor** const made = node.args + node.input_count;
    if (!s_.is_static && made[0]->count() == 0) return Status::kOk;
    ctx_.inputs = {const_cast<const Tensor* const*>(node.args), node.input_count};
    ctx_.outputs = {made, node.output_count};
    ctx_.attr_bytes = node.attrs;
    ctx_.parallel = node.alone ? Parallel() : parallel_;
    const Status status = node.kernel->run(ctx_, node.state);
    if (status != Status::kOk) *blamed_ = node.name;
    return status;
  }

  // Rows [first, + count) of a value.
  static void show(const StripValue& strip, Value* v, int64_t first, int64_t count) {
    v->tensor.data = v->base + (first - strip.low) * v->row_bytes;
    v->tensor.shape[1] = count;
  }

  Status strips(const Run& run) {
    for (size_t i = 0; i < run.values.size(); ++i) {
      Value& v = s_.values[run.of[i]];
      v.base = v.tensor.as<uint8_t>();
    }
    Status status = Status::kOk;
    Strips(run.nodes, run.values, run.height)
        .run(
            [&](int32_t value, int64_t rows) {
              const StripValue& strip = run.values[static_cast<size_t>(value)];
              Value& v = s_.values[run.of[value]];
              const auto kept = static_cast<size_t>((strip.done - strip.low - rows) * v.row_bytes);
              memmove(v.base, v.base + rows * v.row_bytes, kept);
            },
            [&](const StripCall& c) {
              const Node& node = s_.nodes[run.first + c.node];
              for (uint32_t i = 0; i < node.input_count + node.output_count; ++i) {
                if (node.strip_values[i] < 0) continue;
                const bool by_window = static_cast<int32_t>(i) == node.window;
                show(run.values[static_cast<size_t>(node.strip_values[i])], &s_.values[node.values[i]],
                     by_window ? c.from : c.first, by_window ? c.read : c.count);
              }
              if (node.pads != nullptr) {
                node.pads[0] = static_cast<int32_t>(c.above);
                node.pads[2] = static_cast<int32_t>(c.below);
              }
              status = call(node);
              return status == Status::kOk;
            });
    for (size_t i = 0; i < run.values.size(); ++i) {
      Value& v = s_.values[run.of[i]];
      v.tensor.data = v.base;
      v.tensor.shape[1] = v.rows;
    }
    return status;
  }

  const Stretch& s_;
  KernelContext& ctx_;
  const Parallel& parallel_;
  const char** blamed_;
};

}  // namespace

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
  ImageRun run(c, &ctx, parallel, blamed);
  for (int64_t image = 0; image < images; ++image) {
    VIREO_TRY(run.all());
    for (uint32_t v = 0; v < c.value_count; ++v) {
      Value& value = c.values[v];
      if (value.stride != 0) value.tensor.data = value.tensor.as<uint8_t>() + value.stride;
    }
  }
  return Status::kOk;
}

}  // namespace vireo::cpu
