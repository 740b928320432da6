#include "runtime/prepare/device_arenas.h"

#include <string.h>

#include <new>

#include "runtime/prepare/joined.h"

namespace vireo {
namespace {

constexpr uint64_t kBufferAlignment = VIREO_BUFFER_ALIGNMENT;

bool on(const SessionLayout& l, const JoinedPart& p, uint8_t device) {
  return l.subs[p.subgraph].nodes[p.first].device == device;
}

template <class List>
Span<const int32_t> span_of(const List& v) {
  return {v.data(), v.size()};
}

// What the plan leaves alone. Carried state has bytes, which lie behind it.
constexpr PlanTensor::Kind kStays = PlanTensor::kConstant;

// Where `bytes` behind `at` lie in one buffer.
uint64_t in_one_buffer(uint64_t at, uint64_t bytes, uint64_t most) {
  return at % most + bytes <= most ? at : (at / most + 1) * most;
}

// Plans the values of w.tensors from *bytes on. What a buffer has no room for is planned once more, for the next one.
// `at` has kNoOffset of all others.
Status plan_buffers(const SubLayout& s, const PlanWorkspace& w, uint64_t most, uint64_t* at, uint64_t* bytes,
                    Error* error) {
  uint64_t* const placed = w.before;
  for (uint32_t t = 0; t < s.tensor_count; ++t) placed[t] = kNoOffset;
  uint64_t begin = *bytes;
  for (bool left = true; left;) {
    PlanResult result;
    VIREO_TRY(plan_arena_best(Span<const PlanTensor>(w.tensors, s.tensor_count),
                              Span<const PlanNode>(w.nodes, s.node_count), false, Span<uint8_t>(w.bytes, w.byte_count),
                              Span<uint64_t>(at, s.tensor_count), {}, &result, error));
    const uint64_t room = most - begin % most;
    uint64_t end = begin;
    left = false;
    for (uint32_t t = 0; t < s.tensor_count; ++t) {
      PlanTensor& tensor = w.tensors[t];
      if (tensor.kind == PlanTensor::kConstant) continue;
      const auto size = static_cast<uint64_t>(tensor.bytes);
      if (at[t] > room || size > room - at[t]) {
        left = true;
        continue;
      }
      placed[t] = begin + at[t];
      if (end < placed[t] + size) end = placed[t] + size;
      tensor = PlanTensor{};
      tensor.kind = PlanTensor::kConstant;
    }
    if (left && end == begin && room == most)
      return fail(error, Status::kUnsupported, "a value is larger than a buffer of its device: {} bytes", most);
    begin = left ? (begin / most + 1) * most : end;
  }
  *bytes = begin;
  memcpy(at, placed, s.tensor_count * sizeof(*at));
  return Status::kOk;
}

// Lifetimes as the host's plan has them, of those values alone that parts of the device read or make.
Status plan_on(const SessionLayout& l, uint32_t index, uint8_t device, const PlanWorkspace& w, uint64_t* at,
               uint64_t* bytes, Error* error) {
  const SubLayout& s = l.subs[index];
  const fb::Subgraph& g = l.graph(index);
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    w.tensors[t] = PlanTensor{};
    w.tensors[t].kind = PlanTensor::kConstant;
  }
  bool any = false;
  const auto lies_there = [&](const int32_t* list, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      PlanTensor& t = w.tensors[list[i]];
      t.kind = PlanTensor::kValue;
      t.bytes =
          static_cast<int64_t>(align_up(static_cast<uint64_t>(tensor_bytes(s.max_types[list[i]])), kBufferAlignment));
      any = true;
    }
  };
  for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) {
    if (p->subgraph != index || !on(l, *p, device)) continue;
    lies_there(p->inputs, p->input_count);
    lies_there(p->outputs, p->output_count);
  }
  if (!any) return Status::kOk;
  for (uint32_t i = 0; index == 0 && i < g.inputs()->size(); ++i) {
    const int32_t o = staying_output(*l.program, i);
    if (o < 0) continue;
    PlanTensor& x = w.tensors[g.inputs()->Get(i)];
    PlanTensor& y = w.tensors[g.outputs()->Get(static_cast<uint32_t>(o))];
    if (x.kind != PlanTensor::kValue || y.kind != PlanTensor::kValue) continue;
    x.kind = y.kind = kStays;
    x.bytes = y.bytes = x.bytes < y.bytes ? y.bytes : x.bytes;
  }
  // What a body takes from its owner stays where it was put: another body of the same frame may read it.
  for (const uint32_t t : *g.inputs()) {
    if (w.tensors[t].kind == PlanTensor::kValue)
      w.tensors[t].kind = s.inlined ? PlanTensor::kState : PlanTensor::kInput;
  }
  for (const uint32_t t : *g.outputs()) w.tensors[t].output = w.tensors[t].kind == PlanTensor::kValue;
  for (uint32_t n = 0; n < s.node_count; ++n) {
    PlanNode& out = w.nodes[n];
    out = PlanNode{};
    out.region_bytes = -1;
    if (const JoinedPart* const part = s.nodes[n].part; part != nullptr) {
      out.inputs = Span<const int32_t>(part->inputs, part->input_count);
      out.outputs = Span<const int32_t>(part->outputs, part->output_count);
    } else if (s.nodes[n].joined != 0) {
      out.inputs = span_of(*g.nodes()->Get(n)->inputs());
      out.outputs = span_of(*g.nodes()->Get(n)->outputs());
    }
  }
  const uint64_t most = most_buffer_bytes(l.model->runtime->devices[device]);
  VIREO_TRY(plan_buffers(s, w, most, at, bytes, error));
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    const auto size = static_cast<uint64_t>(w.tensors[t].bytes);
    if (at[t] != kNoOffset || size == 0) continue;  // a constant
    at[t] = in_one_buffer(*bytes, size, most);
    *bytes = at[t] + size;
  }
  return Status::kOk;
}

}  // namespace

