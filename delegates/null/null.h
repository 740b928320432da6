// A delegate that refuses everything: copy this folder to begin a new one.
#ifndef VIREO_DELEGATES_NULL_NULL_H_
#define VIREO_DELEGATES_NULL_NULL_H_

#include "vireo/delegate.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const vireo_delegate vireo_null_delegate;

#ifdef __cplusplus
}
#endif

#endif  // VIREO_DELEGATES_NULL_NULL_H_
