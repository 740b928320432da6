// Linear models and support vector machines, ai.onnx.ml 1. x: [N, F] or [F], f32, f64, i32 or i64; sums in f64.
//   LinearRegressor   y f32 [N, rows] = transform(x w^T + b). A single row: probit alone is applied, as in ONNX Runtime
//   LinearClassifier  label [N] i64 or string, scores f32 [N, rows or 2]: the label of the greatest score. One row of
//                     coefficients with two labels: scores 1 - s and s (logistic: of -s and s), the second label when s
//                     > 0
//   SVMRegressor      y f32 [N, 1] = sum_j c_j k(x, v_j) + rho
//   SVMClassifier     label by votes of the pairs of classes (i, j), which go to i when the pair's score is above 0.
//   scores:
//                     probabilities [N, classes] where prob_a is given; of two classes -s and s (softmax: 1 - s and s,
//                     logistic: of -s and s); else those of the pairs. Without support vectors: one score a class, the
//                     greatest one's label
// What the specification leaves open is as ONNX Runtime answers it, on which exporters rely.
#include "sdk/ops/ml_linear/ml_linear.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

template <class V>
uint64_t size(const V* v) {
  return v == nullptr ? 0 : v->size();
}

template <class A>
uint64_t labels(const A& a) {
  return a.labels_strings() != nullptr ? size(a.labels_strings()) : size(a.labels_integers());
}

bool verify_linear(Span<const uint8_t> bytes, bool classifier) {
  if (!verify_attrs<attrs::Linear>(bytes)) return false;
  const auto& a = *::flatbuffers::GetRoot<attrs::Linear>(bytes.data());
  if (a.rows() == 0 || a.transform() > attrs::TreeTransform::MAX || size(a.coefficients()) % a.rows() != 0)
    return false;
  if (a.intercepts() != nullptr && a.intercepts()->size() != a.rows()) return false;
  return !classifier || labels(a) == linear_columns(a, true);
}
bool verify_linear_regressor(Span<const uint8_t> bytes) { return verify_linear(bytes, false); }
bool verify_linear_classifier(Span<const uint8_t> bytes) { return verify_linear(bytes, true); }

bool verify_svm(Span<const uint8_t> bytes, bool classifier) {
  if (!verify_attrs<attrs::Svm>(bytes)) return false;
  const auto& a = *::flatbuffers::GetRoot<attrs::Svm>(bytes.data());
  const uint64_t vectors = a.vectors(), classes = classifier ? labels(a) : 0;
  if (a.kernel() > attrs::SvmKernel::MAX || a.transform() > attrs::TreeTransform::MAX || size(a.rho()) == 0)
    return false;
  if (vectors > 0 && size(a.supports()) % vectors != 0) return false;
  if (!classifier) return vectors == 0 || size(a.coefficients()) == vectors;
  if (classes < 2 || classes > UINT16_MAX) return false;
  if (vectors == 0) return size(a.coefficients()) % classes == 0;
  const uint64_t pairs = classes * (classes - 1) / 2;
  if (size(a.coefficients()) != (classes - 1) * vectors || size(a.rho()) != pairs ||
      size(a.vectors_per_class()) != classes || size(a.prob_a()) != size(a.prob_b()) ||
      (a.prob_a() != nullptr && size(a.prob_a()) != pairs)) {
    return false;
  }
  uint64_t sum = 0;
  for (const uint32_t n : *a.vectors_per_class()) sum += n;
  return sum == vectors;
}
bool verify_svm_regressor(Span<const uint8_t> bytes) { return verify_svm(bytes, false); }
bool verify_svm_classifier(Span<const uint8_t> bytes) { return verify_svm(bytes, true); }

// Rows of x, whose columns must be `features`.
Status rows(InferContext& ctx, uint64_t features, Dim* out) {
  const TensorType& x = ctx.input(0);
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
      break;
    default:
      return ctx.fail(Status::kInvalidModel, "input of type {}, wanted float, double, int32 or int64",
                      dtype_name(x.dtype));
  }
  VIREO_TRY(check_rank(ctx, 0, 1, 2));
  if (ctx.differ(x.shape[x.shape.rank - 1], static_cast<Dim>(features))) {
    return ctx.fail(Status::kInvalidModel, "the input has {} columns, the model {}", x.shape[x.shape.rank - 1],
                    features);
  }
  *out = x.shape.rank == 2 ? x.shape[0] : 1;
  return Status::kOk;
}

template <class A>
void set_labels_and_scores(InferContext& ctx, const A& a, Dim n, uint64_t columns) {
  if (ctx.wants(0)) ctx.output(0) = {a.labels_strings() != nullptr ? DType::kString : DType::kI64, Shape{1, {n}}};
  if (ctx.wants(1)) ctx.output(1) = {DType::kF32, Shape{2, {n, static_cast<Dim>(columns)}}};
}

Status infer_linear_regressor(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Linear>();
  Dim n = 0;
  VIREO_TRY(rows(ctx, size(a.coefficients()) / a.rows(), &n));
  ctx.output(0) = {DType::kF32, Shape{2, {n, static_cast<Dim>(a.rows())}}};
  return Status::kOk;
}
Status infer_linear_classifier(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Linear>();
  Dim n = 0;
  VIREO_TRY(rows(ctx, size(a.coefficients()) / a.rows(), &n));
  set_labels_and_scores(ctx, a, n, linear_columns(a, true));
  return Status::kOk;
}
Status infer_svm_regressor(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Svm>();
  Dim n = 0;
  VIREO_TRY(rows(ctx, a.vectors() > 0 ? size(a.supports()) / a.vectors() : size(a.coefficients()), &n));
  ctx.output(0) = {DType::kF32, Shape{2, {n, 1}}};
  return Status::kOk;
}
Status infer_svm_classifier(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Svm>();
  const uint64_t classes = labels(a);
  Dim n = 0;
  VIREO_TRY(rows(ctx, a.vectors() > 0 ? size(a.supports()) / a.vectors() : size(a.coefficients()) / classes, &n));
  const bool by_class = classes == 2 || a.vectors() == 0 || a.prob_a() != nullptr;
  set_labels_and_scores(ctx, a, n, by_class ? classes : classes * (classes - 1) / 2);
  return Status::kOk;
}

}  // namespace

extern const OpDef kLinearClassifierOp;
const OpDef kLinearClassifierOp = {
    "LinearClassifier", verify_linear_classifier, infer_linear_classifier, 1, 1, 1, 2, OpDef::kPure, /*inplace=*/0};
extern const OpDef kLinearRegressorOp;
const OpDef kLinearRegressorOp = {
    "LinearRegressor", verify_linear_regressor, infer_linear_regressor, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};
extern const OpDef kSVMClassifierOp;
const OpDef kSVMClassifierOp = {"SVMClassifier", verify_svm_classifier, infer_svm_classifier, 1, 1, 1, 2,
                                OpDef::kPure,    /*inplace=*/0};
extern const OpDef kSVMRegressorOp;
const OpDef kSVMRegressorOp = {"SVMRegressor", verify_svm_regressor, infer_svm_regressor, 1, 1, 1, 1,
                               OpDef::kPure,   /*inplace=*/0};

}  // namespace vireo
