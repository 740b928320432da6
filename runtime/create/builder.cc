#include "runtime/create/builder.h"

#include <string.h>

#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/branches.h"
#include "runtime/recover/device_memory.h"
#include "runtime/run/part_guard.h"
#include "sdk/base/config.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo {
namespace {

constexpr size_t kMessageBytes = 256;

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

uint32_t tensor_total(const SessionLayout& l) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) n += l.subs[i].tensor_count;
  return n;
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
    k.is_static = type_of(tensor).shape.is_static();
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
    if (s_->all == nullptr) s_->all = tensor;  // all of them lie one after the other
    ++s_->all_count;
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
      out.data = s_->tensors + region_base_[sub] + s.offsets[t];
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
      s_->infos[next_info_] = info;
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
    step->infer = true;
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
Status Builder::pack_constants(uint32_t sub, const vireo_part& part, const void** packed, Error* error) {
  const NodeChoice& choice = choice_of(sub, part.nodes[0]);
  const vireo_runtime* rt = l_.model->runtime;
  const Device& device = rt->devices[choice.device];
  for (uint32_t k = 0; k < choice.packed; ++k) {
    vireo_packed what = {};
    what.struct_size = sizeof(what);
    const auto pack = [&](void* to) {
      return device.delegate->pack(device.handle, &host_, &l_.graphs[sub], &part, k, l_.slots > 1 ? &s_->pool : nullptr,
                                   &what, to);
    };
    vireo_status status = pack(nullptr);
    const char* const delegate = device.delegate->name;
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
    if (status == VIREO_OK) status = pack(to);
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
  if (real()) step->bounded = shapes_only || choice.scratch_bytes != 0;
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
          if (frame->steps[i].infer)
            return fail(error, Status::kInvalidModel, "node \"{}\": a fused body depends on data",
                        text_of(node.name()));
        }
      }
      c_.rewind(mark);
    } else if (real()) {
      step->infer = true;
      step->bodies[0] = frame;
    }
  } else if (real()) {
    step->data_dependent = (step->def->flags & OpDef::kDataDependent) != 0;
    if (declared_static(sub, node)) {
      VIREO_TRY(check_static(sub, n, step, error));
      step->in_place = !step->infer && choice.in_place;
    } else {
      step->infer = true;
    }
  }
  return shapes_only ? Status::kOk : load_part(sub, n, step, error);
}

// Hands the part to its device, whose memory for it comes next in the block.
Status Builder::load_part(uint32_t sub, uint32_t n, Step* step, Error* error) {
  const NodeChoice& choice = choice_of(sub, n);
  void* state = c_.bytes(choice.state_bytes, 64);
  if (!real()) return Status::kOk;
  const Device& device = l_.model->runtime->devices[choice.device];
  vireo_part part = part_of(l_, sub, &n, second_);
  const void* packed[VIREO_MAX_PACKED];
  if (VIREO_PACKS && part.packs != 0) {
    VIREO_TRY(pack_constants(sub, part, packed, error));
    part.packed = packed;
  }
  const vireo_status status =
      device.delegate->load(device.handle, &host_, &l_.graphs[sub], &part, l_.slots, state, &step->loaded);
#if VIREO_JOINED
  if (status == VIREO_OUT_OF_ARENA && choice.part != nullptr) {  // the nodes are placed anew, without it
    refuse_nodes(l_, device, *choice.part, "the device had no memory left for it when a session was made");
    again_ = true;
  }
  // Bytes of a file that the device refuses are compiled anew.
  if (status != VIREO_OK && status != VIREO_OUT_OF_ARENA && status != VIREO_DEVICE_LOST && choice.part != nullptr &&
      give_up_file(l_, *choice.part, nullptr))
    again_ = true;
#endif
  if (status != VIREO_OK) {
    return fail(error, static_cast<Status>(status), "node \"{}\": device \"{}\" could not prepare it: status {}",
                text_of(l_.graph(sub).nodes()->Get(n)->name()), device.info.name, status);
  }
#if VIREO_ASAN
  step->scratch_bytes = choice.scratch_bytes;
#endif
  step->submit = device.delegate->submit;
  step->unload = device.delegate->unload;
#if VIREO_JOINED
  if (device.delegate->wait != nullptr) step->device = &device;
#endif
  return Status::kOk;
}

