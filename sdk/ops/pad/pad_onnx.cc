// Pads and value were attributes before opset 11 (`paddings` in opset 1).
#include "sdk/base/half.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

// One element of `type` that holds `v`; attributes of old opsets are float, data was float32, float64 or float16.
Value constant_of(ImportContext& ctx, DType type, float v) {
  TensorType t{type, {}};
  const auto bytes = [](const void* p, size_t n) {
    return std::vector<uint8_t>(static_cast<const uint8_t*>(p), static_cast<const uint8_t*>(p) + n);
  };
  if (type == DType::kF64) {
    const double d = v;
    return ctx.add_constant(t, bytes(&d, sizeof(d)));
  }
  if (type == DType::kF16) {
    const uint16_t h = f32_to_f16(v);
    return ctx.add_constant(t, bytes(&h, sizeof(h)));
  }
  return type == DType::kF32 ? ctx.add_constant(t, bytes(&v, sizeof(v))) : Value{};
}

Status import_pad(ImportContext& ctx) {
  attrs::PadT a;
  const std::string mode = ctx.attr_string("mode", "constant");
  if (mode == "reflect") {
    a.mode = attrs::PadMode::reflect;
  } else if (mode == "edge") {
    a.mode = attrs::PadMode::edge;
  } else if (mode == "wrap") {
    a.mode = attrs::PadMode::wrap;
  } else if (mode != "constant") {
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use constant, reflect, edge or wrap");
  }
  if (ctx.opset() >= 11) return import_direct(ctx, Op::kPad, pack<attrs::Pad>(a));
  const float value = ctx.attr_float("value", 0);
  std::vector<Value> inputs = {ctx.input(0), ctx.add_i64(ctx.attr_ints(ctx.opset() == 1 ? "paddings" : "pads"))};
  if (value != 0) {
    inputs.push_back(constant_of(ctx, ctx.type(ctx.input(0)).dtype, value));
    if (!inputs.back()) return ctx.fail(Status::kInvalidModel, "data is no floating-point tensor");
  }
  const Value y = ctx.emit1(Op::kPad, pack<attrs::Pad>(a), std::move(inputs));
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status import_center(ImportContext& ctx) {
  attrs::CenterCropPadT a;
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  if (ctx.has_attr("axes")) {
    for (const int64_t k : ctx.attr_ints("axes")) a.axes.push_back(saturated_int32(k));
  } else {
    for (int k = 0; k < rank; ++k) a.axes.push_back(k);
  }
  return import_direct(ctx, Op::kCenterCropPad, pack<attrs::CenterCropPad>(a));
}

}  // namespace

extern const OnnxImport kPadOnnx;
extern const OnnxImport kCenterCropPadOnnx;
const OnnxImport kPadOnnx = {"", "Pad", import_pad};
const OnnxImport kCenterCropPadOnnx = {"", "CenterCropPad", import_center};

Status export_pad(ExportContext& ctx) {
  if (ctx.op() == Op::kCenterCropPad)
    return ctx.done(ctx.same().numbers("axes", ctx.attrs<attrs::CenterCropPad>().axes()));
  const char* const modes[] = {"constant", "reflect", "edge", "wrap"};
  return ctx.done(ctx.same().text("mode", modes[static_cast<size_t>(ctx.attrs<attrs::Pad>().mode())]));
}

}  // namespace vireo
