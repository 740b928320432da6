#ifndef VIREO_C_API_SRC_SELFTEST_H_
#define VIREO_C_API_SRC_SELFTEST_H_

#include "runtime/run/session.h"

namespace vireo {

// Runs test case `index` of the session's model and compares; the story of a difference is in session.error.
Status selftest(vireo_session& session, uint32_t index);

}  // namespace vireo

#endif  // VIREO_C_API_SRC_SELFTEST_H_