#if VIREO_JOINED
Status Builder::open_memory(Error* error) {
  const auto tensor_of = [](void* context, uint32_t sub, uint32_t t) -> const Tensor* {
    return static_cast<Builder*>(context)->slot(sub, static_cast<int32_t>(t)).tensor;
  };
  const Status status = open_device_memory(*s_, l_, {this, tensor_of}, error);
  for (const JoinedPart* p = l_.parts; s_->memory->full != nullptr && p != nullptr; p = p->next) {
    const Device& device = l_.model->runtime->devices[l_.subs[p->subgraph].nodes[p->first].device];
    if (&device != s_->memory->full) continue;
    refuse_nodes(l_, device, *p, "the device had no memory left for a session's values");
    again_ = true;
  }
  return status;
}

Status Builder::build_joined(uint32_t sub, const JoinedPart& part, uint8_t depth, Step* step, Error* error) {
  const auto& nodes = *l_.graph(sub).nodes();
  Tensor** args = c_.array<Tensor*>(size_t{part.input_count} + part.output_count);
  bool fixed = true;
  for (uint32_t k = 0; k < part.count; ++k) fixed = fixed && declared_static(sub, *nodes.Get(part.nodes[k]));
  if (real()) {
    *step = Step{};
    const OpRow* row = find_op(static_cast<Op>(nodes.Get(part.first)->op()));
    if (row == nullptr || part.input_count > UINT16_MAX || part.output_count > UINT16_MAX) {
      return fail(error, Status::kUnsupported, "node \"{}\": too many values go into its part, or come out",
                  text_of(nodes.Get(part.first)->name()));
    }
    step->def = row->def;
    step->input_count = static_cast<uint16_t>(part.input_count);
    step->output_count = static_cast<uint16_t>(part.output_count);
    step->args = args;
    step->info = next_info_;
    step->nodes = part.count;
    for (uint32_t i = 0; i < part.input_count; ++i) *args++ = slot(sub, part.inputs[i]).tensor;
    for (uint32_t o = 0; o < part.output_count; ++o) *args++ = slot(sub, part.outputs[o]).tensor;
  }
  // Of fixed shapes, those of all nodes are checked now and then forgotten; else they are worked out at each run.
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
    const Status status = build_step(sub, part.nodes[k], 0, /*shapes_only=*/true, real() ? &steps[k] : nullptr, error);
    if (!ok(status)) {
      blame_node(error, text_of(nodes.Get(part.nodes[k])->name()));
      return status;
    }
    if (real() && fixed && steps[k].infer) {
      blame_node(error, text_of(nodes.Get(part.nodes[k])->name()));
      return fail(error, Status::kUnsupported, "node \"{}\": its shape depends on data that device \"{}\" keeps",
                  text_of(nodes.Get(part.nodes[k])->name()),
                  l_.model->runtime->devices[l_.subs[sub].nodes[part.first].device].info.name);
    }
  }
  if (fixed) {
    c_.rewind(mark);
  } else if (real()) {
    step->infer = true;
    step->bodies[0] = frame;
  }
  for (uint32_t k = 0; k < part.count; ++k) add_info(sub, part.nodes[k], depth);
  VIREO_TRY(load_part(sub, part.first, step, error));
  if (real()) {
    step->device = &l_.model->runtime->devices[l_.subs[sub].nodes[part.first].device];
    step->arena = has_memory(*step->device) ? kSomeArena : 0;
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
      values[i] = {slot(sub, part.inner[i]).tensor, s_->tensors + part.region_base + part.inner_at[i]};
    second_infos_ = infos;
  }
  second_ = true;
  Status status = Status::kOk;
  for (uint32_t k = 0; ok(status) && k < part.count; ++k) {
    Step* const one = real() ? &steps[k] : nullptr;
    status = build_step(sub, part.nodes[k], depth, /*shapes_only=*/false, one, error);
    if (real() && ok(status)) {
      one->info = step->info + k;
      one->window = 0;
      ++fallback->frame.step_count;  // what release has to unload
    }
    // So that a failure further on finds what is loaded.
    if (real() && k == 0) step->fallback = fallback;
  }
  second_ = false;
  return status;
}
#endif

