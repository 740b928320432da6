// Operators of com.microsoft that came before the standard's, or that say in one node what the standard says in a few.
//   ExpandDims        Unsqueeze at one axis, which is an input
//   Pad, Range, Trilu, GatherND, GridSample     the standard's; pads may have rank 2, modes older names
//   Unique            values in the order in which they occur; the inverse; the counts
//   CDist             distances between the rows of a and those of b, "euclidean" or "sqeuclidean"
//   BiasSoftmax       Softmax(x + bias), bias without the batch's inner or outer dimensions
//   GroupNorm, SkipGroupNorm    GroupNormalization, the channels last, SiLU behind it; x + skip + bias before it
//   Rfft, Irfft       DFT of real numbers along the last axis, and back; complex ones stand in a last axis of two
//   MatMulInteger16   product of int16 in int32
// And of ONNX's first, withdrawn experiments in its own domain, which old converters wrote:
//   Affine alpha x + beta; ParametricSoftplus alpha softplus(beta x); ScaledTanh alpha tanh(beta x);
//   ImageScaler scale x + bias of each channel; Crop: border of rows and columns off
// Source: ONNX Runtime, ContribOperators.md; ONNX 1.3, experimental operators.
#include <algorithm>
#include <iterator>

#include "sdk/ops/fill/fill_generated.h"
#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/grid_sample/grid_sample_generated.h"
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/trilu/trilu_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/unique/unique_generated.h"

namespace vireo {
namespace {

Status missing(ImportContext& ctx) { return ctx.fail(Status::kInvalidModel, "an input that it needs is missing"); }

// The first `count` inputs are there.
Status need(ImportContext& ctx, int count) {
  for (int i = 0; i < count; ++i) {
    if (!ctx.input(i)) return missing(ctx);
  }
  return Status::kOk;
}

Status finish(ImportContext& ctx, Value y) { return y ? import_value(ctx, y) : Status::kInvalidModel; }

Status import_expand_dims(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  Steps s(ctx);
  const Value axes = s.reshape(s.cast(ctx.input(1), DType::kI64), {1});
  return finish(ctx, s.one(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {ctx.input(0), axes}));
}

Status import_pad(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  Steps s(ctx);
  attrs::PadT a;
  const std::string mode = ctx.attr_string("mode", "constant");
  const char* const modes[] = {"constant", "reflect", "edge", "wrap"};
  const auto* const found = std::find(std::begin(modes), std::end(modes), mode);
  if (found == std::end(modes)) {
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use constant, reflect, edge or wrap");
  }
  a.mode = static_cast<attrs::PadMode>(found - std::begin(modes));
  std::vector<Value> inputs = {ctx.input(0), s.reshape(ctx.input(1), {-1})};
  if (ctx.input(2)) inputs.push_back(s.reshape(ctx.input(2), {}));
  return finish(ctx, s.one(Op::kPad, pack<attrs::Pad>(a), inputs));
}

Status import_range(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  Steps s(ctx);
  const Value step = ctx.input(2) ? ctx.input(2) : s.scalar(ctx.type(ctx.input(0)).dtype, 1);
  std::vector<Value> inputs;
  for (const Value v : {ctx.input(0), ctx.input(1), step}) inputs.push_back(s.reshape(v, {}));
  return finish(ctx, s.one(Op::kRange, pack<attrs::Range>(attrs::RangeT{}), inputs));
}

Status import_trilu(ImportContext& ctx) {
  attrs::TriluT a;
  a.upper = ctx.attr_int("upper", 1) != 0;
  return import_direct(ctx, Op::kTrilu, pack<attrs::Trilu>(a));
}

Status import_gather_nd(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  Steps s(ctx);
  return finish(ctx, s.one(Op::kGatherND, pack<attrs::GatherND>(attrs::GatherNDT{}),
                           {ctx.input(0), s.cast(ctx.input(1), DType::kI64)}));
}

Status import_grid_sample(ImportContext& ctx) {
  attrs::GridSampleT a;
  const std::string mode = ctx.attr_string("mode", "bilinear"), padding = ctx.attr_string("padding_mode", "zeros");
  if (mode == "nearest") a.mode = attrs::GridSampleMode::nearest;
  if (mode == "bicubic") a.mode = attrs::GridSampleMode::cubic;
  if (padding == "border") a.padding = attrs::GridSamplePadding::border;
  if (padding == "reflection") a.padding = attrs::GridSamplePadding::reflection;
  a.align_corners = ctx.attr_int("align_corners", 0) != 0;
  return import_direct(ctx, Op::kGridSample, pack<attrs::GridSample>(a));
}

// Our outputs: values, where each first stands, the inverse, counts.
Status import_unique(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 1));
  attrs::UniqueT a;
  a.sorted = false;
  const std::vector<Value> y = ctx.emit(Op::kUnique, pack<attrs::Unique>(a), {ctx.input(0)}, 4);
  if (y.size() != 4 || !y[0]) return Status::kInvalidModel;
  const int ours[] = {0, 2, 3};
  for (int i = 0; i < 3; ++i) {
    if (ctx.wants_output(i)) ctx.set_output(i, y[static_cast<size_t>(ours[i])]);
  }
  return Status::kOk;
}

