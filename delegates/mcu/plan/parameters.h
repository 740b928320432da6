/* Parameters of records whose kernels take no struct of their own. */
#ifndef VIREO_DELEGATES_MCU_PLAN_PARAMETERS_H_
#define VIREO_DELEGATES_MCU_PLAN_PARAMETERS_H_

#include "delegates/mcu/kernels/codes.h"

typedef struct {
  int32_t count;
} vireo_plan_table;

typedef struct {
  int32_t count;
  float scale;
  vireo_mcu_codes codes;
} vireo_plan_quantize;

typedef struct {
  int32_t count;
  float scale;
  uint8_t flip, zero;
} vireo_plan_dequantize;

#endif /* VIREO_DELEGATES_MCU_PLAN_PARAMETERS_H_ */
