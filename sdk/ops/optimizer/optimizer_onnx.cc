// One step of an optimizer, as elementwise operators: Momentum, Adagrad and Adam of ai.onnx.preview.training 1.
// Inputs: the learning rate R, the number of past steps T (int64), then groups of n tensors each: the tensors X, their
// gradients G, and what the method remembers. Outputs: the new X, then the new memories. Scalars that follow from R and
// T are computed in R's type, as the pseudo code of the specification is written, and used in X's.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {
namespace {

// Emits formulas: an absent value, whose diagnostic is recorded, makes every result after it absent.
class Formula {
 public:
  explicit Formula(ImportContext& ctx) : ctx_(ctx) {}

  Value binary(Op op, Value a, Value b) {
    return a && b ? ctx_.emit1(op, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}) : Value{};
  }
  Value add(Value a, Value b) { return binary(Op::kAdd, a, b); }
  Value sub(Value a, Value b) { return binary(Op::kSub, a, b); }
  Value mul(Value a, Value b) { return binary(Op::kMul, a, b); }
  Value div(Value a, Value b) { return binary(Op::kDiv, a, b); }
  Value add(double a, Value b) { return add(scalar(a, b), b); }
  Value sub(double a, Value b) { return sub(scalar(a, b), b); }
  Value mul(double a, Value b) { return mul(scalar(a, b), b); }
  Value sqrt(Value a) { return a ? ctx_.emit1(Op::kSqrt, pack<attrs::Unary>(attrs::UnaryT{}), {a}) : Value{}; }
  Value cast(Value a, Value like) {
    attrs::CastT to;
    to.to = static_cast<uint8_t>(ctx_.type(like).dtype);
    if (a && like && ctx_.type(a).dtype == ctx_.type(like).dtype) return a;
    return a && like ? ctx_.emit1(Op::kCast, pack<attrs::Cast>(to), {a}) : Value{};
  }
  // t > 0 ? a : b
  Value if_positive(Value t, Value a, Value b) {
    const Value positive = binary(Op::kLess, scalar(0, t), t);
    return positive && a && b ? ctx_.emit1(Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), {positive, a, b}) : Value{};
  }
  // base^t in the type of `like`
  Value power(double base, Value t, Value like) { return binary(Op::kPow, scalar(base, like), t); }
  Value scalar(double v, Value like) { return like ? add_scalar(ctx_, ctx_.type(like).dtype, v) : Value{}; }

 private:
  ImportContext& ctx_;
};

// Tensors per group, or 0 with the diagnostic recorded.
int group_size(ImportContext& ctx, int groups) {
  const int n = (ctx.input_count() - 2) / groups;
  if (n < 1 || 2 + n * groups != ctx.input_count() || ctx.output_count() > n * (groups - 1)) {
    (void)ctx.fail(Status::kInvalidModel,
                   "inputs are not R, T and " + std::to_string(groups) + " equal groups of tensors");
    return 0;
  }
  return n;
}

Status give(ImportContext& ctx, int output, Value v) {
  if (!v) return Status::kInvalidModel;
  if (ctx.wants_output(output)) ctx.set_output(output, v);
  return Status::kOk;
}

double attr(ImportContext& ctx, const char* name, float otherwise) {
  return static_cast<double>(ctx.attr_float(name, otherwise));
}

