// Steps of a session: one a node, with what its device loads for it.
#include "runtime/create/builder.h"

#include "runtime/devices/fault.h"
#include "runtime/prepare/arena_plan.h"
#include "sdk/base/config.h"
#if VIREO_CACHE && VIREO_JOINED
#include "runtime/platform/driver_cache.h"
#endif

namespace vireo {

uint32_t Builder::count_steps(uint32_t sub) const {
  const fb::Subgraph& g = l_.graph(sub);
  uint32_t steps = 0;
  for (const fb::Node* n : *g.nodes()) {
    const bool bodies = static_cast<Op>(n->op()) == Op::kComposite && l_.subs[n->subgraphs()->Get(0)].inlined;
    steps += bodies ? count_steps(n->subgraphs()->Get(0)) : 1;
  }
  return steps;
}

// Of the bodies that are run step by step in it, too.
uint32_t Builder::count_aliases(uint32_t sub) const {
  const SubLayout& s = l_.subs[sub];
  uint32_t aliases = 0;
  for (uint32_t t = 0; t < s.tensor_count; ++t) aliases += is_alias(s.offsets[t]) ? 1 : 0;
  for (const fb::Node* n : *l_.graph(sub).nodes()) {
    const bool inlined = static_cast<Op>(n->op()) == Op::kComposite && l_.subs[n->subgraphs()->Get(0)].inlined;
    aliases += inlined ? count_aliases(n->subgraphs()->Get(0)) : 0;
  }
  return aliases;
}

void Builder::add_info(uint32_t sub, uint32_t n, uint8_t depth) {
  if (real()) {
    const NodeChoice& choice = choice_of(sub, n);
    const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
    NodeInfo info;
    info.node = &node;
    info.kernel = choice.kernel;
    info.reason = choice.reason;
    info.key = choice.key;
    info.device = choice.device;
    info.depth = depth;
    for (const int32_t y : *node.outputs()) {
      if (y < 0) continue;
      info.dtype = static_cast<DType>(l_.graph(sub).tensors()->Get(static_cast<uint32_t>(y))->dtype());
      break;
    }
    if (VIREO_JOINED && second_) {
      *second_infos_ = info;
    } else {
      s_->nodes.infos[next_info_] = info;
    }
  }
  if (!VIREO_JOINED || !second_) {
    ++next_info_;
  } else if (real()) {
    ++second_infos_;
  }
}

bool Builder::declared_static(uint32_t sub, const fb::Node& node) {
  for (const int32_t x : *node.inputs()) {
    if (x >= 0 && !slot(sub, x).is_static) return false;
  }
  for (const int32_t y : *node.outputs()) {
    if (y >= 0 && !slot(sub, y).is_static) return false;
  }
  return true;
}

// A step whose shapes are declared fixed must have the shapes that its operator gives them: kernels rely on it.
Status Builder::check_static(uint32_t sub, uint32_t n, Step* step, Error* error) {
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  for (uint32_t i = 0; i < step->input_count; ++i) {
    const int32_t x = node.inputs()->Get(i);
    constant_[i] = x >= 0 && slot(sub, x).constant && step->args[i]->dtype != DType::kString;
  }
  for (uint32_t o = 0; o < step->output_count; ++o) {
    out_types_[o] = TensorType{};
    out_pointers_[o] = step->args[step->input_count + o] == nullptr ? nullptr : &out_types_[o];
  }
  bool unsure = false;
  Error cause;
  const Status status = infer_static(*step, constant_, out_pointers_, &unsure, &cause);
  if (unsure) {
    step->shapes.infer = true;
    return Status::kOk;
  }
  if (!ok(status)) {
    return fail(error, status, "node \"{}\" ({}): {}", text_of(node.name()), step->def->name, cause.message);
  }
  for (uint32_t o = 0; o < step->output_count; ++o) {
    const Tensor* y = step->args[step->input_count + o];
    if (y == nullptr) continue;
    if (static_cast<const TensorType&>(*y) != out_types_[o]) {
      return fail(error, Status::kInvalidModel,
                  "node \"{}\" ({}): output {} is declared {} {}, the operator gives {} {}", text_of(node.name()),
                  step->def->name, o, dtype_name(y->dtype), y->shape, dtype_name(out_types_[o].dtype),
                  out_types_[o].shape);
    }
  }
  return Status::kOk;
}

// The copies that the part reads: made now, or by a session before this one.
Status Builder::pack_constants(uint32_t sub, const vireo_part& part, const PackedList& list, Error* error) {
  const void** const packed = list.data;
  const NodeChoice& choice = choice_of(sub, part.nodes[0]);
  const vireo_runtime* rt = l_.model->runtime;
  const Device& device = rt->devices[choice.device];
  for (uint32_t k = 0; k < choice.packed; ++k) {
    vireo_packed what = VIREO_PACKED_INIT;
    const Packer packer{device, host_, &l_.graphs[sub], part, k, l_.slots > 1 ? &s_->threads.pool : nullptr};
    vireo_status status = packer(&what, nullptr);
    const char* const delegate = device.delegate->name;
    if constexpr (VIREO_JOINED) {
      if (list.at != nullptr) list.at[k] = nullptr;
      if (status == VIREO_OK && (what.flags & VIREO_PACKED_ON_DEVICE) != 0) {
        VIREO_TRY(put_on_device(sub, k, packer, what, list.at == nullptr ? nullptr : &list.places[k], error));
        packed[k] = nullptr;
        if (list.at != nullptr) list.at[k] = &list.places[k];  // else it failed
        continue;
      }
    }
    packed[k] = status == VIREO_OK ? l_.model->packs.find(delegate, what) : nullptr;
    if (packed[k] == nullptr && status == VIREO_OK) packed[k] = find_mapped_pack(l_.model, delegate, what);
    if (packed[k] != nullptr) continue;
    void* const to = status == VIREO_OK ? Packs::take(rt->allocator, delegate, what) : nullptr;
    if (status == VIREO_OK && to == nullptr) {
      return fail(error, Status::kOutOfArena,
                  "the allocator has no {} bytes for packed weights: vireo_memory.packed_bytes is what they take in "
                  "all, VIREO_PACKING_NEVER does without",
                  what.bytes);
    }
    if (status == VIREO_OK) status = packer(&what, to);
    if (status != VIREO_OK) {
      if (to != nullptr) Packs::drop(rt->allocator, to);
      return fail(error, static_cast<Status>(status), "node \"{}\": device \"{}\" could not pack its weights",
                  text_of(l_.graph(sub).nodes()->Get(part.nodes[0])->name()), device.info.name);
    }
    packed[k] = l_.model->packs.add(rt->allocator, to);
  }
  return Status::kOk;
}

Status Builder::build_part(uint32_t sub, uint32_t n, bool shapes_only, Step* step, Error* error) {
  const NodeChoice& choice = choice_of(sub, n);
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  const bool composite = static_cast<Op>(node.op()) == Op::kComposite;
  if (real()) step->shapes.bounded = shapes_only || choice.scratch_bytes != 0;
  if (composite) {
    const uint32_t body = node.subgraphs()->Get(0);
    bool fixed = declared_static(sub, node);
    for (uint32_t t = 0; t < l_.subs[body].tensor_count; ++t) fixed = fixed && slots_[first_slot_[body] + t].is_static;
    // Of fixed shapes, the body's are checked now and then forgotten; else they are worked out at each run.
    Frame local;
    Frame* frame = fixed ? &local : c_.array<Frame>(1);
    const size_t mark = c_.used();
    if (real() && !fixed) *frame = Frame{};
    VIREO_TRY(build_frame(body, 0, /*shapes_only=*/true, real() || fixed ? frame : &local, error));
    if (fixed) {
      if (real()) {
        for (uint32_t i = 0; i < frame->step_count; ++i) {
          if (frame->steps[i].shapes.infer)
            return fail(error, Status::kInvalidModel, "node \"{}\": a fused body depends on data",
                        text_of(node.name()));
        }
      }
      c_.rewind(mark);
    } else if (real()) {
      step->shapes.infer = true;
      step->bodies[0] = frame;
    }
  } else if (real()) {
    step->shapes.data_dependent = (step->def->flags & OpDef::kDataDependent) != 0;
    if (declared_static(sub, node)) {
      VIREO_TRY(check_static(sub, n, step, error));
      step->in_place = !step->shapes.infer && choice.in_place;
    } else {
      step->shapes.infer = true;
    }
  }
  return shapes_only ? Status::kOk : load_part(sub, n, step, error);
}

namespace {

// Lists for the constants of one part, while it is loaded.
class PackedRoom {
 public:
  PackedRoom(const vireo_runtime* rt, uint32_t count, bool places) : rt_(rt) {
    list_.data = few_;
    if (!VIREO_JOINED || !places) return;
    Carver c;
    for (int round = 0; round < 2; ++round) {
      list_.places = c.array<vireo_place>(count);
      list_.data = c.array<const void*>(count);
      list_.at = c.array<const vireo_place*>(count);
      if (round != 0) break;
      bytes_ = c.used() + 1;  // also where there are none
      block_ = rt_->allocate(bytes_);
      if (block_ == nullptr) {
        list_ = PackedList{};
        return;
      }
      c = Carver(block_);
    }
  }
  ~PackedRoom() { rt_->release(block_, bytes_); }
  PackedRoom(const PackedRoom&) = delete;
  PackedRoom& operator=(const PackedRoom&) = delete;

