// Unique: the distinct elements of x, or its distinct slices along `axis` (compared element by element in row-major
// order).
//   y        [u] or x's shape with u at `axis`
//   indices  i64 [u], first occurrence in x; inverse i64 [n], x = y[inverse]; counts i64 [u]; each optional
// NaN equals NaN and sorts last; complex numbers are ordered by their real parts first. u is known after the run and at
// most n. Scratch 4 n words. Source: ONNX opset 11 "Unique".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/unique/unique_generated.h"

namespace vireo {
namespace {

Status infer_unique(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (dtype_bits(x.dtype) < 8) {
    return ctx.fail(Status::kUnsupported, "Unique of {}", dtype_name(x.dtype));
  }
  const auto& a = ctx.attrs<attrs::Unique>();
  int axis = 0;
  TensorType& y = ctx.output(0);
  y = x;
  Dim n = 0;
  if (a.flat()) {
    n = ctx.count(x.shape, 0, x.shape.rank);
    y.shape.rank = 1;
  } else {
    VIREO_TRY(check_axis(ctx, a.axis(), x.shape.rank, &axis));
    n = x.shape[axis];
  }
  const Dim u = ctx.bounded(n);
  y.shape[axis] = u;
  for (int o = 1; o < ctx.output_count(); ++o) {
    TensorType& t = ctx.output(o);
    t.dtype = DType::kI64;
    t.shape.rank = 1;
    t.shape[0] = o == 2 ? n : u;
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kUniqueOp;
const OpDef kUniqueOp = {"Unique", verify_attrs<attrs::Unique>, infer_unique, 1, 1, 1, 4, OpDef::kDataDependent, 0};

}  // namespace vireo
