#include "c_api/fleet/common.h"

namespace vireo::fleet {

vireo_allocator allocator_of(const vireo_allocator* given) { return given == nullptr ? platform::heap() : *given; }

vireo_status refuse_state(const vireo_model* model, const char* what, vireo_error* error) {
  for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    if (vireo_model_input(model, i, &info, error) != VIREO_OK || info.state_of < 0) continue;
    Error e;
    (void)fail(&e, Status::kInvalidArgument, "input \"{}\" carries state: {}", info.name, what);
    e.tensor = info.name;
    return report(e.status, e, error);
  }
  return VIREO_OK;
}

vireo_status refuse_random(const vireo_session* session, const char* what, vireo_error* error) {
  static const char* const kDraw[] = {"Multinomial",   "RandomNormal",      "RandomNormalLike",
                                      "RandomUniform", "RandomUniformLike", "Bernoulli"};
  for (uint32_t i = 0; i < vireo_session_node_count(session); ++i) {
    vireo_node_info node = VIREO_NODE_INFO_INIT;
    if (vireo_session_node(session, i, &node, error) != VIREO_OK) continue;
    for (const char* op : kDraw) {
      if (strcmp(node.op, op) != 0) continue;
      Error e;
      (void)fail(&e, Status::kUnsupported, "{} \"{}\" draws random numbers: {}", node.op, node.name, what);
      e.node = node.name;
      return report(e.status, e, error);
    }
  }
  return VIREO_OK;
}

vireo_load* find_load(vireo_load* loads, uint32_t* count, uint32_t capacity, const char* device) {
  for (uint32_t i = 0; i < *count; ++i) {
    if (strcmp(loads[i].device, device) == 0) return &loads[i];
  }
  if (*count == capacity) return nullptr;
  vireo_load* const made = &loads[(*count)++];
  *made = VIREO_LOAD_INIT;
  copy_text(made->device, sizeof(made->device), device);
  return made;
}

vireo_status give_loads(const vireo_load* from, uint32_t count, vireo_load* loads, uint32_t capacity,
                        vireo_error* error) {
  if (loads == nullptr || capacity == 0) return VIREO_OK;
  Error e;
  if (const Status status = check_sized(loads, {"loads[0]", "VIREO_LOAD_INIT"}, &e); !ok(status))
    return report(status, e, error);
  for (uint32_t i = 0; i < count && i < capacity; ++i) write_sized_at(&from[i], sizeof(from[i]), loads, i);
  return VIREO_OK;
}

vireo_status give_estimate(const Estimate& from, vireo_estimate* out, vireo_load* loads, uint32_t capacity,
                           vireo_error* error) {
  const vireo_status status = give_loads(from.loads, from.whole.load_count, loads, capacity, error);
  return status != VIREO_OK ? status : give(from.whole, out, {"out", "VIREO_ESTIMATE_INIT"}, error);
}

}  // namespace vireo::fleet