  const PackedList& list() const { return list_; }

 private:
  const vireo_runtime* rt_;
  const void* few_[VIREO_MAX_PACKED];
  void* block_ = nullptr;
  size_t bytes_ = 0;
  PackedList list_;
};

}  // namespace

// Hands the part to its device, whose memory for it comes next in the block.
Status Builder::load_part(uint32_t sub, uint32_t n, Step* step, Error* error) {
  const NodeChoice& choice = choice_of(sub, n);
  void* state = c_.bytes(choice.state_bytes, 64);
  if (!real()) return Status::kOk;
  const Device& device = l_.model->runtime->devices[choice.device];
  const vireo_part part = part_of(l_, sub, &n, choice);
  Fault fault;
  vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
  with.slots = l_.slots;
  with.state = state;
  if (VIREO_JOINED && choice.part != nullptr && choice.part->blob != nullptr) {
    with.blob = choice.part->blob->data;
    with.blob_bytes = choice.part->blob->bytes;
  }
  with.fault = kOnlyCpu ? nullptr : &fault;
  vireo_place device_state = VIREO_PLACE_INIT, device_scratch = VIREO_PLACE_INIT;
  if constexpr (VIREO_JOINED) place_work(choice, &device_state, &device_scratch, &with);
  const PackedRoom packed(l_.model->runtime, choice.packed, VIREO_JOINED && choice.part != nullptr);
  if (VIREO_PACKS && packs_for(l_, choice.device, choice.part)) {
    if (packed.list().data == nullptr)
      return fail(error, Status::kOutOfArena, "the allocator has no memory for a list of {} constants", choice.packed);
    VIREO_TRY(pack_constants(sub, part, packed.list(), error));
    with.packed = packed.list().data;
    with.packed_at = device.delegate->bind == nullptr ? nullptr : packed.list().at;
  }
#if VIREO_CACHE && VIREO_JOINED
  // Of an encrypted model nothing is kept in plain.
  const char* const folder = choice.part == nullptr || p_.header().cipher_offset != 0 ? nullptr : options_.cache;
  DriverCache cache(*l_.model->runtime, device, folder, options_.cache_bytes);
  with.cache = cache.table();
#endif
  const vireo_status status =
      device.delegate->load(device.handle, &host_, &l_.graphs[sub], &part, &with, &step->call.loaded);
  if (status != VIREO_OK) {
    if constexpr (VIREO_JOINED) refuse_part(device, choice.part, status);
    if (!kOnlyCpu) blame(error, fault);
    return fail(error, static_cast<Status>(status), "node \"{}\": device \"{}\" could not prepare it: {}{}",
                text_of(l_.graph(sub).nodes()->Get(n)->name()), device.info.name, fault.lead(), fault.said(status));
  }
#if VIREO_ASAN
  step->scratch_bytes = choice.scratch_bytes;
#endif
  step->call.submit = device.delegate->submit;
  step->call.unload = device.delegate->unload;
  if (VIREO_JOINED && device.delegate->wait != nullptr) {
    step->away.device = &device;
    step->away.tells_time = options_.profile != 0 && device.delegate->timeline != nullptr;
  }
  return Status::kOk;
}

Status Builder::build_step(uint32_t sub, uint32_t n, uint8_t depth, bool shapes_only, Step* step, Error* error) {
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  const auto op = static_cast<Op>(node.op());
  Tensor** args = c_.array<Tensor*>(node.inputs()->size() + node.outputs()->size());
  if (real()) {
    *step = Step{};
    const OpRow* row = find_op(op);
    if (row == nullptr)
      return fail(error, Status::kUnsupported, "node \"{}\": operator {} is not in this build", text_of(node.name()),
                  static_cast<int>(op));
    step->def = row->def;
    step->declared.graph = &l_.graph(sub);
    step->declared.node = &node;
    step->attrs = node.attrs()->data();
    step->attrs_size = node.attrs()->size();
    if (node.inputs()->size() > UINT16_MAX || node.outputs()->size() > UINT16_MAX) {
      return fail(error, Status::kInvalidModel, "node \"{}\" has too many inputs", text_of(node.name()));
    }
    step->input_count = static_cast<uint16_t>(node.inputs()->size());
    step->output_count = static_cast<uint16_t>(node.outputs()->size());
    step->args = args;
    for (const int32_t x : *node.inputs()) *args++ = x < 0 ? nullptr : slot(sub, x).tensor;
    for (const int32_t y : *node.outputs()) *args++ = y < 0 ? nullptr : slot(sub, y).tensor;
    step->info = shapes_only ? 0 : next_info_;
    if (VIREO_BRANCHES && sub == 0) {
      step->window.lane = l_.subs[0].nodes[n].lane;
      step->window.steps = static_cast<uint8_t>(l_.subs[0].nodes[n].window);
    }
  }
  if (!shapes_only) add_info(sub, n, depth);
  if constexpr (VIREO_CONTROL_FLOW) {  // in a build without these operators the loader has refused them
    if (op == Op::kIf || op == Op::kLoop || op == Op::kScan)
      return build_control(sub, n, depth, shapes_only, step, error);
  }
  return build_part(sub, n, shapes_only, step, error);
}

Status Builder::build_steps(uint32_t sub, uint8_t depth, bool shapes_only, Frame* frame, Error* error) {
  const fb::Subgraph& g = l_.graph(sub);
  for (uint32_t n = 0; n < g.nodes()->size(); ++n) {
    const fb::Node& node = *g.nodes()->Get(n);
    if (static_cast<Op>(node.op()) == Op::kComposite && l_.subs[node.subgraphs()->Get(0)].inlined) {
      add_info(sub, n, depth);
      VIREO_TRY(build_steps(node.subgraphs()->Get(0), static_cast<uint8_t>(depth + 1), shapes_only, frame, error));
      continue;
    }
    Step* step = real() ? &frame->steps[frame->step_count] : nullptr;
    if constexpr (VIREO_JOINED) {
      if (const JoinedPart* const part = shapes_only ? nullptr : l_.subs[sub].nodes[n].part; part != nullptr) {
        const Status status = build_joined(sub, *part, depth, step, error);
        if (!ok(status)) {
          blame_node(error, text_of(node.name()));
          return status;
        }
        ++frame->step_count;
        n += part->count - 1;
        continue;
      }
    }
    if (const Status status = build_step(sub, n, depth, shapes_only, step, error); !ok(status)) {
      blame_node(error, text_of(node.name()));
      if (real()) unload(*step);  // its bodies may hold parts already, and the frame does not count it yet
      return status;
    }
    ++frame->step_count;
  }
  if (shapes_only) return Status::kOk;
  // Values in the memory of an output that is bound at run time.
  const SubLayout& s = l_.subs[sub];
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    if (!is_alias(s.offsets[t])) continue;
    if (real())
      frame->aliases[frame->alias_count] = {slots_[first_slot_[sub] + t].tensor,
                                            slot(sub, static_cast<int32_t>(alias_of(s.offsets[t]))).tensor};
    ++frame->alias_count;
  }
  return Status::kOk;
}

Status Builder::build_frame(uint32_t sub, uint8_t depth, bool shapes_only, Frame* frame, Error* error) {
  const fb::Subgraph& g = l_.graph(sub);
  frame->graph = &g;
  frame->step_count = 0;
  frame->input_count = g.inputs()->size();
  frame->output_count = g.outputs()->size();
  frame->steps = c_.array<Step>(count_steps(sub));
  frame->inputs = c_.array<Tensor*>(frame->input_count);
  frame->outputs = c_.array<Tensor*>(frame->output_count);
  frame->aliases = c_.array<Alias>(shapes_only ? 0 : count_aliases(sub));
  if (real()) {
    for (uint32_t i = 0; i < frame->input_count; ++i)
      frame->inputs[i] = slot(sub, static_cast<int32_t>(g.inputs()->Get(i))).tensor;
    for (uint32_t o = 0; o < frame->output_count; ++o)
      frame->outputs[o] = slot(sub, static_cast<int32_t>(g.outputs()->Get(o))).tensor;
  }
  return build_steps(sub, depth, shapes_only, frame, error);
}

}  // namespace vireo