Status import_distances(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  const std::string metric = ctx.attr_string("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") {
    return ctx.fail(Status::kUnsupported, "metric is \"" + metric + "\"", "use euclidean or sqeuclidean");
  }
  Steps s(ctx);
  const Value d = s.sub(s.unsqueeze(ctx.input(0), {1}), s.unsqueeze(ctx.input(1), {0}));
  Value y = s.reduce_sum(s.mul(d, d), 2, false);
  if (metric == "euclidean") y = s.one(Op::kSqrt, pack<attrs::Unary>(attrs::UnaryT{}), {y});
  return finish(ctx, y);
}

// The bias lacks dimensions [broadcast axis, axis) of x where it is broadcast inside, and those before them else: ones
// stand in their place in what the optimiser writes. Softmax runs over all dimensions from the axis on.
Status import_bias_softmax(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  Steps s(ctx);
  const int rank = ctx.type(ctx.input(0)).shape.rank, bias = ctx.type(ctx.input(1)).shape.rank;
  int axis = ctx.attr_int32("axis", 1);
  if (axis < -rank || axis >= rank) return ctx.fail(Status::kInvalidModel, "axis is " + std::to_string(axis));
  if (axis < 0) axis += rank;
  if (ctx.attr_int("is_inner_broadcast", 0) != 0 && bias != rank) {
    return ctx.fail(Status::kUnsupported, "a bias of rank " + std::to_string(bias) + " that is broadcast inside",
                    "save the model without this optimisation");
  }
  Value x = s.add(ctx.input(0), ctx.input(1));
  attrs::SoftmaxT a;
  a.axis = axis;
  if (axis == rank - 1) return finish(ctx, s.one(Op::kSoftmax, pack<attrs::Softmax>(a), {x}));
  const Value shape = s.shape(x, 0, rank);
  attrs::FlattenT flat;
  flat.axis = axis;
  a.axis = 1;
  x = s.one(Op::kSoftmax, pack<attrs::Softmax>(a), {s.one(Op::kFlatten, pack<attrs::Flatten>(flat), {x})});
  return finish(ctx, s.reshape_to(x, shape));
}

Value normalized(ImportContext& ctx, Value x, bool last) {
  Steps s(ctx);
  attrs::GroupNormalizationT a;
  a.num_groups = ctx.attr_int32("groups", 0);
  a.epsilon = ctx.attr_float("epsilon", 1e-5f);
  const DType type = ctx.type(x).dtype;
  if (last) x = s.transpose(x, {0, 3, 1, 2});
  x = s.one(Op::kGroupNormalization, pack<attrs::GroupNormalization>(a),
            {x, s.cast(ctx.input(1), type), s.cast(ctx.input(2), type)});
  if (ctx.attr_int("activation", 0) != 0) x = s.one(Op::kSwish, pack<attrs::Swish>(attrs::SwishT{}), {x});
  return last ? s.transpose(x, {0, 2, 3, 1}) : x;
}

Status check_group(ImportContext& ctx, int inputs) {
  VIREO_TRY(need(ctx, inputs));
  const int64_t groups = ctx.attr_int("groups", 0);
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  if (rank == 4 && groups >= 1 && groups <= INT32_MAX) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "rank " + std::to_string(rank) + " and " + std::to_string(groups) +
                                             " groups, wanted rank 4 and at least one group");
}

