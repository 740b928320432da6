// Steps of parts of several nodes, and what runs those nodes where a part's device is lost.
#include "runtime/create/builder.h"

#include "runtime/prepare/device_arenas.h"
#include "runtime/recover/device_memory.h"

namespace vireo {

Status Builder::open_memory(Error* error) {
  const auto tensor_of = [](void* context, uint32_t sub, uint32_t t) -> const Tensor* {
    return static_cast<Builder*>(context)->slot(sub, static_cast<int32_t>(t)).tensor;
  };
  const Status status = open_device_memory(*s_, l_, {this, tensor_of}, error);
  for (const JoinedPart* p = l_.parts; s_->devices.memory->full != nullptr && p != nullptr; p = p->next) {
    const Device& device = l_.model->runtime->devices[l_.subs[p->subgraph].nodes[p->first].device];
    if (&device != s_->devices.memory->full) continue;
    refuse_nodes(l_, device, *p, "the device had no memory left for a session's values");
    refused_ = true;
  }
  return status;
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

// The shapes of the part's nodes: those of fixed ones are checked now and then forgotten; else they are worked out at
// each run.
Status Builder::build_joined_shapes(uint32_t sub, const JoinedPart& part, Step* step, Error* error) {
  const auto& nodes = *l_.graph(sub).nodes();
  bool fixed = true;
  for (uint32_t k = 0; k < part.count; ++k) fixed = fixed && declared_static(sub, *nodes.Get(part.nodes[k]));
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
