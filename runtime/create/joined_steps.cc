// Steps of parts of several nodes, and what runs those nodes where a part's device is lost.
#include "runtime/create/builder.h"

#include "runtime/prepare/device_arenas.h"
#include "runtime/recover/device_memory.h"

namespace vireo {

// The device that had no memory left does not get its parts any more.
void Builder::refuse_full(const char* why) {
  for (const JoinedPart* p = l_.parts; s_->devices.memory->full != nullptr && p != nullptr; p = p->next) {
    const Device& device = l_.model->runtime->devices[l_.subs[p->subgraph].nodes[p->first].device];
    if (&device != s_->devices.memory->full) continue;
    refuse_nodes(l_, device, *p, why);
    refused_ = true;
  }
}

Status Builder::open_work(Error* error) {
  const Status status = open_device_work(*s_, l_, error);
  refuse_full("the device had no memory left for weights and scratch");
  return status;
}

Status Builder::open_memory(Error* error) {
  const auto tensor_of = [](void* context, uint32_t sub, uint32_t t) -> const Tensor* {
    return static_cast<Builder*>(context)->slot(sub, static_cast<int32_t>(t)).tensor;
  };
  const Status status = open_device_memory(*s_, l_, {this, tensor_of}, error);
  refuse_full("the device had no memory left for a session's values");
  close_uploads(*s_);
  return status;
}

namespace {

Arena* arena_of(const vireo_session& s, const Device& device) {
  DeviceMemory* const m = s.devices.memory;
  for (uint32_t k = 0; m != nullptr && k < m->count; ++k) {
    if (m->arenas[k].device == &device) return &m->arenas[k];
  }
  return nullptr;
}

}  // namespace

// A constant in a buffer of its device: put there by a session before this one, or now. `out` is null where the part is
// a node by itself.
Status Builder::put_on_device(uint32_t sub, uint32_t k, const Packer& packer, const vireo_packed& what,
                              vireo_place* out, Error* error) {
  const Device& device = packer.device;
  const vireo_runtime* rt = l_.model->runtime;
  const auto failed = [&](vireo_status status, const char* why) {
    return fail(error, static_cast<Status>(status), "node \"{}\": constant {} of device \"{}\" {}",
                text_of(l_.graph(sub).nodes()->Get(packer.part.nodes[0])->name()), k, device.info.name, why);
  };
  Arena* const a = out == nullptr ? nullptr : arena_of(*s_, device);
  if (a == nullptr) return failed(VIREO_UNSUPPORTED, "is to lie in a buffer, and its part works on none");
  const DeviceLife life = life_of(device);
  if (l_.model->device_packs.find(life, what, out)) return Status::kOk;
  DeviceUpload& upload = a->upload;
  const uint64_t bytes = DevicePacks::bytes_of(what);
  if (what.bytes == 0 || bytes > upload.missing)
    return failed(VIREO_UNSUPPORTED, "has another size than when its memory was planned");
  if (bytes > upload.bytes - upload.used) {
    const Status status = next_upload(*s_, *a, bytes, error);
    refuse_full("the device had no memory left for weights");
    VIREO_TRY(status);
  }
  const void* from = find_mapped_pack(l_.model, device.delegate->name, what);
  void* const packed = from == nullptr ? rt->allocate(what.bytes) : nullptr;
  if (from == nullptr && packed == nullptr) return failed(VIREO_OUT_OF_ARENA, "could not be packed: no memory");
  vireo_packed again = VIREO_PACKED_INIT;
  vireo_status status = VIREO_OK;
  if (packed != nullptr) status = packer(&again, packed);
  if (status == VIREO_OK) {
    status = device.delegate->buffer_write(device.handle, upload.buffer, upload.used, packed == nullptr ? from : packed,
                                           what.bytes);
  }
  rt->release(packed, what.bytes);
  if (status != VIREO_OK) return failed(status, "could not be packed or written");
  *out = VIREO_PLACE_INIT;
  out->buffer = upload.buffer;
  out->offset = upload.used;
  if (!l_.model->device_packs.add(rt->allocator, life, what, *out))
    return failed(VIREO_OUT_OF_ARENA, "could not be kept: no memory");
  upload.used += bytes;
  upload.missing -= bytes;
  return Status::kOk;
}

// How the session wants to be served, scratch of the device's parts, and this part's state.
void Builder::place_work(const NodeChoice& choice, vireo_place* state, vireo_place* scratch, vireo_load_request* with) {
  const JoinedPart* const part = choice.part;
  with->priority = options_.priority;
  with->slice_ns = options_.slice_ns;
  with->profile = options_.profile;
  Arena* const a = part == nullptr ? nullptr : arena_of(*s_, l_.model->runtime->devices[choice.device]);
  if (a == nullptr) return;
  scratch->buffer = a->work;
  state->buffer = a->state;
  if (part->device_scratch_bytes != 0) with->scratch_at = scratch;
  if (part->device_state_bytes == 0) return;
  state->offset = a->state_used;
  a->state_used += part->device_state_bytes;
  with->state_at = state;
}

void Builder::refuse_part(const Device& device, const JoinedPart* part, vireo_status status) {
  if (part == nullptr || status == VIREO_DEVICE_LOST) return;
  if (status == VIREO_OUT_OF_ARENA) {  // the nodes are placed anew, without it
    refuse_nodes(l_, device, *part, "the device had no memory left for it when a session was made");
    refused_ = true;
  } else if (give_up_file(l_, *part, nullptr)) {  // bytes of a file that the device refuses are compiled anew
    refused_ = true;
  }
}

// What the step is, and the values that go into the part and come out.
Status Builder::fill_joined(uint32_t sub, const JoinedPart& part, Tensor** args, Step* step, Error* error) {
  *step = Step{};
  const fb::Node& first = *l_.graph(sub).nodes()->Get(part.first);
  const OpRow* row = find_op(static_cast<Op>(first.op()));
  if (row == nullptr || part.input_count > UINT16_MAX || part.output_count > UINT16_MAX) {
    return fail(error, Status::kUnsupported, "node \"{}\": too many values go into its part, or come out",
                text_of(first.name()));
  }
  step->def = row->def;
  step->input_count = static_cast<uint16_t>(part.input_count);
  step->output_count = static_cast<uint16_t>(part.output_count);
  step->args = args;
  step->info = next_info_;
  step->nodes = part.count;
  for (uint32_t i = 0; i < part.input_count; ++i) *args++ = slot(sub, part.inputs[i]).tensor;
  for (uint32_t o = 0; o < part.output_count; ++o) *args++ = slot(sub, part.outputs[o]).tensor;
  return Status::kOk;
}

// Whether all of a part's shapes, and all that steers its nodes, are known before a run.
bool Builder::is_fixed(uint32_t sub, const JoinedPart& part) {
  for (uint32_t k = 0; k < part.count; ++k) {
    const fb::Node& node = *l_.graph(sub).nodes()->Get(part.nodes[k]);
    if (!declared_static(sub, node)) return false;
    for (const int32_t x : *node.inputs()) {
      if (x >= 0 && !slot(sub, x).constant && may_steer(l_.subs[sub].max_types[x])) return false;
    }
  }
  return true;
}

// How delegates see the extents of a run. All subgraphs, because a part's nodes have bodies.
void Builder::take_run_graphs() {
  bool open = false;
  for (const JoinedPart* p = l_.parts; p != nullptr && !open; p = p->next) open = !is_fixed(p->subgraph, *p);
  if (!open) return;
  const uint32_t subs = p_.subgraph_count(), tensors = tensor_total(l_);
  vireo_graph* const graphs = c_.array<vireo_graph>(subs);
  const Tensor** const now = c_.array<const Tensor*>(tensors);
  if (!real()) return;
  for (uint32_t t = 0; t < tensors; ++t) now[t] = slots_[t].tensor;
  for (uint32_t i = 0; i < subs; ++i) {
    graphs[i] = vireo_graph{};
    graphs[i].program = &p_;
    graphs[i].subgraph = i;
    graphs[i].all = graphs;
    graphs[i].now = now + first_slot_[i];
  }
  s_->devices.run_graphs = graphs;
}

// The shapes of the part's nodes: those of fixed ones are checked now and then forgotten; else they are worked out at
// each run.
Status Builder::build_joined_shapes(uint32_t sub, const JoinedPart& part, Step* step, Error* error) {
  const auto& nodes = *l_.graph(sub).nodes();
  const bool fixed = is_fixed(sub, part);
  Frame local;
  Frame* const frame = fixed ? &local : c_.array<Frame>(1);
  const size_t mark = c_.used();
  Step* const steps = c_.array<Step>(part.count);
  if (real()) {
    *frame = Frame{};
    frame->steps = steps;
    frame->step_count = part.count;
  }
  for (uint32_t k = 0; k < part.count; ++k) {
    const char* const name = text_of(nodes.Get(part.nodes[k])->name());
    Status status = build_step(sub, part.nodes[k], 0, /*shapes_only=*/true, real() ? &steps[k] : nullptr, error);
    if (ok(status) && real() && fixed && steps[k].shapes.infer) {
      status = fail(error, Status::kUnsupported, "node \"{}\": its shape depends on data that device \"{}\" keeps",
                    name, l_.model->runtime->devices[l_.subs[sub].nodes[part.first].device].info.name);
    }
    if (ok(status)) continue;
    blame_node(error, name);
    return status;
  }
  if (fixed) {
    c_.rewind(mark);
  } else if (real()) {
    step->shapes.infer = true;
    step->bodies[0] = frame;
    step->away.graph = sub + 1;
  }
  return Status::kOk;
}

Status Builder::build_joined(uint32_t sub, const JoinedPart& part, uint8_t depth, Step* step, Error* error) {
  Tensor** const args = c_.array<Tensor*>(size_t{part.input_count} + part.output_count);
  if (real()) VIREO_TRY(fill_joined(sub, part, args, step, error));
  VIREO_TRY(build_joined_shapes(sub, part, step, error));
  for (uint32_t k = 0; k < part.count; ++k) add_info(sub, part.nodes[k], depth);
  VIREO_TRY(load_part(sub, part.first, step, error));
  if (real()) {
    step->away.device = &l_.model->runtime->devices[l_.subs[sub].nodes[part.first].device];
    step->away.arena = has_memory(*step->away.device) ? kSomeArena : 0;
  }
  if (!part.falls_back) return Status::kOk;
  const Status status = build_fallback(sub, part, depth, step, error);
  if (real() && !ok(status)) unload(*step);  // the frame does not count it yet
  return status;
}

// The part's nodes one by one on the device that each would have had without this one.
Status Builder::build_fallback(uint32_t sub, const JoinedPart& part, uint8_t depth, Step* step, Error* error) {
  auto* const fallback = c_.array<Fallback>(1);
  NodeInfo* const infos = c_.array<NodeInfo>(part.count);
  Step* const steps = c_.array<Step>(part.count);
  FallbackValue* const values = c_.array<FallbackValue>(part.inner_count);
  if (real()) {
    *fallback = Fallback{};
    fallback->frame.graph = &l_.graph(sub);
    fallback->frame.steps = steps;
    fallback->infos = infos;
    fallback->values = values;
    fallback->value_count = part.inner_count;
    fallback->first_info = step->info;
    fallback->blob = part.blob;
    for (uint32_t i = 0; i < part.inner_count; ++i)
      values[i] = {slot(sub, part.inner[i]).tensor, s_->values.at + part.region_base + part.inner_at[i]};
    second_infos_ = infos;
  }
  second_ = true;
  Status status = Status::kOk;
  for (uint32_t k = 0; ok(status) && k < part.count; ++k) {
    Step* const one = real() ? &steps[k] : nullptr;
    status = build_step(sub, part.nodes[k], depth, /*shapes_only=*/false, one, error);
    if (real() && ok(status)) {
      one->info = step->info + k;
      one->window.steps = 0;
      ++fallback->frame.step_count;  // what release has to unload
    }
    // So that a failure further on finds what is loaded.
    if (real() && k == 0) step->away.fallback = fallback;
  }
  second_ = false;
  return status;
}

}  // namespace vireo
