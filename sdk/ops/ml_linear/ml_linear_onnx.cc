#include <algorithm>
#include <iterator>

#include "sdk/ops/ml_linear/ml_linear_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status bad(ImportContext& ctx, const std::string& what) { return ctx.fail(Status::kInvalidModel, what); }

template <class E, size_t N>
Status read_enum(ImportContext& ctx, const char* name, const char* otherwise, const char* const (&names)[N], E* out) {
  const std::string text = ctx.attr_string(name, otherwise);
  const auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) return bad(ctx, std::string(name) + " is '" + text + "'");
  *out = static_cast<E>(found - std::begin(names));
  return Status::kOk;
}
constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
constexpr const char* kKernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};

template <class A>
Status read_labels(ImportContext& ctx, A* a, size_t* count) {
  a->labels_integers = ctx.attr_ints("classlabels_ints");
  a->labels_strings = ctx.attr_strings("classlabels_strings");
  if (a->labels_integers.empty() == a->labels_strings.empty()) {
    return bad(ctx, "one of classlabels_ints and classlabels_strings must be given");
  }
  *count = a->labels_integers.size() + a->labels_strings.size();
  if (*count > 1) return Status::kOk;
  return ctx.fail(Status::kUnsupported, "a classifier with a single class label", "export it with both labels");
}

Status read_linear(ImportContext& ctx, int64_t rows, attrs::LinearT* a) {
  a->coefficients = ctx.attr_floats("coefficients");
  a->intercepts = ctx.attr_floats("intercepts");
  if (rows < 1 || a->coefficients.size() % static_cast<size_t>(rows) != 0 ||
      (!a->intercepts.empty() && a->intercepts.size() != static_cast<size_t>(rows))) {
    return bad(ctx, std::to_string(a->coefficients.size()) + " coefficients and " +
                        std::to_string(a->intercepts.size()) + " intercepts do not make " + std::to_string(rows) +
                        " rows");
  }
  a->rows = static_cast<uint32_t>(rows);
  return read_enum(ctx, "post_transform", "NONE", kTransforms, &a->transform);
}

Status import_linear_regressor(ImportContext& ctx) {
  attrs::LinearT a;
  VIREO_TRY(read_linear(ctx, ctx.attr_int("targets", 1), &a));
  return import_direct(ctx, Op::kLinearRegressor, pack<attrs::Linear>(a));
}

Status import_linear_classifier(ImportContext& ctx) {
  attrs::LinearT a;
  size_t labels = 0;
  VIREO_TRY(read_labels(ctx, &a, &labels));
  // Two classes may share one row: the intercepts tell, or the input's width where there are none.
  int64_t rows = static_cast<int64_t>(ctx.attr_floats("intercepts").size());
  if (rows == 0) {
    const TensorType x = ctx.type(ctx.input(0));
    const int64_t width = x.shape.rank > 0 ? x.shape[x.shape.rank - 1] : 0;
    const auto coefficients = static_cast<int64_t>(ctx.attr_floats("coefficients").size());
    rows = width > 0 && !is_symbolic(width) ? coefficients / width : static_cast<int64_t>(labels);
  }
  if (rows != static_cast<int64_t>(labels) && !(rows == 1 && labels == 2)) {
    return bad(ctx, std::to_string(rows) + " rows of coefficients for " + std::to_string(labels) + " classes");
  }
  VIREO_TRY(read_linear(ctx, rows, &a));
  return import_direct(ctx, Op::kLinearClassifier, pack<attrs::Linear>(a));
}

Status read_svm(ImportContext& ctx, attrs::SvmT* a) {
  VIREO_TRY(read_enum(ctx, "kernel_type", "LINEAR", kKernels, &a->kernel));
  VIREO_TRY(read_enum(ctx, "post_transform", "NONE", kTransforms, &a->transform));
  const std::vector<float> parameters = ctx.attr_floats("kernel_params");
  if (!parameters.empty() && parameters.size() != 3) return bad(ctx, "kernel_params must have three values");
  if (!parameters.empty()) {
    a->gamma = parameters[0];
    a->coef0 = parameters[1];
    a->degree = parameters[2];
  }
  a->supports = ctx.attr_floats("support_vectors");
  a->coefficients = ctx.attr_floats("coefficients");
  a->rho = ctx.attr_floats("rho");
  if (a->rho.empty()) a->rho = {0};
  return Status::kOk;
}

