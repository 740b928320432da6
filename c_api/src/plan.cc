// The file's plans for targets.
#include <string.h>

#include "c_api/src/handles.h"
#include "runtime/prepare/target_plan.h"
#include "sdk/base/config.h"

namespace fb = vireo::fb;

namespace {

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
  constexpr vireo::SizedName kName = {"out", "VIREO_PLAN_INFO_INIT"};
  vireo_plan_info made = VIREO_PLAN_INFO_INIT;
  made.target = vireo::text_of(plan.target());
  if (index == 0) {
    made.usable = made.automatic = 1;
    return vireo::give(made, out, kName, error);
  }
  if constexpr (VIREO_JOINED) {
    if (const fb::TargetPlan* const target = vireo::target_of(plan); target != nullptr) {
      made.device_count = target->devices() == nullptr ? 0 : target->devices()->size();
      list_devices(*target, made.devices);
    }
    vireo::PlanDevices devices;
    vireo::Error why;
    made.usable = vireo::find_plan_devices(model, plan, &devices, &why) ? 1 : 0;
    made.automatic = made.usable != 0 && vireo::is_automatic(devices) ? 1 : 0;
    vireo::copy_text(made.reason, sizeof(made.reason), why.message);
  } else {
    vireo::copy_text(made.reason, sizeof(made.reason), "this build follows no plans: it was made without VIREO_JOINED");
  }
  return vireo::give(made, out, kName, error);
}

}  // extern "C"
