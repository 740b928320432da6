// The CPU delegate: reference kernels for every operator of the build, tuned ones where they exist.
#ifndef VIREO_DELEGATES_CPU_CPU_H_
#define VIREO_DELEGATES_CPU_CPU_H_

#include "vireo/delegate.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const vireo_delegate vireo_cpu_delegate;

#ifdef __cplusplus
}
#endif

#endif  // VIREO_DELEGATES_CPU_CPU_H_
