// Cast: each element as the nearest number of another type (ties to even; towards zero to an integer).
//   x        any shape; any type but complex
//   y        shape of x, dtype `to`. A float that an integer cannot hold gives the low bits of its integer part, itself
//            held within int64 (or uint64 for uint64); NaN gives 0. To bool: not 0
//            To string: number_text.h; bool as "1" and "0"
//   alias    y may be x;  scratch none;  error kInvalidArgument for a string that is not a number
// BitCast: the same bits, read as another type of the same width.
// Source: ONNX opset 28 "Cast", opset 26 "BitCast".
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

bool is_complex(DType t) { return t == DType::kC64 || t == DType::kC128; }
bool is_type(uint8_t t) { return t != 0 && t < kDTypeCount; }

Status infer_cast(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Cast>();
  const DType from = ctx.input(0).dtype, to = static_cast<DType>(a.to());
  if (!is_type(a.to()) || a.round_mode() > attrs::RoundMode::MAX) {
    return ctx.fail(Status::kInvalidModel, "no element type has the number {}", static_cast<int>(a.to()));
  }
  if (is_complex(from) || is_complex(to)) {
    return ctx.fail(Status::kInvalidModel, "no Cast from {} to {}", dtype_name(from), dtype_name(to));
  }
  ctx.output(0) = {to, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_bit_cast(InferContext& ctx) {
  const DType from = ctx.input(0).dtype, to = static_cast<DType>(ctx.attrs<attrs::BitCast>().to());
  if (!is_type(ctx.attrs<attrs::BitCast>().to()) || dtype_bits(from) != dtype_bits(to) || from == DType::kString ||
      to == DType::kString) {
    return ctx.fail(Status::kInvalidModel, "no BitCast from {} to {}: both must be numbers of the same width",
                    dtype_name(from), dtype_name(to));
  }
  ctx.output(0) = {to, ctx.input(0).shape};
  return Status::kOk;
}

}  // namespace

extern const OpDef kCastOp;
extern const OpDef kBitCastOp;

const OpDef kCastOp = {"Cast", verify_attrs<attrs::Cast>, infer_cast, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/1};
const OpDef kBitCastOp = {"BitCast",    verify_attrs<attrs::BitCast>, infer_bit_cast, 1, 1, 1, 1, OpDef::kView,
                          /*inplace=*/1};

}  // namespace vireo
