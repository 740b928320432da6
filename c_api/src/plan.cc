// The file's plans for targets.
#include <string.h>

#include "c_api/src/handles.h"
#if VIREO_JOINED
#include "runtime/exec/plans.h"
#endif

namespace fb = vireo::fb;

namespace {

template <size_t kBytes>
void put(char (&out)[kBytes], const char* text) {
  size_t n = strlen(text);
  if (n >= kBytes) n = kBytes - 1;
  memcpy(out, text, n);
  out[n] = 0;
}

#if VIREO_JOINED
void list_devices(const fb::TargetPlan& plan, char (&out)[sizeof(vireo_plan_info::devices)]) {
  size_t at = 0;
  out[0] = 0;
  for (uint32_t i = 0; plan.devices() != nullptr && i < plan.devices()->size(); ++i) {
    const char* const name = vireo::text_of(plan.devices()->Get(i)->name());
    const size_t n = strlen(name);
    if (at + n + 2 > sizeof(out)) return;
    if (i != 0) out[at++] = ',';
    memcpy(out + at, name, n + 1);
    at += n;
  }
}
#endif

}  // namespace

extern "C" {

uint32_t vireo_model_plan_count(const vireo_model* model) {
  return model == nullptr ? 0 : model->program.model().plans()->size();
}

vireo_status vireo_model_plan(const vireo_model* model, uint32_t index, vireo_plan_info* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_plan_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no plan of this index");
  const fb::Plan& plan = *model->program.model().plans()->Get(index);
  *out = vireo_plan_info VIREO_PLAN_INFO_INIT;
  out->target = vireo::text_of(plan.target());
#if VIREO_JOINED
  if (const fb::TargetPlan* const made = index == 0 ? nullptr : vireo::target_of(plan); made != nullptr) {
    out->device_count = made->devices() == nullptr ? 0 : made->devices()->size();
    list_devices(*made, out->devices);
  }
#endif
  if (index == 0) {
    out->usable = out->automatic = 1;
    return VIREO_OK;
  }
#if VIREO_JOINED
  vireo::PlanDevices devices;
  vireo::Error why;
  out->usable = vireo::find_plan_devices(model, plan, &devices, &why) ? 1 : 0;
  out->automatic = out->usable != 0 && vireo::is_automatic(devices) ? 1 : 0;
  put(out->reason, why.message);
#else
  put(out->reason, "this build follows no plans: it was made without VIREO_JOINED");
#endif
  return VIREO_OK;
}

}  // extern "C"