// What goes into and comes out of a body must be of its owner's types; extents are checked when they are bound.
Status Builder::check_body_types(uint32_t sub, uint32_t n, Error* error) {
  const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
  const auto op = static_cast<Op>(node.op());
  uint32_t want_in = 0, want_out = node.outputs()->size(), skip = 0;
  if (op == Op::kIf) {
    want_in = node.inputs()->size() - 1;
    skip = 1;
  } else if (op == Op::kLoop) {
    const auto& a = *::flatbuffers::GetRoot<attrs::Loop>(node.attrs()->data());
    want_in = node.inputs()->size();
    if (uint64_t{a.carried()} + a.scanned() != want_out || uint64_t{a.carried()} + 2 > want_in) {
      return fail(error, Status::kInvalidModel, "node \"{}\" (Loop): malformed carried values", text_of(node.name()));
    }
    want_out += 1;
  } else {
    const auto& a = *::flatbuffers::GetRoot<attrs::Scan>(node.attrs()->data());
    want_in = node.inputs()->size();
    if (uint64_t{a.carried()} + a.scanned_in() > want_in || a.carried() > want_out || a.scanned_in() == 0 ||
        (a.out_axes() == nullptr ? 0 : a.out_axes()->size()) != want_out - a.carried() ||
        (a.out_reverse() == nullptr ? 0 : a.out_reverse()->size()) != want_out - a.carried()) {
      return fail(error, Status::kInvalidModel, "node \"{}\" (Scan): malformed carried values", text_of(node.name()));
    }
    bool first_axis = true;
    for (const int32_t axis : *a.in_axes()) first_axis = first_axis && axis == 0;
    for (uint32_t k = 0; a.out_axes() != nullptr && k < a.out_axes()->size(); ++k)
      first_axis = first_axis && a.out_axes()->Get(k) == 0;
    if (!first_axis) {
      return fail(error, Status::kUnsupported, "node \"{}\" (Scan): slices along another axis than 0 need a Transpose",
                  text_of(node.name()));
    }
  }
  // Carried values are what they were before the first trip where there is none.
  const uint32_t first = op == Op::kLoop ? 2 : 0;
  const uint32_t carried = op == Op::kIf     ? 0
                           : op == Op::kLoop ? ::flatbuffers::GetRoot<attrs::Loop>(node.attrs()->data())->carried()
                                             : ::flatbuffers::GetRoot<attrs::Scan>(node.attrs()->data())->carried();
  for (uint32_t j = 0; j < carried; ++j) {
    const int32_t x = node.inputs()->Get(first + j), y = node.outputs()->Get(j);
    if (x < 0 || y < 0 || slot(sub, x).tensor->dtype != slot(sub, y).tensor->dtype)
      return fail(error, Status::kInvalidModel, "node \"{}\": a carried value changes its type", text_of(node.name()));
  }
  for (const uint32_t body : *node.subgraphs()) {
    const fb::Subgraph& g = l_.graph(body);
    bool good = g.inputs()->size() == want_in && g.outputs()->size() == want_out;
    for (uint32_t i = skip; good && i < node.inputs()->size(); ++i) {
      const int32_t x = node.inputs()->Get(i);
      const bool cell = op == Op::kLoop && i < 2;
      if (cell) continue;
      good = x >= 0 &&
             slot(sub, x).tensor->dtype == slot(body, static_cast<int32_t>(g.inputs()->Get(i - skip))).tensor->dtype;
    }
    for (uint32_t o = 0; good && o < node.outputs()->size(); ++o) {
      const int32_t y = node.outputs()->Get(o);
      const uint32_t at = o + (op == Op::kLoop ? 1 : 0);
      const Tensor& made = *slot(body, static_cast<int32_t>(g.outputs()->Get(at))).tensor;
      good = y >= 0 ? slot(sub, y).tensor->dtype == made.dtype : op == Op::kIf;
      // The branch writes straight into its owner's output.
      good = good && (op != Op::kIf || y < 0 || slot(sub, y).tensor->capacity >= made.capacity);
    }
    if (!good) return fail(error, Status::kInvalidModel, "node \"{}\": its body does not fit it", text_of(node.name()));
    if (op == Op::kLoop) {
      const Tensor& i = *slot(body, static_cast<int32_t>(g.inputs()->Get(0))).tensor;
      const Tensor& c = *slot(body, static_cast<int32_t>(g.inputs()->Get(1))).tensor;
      const Tensor& again = *slot(body, static_cast<int32_t>(g.outputs()->Get(0))).tensor;
      if (i.dtype != DType::kI64 || i.capacity != 8 || c.dtype != DType::kBool || c.capacity != 1 ||
          again.dtype != DType::kBool || again.capacity != 1) {
        return fail(error, Status::kInvalidModel, "node \"{}\" (Loop): malformed iteration number or condition",
                    text_of(node.name()));
      }
    }
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
    step->graph = &l_.graph(sub);
    step->node = &node;
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
      step->lane = l_.subs[0].nodes[n].lane;
      step->window = l_.subs[0].nodes[n].window;
    }
  }
  if (!shapes_only) add_info(sub, n, depth);
  // In a build without these operators the loader has refused them.
  const bool control = VIREO_CONTROL_FLOW && (op == Op::kIf || op == Op::kLoop || op == Op::kScan);
  if (!control) return build_part(sub, n, shapes_only, step, error);
  if (shapes_only)
    return fail(error, Status::kInvalidModel, "node \"{}\": control flow inside a fused node", text_of(node.name()));
  if (real()) {
    step->kind = op == Op::kIf ? Step::kIf : op == Op::kLoop ? Step::kLoop : Step::kScan;
    VIREO_TRY(check_body_types(sub, n, error));
  }
  for (uint32_t b = 0; b < node.subgraphs()->size(); ++b) {
    Frame* frame = c_.array<Frame>(1);
    Frame counted;
    if (real()) {
      *frame = Frame{};
      step->bodies[b] = frame;
    }
    VIREO_TRY(build_frame(node.subgraphs()->Get(b), static_cast<uint8_t>(depth + 1), false, real() ? frame : &counted,
                          error));
  }
  return Status::kOk;
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
#if VIREO_JOINED
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
#endif
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

