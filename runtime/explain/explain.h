// Where a session would run each node, and what every device said of it, without making one.
#ifndef VIREO_RUNTIME_EXPLAIN_EXPLAIN_H_
#define VIREO_RUNTIME_EXPLAIN_EXPLAIN_H_

#include "runtime/prepare/layout.h"

namespace vireo {

Status explain_model(const vireo_model* model, const vireo_session_options& options,
                     const vireo_placement_visitor& visitor, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_EXPLAIN_EXPLAIN_H_
