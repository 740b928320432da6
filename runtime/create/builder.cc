#include "runtime/create/builder.h"

#include <string.h>

#include <new>

#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/branches.h"
#include "runtime/prepare/device_arenas.h"
#include "runtime/recover/device_memory.h"
#include "runtime/run/part_guard.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

uint32_t most_args(const SessionLayout& l) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) {
    for (const fb::Node* n : *l.graph(i).nodes()) {
      const uint32_t k = n->inputs()->size() + n->outputs()->size();
      if (k > most) most = k;
    }
  }
  return most;
}

struct Temporary {
  Slot* slots;
  uint32_t* first_slot;
  uint64_t* region_base;
  Tensor** args;
  TensorType* types;
  TensorType** pointers;
  bool* constant;
};
Temporary carve_temporary(const SessionLayout& l, Carver& c) {
  const uint32_t subs = l.program->subgraph_count(), most = most_args(l);
  Temporary t;
  t.slots = c.array<Slot>(tensor_total(l));
  t.region_base = c.array<uint64_t>(subs);
  t.first_slot = c.array<uint32_t>(subs);
  t.args = c.array<Tensor*>(most);
  t.types = c.array<TensorType>(most);
  t.pointers = c.array<TensorType*>(most);
  t.constant = c.array<bool>(most);
  return t;
}

}  // namespace

size_t Builder::temporary_bytes(const SessionLayout& layout) {
  Carver c;
  carve_temporary(layout, c);
  return c.used();
}

void Builder::take_temporary(void* temporary) {
  Carver c(temporary);
  const Temporary t = carve_temporary(l_, c);
  slots_ = t.slots;
  first_slot_ = t.first_slot;
  region_base_ = t.region_base;
  args_ = t.args;
  out_types_ = t.types;
  out_pointers_ = t.pointers;
  constant_ = t.constant;
  uint32_t next = 0;
  for (uint32_t i = 0; i < p_.subgraph_count(); ++i) {
    first_slot_[i] = next;
    next += l_.subs[i].tensor_count;
  }
  for (uint32_t i = 0; i < next; ++i) slots_[i] = Slot{};
}

// Inputs and outputs of a composite's body are the owner's tensors; all others get a struct of their own.
void Builder::make_slots(uint32_t sub) {
  const SubLayout& s = l_.subs[sub];
  const fb::Subgraph& g = l_.graph(sub);
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    const fb::Tensor& tensor = *g.tensors()->Get(t);
    Slot& k = slots_[first_slot_[sub] + t];
    k.is_static = s.max_types[t].open == 0;
    k.constant = tensor.segment() >= 0;
  }
  if (maps_to_owner(s)) {
    const fb::Node& owner = owner_of(sub);
    for (uint32_t i = 0; i < g.inputs()->size() && i < owner.inputs()->size(); ++i) {
      const int32_t x = owner.inputs()->Get(i);
      if (x >= 0) slot(sub, static_cast<int32_t>(g.inputs()->Get(i))) = slot(s.owner, x);
    }
    for (uint32_t o = 0; o < g.outputs()->size() && o < owner.outputs()->size(); ++o) {
      const int32_t y = owner.outputs()->Get(o);
      Slot& k = slot(sub, static_cast<int32_t>(g.outputs()->Get(o)));
      if (y >= 0 && !k.constant) k = slot(s.owner, y);
    }
  }
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    Slot& k = slots_[first_slot_[sub] + t];
    if (k.tensor != nullptr) continue;
    Tensor* tensor = c_.array<Tensor>(1);
    if (!real()) {
      // While counting, any pointer will do to say that the owner has one.
      k.tensor = reinterpret_cast<Tensor*>(&k);
      continue;
    }
    k.tensor = new (tensor) Tensor();
    if (s_->all.first == nullptr) s_->all.first = tensor;  // all of them lie one after the other
    ++s_->all.count;
  }
}

Status Builder::place_tensors(uint32_t sub, Error* error) {
  const SubLayout& s = l_.subs[sub];
  const fb::Subgraph& g = l_.graph(sub);
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    const fb::Tensor& tensor = *g.tensors()->Get(t);
    Tensor& out = *slots_[first_slot_[sub] + t].tensor;
    if (out.dtype != DType::kNone) {  // the owner's
      const TensorType& mine = s.max_types[t];
      if (static_cast<const TensorType&>(out) != mine) {
        blame_tensor(error, text_of(tensor.name()));
        return fail(error, Status::kInvalidModel, "tensor \"{}\" of a body does not fit its owner's",
                    text_of(tensor.name()));
      }
      continue;
    }
    static_cast<TensorType&>(out) = s.max_types[t];
    out.capacity = tensor_bytes(s.max_types[t]);
    if (const uint8_t* constant = p_.constant(tensor)) {
      if (out.dtype != DType::kString) out.data = const_cast<uint8_t*>(constant);  // strings: place_strings
    } else if (!s.dead && s.offsets[t] < kFirstAlias) {
      out.data = s_->values.at + region_base_[sub] + s.offsets[t];
    }
  }
  if (s.dead) return Status::kOk;
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    if (!is_alias(s.offsets[t])) continue;
    slots_[first_slot_[sub] + t].tensor->data = slot(sub, static_cast<int32_t>(alias_of(s.offsets[t]))).tensor->data;
  }
  return Status::kOk;
}