Status momentum(ImportContext& ctx) {
  Formula f(ctx);
  const int n = group_size(ctx, 3);
  if (n == 0) return Status::kInvalidModel;
  const std::string mode = ctx.attr_string("mode", "standard");
  if (mode != "standard" && mode != "nesterov") {
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\", wanted \"standard\" or \"nesterov\"");
  }
  const double alpha = attr(ctx, "alpha", 0), norm = attr(ctx, "norm_coefficient", 0);
  const Value rate = ctx.input(0), t = ctx.input(1);
  for (int i = 0; i < n; ++i) {
    const Value x = ctx.input(2 + i), g = ctx.input(2 + n + i), v = ctx.input(2 + 2 * n + i);
    const Value beta = f.if_positive(t, f.scalar(attr(ctx, "beta", 1), x), f.scalar(1, x));
    const Value regularized = f.add(f.mul(norm, x), g);
    const Value v_new = f.add(f.mul(alpha, v), f.mul(beta, regularized));
    const Value direction = mode == "standard" ? v_new : f.add(regularized, f.mul(alpha, v_new));
    VIREO_TRY(give(ctx, i, f.sub(x, f.mul(f.cast(rate, x), direction))));
    VIREO_TRY(give(ctx, n + i, v_new));
  }
  return Status::kOk;
}

Status adagrad(ImportContext& ctx) {
  Formula f(ctx);
  const int n = group_size(ctx, 3);
  if (n == 0) return Status::kInvalidModel;
  const double norm = attr(ctx, "norm_coefficient", 0), epsilon = attr(ctx, "epsilon", 1e-6f);
  const Value rate = ctx.input(0), t = f.cast(ctx.input(1), rate);
  const Value r = f.div(rate, f.add(1, f.mul(attr(ctx, "decay_factor", 0), t)));
  for (int i = 0; i < n; ++i) {
    const Value x = ctx.input(2 + i), g = ctx.input(2 + n + i), h = ctx.input(2 + 2 * n + i);
    const Value regularized = f.add(f.mul(norm, x), g);
    const Value h_new = f.add(h, f.mul(regularized, regularized));
    VIREO_TRY(give(ctx, i, f.sub(x, f.div(f.mul(f.cast(r, x), regularized), f.add(epsilon, f.sqrt(h_new))))));
    VIREO_TRY(give(ctx, n + i, h_new));
  }
  return Status::kOk;
}

Status adam(ImportContext& ctx) {
  Formula f(ctx);
  const int n = group_size(ctx, 4);
  if (n == 0) return Status::kInvalidModel;
  const double alpha = attr(ctx, "alpha", 0.9f), beta = attr(ctx, "beta", 0.999f),
               epsilon = attr(ctx, "epsilon", 1e-6f);
  const double norm = attr(ctx, "norm_coefficient", 0), post = attr(ctx, "norm_coefficient_post", 0);
  const Value rate = ctx.input(0), t = ctx.input(1);
  const Value warm = f.div(f.mul(rate, f.sqrt(f.sub(1, f.power(beta, t, rate)))), f.sub(1, f.power(alpha, t, rate)));
  const Value r = f.if_positive(t, warm, rate);
  for (int i = 0; i < n; ++i) {
    const Value x = ctx.input(2 + i), g = ctx.input(2 + n + i);
    const Value v = ctx.input(2 + 2 * n + i), h = ctx.input(2 + 3 * n + i);
    const Value regularized = f.add(f.mul(norm, x), g);
    const Value v_new = f.add(f.mul(alpha, v), f.mul(1 - alpha, regularized));
    const Value h_new = f.add(f.mul(beta, h), f.mul(1 - beta, f.mul(regularized, regularized)));
    const Value x_new = f.sub(x, f.div(f.mul(f.cast(r, x), v_new), f.add(epsilon, f.sqrt(h_new))));
    VIREO_TRY(give(ctx, i, post == 0 ? x_new : f.mul(1 - post, x_new)));
    VIREO_TRY(give(ctx, n + i, v_new));
    VIREO_TRY(give(ctx, 2 * n + i, h_new));
  }
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kMomentumOnnx;
extern const OnnxImport kAdagradOnnx;
extern const OnnxImport kAdamOnnx;

const OnnxImport kMomentumOnnx = {"ai.onnx.preview.training", "Momentum", momentum};
const OnnxImport kAdagradOnnx = {"ai.onnx.preview.training", "Adagrad", adagrad};
const OnnxImport kAdamOnnx = {"ai.onnx.preview.training", "Adam", adam};

}  // namespace vireo
