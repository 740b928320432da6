// GridSample: y[n, c, o] = x[n, c] at the place grid[n, o], whose numbers are in [-1, 1] and name the last axis first.
//   inputs   x [N, C, d_1, .., d_k]; grid [N, o_1, .., o_k, k]; k from 1 to 6, linear and cubic up to 3
//   y        [N, C, o_1, .., o_k], type of x: whole-byte numbers, bool, complex, computed in double (64-bit integers
//   are
//            exact where nearest alone; others are cut off towards 0); strings: nearest. What lies outside is 0, or ""
// AffineGrid: y[n, o] = theta[n] * (place of o, 1), places as GridSample has them.
//   inputs   theta [N, k, k + 1], k 2 or 3; size i64 [k + 2]: N, C, extents
//   y        [N, extents, k], type of theta
// Source: ONNX opset 22 "GridSample", opset 20 "AffineGrid"; cubic: Keys 1981.
#include "sdk/ops/grid_sample/grid_sample_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

bool is_sampled_type(DType t) { return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16; }

Status infer_sample(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::GridSample>();
  const TensorType& x = ctx.input(0);
  const TensorType& grid = ctx.input(1);
  if (a.mode() > attrs::GridSampleMode::cubic || a.padding() > attrs::GridSamplePadding::reflection) {
    return ctx.fail(Status::kInvalidModel, "GridSample: unknown mode");
  }
  VIREO_TRY(check_rank(ctx, 0, 3, kMaxRank));
  VIREO_TRY(check_rank(ctx, 1, x.shape.rank, x.shape.rank));
  const bool number = is_sampled_type(x.dtype) || dtype_is_integer(x.dtype) || x.dtype == DType::kBool ||
                      x.dtype == DType::kC64 || x.dtype == DType::kC128;
  const bool served =
      dtype_bits(x.dtype) >= 8 && (number || (x.dtype == DType::kString && a.mode() == attrs::GridSampleMode::nearest));
  if (!served || !is_sampled_type(grid.dtype)) {
    return ctx.fail(Status::kUnsupported, "GridSample of {} at {} places", dtype_name(x.dtype), dtype_name(grid.dtype));
  }
  const int k = x.shape.rank - 2;
  if (k > 3 && a.mode() != attrs::GridSampleMode::nearest) {
    return ctx.fail(Status::kUnsupported, "GridSample: interpolation over {} axes, at most 3 are supported", k);
  }
  if (ctx.differ(grid.shape[0], x.shape[0]) || ctx.differ(grid.shape[k + 1], k)) {
    return ctx.fail(Status::kInvalidModel, "GridSample: x {} at grid {}", x.shape, grid.shape);
  }
  TensorType& y = ctx.output(0);
  y = x;
  for (int i = 0; i < k; ++i) y.shape[i + 2] = grid.shape[i + 1];
  return Status::kOk;
}

Status infer_affine(InferContext& ctx) {
  const TensorType& theta = ctx.input(0);
  VIREO_TRY(check_rank(ctx, 0, 3, 3));
  VIREO_TRY(check_integer_list(ctx, 1));
  if (!is_sampled_type(theta.dtype))
    return ctx.fail(Status::kInvalidModel, "AffineGrid of {}", dtype_name(theta.dtype));
  int64_t n = 0;
  if (!known_length(ctx, 1, &n)) return ctx.fail(Status::kUnsupported, "AffineGrid: the number of axes is not known");
  const int k = static_cast<int>(n) - 2;
  if ((n != 4 && n != 5) || ctx.differ(theta.shape[1], k) || ctx.differ(theta.shape[2], k + 1)) {
    return ctx.fail(Status::kInvalidModel, "AffineGrid: theta {} for a size of {} numbers", theta.shape, n);
  }
  TensorType& y = ctx.output(0);
  y.dtype = theta.dtype;
  y.shape.rank = k + 2;
  y.shape[0] = theta.shape[0];
  y.shape[k + 1] = k;
  for (int i = 0; i < k; ++i) {
    Dim& d = y.shape[i + 1];
    d = ctx.known(1) ? ctx.value(1, i + 2) : ctx.unknown();
    if (ctx.known(1) && !is_symbolic(d) && d < 0) return ctx.fail(Status::kInvalidModel, "AffineGrid: extent {}", d);
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kGridSampleOp;
extern const OpDef kAffineGridOp;
const OpDef kGridSampleOp = {"GridSample", verify_attrs<attrs::GridSample>, infer_sample, 2, 2, 1, 1, OpDef::kPure, 0};
const OpDef kAffineGridOp = {"AffineGrid", verify_attrs<attrs::AffineGrid>, infer_affine, 2, 2, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
