// Opsets 1, 11 and 22 differ in types and text alone. output_shape may be written with N and C before it; they are
// dropped.
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/shared/window_export.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_conv_transpose(ImportContext& ctx) {
  attrs::ConvTransposeT a;
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(check_kernel_shape(ctx, 1));
  VIREO_TRY(import_ints(ctx, "output_padding", &a.output_padding));
  VIREO_TRY(import_ints(ctx, "output_shape", &a.output_shape));
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  if (rank > 2 && static_cast<int>(a.output_shape.size()) == rank)
    a.output_shape.erase(a.output_shape.begin(), a.output_shape.begin() + 2);
  const int64_t group = ctx.attr_int("group", 1);
  if (group < 1 || group > INT32_MAX) return ctx.fail(Status::kInvalidModel, "group is " + std::to_string(group));
  a.group = static_cast<int32_t>(group);
  return import_direct(ctx, Op::kConvTranspose, pack<attrs::ConvTranspose>(a));
}

}  // namespace

extern const OnnxImport kConvTransposeOnnx;
const OnnxImport kConvTransposeOnnx = {"", "ConvTranspose", import_conv_transpose};

Status export_conv_transpose(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::ConvTranspose>();
  OnnxNode n = ctx.same();
  export_window_attributes(a, &n);
  n.numbers("output_padding", a.output_padding()).numbers("output_shape", a.output_shape());
  return ctx.done_in_layout(n.number("group", a.group()), a.layout());
}

}  // namespace vireo
