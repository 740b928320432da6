// Identity, and Dropout, which is one where nothing is drawn: in inference, or with ratio 0; in training it is spelled
// in arithmetic on random numbers.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/identity/identity_generated.h"
#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/old_training.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {
namespace {

std::vector<uint8_t> no_attrs() { return pack<attrs::Identity>(attrs::IdentityT{}); }

Status identity(ImportContext& ctx) { return import_direct(ctx, Op::kIdentity, no_attrs()); }

// True of every element of x: `isnan(x) or true` has the right shape where x's dimensions are symbolic.
Value all_true(ImportContext& ctx, Value x) {
  const Value test = ctx.emit1(Op::kIsNaN, pack<attrs::Unary>(attrs::UnaryT{}), {x});
  const Value yes = add_scalar_integer(ctx, DType::kBool, 1);
  if (!test || !yes) return {};
  return ctx.emit1(Op::kBitwiseOr, pack<attrs::Binary>(attrs::BinaryT{}), {test, yes});
}

// Opset 12 and newer, in training: an element stays where a number drawn from [0, 1) reaches the ratio, and is divided
// by 1 - ratio. `training_mode` and the ratio may be known at run time only.
Status drawn(ImportContext& ctx, Value x) {
  const DType type = ctx.type(x).dtype;
  const std::vector<uint8_t> plain = pack<attrs::Binary>(attrs::BinaryT{});
  const auto cast = [&](Value v, DType to) {
    attrs::CastT a;
    a.to = static_cast<uint8_t>(to);
    return ctx.type(v).dtype == to ? v : ctx.emit1(Op::kCast, pack<attrs::Cast>(a), {v});
  };
  Value ratio = ctx.input(1);
  if (!ratio) ratio = add_scalar(ctx, DType::kF32, 0.5);
  Value training = ctx.input(2);
  attrs::RandomT stream;
  stream.dtype = static_cast<uint8_t>(DType::kF32);
  stream.seeded = ctx.has_attr("seed");
  stream.seed = static_cast<float>(ctx.attr_int("seed", 0));
  const Value u = ctx.emit1(Op::kRandomUniformLike, pack<attrs::Random>(stream), {x});
  const Value bound = cast(ratio, DType::kF32);
  if (!u || !bound) return Status::kInvalidModel;
  const Value reaches = ctx.emit1(Op::kLessOrEqual, plain, {bound, u});
  const Value inference = ctx.emit1(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {training});
  if (!reaches || !inference) return Status::kInvalidModel;
  const Value mask = ctx.emit1(Op::kBitwiseOr, plain, {reaches, inference});
  const Value left = ctx.emit1(Op::kSub, plain, {add_scalar(ctx, DType::kF32, 1), bound});
  if (!mask || !left) return Status::kInvalidModel;
  const Value scaled = ctx.emit1(Op::kDiv, plain, {x, cast(left, type)});
  const Value zero = add_scalar(ctx, type, 0);
  if (!scaled || !zero) return Status::kInvalidModel;
  const std::vector<uint8_t> where = pack<attrs::Where>(attrs::WhereT{});
  const Value kept = ctx.emit1(Op::kWhere, where, {mask, scaled, zero});
  if (!kept) return Status::kInvalidModel;
  const Value y = ctx.emit1(Op::kWhere, where, {training, kept, x});
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  if (ctx.wants_output(1)) ctx.set_output(1, mask);
  return Status::kOk;
}

// Versions: 1 and 6 have `is_test`, which exporters left at its default 0 for inference too: it is taken for inference,
// with a warning; 7 and 10 know inference alone; 12 has the inputs `ratio` and `training_mode`. The mask is bool since
// 10, before it has x's type.
Status dropout(ImportContext& ctx) {
  const Value x = ctx.input(0);
  if (ctx.opset() >= 12 && ctx.input(2)) {
    const ConstTensor* training = ctx.constant(ctx.input(2));
    const ConstTensor* ratio = ctx.input(1) ? ctx.constant(ctx.input(1)) : nullptr;
    for (const ConstTensor* c : {training, ratio}) {
      if (c == nullptr || c->count() == 1) continue;
      return ctx.fail(Status::kInvalidModel, "ratio or training_mode has " + std::to_string(c->count()) + " elements");
    }
    const bool inference = training != nullptr && read_integer(training->type.dtype, training->bytes.data(), 0) == 0;
    const bool nothing_drawn = ratio != nullptr && read_real(ratio->type.dtype, ratio->bytes.data(), 0) == 0;
    if (!inference && !nothing_drawn) return drawn(ctx, x);
  }
  assume_inference(ctx);
  const Value y = ctx.emit1(Op::kIdentity, no_attrs(), {x});
  VIREO_TRY(import_value(ctx, y));
  if (!ctx.wants_output(1)) return Status::kOk;
  Value mask = all_true(ctx, x);
  if (mask && ctx.opset() < 10) {
    attrs::CastT cast;
    cast.to = static_cast<uint8_t>(ctx.type(x).dtype);
    mask = ctx.emit1(Op::kCast, pack<attrs::Cast>(cast), {mask});
  }
  if (!mask) return Status::kInvalidModel;
  ctx.set_output(1, mask);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kIdentityOnnx;
extern const OnnxImport kDropoutOnnx;

const OnnxImport kIdentityOnnx = {"", "Identity", identity};
const OnnxImport kDropoutOnnx = {"", "Dropout", dropout};

Status export_identity(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
