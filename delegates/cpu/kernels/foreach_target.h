// In place of <hwy/foreach_target.h> and <hwy/highway.h>: compiles HWY_TARGET_INCLUDE once for each instruction set of
// targets.h.
//
// Highway reads its operations anew for each set, 1 to 1.5 s of processor time each, which was more than half of what
// the kernels took to compile. Each set's operations have a namespace of their own, so precompiled.h holds them all at
// once. This file then only sets the macros of each set and compiles the kernel. Without precompiled headers, or where
// there is only one set, it includes Highway's own file.
//
// A core's set is looked up by the sets of precompiled.h (Highway's GetIndex() was compiled there), also for a kernel
// that has fewer. So a kernel's table has a function for each of them: where it has none of its own, that of the next
// lesser set. tests/perf/instructions/dispatch_test.py holds all tables to it.
//
// Three macros are Highway's own (1.2.0): HWY_TARGET_TOGGLE changes with each set, so that headers with per-target
// contents (-inl.h) are read again; HWY_HIGHWAY_PER_TARGET, being unlike it, tells highway.h that it was read.
#ifndef VIREO_DELEGATES_CPU_KERNELS_FOREACH_TARGET_H_
#define VIREO_DELEGATES_CPU_KERNELS_FOREACH_TARGET_H_

#ifndef VIREO_HIGHWAY_PRECOMPILED
#include <hwy/foreach_target.h>
#else

#undef HWY_ONCE
#define HWY_ONCE 0
#undef HWY_TARGET_TOGGLE
#undef HWY_HIGHWAY_PER_TARGET
#define HWY_HIGHWAY_PER_TARGET

#if (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX2
#include <hwy/ops/set_macros-inl.h>
#include HWY_TARGET_INCLUDE
#include "delegates/cpu/kernels/toggle_target.h"
#endif

#if (HWY_TARGETS & HWY_AVX3) && HWY_STATIC_TARGET != HWY_AVX3
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3
#include <hwy/ops/set_macros-inl.h>
#include HWY_TARGET_INCLUDE
#include "delegates/cpu/kernels/toggle_target.h"
#endif

#if (HWY_TARGETS & HWY_AVX3_DL) && HWY_STATIC_TARGET != HWY_AVX3_DL
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3_DL
#include <hwy/ops/set_macros-inl.h>
#include HWY_TARGET_INCLUDE
#include "delegates/cpu/kernels/toggle_target.h"
#elif !(HWY_TARGETS & HWY_AVX3_DL)
#undef HWY_CHOOSE_AVX3_DL
#define HWY_CHOOSE_AVX3_DL(FUNC_NAME) HWY_CHOOSE_AVX3(FUNC_NAME)
#endif

#if (HWY_TARGETS & HWY_AVX3_ZEN4) && HWY_STATIC_TARGET != HWY_AVX3_ZEN4
#undef HWY_TARGET
#define HWY_TARGET HWY_AVX3_ZEN4
#include <hwy/ops/set_macros-inl.h>
#include HWY_TARGET_INCLUDE
#include "delegates/cpu/kernels/toggle_target.h"
#elif !(HWY_TARGETS & HWY_AVX3_ZEN4)
#undef HWY_CHOOSE_AVX3_ZEN4
#define HWY_CHOOSE_AVX3_ZEN4(FUNC_NAME) HWY_CHOOSE_AVX3_DL(FUNC_NAME)
#endif

#if HWY_TARGETS & ~(HWY_STATIC_TARGET | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL | HWY_AVX3_ZEN4)
#error "targets.h enables an instruction set that this list lacks"
#endif
// The file itself goes on with the set that every core has.
#undef HWY_ONCE
#define HWY_ONCE 1
#undef HWY_TARGET
#define HWY_TARGET HWY_STATIC_TARGET
#include <hwy/ops/set_macros-inl.h>

#endif  // VIREO_HIGHWAY_PRECOMPILED

#endif  // VIREO_DELEGATES_CPU_KERNELS_FOREACH_TARGET_H_

#include <hwy/highway.h>  // behind the guard: each set reads it