Status import_group_norm(ImportContext& ctx) {
  VIREO_TRY(check_group(ctx, 3));
  return finish(ctx, normalized(ctx, ctx.input(0), ctx.attr_int("channels_last", 1) != 0));
}

Status import_skip_group_norm(ImportContext& ctx) {
  VIREO_TRY(check_group(ctx, 4));
  Steps s(ctx);
  const bool last = ctx.attr_int("channels_last", 1) != 0;
  // [N, C] and [C] stand beside the channels.
  const std::vector<int64_t> apart = last ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 3};
  Value skip = ctx.input(3), bias = ctx.input(4);
  if (ctx.type(skip).shape.rank == 2) skip = s.unsqueeze(skip, apart);
  if (bias && !last) bias = s.unsqueeze(bias, {1, 2});
  Value x = s.add(ctx.input(0), skip);
  if (bias) x = s.add(x, bias);
  if (!x) return Status::kInvalidModel;
  if (ctx.wants_output(1)) ctx.set_output(1, x);
  return finish(ctx, normalized(ctx, x, last));
}

Status check_signal(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 1));
  if (ctx.attr_int("signal_ndim", 1) == 1 && ctx.attr_int("normalized", 0) == 0 && ctx.attr_int("onesided", 1) != 0)
    return Status::kOk;
  return ctx.fail(Status::kUnsupported, "a transform of more than one axis, normalized or of both sides",
                  "use the standard's DFT");
}

Status import_rfft(ImportContext& ctx) {
  VIREO_TRY(check_signal(ctx));
  Steps s(ctx);
  attrs::FourierT a;
  a.onesided = true;
  const Value x = s.unsqueeze(ctx.input(0), {-1});
  if (!x) return Status::kInvalidModel;
  return finish(ctx, ctx.emit1(Op::kDFT, pack<attrs::Fourier>(a), {x, {}, s.i64({-2})}));
}

Status import_irfft(ImportContext& ctx) {
  VIREO_TRY(check_signal(ctx));
  Steps s(ctx);
  attrs::FourierT a;
  a.onesided = true;
  a.inverse = true;
  const Value y = ctx.emit1(Op::kDFT, pack<attrs::Fourier>(a), {ctx.input(0), {}, s.i64({-2})});
  return finish(ctx, s.squeeze(y, {-1}));
}

Status import_matmul_integer(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 2));
  Steps s(ctx);
  return finish(ctx, s.matmul(s.cast(ctx.input(0), DType::kI32), s.cast(ctx.input(1), DType::kI32)));
}

template <Op kOp>
Value unary(Steps& s, Value x) {
  return s.one(kOp, pack<attrs::Unary>(attrs::UnaryT{}), {x});
}

// factor * f(inner * x) + term
Value scaled(ImportContext& ctx, Value x, const char* name, float otherwise) {
  Steps s(ctx);
  const double factor = static_cast<double>(ctx.attr_float(name, otherwise));
  return x ? s.mul(x, s.scalar(ctx.type(x).dtype, factor)) : Value{};
}

Status import_affine(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 1));
  Steps s(ctx);
  const double term = static_cast<double>(ctx.attr_float("beta", 0));
  return finish(ctx, s.add(scaled(ctx, ctx.input(0), "alpha", 1), s.scalar(ctx.type(ctx.input(0)).dtype, term)));
}

template <Op kOp>
Status import_scaled(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 1));
  Steps s(ctx);
  return finish(ctx, scaled(ctx, unary<kOp>(s, scaled(ctx, ctx.input(0), "beta", 1)), "alpha", 1));
}

Status import_image_scaler(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 1));
  Steps s(ctx);
  Value y = scaled(ctx, ctx.input(0), "scale", 1);
  const std::vector<float> bias = ctx.attr_floats("bias");
  if (!bias.empty()) {
    TensorType t{DType::kF32, {}};
    t.shape.rank = 3;
    t.shape[0] = static_cast<int64_t>(bias.size());
    t.shape[1] = t.shape[2] = 1;
    const auto* p = reinterpret_cast<const uint8_t*>(bias.data());
    const Value column = ctx.add_constant(t, std::vector<uint8_t>(p, p + bias.size() * sizeof(float)));
    y = s.add(y, s.cast(column, ctx.type(ctx.input(0)).dtype));
  }
  return finish(ctx, y);
}

