// GroupNormalization 18 has scale and bias for each group, 21 for each channel: the length tells. InstanceNormalization
// (1, 6, 22) is the case of one channel a group.
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

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

// One channel a group is InstanceNormalization. Scales of groups (opset 18) are spread over their channels.
Status export_group_normalization(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::GroupNormalization>();
  if (a.num_groups() == 0)
    return ctx.done_in_layout(ctx.same("InstanceNormalization").real("epsilon", a.epsilon()), a.layout());
  OnnxNode n = ctx.same().number("num_groups", a.num_groups()).real("epsilon", a.epsilon());
  const Shape& x = ctx.input_type(0).shape;
  const Dim channels = x[a.layout() == 0 ? 1 : x.rank - 1];
  for (int i = 1; i < 3; ++i) {
    if (ctx.input_type(i).shape[0] == channels || ctx.input_type(i).shape[0] != a.num_groups()) continue;
    if (is_symbolic(channels)) return ctx.fail(Status::kUnsupported, "a number of channels that is not known");
    const std::string column = ctx.step("Reshape", {ctx.input(i), ctx.add_i64({-1, 1})});
    const std::string rows = ctx.step("Expand", {column, ctx.add_i64({a.num_groups(), channels / a.num_groups()})});
    n.inputs[static_cast<size_t>(i)] = ctx.step("Reshape", {rows, ctx.add_i64({-1})});
  }
  return ctx.done_in_layout(std::move(n), a.layout());
}

}  // namespace vireo