// In the file a string is an offset; kernels want a pointer and a length.
void Builder::place_strings(uint32_t sub) {
  const fb::Subgraph& g = l_.graph(sub);
  for (uint32_t t = 0; t < l_.subs[sub].tensor_count; ++t) {
    const fb::Tensor& tensor = *g.tensors()->Get(t);
    if (tensor.segment() < 0 || static_cast<DType>(tensor.dtype()) != DType::kString) continue;
    const int64_t count = element_count(type_of(tensor).shape);
    auto* refs = c_.array<StringRef>(static_cast<size_t>(count));
    if (!real()) continue;
    const uint8_t* table = p_.constant(tensor);
    for (int64_t i = 0; i < count; ++i) refs[i] = text_at(table, i);
    slots_[first_slot_[sub] + t].tensor->data = refs;
  }
}

// Where each body's values begin in the arena, and each part's inner ones.
void Builder::place_regions() {
  region_base_[0] = 0;
  for (uint32_t i = 0; i < p_.subgraph_count(); ++i) {
    uint32_t region = 0;
    for (uint32_t n = 0; n < l_.subs[i].node_count; ++n) {
      const fb::Node& node = *l_.graph(i).nodes()->Get(n);
      const bool placed = !l_.subs[i].dead && has_region(l_.subs[i], n, node);
      const uint64_t base = placed ? region_base_[i] + l_.subs[i].regions[region++] : 0;
      if (VIREO_JOINED && l_.subs[i].nodes[n].part != nullptr) l_.subs[i].nodes[n].part->region_base = base;
      for (uint32_t b = 0; owns_bodies(node) && b < node.subgraphs()->size(); ++b)
        region_base_[node.subgraphs()->Get(b)] = base;
    }
  }
}

static uint32_t count_infos(const SessionLayout& l) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) n += l.subs[i].dead ? 0 : l.subs[i].node_count;
  return n;
}

// The session's lists. The caller's memory may go: texts are copied, and the rest was for creation only.
void Builder::take_lists() {
  const uint32_t infos = count_infos(l_), exprs = p_.expr_count(), inputs = l_.graph(0).inputs()->size();
  NodeInfo* const info = c_.array<NodeInfo>(infos);
  NodeTime* const times = options_.profile != 0 ? c_.array<NodeTime>(infos) : nullptr;
  int64_t* const symbols = c_.array<int64_t>(exprs);
  Interval* const intervals = c_.array<Interval>(exprs);
  TensorType* const input_types = c_.array<TensorType>(inputs);
  Tensor* const own_inputs = c_.array<Tensor>(inputs);
  uint32_t states = 0;
  for (uint32_t i = 0; i < inputs; ++i) states += state_of(p_, i) >= 0 ? 1 : 0;
  Carried* const carried = c_.array<Carried>(states);
  const auto copy = [this](const char* text) -> const char* {
    if (text == nullptr) return nullptr;
    const size_t bytes = strlen(text) + 1;
    char* const to = c_.array<char>(bytes);
    return real() ? static_cast<char*>(memcpy(to, text, bytes)) : nullptr;
  };
  const char* const device = copy(options_.device);
  const char* const target = copy(options_.target);
  if (!real()) return;
  s_->options = options_;
  s_->options.device = device;
  s_->options.target = target;
  s_->options.bounds = nullptr;
  s_->options.bound_count = 0;
  s_->options.cache = nullptr;
  s_->options.require = nullptr;
  s_->nodes.infos = info;
  s_->nodes.count = infos;
  s_->nodes.times = times;
  for (uint32_t i = 0; times != nullptr && i < infos; ++i) times[i] = NodeTime{};
  s_->shapes.symbols = symbols;
  s_->shapes.intervals = intervals;
  for (uint32_t i = 0; i < exprs; ++i) {
    symbols[i] = -1;
    intervals[i] = l_.exprs[i];
  }
  s_->inputs.most = input_types;
  s_->inputs.own = own_inputs;
  s_->state.carried = carried;
  s_->submit.fault = &s_->fault;
  s_->random.seed = s_->random.state = options_.seed;
}

