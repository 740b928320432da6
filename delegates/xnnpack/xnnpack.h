// XNNPACK's kernels as a delegate: see README.md.
#ifndef VIREO_DELEGATES_XNNPACK_XNNPACK_H_
#define VIREO_DELEGATES_XNNPACK_XNNPACK_H_

#include "vireo/delegate.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const vireo_delegate vireo_xnnpack_delegate;

#ifdef __cplusplus
}
#endif

#endif  // VIREO_DELEGATES_XNNPACK_XNNPACK_H_
