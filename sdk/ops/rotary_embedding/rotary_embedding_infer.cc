// Rotary position embedding: pairs of elements of each head are turned by the angle of their token's position.
//   0 x    [B, H, S, D] or [B, S, H D]
//   1 cos, 2 sin   [positions, R/2] with position ids, else [B, S, R/2];  R = rotated, or D
//   3 ids  [B, S] i64, optional
//   y      type of x:  y1 = cos x1 - sin x2,  y2 = sin x1 + cos x2; elements from R on are copied
//   dtype  f32, f16, bf16, f64;  alias y may be x;  scratch none
//   error  kInvalidArgument when a position has no row in the tables
// Source: ONNX opset 23 "RotaryEmbedding"; Su et al. 2021, arXiv:2104.09864, section 3.4.
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_rotary_embedding(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::RotaryEmbedding>();
  VIREO_TRY(check_rank(ctx, 0, 3, 4));
  const TensorType& x = ctx.input(0);
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
      break;
    default:
      return ctx.fail(Status::kInvalidModel, "input of type {}, wanted floating point", dtype_name(x.dtype));
  }
  const bool packed = x.shape.rank == 3;
  if (packed && a.heads() < 1) return ctx.fail(Status::kInvalidModel, "an input of rank 3 needs num_heads");
  const Dim last = x.shape[x.shape.rank - 1], tokens = x.shape[packed ? 1 : 2];
  if (packed && !is_symbolic(last) && last % a.heads() != 0) {
    return ctx.fail(Status::kInvalidModel, "the last axis of {} does not hold {} heads", last, a.heads());
  }
  const Dim head = packed ? ctx.floor_div(last, a.heads()) : last;
  const Dim rotated = a.rotated() > 0 ? static_cast<Dim>(a.rotated()) : head;
  if (!is_symbolic(rotated) && (rotated < 0 || rotated % 2 != 0 || (!is_symbolic(head) && rotated > head))) {
    return ctx.fail(Status::kInvalidModel, "{} elements of a head of {} are turned, wanted an even part of it", rotated,
                    head);
  }
  const bool ids = ctx.has(3);
  if (ids) {
    VIREO_TRY(check_rank(ctx, 3, 2, 2));
    const TensorType& p = ctx.input(3);
    if (p.dtype != DType::kI64 || ctx.differ(p.shape[0], x.shape[0]) || ctx.differ(p.shape[1], tokens)) {
      return ctx.fail(Status::kInvalidModel, "position_ids are {} {}, wanted int64 [{},{}]", dtype_name(p.dtype),
                      p.shape, x.shape[0], tokens);
    }
  }
  for (int i = 1; i < 3; ++i) {
    VIREO_TRY(check_rank(ctx, i, ids ? 2 : 3, ids ? 2 : 3));
    const TensorType& t = ctx.input(i);
    const Dim half = t.shape[t.shape.rank - 1];
    if (t.dtype != x.dtype || ctx.differ(half, ctx.floor_div(rotated, 2)) ||
        (!ids && (ctx.differ(t.shape[0], x.shape[0]) || ctx.differ(t.shape[1], tokens))) ||
        (ids && ctx.differ(t.shape[0], ctx.input(1).shape[0]))) {
      return ctx.fail(Status::kInvalidModel, "input {} is {} {}, which does not fit {} {}", i, dtype_name(t.dtype),
                      t.shape, dtype_name(x.dtype), x.shape);
    }
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kRotaryEmbeddingOp;
const OpDef kRotaryEmbeddingOp = {
    "RotaryEmbedding", verify_attrs<attrs::RotaryEmbedding>, infer_rotary_embedding, 3, 4, 1, 1, OpDef::kPure,
    /*inplace=*/1};

}  // namespace vireo