int32_t staying_output(const Program& program, uint32_t input) {
  const fb::Subgraph& g = program.subgraph(0);
  const auto fed_by = [&](uint32_t i) {
    const int32_t o = state_of(program, i);
    return o < 0 ? -1 : static_cast<int32_t>(g.outputs()->Get(static_cast<uint32_t>(o)));
  };
  const int32_t y = fed_by(input);
  for (uint32_t i = 0; y >= 0 && i < g.inputs()->size(); ++i) {
    if (g.inputs()->Get(i) == static_cast<uint32_t>(y) || (i != input && fed_by(i) == y)) return -1;
  }
  return y < 0 ? -1 : state_of(program, input);
}

bool uses_device_memory(const SessionLayout& l) {
  for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) {
    if (has_memory(l.model->runtime->devices[l.subs[p->subgraph].nodes[p->first].device])) return true;
  }
  return false;
}

bool shares_arena(const SessionLayout& l, uint8_t device) {
  const Device& d = l.model->runtime->devices[device];
  if ((d.info.flags & VIREO_DEVICE_UNIFIED) == 0 || d.delegate->buffer_import == nullptr) return false;
  for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) {
    if (!on(l, *p, device)) continue;
    uint32_t sub = p->subgraph;
    while (sub != 0 && l.subs[sub].inlined) sub = l.subs[sub].owner;
    if (sub != 0) return false;
  }
  return true;
}

bool shares_arena(const SessionLayout& l) {
  for (const DeviceArena* a = l.arenas; a != nullptr; a = a->next) {
    if (shares_arena(l, a->device)) return true;
  }
  return false;
}

Status plan_device_arenas(SessionLayout& l, const PlanWorkspace& w, Error* error) {
  const vireo_runtime* rt = l.model->runtime;
  for (uint32_t d = 0; d < rt->device_count; ++d) {
    bool used = false;
    for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) used = used || on(l, *p, static_cast<uint8_t>(d));
    if (!used || !has_memory(rt->devices[d])) continue;
    const uint32_t tensors = tensor_total(l);
    const size_t block_bytes = sizeof(DeviceArena) + sizeof(uint64_t) * tensors;
    void* const block = rt->allocate(block_bytes);
    if (block == nullptr) {
      return fail(error, Status::kOutOfArena, "the allocator has no {} bytes to plan the session", block_bytes);
    }
    auto* const plan = new (block) DeviceArena();
    plan->next = l.arenas;
    plan->block_bytes = block_bytes;
    plan->device = static_cast<uint8_t>(d);
    plan->at = reinterpret_cast<uint64_t*>(plan + 1);
    l.arenas = plan;
    for (uint32_t t = 0; t < tensors; ++t) plan->at[t] = kNoOffset;
    for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) {
      if (!on(l, *p, plan->device)) continue;
      plan->state_bytes += p->device_state_bytes;
      if (p->device_scratch_bytes > plan->scratch_bytes) plan->scratch_bytes = p->device_scratch_bytes;
    }
    for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) {
      if (!l.subs[i].dead)
        VIREO_TRY(plan_on(l, i, plan->device, w, plan->at + first_tensor(l, i), &plan->bytes, error));
    }
  }
  return Status::kOk;
}

void free_device_arenas(SessionLayout& l) {
  while (l.arenas != nullptr) {
    DeviceArena* const next = l.arenas->next;
    l.model->runtime->release(l.arenas, l.arenas->block_bytes);
    l.arenas = next;
  }
}

uint64_t device_bytes(const SessionLayout& l) {
  uint64_t sum = 0;
  for (const DeviceArena* a = l.arenas; a != nullptr; a = a->next)
    sum += (shares_arena(l, a->device) ? 0 : a->bytes) + a->scratch_bytes + a->state_bytes;
  return sum;
}

void spare_host_memory(const SessionLayout& l, uint32_t index, const PlanWorkspace& w) {
  const SubLayout& s = l.subs[index];
  // The device that alone has a value; -1: none has seen it yet, -2: somebody else, or the host.
  constexpr int32_t kUnseen = -1, kOthers = -2;
  for (uint32_t t = 0; t < s.tensor_count; ++t)
    w.live[t] = w.tensors[t].kind == PlanTensor::kValue && !w.tensors[t].output && !may_steer(s.max_types[t]) ? kUnseen
                                                                                                              : kOthers;
  for (uint32_t n = 0; n < s.node_count; ++n) {
    const JoinedPart* const part = s.nodes[n].part;
    int32_t who = kOthers;
    if (part != nullptr && !part->falls_back && has_memory(l.model->runtime->devices[s.nodes[n].device]) &&
        !shares_arena(l, s.nodes[n].device)) {
      who = s.nodes[n].device;
    }
    const auto see = [&](const Span<const int32_t>& list) {
      for (const int32_t t : list) {
        if (t >= 0) w.live[t] = w.live[t] == kUnseen || w.live[t] == who ? who : kOthers;
      }
    };
    see(w.nodes[n].inputs);
    see(w.nodes[n].outputs);
  }
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    if (w.live[t] >= 0) w.tensors[t].kind = PlanTensor::kConstant;
  }
}

}  // namespace vireo
