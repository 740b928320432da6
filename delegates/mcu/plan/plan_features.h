/* What the executor can do besides single records. An emitted folder has its own copy, with what its plans need. */
#ifndef VIREO_DELEGATES_MCU_PLAN_PLAN_FEATURES_H_
#define VIREO_DELEGATES_MCU_PLAN_PLAN_FEATURES_H_

#define VIREO_MCU_STRIPS 1 /* records that are whole segments, run strip by strip (strips.h) */

#endif /* VIREO_DELEGATES_MCU_PLAN_PLAN_FEATURES_H_ */
