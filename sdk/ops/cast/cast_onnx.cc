// Cast (opset 1 names its type in text; 19 added `saturate`, 24 `round_mode`), CastLike, which becomes the Cast to its
// second input's type, and BitCast.
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

// Names of TensorProto.DataType that opset 1 allowed.
DType named_type(const std::string& name) {
  constexpr struct {
    const char* name;
    DType type;
  } kNames[] = {{"FLOAT", DType::kF32},    {"UINT8", DType::kU8},   {"INT8", DType::kI8},    {"UINT16", DType::kU16},
                {"INT16", DType::kI16},    {"INT32", DType::kI32},  {"INT64", DType::kI64},  {"BOOL", DType::kBool},
                {"FLOAT16", DType::kF16},  {"DOUBLE", DType::kF64}, {"UINT32", DType::kU32}, {"UINT64", DType::kU64},
                {"STRING", DType::kString}};
  for (const auto& row : kNames) {
    if (name == row.name) return row.type;
  }
  return DType::kNone;
}

Status read_rounding(ImportContext& ctx, attrs::CastT* a) {
  a->saturate = ctx.attr_int("saturate", 1) != 0;
  const std::string mode = ctx.attr_string("round_mode", "up");
  if (mode == "down") {
    a->round_mode = attrs::RoundMode::Down;
  } else if (mode == "nearest") {
    a->round_mode = attrs::RoundMode::Nearest;
  } else if (mode != "up") {
    return ctx.fail(Status::kInvalidModel, "round_mode is \"" + mode + "\", wanted \"up\", \"down\" or \"nearest\"");
  }
  return Status::kOk;
}

Status cast(ImportContext& ctx) {
  attrs::CastT a;
  VIREO_TRY(read_rounding(ctx, &a));
  const int64_t to =
      ctx.opset() < 6 ? static_cast<int64_t>(named_type(ctx.attr_string("to", ""))) : ctx.attr_int("to", 0);
  if (to <= 0 || to >= kDTypeCount) return ctx.fail(Status::kInvalidModel, "the attribute `to` names no element type");
  a.to = static_cast<uint8_t>(to);
  return import_direct(ctx, Op::kCast, pack<attrs::Cast>(a));
}

Status cast_like(ImportContext& ctx) {
  attrs::CastT a;
  VIREO_TRY(read_rounding(ctx, &a));
  a.to = static_cast<uint8_t>(ctx.type(ctx.input(1)).dtype);
  return import_as(ctx, Op::kCast, pack<attrs::Cast>(a), {ctx.input(0)});
}

Status bit_cast(ImportContext& ctx) {
  attrs::BitCastT a;
  const int64_t to = ctx.attr_int("to", 0);
  if (to <= 0 || to >= kDTypeCount) return ctx.fail(Status::kInvalidModel, "the attribute `to` names no element type");
  a.to = static_cast<uint8_t>(to);
  return import_direct(ctx, Op::kBitCast, pack<attrs::BitCast>(a));
}

}  // namespace

extern const OnnxImport kCastOnnx;
extern const OnnxImport kCastLikeOnnx;
extern const OnnxImport kBitCastOnnx;

const OnnxImport kCastOnnx = {"", "Cast", cast};
const OnnxImport kCastLikeOnnx = {"", "CastLike", cast_like};
const OnnxImport kBitCastOnnx = {"", "BitCast", bit_cast};

Status export_cast(ExportContext& ctx) {
  if (ctx.op() == Op::kBitCast) return ctx.done(ctx.same().number("to", ctx.attrs<attrs::BitCast>().to()).needs(26));
  const auto& a = ctx.attrs<attrs::Cast>();
  OnnxNode n = ctx.same().number("to", a.to());
  if (!a.saturate()) n.flag("saturate", false);
  if (a.round_mode() != attrs::RoundMode::Up)
    n.text("round_mode", a.round_mode() == attrs::RoundMode::Down ? "down" : "nearest").needs(24);
  return ctx.done(std::move(n));
}

}  // namespace vireo