// The verifier's own rules, with a story: what it would refuse must not be written.
Status emit_svm(ImportContext& ctx, Op op, const attrs::SvmT& a) {
  std::vector<uint8_t> bytes = pack<attrs::Svm>(a);
  const OpRow* row = find_op(op);
  if (row != nullptr && !row->def->verify(Span<const uint8_t>(bytes.data(), bytes.size()))) {
    return bad(ctx, "the lengths of coefficients (" + std::to_string(a.coefficients.size()) + "), support_vectors (" +
                        std::to_string(a.supports.size()) + "), rho (" + std::to_string(a.rho.size()) +
                        ") and prob_a (" + std::to_string(a.prob_a.size()) + ") do not fit each other and the classes");
  }
  return import_direct(ctx, op, std::move(bytes));
}

Status import_svm_regressor(ImportContext& ctx) {
  attrs::SvmT a;
  VIREO_TRY(read_svm(ctx, &a));
  const int64_t vectors = ctx.attr_int("n_supports", 0);
  if (vectors < 0 || vectors > INT32_MAX) return bad(ctx, "n_supports is " + std::to_string(vectors));
  a.vectors = static_cast<uint32_t>(vectors);
  a.one_class = ctx.attr_int("one_class", 0) != 0;
  return emit_svm(ctx, Op::kSVMRegressor, a);
}

Status import_svm_classifier(ImportContext& ctx) {
  attrs::SvmT a;
  size_t labels = 0;
  VIREO_TRY(read_labels(ctx, &a, &labels));
  VIREO_TRY(read_svm(ctx, &a));
  a.prob_a = ctx.attr_floats("prob_a");
  a.prob_b = ctx.attr_floats("prob_b");
  int64_t vectors = 0;
  for (const int64_t n : ctx.attr_ints("vectors_per_class")) {
    if (n < 0 || n > INT32_MAX) return bad(ctx, "vectors_per_class has " + std::to_string(n));
    a.vectors_per_class.push_back(static_cast<uint32_t>(n));
    vectors += n;
  }
  if (vectors > INT32_MAX) return bad(ctx, "there are " + std::to_string(vectors) + " support vectors");
  a.vectors = static_cast<uint32_t>(vectors);
  return emit_svm(ctx, Op::kSVMClassifier, a);
}

void export_linear(ExportContext& ctx, OnnxNode* n) {
  const auto& a = ctx.attrs<attrs::Linear>();
  n->reals("coefficients", a.coefficients()).reals("intercepts", a.intercepts());
  n->text("post_transform", kTransforms[static_cast<size_t>(a.transform())]);
  if (ctx.op() == Op::kLinearRegressor) {
    n->number("targets", a.rows());
  } else {
    n->numbers("classlabels_ints", a.labels_integers()).texts("classlabels_strings", a.labels_strings());
  }
}

void export_svm(ExportContext& ctx, OnnxNode* n) {
  const auto& a = ctx.attrs<attrs::Svm>();
  n->text("kernel_type", kKernels[static_cast<size_t>(a.kernel())]);
  n->text("post_transform", kTransforms[static_cast<size_t>(a.transform())]);
  n->set("kernel_params", std::vector<float>{a.gamma(), a.coef0(), a.degree()});
  n->reals("support_vectors", a.supports()).reals("coefficients", a.coefficients()).reals("rho", a.rho());
  if (ctx.op() == Op::kSVMRegressor) {
    n->number("n_supports", a.vectors()).flag("one_class", a.one_class());
  } else {
    n->numbers("classlabels_ints", a.labels_integers()).texts("classlabels_strings", a.labels_strings());
    n->numbers("vectors_per_class", a.vectors_per_class()).reals("prob_a", a.prob_a()).reals("prob_b", a.prob_b());
  }
}

}  // namespace

#define VIREO_LINEAR_ONNX(name, import)  \
  extern const OnnxImport k##name##Onnx; \
  const OnnxImport k##name##Onnx = {"ai.onnx.ml", #name, import};
VIREO_LINEAR_ONNX(LinearClassifier, import_linear_classifier)
VIREO_LINEAR_ONNX(LinearRegressor, import_linear_regressor)
VIREO_LINEAR_ONNX(SVMClassifier, import_svm_classifier)
VIREO_LINEAR_ONNX(SVMRegressor, import_svm_regressor)
#undef VIREO_LINEAR_ONNX

Status export_ml_linear(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  n.domain = "ai.onnx.ml";
  const bool linear = ctx.op() == Op::kLinearClassifier || ctx.op() == Op::kLinearRegressor;
  linear ? export_linear(ctx, &n) : export_svm(ctx, &n);
  return ctx.done(std::move(n));
}

}  // namespace vireo
