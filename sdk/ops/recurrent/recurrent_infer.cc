#include "sdk/ops/recurrent/recurrent.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status check_state_codes(InferContext& ctx, int gates) {
  const auto& a = ctx.attrs<attrs::Recurrent>();
  if (a.state_scale() == 0) return Status::kOk;
  if (gates == 1) return ctx.fail(Status::kInvalidModel, "state_scale is given, which RNN has not");
  if (!(a.state_scale() >= 0x1p-100f) || !(a.state_scale() <= 0x1p100f))
    return ctx.fail(Status::kInvalidModel, "state_scale must be 0, or 2^-100 to 2^100");
  if (a.state_zero() >= 0 && a.state_zero() <= 255) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "state_zero is {}, wanted 0 to 255", a.state_zero());
}

Status check_attrs(InferContext& ctx, int activations_each) {
  const auto& a = ctx.attrs<attrs::Recurrent>();
  if (a.direction() > attrs::RecurrentDirection::MAX) {
    return ctx.fail(Status::kInvalidModel, "direction {} is not known", static_cast<int>(a.direction()));
  }
  if (!(a.clip() >= 0)) return ctx.fail(Status::kInvalidModel, "clip must not be negative");
  if (a.activations() == nullptr) return Status::kOk;
  const uint32_t want = static_cast<uint32_t>(recurrent_directions(a) * activations_each);
  if (a.activations()->size() != want || a.alpha() == nullptr || a.alpha()->size() != want || a.beta() == nullptr ||
      a.beta()->size() != want) {
    return ctx.fail(Status::kInvalidModel, "{} activations, wanted {}, each with alpha and beta",
                    a.activations()->size(), want);
  }
  for (const uint8_t f : *a.activations()) {
    if (f > static_cast<uint8_t>(attrs::RecurrentActivation::MAX)) {
      return ctx.fail(Status::kInvalidModel, "activation {} is not known", static_cast<int>(f));
    }
  }
  return Status::kOk;
}

// An optional input must have these dimensions.
Status check_input(InferContext& ctx, int i, const Shape& want, DType dtype) {
  if (!ctx.has(i)) return Status::kOk;
  const TensorType& t = ctx.input(i);
  if (t.dtype != dtype) {
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted {}", i, dtype_name(t.dtype), dtype_name(dtype));
  }
  bool good = t.shape.rank == want.rank;
  for (int d = 0; good && d < want.rank; ++d) good = !ctx.differ(t.shape[d], want[d]);
  return good ? Status::kOk : ctx.fail(Status::kInvalidModel, "input {} is {}, wanted {}", i, t.shape, want);
}

Status infer_recurrent(InferContext& ctx, int gates, int activations_each) {
  VIREO_TRY(check_attrs(ctx, activations_each));
  VIREO_TRY(check_state_codes(ctx, gates));
  const auto& a = ctx.attrs<attrs::Recurrent>();
  if (!ctx.has(0) || !ctx.has(1) || !ctx.has(2)) return ctx.fail(Status::kInvalidModel, "inputs X, W and R are needed");
  for (int i = 0; i < 3; ++i) VIREO_TRY(check_rank(ctx, i, 3, 3));
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
  const Shape& r = ctx.input(2).shape;
  const Dim directions = recurrent_directions(a), hidden = r[2];
  const Dim steps = x.shape[a.batch_first() ? 1 : 0], batch = x.shape[a.batch_first() ? 0 : 1];
  const Dim rows = ctx.mul(gates, hidden);
  VIREO_TRY(check_input(ctx, 1, Shape{3, {directions, rows, x.shape[2]}}, x.dtype));
  VIREO_TRY(check_input(ctx, 2, Shape{3, {directions, rows, hidden}}, x.dtype));
  VIREO_TRY(check_input(ctx, 3, Shape{2, {directions, ctx.mul(2, rows)}}, x.dtype));
  VIREO_TRY(check_input(ctx, 4, Shape{1, {batch}}, DType::kI32));
  const Shape state = a.batch_first() ? Shape{3, {batch, directions, hidden}} : Shape{3, {directions, batch, hidden}};
  VIREO_TRY(check_input(ctx, 5, state, x.dtype));
  VIREO_TRY(check_input(ctx, 6, state, x.dtype));
  VIREO_TRY(check_input(ctx, 7, Shape{2, {directions, ctx.mul(3, hidden)}}, x.dtype));
  if (ctx.wants(0)) {
    ctx.output(0) = {x.dtype, a.batch_first() ? Shape{4, {batch, steps, directions, hidden}}
                                              : Shape{4, {steps, directions, batch, hidden}}};
  }
  for (int o = 1; o < 3; ++o) {
    if (ctx.wants(o)) ctx.output(o) = {x.dtype, state};
  }
  return Status::kOk;
}

Status infer_lstm(InferContext& ctx) { return infer_recurrent(ctx, 4, 3); }
Status infer_gru(InferContext& ctx) { return infer_recurrent(ctx, 3, 2); }
Status infer_rnn(InferContext& ctx) { return infer_recurrent(ctx, 1, 1); }

}  // namespace

extern const OpDef kLSTMOp;
const OpDef kLSTMOp = {"LSTM", verify_attrs<attrs::Recurrent>, infer_lstm, 3, 8, 1, 3, OpDef::kPure, /*inplace=*/0};
extern const OpDef kGRUOp;
const OpDef kGRUOp = {"GRU", verify_attrs<attrs::Recurrent>, infer_gru, 3, 6, 1, 2, OpDef::kPure, /*inplace=*/0};
extern const OpDef kRNNOp;
const OpDef kRNNOp = {"RNN", verify_attrs<attrs::Recurrent>, infer_rnn, 3, 6, 1, 2, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
