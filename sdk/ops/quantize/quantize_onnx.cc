// Opset 10 has one scale a tensor, 13 adds axis, 19 float8, 21 blocks and 4 bits, 23 output_dtype and precision, 24
// powers of two as scales, 25 two bits: each newer form contains the older. com.microsoft's operators of these names
// are the same with more types.
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/dtype_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

template <class Attrs>
Status import_blocks(ImportContext& ctx, Attrs* a) {
  const int64_t axis = ctx.attr_int("axis", 1), block = ctx.attr_int("block_size", 0);
  if (axis < -kMaxRank || axis >= kMaxRank) return ctx.fail(Status::kInvalidModel, "axis is " + std::to_string(axis));
  if (block < 0 || block > INT32_MAX) return ctx.fail(Status::kInvalidModel, "block_size is " + std::to_string(block));
  a->axis = static_cast<int32_t>(axis);
  a->block_size = static_cast<int32_t>(block);
  return import_dtype(ctx, "output_dtype", DType::kNone, &a->output_dtype);
}

Status import_quantize(ImportContext& ctx) {
  attrs::QuantizeLinearT a;
  VIREO_TRY(import_blocks(ctx, &a));
  VIREO_TRY(import_dtype(ctx, "precision", DType::kNone, &a.precision));
  a.saturate = ctx.attr_int("saturate", 1) != 0;
  return import_direct(ctx, Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(a));
}

Status import_dequantize(ImportContext& ctx) {
  attrs::DequantizeLinearT a;
  VIREO_TRY(import_blocks(ctx, &a));
  return import_direct(ctx, Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a));
}

}  // namespace

extern const OnnxImport kQuantizeLinearOnnx;
const OnnxImport kQuantizeLinearOnnx = {"", "QuantizeLinear", import_quantize};
extern const OnnxImport kDequantizeLinearOnnx;
const OnnxImport kDequantizeLinearOnnx = {"", "DequantizeLinear", import_dequantize};
extern const OnnxImport kMsQuantizeLinearOnnx;
const OnnxImport kMsQuantizeLinearOnnx = {"com.microsoft", "QuantizeLinear", import_quantize};
extern const OnnxImport kMsDequantizeLinearOnnx;
const OnnxImport kMsDequantizeLinearOnnx = {"com.microsoft", "DequantizeLinear", import_dequantize};

// The axis has no meaning beside one scale, and may be outside the rank.
Status export_quantize(ExportContext& ctx) {
  const bool whole = ctx.input_type(1).shape.rank == 0;
  if (ctx.op() == Op::kDequantizeLinear) {
    const auto& a = ctx.attrs<attrs::DequantizeLinear>();
    OnnxNode n = ctx.same();
    if (!whole) n.number("axis", a.axis());
    if (a.block_size() != 0) n.number("block_size", a.block_size());
    if (a.output_dtype() != 0) n.number("output_dtype", a.output_dtype()).needs(23);
    return ctx.done(std::move(n));
  }
  const auto& a = ctx.attrs<attrs::QuantizeLinear>();
  OnnxNode n = ctx.same();
  if (!whole) n.number("axis", a.axis());
  if (a.block_size() != 0) n.number("block_size", a.block_size());
  if (!a.saturate()) n.flag("saturate", false);
  if (a.output_dtype() != 0) n.number("output_dtype", a.output_dtype());
  if (a.precision() != 0) n.number("precision", a.precision()).needs(23);
  return ctx.done(std::move(n));
}

}  // namespace vireo
