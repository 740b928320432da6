#include "runtime/prepare/requirement.h"

#include <string.h>

namespace vireo {
namespace {

// NAME>=95% or NAME=100%.
bool read_requirement(const char* text, size_t* name_size, int64_t* percent) {
  const char* at = text;
  while (*at != 0 && *at != '>' && *at != '=') ++at;
  *name_size = static_cast<size_t>(at - text);
  if (*name_size == 0) return false;
  if (at[0] == '>' && at[1] == '=') {
    at += 2;
  } else if (*at == '=') {
    ++at;
  } else {
    return false;
  }
  int64_t n = 0;
  const char* const digits = at;
  while (*at >= '0' && *at <= '9' && n <= 100) n = 10 * n + (*at++ - '0');
  *percent = n;
  return at != digits && at[0] == '%' && at[1] == 0 && n <= 100;
}

}  // namespace

Status check_requirement(const SessionLayout& l, const char* require, Error* error) {
  if (require == nullptr || require[0] == 0) return Status::kOk;
  size_t size = 0;
  int64_t percent = 0;
  if (!read_requirement(require, &size, &percent)) {
    return fail(error, Status::kInvalidArgument, "requirement \"{}\": say it as npu>=95% or npu=100%", require);
  }
  const vireo_runtime* rt = l.model->runtime;
  uint32_t device = 0;
  while (device < rt->device_count &&
         (strlen(rt->devices[device].info.name) != size || memcmp(rt->devices[device].info.name, require, size) != 0))
    ++device;
  if (device == rt->device_count) {
    return fail(error, Status::kUnsupported,
                "requirement \"{}\": there is no such device here: `vireo devices` lists them", require);
  }
  int64_t all = 0, there = 0;
  const fb::Node* first = nullptr;  // that is elsewhere
  const char* reason = "";
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) {
    const SubLayout& s = l.subs[i];
    for (uint32_t n = 0; !s.dead && n < s.node_count; ++n) {
      if (s.nodes[n].device == kNoDevice) continue;  // control flow, and composites whose bodies are counted
      ++all;
      if (s.nodes[n].device == device) {
        ++there;
      } else if (first == nullptr) {
        first = l.graph(i).nodes()->Get(n);
        reason = s.nodes[n].reason;
      }
    }
  }
  if (there * 100 >= percent * all) return Status::kOk;
  blame_node(error, text_of(first->name()));
  return fail(
      error, Status::kUnsupported,
      "required is {}, but {} of {} nodes run there; the first that does not is \"{}\" ({}): `vireo explain` says "
      "why for each",
      require, there, all, text_of(first->name()), reason[0] == 0 ? "another device is preferred" : reason);
}

}  // namespace vireo
