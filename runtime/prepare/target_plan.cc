#include "runtime/prepare/target_plan.h"

#include <string.h>

namespace vireo {
namespace {

const fb::Plan* plan_at(const Program& p, uint32_t i) { return p.model().plans()->Get(i); }
uint32_t plan_count(const Program& p) { return p.model().plans()->size(); }

bool fits(const flatbuffers::String* wanted, const char* has) {
  return wanted == nullptr || wanted->size() == 0 || (has != nullptr && strcmp(wanted->c_str(), has) == 0);
}
bool is(const flatbuffers::String* name, const char* has) {
  return strcmp(text_of(name), has == nullptr ? "" : has) == 0;
}

// Whether all that the session's dimensions may be is within what the plan was made for.
bool holds_bounds(const SessionLayout& l, const fb::Plan& plan, Error* why) {
  const fb::TargetPlan* const made = target_of(plan);
  if (made == nullptr || made->bounds() == nullptr) return true;
  for (const fb::PlanBound* b : *made->bounds()) {
    for (uint32_t i = 0; i < l.program->expr_count(); ++i) {
      const fb::Expr& e = *l.program->model().exprs()->Get(i);
      if (e.kind() != fb::ExprKind::Symbol || e.data_dependent() || !is(e.name(), b->name()->c_str())) continue;
      if (l.exprs[i].lo >= b->lo() && l.exprs[i].hi <= b->hi()) continue;
      (void)fail(why, Status::kUnsupported, "it was made for \"{}\" = {}..{}, and the session has {}..{}",
                 b->name()->c_str(), b->lo(), b->hi(), l.exprs[i].lo, l.exprs[i].hi);
      return false;
    }
  }
  return true;
}

// The names of all plans for targets, as far as they go.
void list_targets(const Program& p, char* out, size_t room) {
  size_t at = 0;
  out[0] = 0;
  for (uint32_t i = 1; i < plan_count(p); ++i) {
    const char* const name = text_of(plan_at(p, i)->target());
    const size_t n = strlen(name);
    if (at + n + 8 > room) {  // behind it, ", ..." and its end
      memcpy(out + at, at == 0 ? "..." : ", ...", at == 0 ? 4 : 6);
      return;
    }
    if (at != 0) {
      memcpy(out + at, ", ", 2);
      at += 2;
    }
    memcpy(out + at, name, n + 1);
    at += n;
  }
}

void use(SessionLayout& l, uint32_t index, const PlanDevices& devices) {
  l.plan = plan_at(*l.program, index);
  l.plan_devices = devices;
  l.plan_reason = l.model->plan_reasons == nullptr ? "" : l.model->plan_reasons + size_t{index} * kPlanReasonBytes;
}

Status use_named(SessionLayout& l, const char* target, Error* error) {
  char known[160];
  list_targets(*l.program, known, sizeof(known));
  for (uint32_t i = 1; i < plan_count(*l.program); ++i) {
    if (!is(plan_at(*l.program, i)->target(), target)) continue;
    PlanDevices devices;
    Error why;
    if (find_plan_devices(l.model, *plan_at(*l.program, i), &devices, &why) &&
        holds_bounds(l, *plan_at(*l.program, i), &why)) {
      use(l, i, devices);
      return Status::kOk;
    }
    return fail(error, Status::kUnsupported, "the plan for target \"{}\" cannot be used: {}. Plans of this file: {}",
                target, why.message, static_cast<const char*>(known));
  }
  return fail(error, Status::kUnsupported, "the file has no plan for target \"{}\"{}{}", target,
              known[0] == 0 ? ", nor for any other: `vireo convert --target` makes them" : ", but for ",
              static_cast<const char*>(known));
}

}  // namespace

bool find_plan_devices(const vireo_model* model, const fb::Plan& plan, PlanDevices* out, Error* why) {
  const vireo_runtime* rt = model->runtime;
  *out = PlanDevices();
  const fb::TargetPlan* const made = target_of(plan);
  if (made == nullptr || made->devices() == nullptr || made->devices()->size() == 0) {
    (void)fail(why, Status::kUnsupported, "it names no devices");
    return false;
  }
  uint32_t used = 0;
  for (const fb::PlanDevice* wanted : *made->devices()) {
    uint32_t found = rt->device_count;
    for (uint32_t d = 0; d < rt->device_count; ++d) {
      const vireo_device_info& info = rt->devices[d].info;
      if ((used >> d & 1) != 0 || !is(wanted->delegate(), info.delegate) || !fits(wanted->vendor(), info.vendor) ||
          !fits(wanted->family(), info.family))
        continue;
      if (found == rt->device_count || is(wanted->name(), info.name)) found = d;
      if (is(wanted->name(), info.name)) break;
    }
    if (found == rt->device_count) {
      (void)fail(why, Status::kUnsupported, "its device \"{}\" ({} {} of delegate \"{}\") is not here",
                 text_of(wanted->name()), text_of(wanted->vendor()), text_of(wanted->family()),
                 text_of(wanted->delegate()));
      return false;
    }
    used |= 1u << found;
    out->beside_cpu = out->beside_cpu || strcmp(rt->devices[found].delegate->name, "cpu") != 0;
    out->emulated = out->emulated || (rt->devices[found].info.flags & VIREO_DEVICE_EMULATED) != 0;
    out->of[out->count++] = static_cast<uint8_t>(found);
  }
  return true;
}

Status choose_plan(SessionLayout& l, const vireo_session_options& options, Error* error) {
  const char* const target = options.target;
  const char* const device = options.device;
  const bool listed = device != nullptr && strcmp(device, "auto") != 0;
  if (target != nullptr && target[0] != 0) {
    if (listed) {
      return fail(error, Status::kInvalidArgument,
                  "target \"{}\" and device \"{}\" both say where nodes run: give one of them", target, device);
    }
    return use_named(l, target, error);
  }
  for (uint32_t i = 1; target == nullptr && !listed && i < plan_count(*l.program); ++i) {
    PlanDevices devices;
    if (!find_plan_devices(l.model, *plan_at(*l.program, i), &devices, nullptr) || !is_automatic(devices) ||
        !holds_bounds(l, *plan_at(*l.program, i), nullptr))
      continue;
    use(l, i, devices);
    break;
  }
  return Status::kOk;
}

void follow_plan(SessionLayout& l, uint32_t subgraph) {
  const fb::TargetPlan* const made = l.plan == nullptr ? nullptr : target_of(*l.plan);
  if (made == nullptr || made->placement() == nullptr) return;
  const auto* const device = made->placement()->Get(subgraph)->device();
  for (uint32_t n = 0; device != nullptr && n < device->size(); ++n) {
    const uint8_t d = device->Get(n);
    if (d < l.plan_devices.count) l.subs[subgraph].wanted[n] = l.plan_devices.of[d];
  }
}

bool plan_has(const SessionLayout& l, uint32_t device) {
  for (uint32_t i = 0; l.plan != nullptr && i < l.plan_devices.count; ++i) {
    if (l.plan_devices.of[i] == device) return true;
  }
  return false;
}

void tell_plan(SessionLayout& l, uint32_t subgraph) {
  const fb::TargetPlan* const made = l.plan == nullptr ? nullptr : target_of(*l.plan);
  if (made == nullptr || made->placement() == nullptr) return;
  const auto* const device = made->placement()->Get(subgraph)->device();
  for (uint32_t n = 0; device != nullptr && n < device->size(); ++n) {
    const uint8_t d = device->Get(n);
    NodeChoice& choice = l.subs[subgraph].nodes[n];
    if (d < l.plan_devices.count && choice.device == l.plan_devices.of[d] && choice.reason[0] == 0)
      choice.reason = l.plan_reason;
  }
}

}  // namespace vireo
