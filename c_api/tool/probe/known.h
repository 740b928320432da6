// Small models whose answers are known because the CPU gives them: what a probe and `vireo delegate-test` run on a
// device.
#ifndef VIREO_C_API_TOOL_PROBE_KNOWN_H_
#define VIREO_C_API_TOOL_PROBE_KNOWN_H_

#include <memory>
#include <string>
#include <vector>

#include "vireo/vireo.h"

namespace vireo::tool {

struct KnownModel {
  std::string name;
  std::shared_ptr<const void> owner;
  const void* data = nullptr;  // a .vireo file, aligned to 64
  size_t size = 0;
  bool integer = false;  // the answers are equal to the bit, else within 1e-3 + 1e-2 of each
};

// Five that a probe runs in some milliseconds; `all`: chains of one, two and eight operators in several sizes and
// types, too. "integer operators" holds forty-two nodes of twelve kinds.
std::vector<KnownModel> known_models(bool all);

// What a device did wrong.
struct Wrong {
  std::string why;
};

using Values = std::vector<std::vector<uint8_t>>;  // of each output

// One run on values that depend on nothing, on a session with these options; `options.device` gets ",cpu" behind it.
// Returns how many nodes ran on `device`. Throws Wrong where a session or a run fails, with their words.
uint32_t run_known(const vireo_runtime* runtime, const KnownModel& model, const std::string& device,
                   vireo_session_options options, Values* out);
// Throws Wrong where they differ.
void require_same(const KnownModel& model, const std::string& device, const Values& got, const Values& want);

// A session's inputs filled as run_known() fills them. Throws Wrong.
void fill_inputs(const vireo_model* model, vireo_session* session, bool integer);

}  // namespace vireo::tool

#endif  // VIREO_C_API_TOOL_PROBE_KNOWN_H_