static uint32_t count_infos(const SessionLayout& l) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) n += l.subs[i].dead ? 0 : l.subs[i].node_count;
  return n;
}

Status Builder::build(void* temporary, Error* error) {
  take_temporary(temporary);
  s_ = c_.array<vireo_session>(1);
  if (real()) {
    s_ = new (s_) vireo_session();
    s_->model = l_.model;
  }
  const uint32_t infos = count_infos(l_), exprs = p_.expr_count(), inputs = l_.graph(0).inputs()->size();
  NodeInfo* info = c_.array<NodeInfo>(infos);
  NodeTime* times = options_.profile != 0 ? c_.array<NodeTime>(infos) : nullptr;
  int64_t* symbols = c_.array<int64_t>(exprs);
  Interval* intervals = c_.array<Interval>(exprs);
  TensorType* input_types = c_.array<TensorType>(inputs);
  Tensor* own_inputs = c_.array<Tensor>(inputs);
  uint32_t states = 0;
  for (uint32_t i = 0; i < inputs; ++i) states += state_of(p_, i) >= 0 ? 1 : 0;
  Carried* carried = c_.array<Carried>(states);
  char* message = static_cast<char*>(c_.bytes(kMessageBytes));
  const size_t device_bytes = options_.device == nullptr ? 0 : strlen(options_.device) + 1;
  char* device = c_.array<char>(device_bytes);  // the caller's text may go
  const size_t target_bytes = options_.target == nullptr ? 0 : strlen(options_.target) + 1;
  char* target = c_.array<char>(target_bytes);

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
  for (uint32_t i = 0; i < p_.subgraph_count(); ++i) make_slots(i);
  for (uint32_t i = 0; i < p_.subgraph_count(); ++i) place_strings(i);

  // The arena and scratch lie in front of what the walk below takes, so that their places are known to it.
  const size_t arena_bytes = static_cast<size_t>(l_.subs[0].bytes);
  if (kRedZone != 0) (void)c_.bytes(kRedZone, 64);
#if VIREO_JOINED
  DeviceMemory* const memory = l_.arenas == nullptr ? nullptr : carve_device_memory(l_, c_);
  const size_t slack = shares_arena(l_) ? 2 * kImportAlignment : 0;
  void* arena = c_.bytes(arena_bytes + slack, 64);
  if (real() && slack != 0)
    arena = reinterpret_cast<void*>(align_up(reinterpret_cast<uintptr_t>(arena), kImportAlignment));
#else
  void* arena = c_.bytes(arena_bytes, 64);
#endif
  if (kRedZone != 0) (void)c_.bytes(kRedZone, 64);
  void* scratch = c_.bytes(l_.scratch_bytes, 64);
  if (kRedZone != 0) (void)c_.bytes(kRedZone, 64);
  [[maybe_unused]] BranchLane* lanes = VIREO_BRANCHES ? c_.array<BranchLane>(static_cast<size_t>(l_.lanes)) : nullptr;
  if (real()) {
    s_->tensors = static_cast<uint8_t*>(arena);
    s_->tensor_bytes = arena_bytes;
    s_->infos = info;
    s_->info_count = infos;
    s_->times = times;
    for (uint32_t i = 0; times != nullptr && i < infos; ++i) times[i] = NodeTime{};
    s_->symbols = symbols;
    s_->intervals = intervals;
    for (uint32_t i = 0; i < exprs; ++i) {
      symbols[i] = -1;
      intervals[i] = l_.exprs[i];
    }
    s_->input_types = input_types;
    s_->own_inputs = own_inputs;
    s_->carried = carried;
    s_->options = options_;
    if (device_bytes != 0) s_->options.device = static_cast<char*>(memcpy(device, options_.device, device_bytes));
    if (target_bytes != 0) s_->options.target = static_cast<char*>(memcpy(target, options_.target, target_bytes));
    s_->pool = l_.model->runtime->pool;
    if (s_->pool.run != nullptr && l_.slots < s_->pool.slots) {
      s_->lanes = {s_->pool, l_.slots};
      s_->pool = {run_lanes, &s_->lanes, l_.slots};
    }
    s_->submit = {sizeof(vireo_submit), scratch, l_.scratch_bytes, l_.slots > 1 ? &s_->pool : nullptr,
                  &s_->random,          message, kMessageBytes};
    s_->seed = s_->random = options_.seed;
    for (uint32_t i = 0; i < p_.subgraph_count(); ++i) {
      VIREO_TRY(place_tensors(i, error));
    }
  }
  Frame counted;
  VIREO_TRY(build_frame(0, 0, false, real() ? &s_->main : &counted, error));
#if VIREO_JOINED
  if (real() && l_.arenas != nullptr) {
    s_->memory = memory;
    VIREO_TRY(open_memory(error));
  }
#endif
#if VIREO_BRANCHES
  if (real()) start_lanes(l_, lanes, s_);
#endif
  if (real()) {
    for (uint32_t i = 0; i < inputs; ++i) {
      own_inputs[i] = *s_->main.inputs[i];
      input_types[i] = *s_->main.inputs[i];
      if (state_of(p_, i) < 0) continue;
      carried[s_->carried_count++] = {i, static_cast<uint32_t>(state_of(p_, i))};
      if (own_inputs[i].data != nullptr) memset(own_inputs[i].data, 0, static_cast<size_t>(own_inputs[i].capacity));
    }
  }
  tables_ = c_.used() - arena_bytes - l_.scratch_bytes;
  return Status::kOk;
}

}  // namespace vireo
