// y = table[code of x]: any function of one 8-bit value. The code is the byte of x read as uint8, so that entry 128 of
// an int8 x is for -128.
//   x       i8 or u8, any shape
//   table   i8 or u8, [256]
//   y       the shape of x; the type of table
//   alias   y may be x;  scratch none
// Source: INTEGER.md "IntTable".
#include "sdk/ops/int_table/int_table_generated.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status infer_int_table(InferContext& ctx) {
  VIREO_TRY(check_bytes(ctx, 0, 0));
  const TensorType& t = ctx.input(1);
  if (!is_byte(t.dtype) || t.shape.rank != 1 || ctx.differ(t.shape[0], 256)) {
    return ctx.fail(Status::kInvalidModel, "the table is {} {}, wanted 256 of int8 or uint8", dtype_name(t.dtype),
                    t.shape);
  }
  ctx.output(0) = {t.dtype, ctx.input(0).shape};
  return Status::kOk;
}

}  // namespace

extern const OpDef kIntTableOp;
const OpDef kIntTableOp = {"IntTable",   verify_attrs<attrs::IntTable>, infer_int_table, 2, 2, 1, 1, OpDef::kPure,
                           /*inplace=*/1};

}  // namespace vireo
