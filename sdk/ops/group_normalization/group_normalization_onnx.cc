// GroupNormalization 18 has scale and bias for each group, 21 for each channel: the length tells. InstanceNormalization
// (1, 6, 22) is the case of one channel a group.
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import_group(ImportContext& ctx) {
  attrs::GroupNormalizationT a;
  const int64_t groups = ctx.attr_int("num_groups", 0);
  if (groups < 1 || groups > INT32_MAX) {
    return ctx.fail(Status::kInvalidModel, "num_groups is " + std::to_string(groups) + ", wanted at least 1");
  }
  a.num_groups = static_cast<int32_t>(groups);
  a.epsilon = ctx.attr_float("epsilon", 1e-5f);
  return import_direct(ctx, Op::kGroupNormalization, pack<attrs::GroupNormalization>(a));
}

Status import_instance(ImportContext& ctx) {
  attrs::GroupNormalizationT a;
  a.epsilon = ctx.attr_float("epsilon", 1e-5f);
  return import_direct(ctx, Op::kGroupNormalization, pack<attrs::GroupNormalization>(a));
}

}  // namespace

extern const OnnxImport kGroupNormalizationOnnx;
const OnnxImport kGroupNormalizationOnnx = {"", "GroupNormalization", import_group};
extern const OnnxImport kInstanceNormalizationOnnx;
const OnnxImport kInstanceNormalizationOnnx = {"", "InstanceNormalization", import_instance};

}  // namespace vireo