// The arena and scratch, in front of what the walk over the nodes takes, so that their places are known to it.
void Builder::take_memory() {
  const size_t arena_bytes = static_cast<size_t>(l_.subs[0].bytes);
  size_t slack = 0;
  if (kRedZone != 0) (void)c_.bytes(kRedZone, 64);
  DeviceMemory* memory = nullptr;
  if constexpr (VIREO_JOINED) {
    if (l_.arenas != nullptr) memory = carve_device_memory(l_, c_);
    if (shares_arena(l_)) slack = 2 * kImportAlignment;
  }
  void* arena = c_.bytes(arena_bytes + slack, 64);
  if (VIREO_JOINED && real() && slack != 0)
    arena = reinterpret_cast<void*>(align_up(reinterpret_cast<uintptr_t>(arena), kImportAlignment));
  if (kRedZone != 0) (void)c_.bytes(kRedZone, 64);
  void* const scratch = c_.bytes(l_.scratch_bytes, 64);
  if (kRedZone != 0) (void)c_.bytes(kRedZone, 64);
  BranchLane* const lanes = VIREO_BRANCHES ? c_.array<BranchLane>(static_cast<size_t>(l_.lanes)) : nullptr;
  if (!real()) return;
  s_->values.at = static_cast<uint8_t*>(arena);
  s_->values.bytes = arena_bytes;
  if (VIREO_JOINED) s_->devices.memory = memory;
  if (VIREO_BRANCHES) s_->threads.lanes = lanes;
  s_->threads.pool = l_.model->runtime->pool;
  if (s_->threads.pool.run != nullptr && l_.slots < s_->threads.pool.slots) {
    s_->threads.slice = {s_->threads.pool, l_.slots};
    s_->threads.pool = {run_slice, &s_->threads.slice, l_.slots};
  }
  s_->submit.scratch = scratch;
  s_->submit.scratch_bytes = l_.scratch_bytes;
  s_->submit.threads = l_.slots > 1 ? &s_->threads.pool : nullptr;
  s_->submit.random = &s_->random.state;
}

// What lanes submit with: no threads, and their part of the session's scratch. The session's steps are built.
void Builder::start_lanes() {
  auto* const scratch = static_cast<uint8_t*>(s_->submit.scratch);
  for (int32_t k = 0; k < l_.lanes; ++k) {
    BranchLane& lane = *new (&s_->threads.lanes[k]) BranchLane();
    lane.submit.scratch = scratch + static_cast<size_t>(k) * l_.lane_scratch_bytes;
    lane.submit.scratch_bytes = l_.lane_scratch_bytes;
    lane.submit.random = &s_->random.state;
    lane.submit.fault = &lane.fault;
  }
  s_->threads.lane_count = l_.lanes;
  // A step whose shapes are worked out at each run writes them where other steps read, and lanes do not wait for
  // devices: such a window runs step by step.
  for (uint32_t i = 0; i < s_->main.step_count; ++i) {
    Step& first = s_->main.steps[i];
    for (uint32_t k = 0; k < first.window.steps; ++k) {
      const Step& step = s_->main.steps[i + k];
      if (step.shapes.infer || step.kind != Step::kPart || step.away.device != nullptr) first.window.steps = 0;
    }
  }
}

// Inputs as they are by themselves, at their bounds; state begins at zero.
void Builder::start_inputs() {
  for (uint32_t i = 0; i < s_->main.input_count; ++i) {
    Tensor& own = s_->inputs.own[i];
    own = *s_->main.inputs[i];
    s_->inputs.most[i] = *s_->main.inputs[i];
    const int32_t output = state_of(p_, i);
    if (output < 0) continue;
    s_->state.carried[s_->state.count++] = {i, static_cast<uint32_t>(output)};
    if (own.data != nullptr) memset(own.data, 0, static_cast<size_t>(own.capacity));
  }
}

Status Builder::build(void* temporary, Error* error) {
  take_temporary(temporary);
  s_ = c_.array<vireo_session>(1);
  if (real()) {
    s_ = new (s_) vireo_session();
    s_->model = l_.model;
  }
  take_lists();
  place_regions();
  for (uint32_t i = 0; i < p_.subgraph_count(); ++i) make_slots(i);
  for (uint32_t i = 0; i < p_.subgraph_count(); ++i) place_strings(i);
  if constexpr (VIREO_JOINED) take_run_graphs();
  take_memory();
  for (uint32_t i = 0; real() && i < p_.subgraph_count(); ++i) VIREO_TRY(place_tensors(i, error));
  if constexpr (VIREO_JOINED) {
    if (real() && s_->devices.memory != nullptr) VIREO_TRY(open_work(error));
  }
  Frame counted;
  VIREO_TRY(build_frame(0, 0, false, real() ? &s_->main : &counted, error));
  if (real()) {
    if constexpr (VIREO_JOINED) {
      if (s_->devices.memory != nullptr) VIREO_TRY(open_memory(error));
    }
    if (VIREO_BRANCHES) start_lanes();
    start_inputs();
  }
  tables_ = c_.used() - static_cast<size_t>(l_.subs[0].bytes) - l_.scratch_bytes;
  return Status::kOk;
}

}  // namespace vireo
