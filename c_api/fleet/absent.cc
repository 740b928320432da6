// Builds without threads, or without VIREO_FLEET: everything links and says so.
#include "vireo/fleet.h"

#include "sdk/base/c_error.h"

namespace {

vireo_status absent(vireo_error* error) {
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build has no pipelines and splits (VIREO_FLEET): run sessions");
}

}  // namespace

extern "C" {

vireo_status vireo_fleet_estimate(const vireo_model*, const vireo_session_options*, uint32_t, vireo_estimate*,
                                  vireo_load*, uint32_t, vireo_error* error) {
  return absent(error);
}
vireo_status vireo_pipeline_create(const vireo_model*, const vireo_pipeline_options*, vireo_pipeline** out_pipeline,
                                   vireo_error* error) {
  if (out_pipeline != nullptr) *out_pipeline = nullptr;
  return absent(error);
}
void vireo_pipeline_release(vireo_pipeline*) {}
vireo_status vireo_pipeline_submit(vireo_pipeline*, const vireo_tensor*, uint32_t, vireo_tensor*, uint32_t, void*,
                                   vireo_when_full, vireo_error* error) {
  return absent(error);
}
vireo_status vireo_pipeline_wait(vireo_pipeline*, uint64_t, vireo_finished*, vireo_error* error) {
  return absent(error);
}
void vireo_pipeline_cancel(vireo_pipeline*) {}
vireo_status vireo_pipeline_estimate(const vireo_pipeline*, vireo_estimate*, vireo_load*, uint32_t,
                                     vireo_error* error) {
  return absent(error);
}
uint32_t vireo_pipeline_depth(const vireo_pipeline*) { return 0; }
vireo_status vireo_pipeline_loads(vireo_pipeline*, vireo_load*, uint32_t, uint32_t*, vireo_error* error) {
  return absent(error);
}
vireo_status vireo_split_create(const vireo_model*, const vireo_split_options*, vireo_split** out_split,
                                vireo_error* error) {
  if (out_split != nullptr) *out_split = nullptr;
  return absent(error);
}
void vireo_split_release(vireo_split*) {}
vireo_status vireo_split_run(vireo_split*, const vireo_tensor*, uint32_t, vireo_tensor*, uint32_t, vireo_error* error) {
  return absent(error);
}
vireo_status vireo_split_share(const vireo_split*, uint32_t, vireo_share*, vireo_error* error) { return absent(error); }

}  // extern "C"
