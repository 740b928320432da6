// Preparation of features, ai.onnx.ml 1. Numbers: f32, f64, i32, i64.
//   Scaler                 x -> f32      (x - offset) * scale along the last axis
//   Normalizer             [N, C] or [C] -> f32      rows over their maximum, sum of magnitudes or length; rows of 0
//   stay Binarizer              x -> type of x     x > threshold ? 1 : 0      y may be x Imputer                x ->
//   type of x     x == replaced ? imputed : x      y may be x FeatureVectorizer      [N, C_i] or [C_i] each -> f32 [N,
//   sum of dimensions] ArrayFeatureExtractor  [.., C] of any of the types or strings, indices i64 -> [.., count]; [C]
//   -> [1, count] OneHotEncoder          x, numbers or strings -> f32 [.., categories]
// Errors while running, kInvalidArgument: an index outside the last axis; an element of no category with zeros off.
#include "sdk/ops/ml_features/ml_features_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status check_number(InferContext& ctx, int i, bool or_string = false) {
  switch (ctx.input(i).dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
      return Status::kOk;
    case DType::kString:
      if (or_string) return Status::kOk;
      break;
    default:
      break;
  }
  return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted float, double, int32{} int64", i,
                  dtype_name(ctx.input(i).dtype), or_string ? ", string or" : " or");
}

// A list of one value, or one for each element of the last axis.
template <class V>
Status check_list(InferContext& ctx, const V* list, const char* name) {
  const Shape& s = ctx.input(0).shape;
  const int64_t size = list == nullptr ? 0 : static_cast<int64_t>(list->size());
  if (size == 1 || (size > 1 && s.rank > 0 && !ctx.differ(s[s.rank - 1], size))) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "{} has {} values for an input of {}", name, size, s);
}

Status infer_scaler(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Scaler>();
  VIREO_TRY(check_number(ctx, 0));
  VIREO_TRY(check_list(ctx, a.offset(), "offset"));
  VIREO_TRY(check_list(ctx, a.scale(), "scale"));
  ctx.output(0) = {DType::kF32, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_normalizer(InferContext& ctx) {
  if (ctx.attrs<attrs::Normalizer>().norm() > attrs::NormalizerNorm::MAX) {
    return ctx.fail(Status::kInvalidModel, "norm {} is not known",
                    static_cast<int>(ctx.attrs<attrs::Normalizer>().norm()));
  }
  VIREO_TRY(check_number(ctx, 0));
  VIREO_TRY(check_rank(ctx, 0, 1, kMaxRank));
  ctx.output(0) = {DType::kF32, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_binarizer(InferContext& ctx) {
  VIREO_TRY(check_number(ctx, 0));
  return infer_same(ctx);
}

Status infer_imputer(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Imputer>();
  VIREO_TRY(check_number(ctx, 0));
  if (dtype_is_float(ctx.input(0).dtype)) {
    VIREO_TRY(check_list(ctx, a.imputed_reals(), "imputed_value_floats"));
  } else {
    VIREO_TRY(check_list(ctx, a.imputed_integers(), "imputed_value_int64s"));
  }
  return infer_same(ctx);
}

Status infer_vectorizer(InferContext& ctx) {
  const auto* dimensions = ctx.attrs<attrs::FeatureVectorizer>().dimensions();
  const int count = dimensions == nullptr ? 0 : static_cast<int>(dimensions->size());
  if (count != ctx.input_count()) {
    return ctx.fail(Status::kInvalidModel, "inputdimensions has {} values for {} inputs", count, ctx.input_count());
  }
  Dim rows = 1, columns = 0;
  for (int i = 0; i < count; ++i) {
    VIREO_TRY(check_number(ctx, i));
    VIREO_TRY(check_rank(ctx, i, 1, 2));
    const Shape& s = ctx.input(i).shape;
    const Dim n = s.rank == 2 ? s[0] : 1;
    if (i > 0 && ctx.differ(n, rows))
      return ctx.fail(Status::kInvalidModel, "input {} has {} rows, input 0 {}", i, n, rows);
    if (i == 0) rows = n;
    const int64_t d = dimensions->Get(static_cast<uint32_t>(i));
    if (d < 0) return ctx.fail(Status::kInvalidModel, "inputdimensions has {}", d);
    columns = ctx.add(columns, d);
  }
  ctx.output(0) = {DType::kF32, Shape{2, {rows, columns}}};
  return Status::kOk;
}

Status infer_extractor(InferContext& ctx) {
  VIREO_TRY(check_number(ctx, 0, /*or_string=*/true));
  VIREO_TRY(check_rank(ctx, 0, 1, kMaxRank));
  const TensorType &x = ctx.input(0), &indices = ctx.input(1);
  if (indices.dtype != DType::kI64) {
    return ctx.fail(Status::kInvalidModel, "indices are {}, wanted int64", dtype_name(indices.dtype));
  }
  Shape s = x.shape;
  if (s.rank == 1) s = {2, {1, 0}};
  s[s.rank - 1] = ctx.count(indices.shape, 0, indices.shape.rank);
  ctx.output(0) = {x.dtype, s};
  return Status::kOk;
}

Status infer_one_hot(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::OneHotEncoder>();
  VIREO_TRY(check_number(ctx, 0, /*or_string=*/true));
  VIREO_TRY(check_rank(ctx, 0, 0, kMaxRank - 1));
  const bool strings = ctx.input(0).dtype == DType::kString;
  if (strings ? a.strings() == nullptr : a.integers() == nullptr) {
    return ctx.fail(Status::kInvalidModel, "the categories do not have the type of the input, {}",
                    dtype_name(ctx.input(0).dtype));
  }
  Shape s = ctx.input(0).shape;
  s[s.rank++] = static_cast<Dim>(strings ? a.strings()->size() : a.integers()->size());
  ctx.output(0) = {DType::kF32, s};
  return Status::kOk;
}

}  // namespace

extern const OpDef kScalerOp;
const OpDef kScalerOp = {"Scaler", verify_attrs<attrs::Scaler>, infer_scaler, 1, 1, 1, 1, OpDef::kPure, 0};
extern const OpDef kNormalizerOp;
const OpDef kNormalizerOp = {
    "Normalizer", verify_attrs<attrs::Normalizer>, infer_normalizer, 1, 1, 1, 1, OpDef::kPure, 0};
extern const OpDef kBinarizerOp;
const OpDef kBinarizerOp = {"Binarizer", verify_attrs<attrs::Binarizer>, infer_binarizer, 1, 1, 1, 1, OpDef::kPure, 1};
extern const OpDef kImputerOp;
const OpDef kImputerOp = {"Imputer", verify_attrs<attrs::Imputer>, infer_imputer, 1, 1, 1, 1, OpDef::kPure, 1};
extern const OpDef kFeatureVectorizerOp;
const OpDef kFeatureVectorizerOp = {
    "FeatureVectorizer", verify_attrs<attrs::FeatureVectorizer>, infer_vectorizer, 1, 255, 1, 1, OpDef::kPure, 0};
extern const OpDef kArrayFeatureExtractorOp;
const OpDef kArrayFeatureExtractorOp = {
    "ArrayFeatureExtractor", verify_attrs<attrs::ArrayFeatureExtractor>, infer_extractor, 2, 2, 1, 1, OpDef::kPure, 0};
extern const OpDef kOneHotEncoderOp;
const OpDef kOneHotEncoderOp = {
    "OneHotEncoder", verify_attrs<attrs::OneHotEncoder>, infer_one_hot, 1, 1, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
