#include "runtime/fleet/common.h"

namespace vireo::fleet {

void copy_text(char* to, size_t size, const char* from) {
  const size_t n = strlen(from);
  const size_t kept = n < size ? n : size - 1;
  memcpy(to, from, kept);
  to[kept] = 0;
}

vireo_status report(const Error& from, vireo_error* to, const char* node, const char* tensor) {
  if (to != nullptr) {
    to->status = static_cast<vireo_status>(from.status);
    copy_text(to->message, sizeof(to->message), from.message);
    copy_text(to->node, sizeof(to->node), node);
    copy_text(to->tensor, sizeof(to->tensor), tensor);
  }
  return static_cast<vireo_status>(from.status);
}

vireo_allocator allocator_of(const vireo_allocator* given) { return given == nullptr ? platform::heap() : *given; }

vireo_status refuse_state(const vireo_model* model, const char* what, vireo_error* error) {
  for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    if (vireo_model_input(model, i, &info, error) != VIREO_OK || info.state_of < 0) continue;
    Error e;
    (void)fail(&e, Status::kInvalidArgument, "input \"{}\" carries state: {}", info.name, what);
    return report(e, error, "", info.name);
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
      return report(e, error, node.name, "");
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
  *made = {};
  copy_text(made->device, sizeof(made->device), device);
  return made;
}

}  // namespace vireo::fleet
