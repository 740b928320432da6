// A session's beginning and end, and what it will take.
#ifndef VIREO_RUNTIME_CREATE_CREATE_H_
#define VIREO_RUNTIME_CREATE_CREATE_H_

#include "runtime/run/session.h"

namespace vireo {

// Fills `memory`; see vireo_model_memory.
Status session_memory(const vireo_model* model, const vireo_session_options& options, vireo_memory* memory,
                      Error* error);
Status create_session(const vireo_model* model, const vireo_session_options& options, vireo_session** out,
                      Error* error);
void release_session(vireo_session* session);
// Builds a session for other bounds, takes over carried state and releases the old one. On failure nothing changes.
Status rebuild_session(vireo_session** session, const vireo_bound* bounds, uint32_t bound_count, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_CREATE_CREATE_H_