// border: left, top, right, bottom. scale: height and width, from the border's left and top on.
Status import_crop(ImportContext& ctx) {
  VIREO_TRY(need(ctx, 1));
  Steps s(ctx);
  const std::vector<int64_t> border = ctx.attr_ints("border"), scale = ctx.attr_ints("scale");
  const TensorType t = ctx.type(ctx.input(0));
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2) || t.shape.rank != 4) {
    return ctx.fail(Status::kInvalidModel, "border has " + std::to_string(border.size()) + " values, scale " +
                                               std::to_string(scale.size()) + ", the input rank " +
                                               std::to_string(t.shape.rank) + ": wanted 4, 0 or 2, and 4");
  }
  Value y = ctx.input(0);
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(1 - i);
    const int axis = 2 + i;
    const Value end = !scale.empty() ? s.i64({border[at] + scale[static_cast<size_t>(i)]})
                                     : s.sub(s.shape(ctx.input(0), axis, axis + 1), s.i64({border[at + 2]}));
    y = s.slice(y, axis, s.i64({border[at]}), end);
  }
  return finish(ctx, y);
}

}  // namespace

extern const OnnxImport kMsExpandDimsOnnx;
const OnnxImport kMsExpandDimsOnnx = {"com.microsoft", "ExpandDims", import_expand_dims};
extern const OnnxImport kMsPadOnnx;
const OnnxImport kMsPadOnnx = {"com.microsoft", "Pad", import_pad};
extern const OnnxImport kMsRangeOnnx;
const OnnxImport kMsRangeOnnx = {"com.microsoft", "Range", import_range};
extern const OnnxImport kMsTriluOnnx;
const OnnxImport kMsTriluOnnx = {"com.microsoft", "Trilu", import_trilu};
extern const OnnxImport kMsGatherNDOnnx;
const OnnxImport kMsGatherNDOnnx = {"com.microsoft", "GatherND", import_gather_nd};
extern const OnnxImport kMsGridSampleOnnx;
const OnnxImport kMsGridSampleOnnx = {"com.microsoft", "GridSample", import_grid_sample};
extern const OnnxImport kMsUniqueOnnx;
const OnnxImport kMsUniqueOnnx = {"com.microsoft", "Unique", import_unique};
extern const OnnxImport kCDistOnnx;
const OnnxImport kCDistOnnx = {"com.microsoft", "CDist", import_distances};
extern const OnnxImport kBiasSoftmaxOnnx;
const OnnxImport kBiasSoftmaxOnnx = {"com.microsoft", "BiasSoftmax", import_bias_softmax};
extern const OnnxImport kGroupNormOnnx;
const OnnxImport kGroupNormOnnx = {"com.microsoft", "GroupNorm", import_group_norm};
extern const OnnxImport kSkipGroupNormOnnx;
const OnnxImport kSkipGroupNormOnnx = {"com.microsoft", "SkipGroupNorm", import_skip_group_norm};
extern const OnnxImport kRfftOnnx;
const OnnxImport kRfftOnnx = {"com.microsoft", "Rfft", import_rfft};
extern const OnnxImport kIrfftOnnx;
const OnnxImport kIrfftOnnx = {"com.microsoft", "Irfft", import_irfft};
extern const OnnxImport kMatMulInteger16Onnx;
const OnnxImport kMatMulInteger16Onnx = {"com.microsoft", "MatMulInteger16", import_matmul_integer};
extern const OnnxImport kAffineOnnx;
const OnnxImport kAffineOnnx = {"", "Affine", import_affine};
extern const OnnxImport kParametricSoftplusOnnx;
const OnnxImport kParametricSoftplusOnnx = {"", "ParametricSoftplus", import_scaled<Op::kSoftplus>};
extern const OnnxImport kScaledTanhOnnx;
const OnnxImport kScaledTanhOnnx = {"", "ScaledTanh", import_scaled<Op::kTanh>};
extern const OnnxImport kImageScalerOnnx;
const OnnxImport kImageScalerOnnx = {"", "ImageScaler", import_image_scaler};
extern const OnnxImport kCropOnnx;
const OnnxImport kCropOnnx = {"", "Crop", import_crop};

}  // namespace vireo
