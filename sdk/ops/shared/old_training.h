// Opsets 1 to 6 tell training from inference by the attribute is_test. Host only.
#ifndef VIREO_SDK_OPS_SHARED_OLD_TRAINING_H_
#define VIREO_SDK_OPS_SHARED_OLD_TRAINING_H_

#include "sdk/ops/view.h"

namespace vireo {

// Warns of a node that says it trains. Its default says so too, and exporters left it there for inference: such nodes
// are taken for inference, and no run drops values or changes statistics.
inline void assume_inference(ImportContext& ctx) {
  if (ctx.opset() < 7 && ctx.has_attr("is_test") && ctx.attr_int("is_test", 0) == 0)
    ctx.assume("is_test is 0, which means training: it is taken for inference",
               "export the model for inference, which sets is_test to 1");
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_OLD_TRAINING_H_
