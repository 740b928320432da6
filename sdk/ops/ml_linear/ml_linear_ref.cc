#include "sdk/ops/ml_linear/ml_linear.h"

#include <math.h>

#include "sdk/ops/ml_linear/finish.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/tree_ensemble/scores.h"

namespace vireo {
namespace {

// One row of x.
struct Row {
  const Tensor& x;
  int64_t begin, features;
  double operator[](int64_t k) const { return read_real(x.dtype, x.data, begin + k); }
};
Row row(const Tensor& x, int64_t r) {
  const int64_t features = x.shape[x.shape.rank - 1];
  return {x, r * features, features};
}
int64_t row_count(const Tensor& x) { return x.shape.rank == 2 ? x.shape[0] : 1; }

// The sums that a row is finished from.
void sums_of(const MlVectors& v, const Row& x, double* sums) {
  for (int64_t j = 0; j < v.count; ++j, ++sums) {
    const float* const w = v.data + j * v.features;
    *sums = 0;
    for (int64_t k = 0; k < x.features; ++k) {
      const double d = x[k] - static_cast<double>(w[k]);
      *sums += v.squared ? d * d : x[k] * static_cast<double>(w[k]);
    }
  }
}

template <class A>
void put_label(const A& a, Tensor* y, int64_t r, uint32_t k) {
  if (y == nullptr) return;
  if (a.labels_strings() != nullptr) {
    const ::flatbuffers::String* s = a.labels_strings()->Get(k);
    y->as<StringRef>()[r] = {s->c_str(), s->size()};
  } else {
    y->as<int64_t>()[r] = a.labels_integers()->Get(k);
  }
}

void put_scores(Tensor* y, int64_t r, const double* s, int64_t n) {
  for (int64_t k = 0; y != nullptr && k < n; ++k) y->as<float>()[r * n + k] = static_cast<float>(s[k]);
}

int64_t greatest(const double* s, int64_t n) {
  int64_t best = 0;
  for (int64_t k = 1; k < n; ++k) best = s[k] > s[best] ? k : best;
  return best;
}

// Two scores from one, `first` the first of them unless the transform has a meaning for a single score.
void split_score(attrs::TreeTransform transform, double s, double first, double* out) {
  out[0] = transform == attrs::TreeTransform::Logistic ? -s : first;
  out[1] = s;
  if (transform == attrs::TreeTransform::Logistic || transform == attrs::TreeTransform::Probit) {
    transform_scores(transform, out, 2);
  }
}

void add_intercepts(const attrs::Linear& a, double* s) {
  for (uint32_t k = 0; a.intercepts() != nullptr && k < a.rows(); ++k)
    s[k] += static_cast<double>(a.intercepts()->Get(k));
}

double power(double base, double degree) {
  if (degree != rint(degree) || degree < 0 || degree > 8) return pow(base, degree);
  double product = 1;
  for (int i = static_cast<int>(degree); i > 0; --i) product *= base;
  return product;
}

// From the sum of products, or for Rbf that of squared differences.
double kernel(const attrs::Svm& a, double sum) {
  const double gamma = static_cast<double>(a.gamma()), coef0 = static_cast<double>(a.coef0());
  switch (a.kernel()) {
    case attrs::SvmKernel::Linear:
      return sum;
    case attrs::SvmKernel::Poly:
      return power(gamma * sum + coef0, static_cast<double>(a.degree()));
    case attrs::SvmKernel::Sigmoid:
      return tanh(gamma * sum + coef0);
    case attrs::SvmKernel::Rbf:
      return exp(-gamma * sum);
  }
  return 0;
}

// Probabilities p of k classes from those of their pairs, r[i][j] = P(i | i or j): minimises
// sum_i sum_{j != i} (r[j][i] p[i] - r[i][j] p[j])^2. Wu, Lin, Weng 2004, "Probability estimates for multi-class
// classification by pairwise coupling", algorithm 2, with libsvm's bounds.
void couple(int64_t k, const double* r, double* q, double* qp, double* p) {
  for (int64_t t = 0; t < k; ++t) {
    p[t] = 1 / static_cast<double>(k);
    q[t * k + t] = 0;
    for (int64_t j = 0; j < k; ++j) {
      if (j == t) continue;
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = -r[j * k + t] * r[t * k + j];
    }
  }
  for (int64_t round = 0, rounds = k > 100 ? k : 100; round < rounds; ++round) {
    double pqp = 0, worst = 0;
    for (int64_t t = 0; t < k; ++t) {
      qp[t] = 0;
      for (int64_t j = 0; j < k; ++j) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (int64_t t = 0; t < k; ++t) worst = fabs(qp[t] - pqp) > worst ? fabs(qp[t] - pqp) : worst;
    if (worst < 0.005 / static_cast<double>(k)) return;
    for (int64_t t = 0; t < k; ++t) {
      const double step = (pqp - qp[t]) / q[t * k + t];
      p[t] += step;
      pqp = (pqp + step * (step * q[t * k + t] + 2 * qp[t])) / ((1 + step) * (1 + step));
      for (int64_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[t * k + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

// The parts of a classifier's memory, in doubles.
struct SvmScratch {
  int64_t classes, pairs, vectors, columns;
  explicit SvmScratch(const attrs::Svm& a)
      : classes(static_cast<int64_t>(a.labels_strings() != nullptr ? a.labels_strings()->size()
                                                                   : a.labels_integers()->size())),
        pairs(classes * (classes - 1) / 2),
        vectors(static_cast<int64_t>(a.vectors())) {
    columns = classes == 2 || vectors == 0 || a.prob_a() != nullptr ? classes : pairs;
  }
  // votes, scores of the pairs, r, q, qp, p
  int64_t doubles() const {
    return classes + (pairs > classes ? pairs : classes) + 2 * classes * classes + 2 * classes;
  }
};

}  // namespace

MlVectors ml_vectors(Op op, Span<const uint8_t> attributes) {
  MlVectors v;
  const ::flatbuffers::Vector<float>* list = nullptr;
  if (op == Op::kLinearClassifier || op == Op::kLinearRegressor) {
    const auto& a = *::flatbuffers::GetRoot<attrs::Linear>(attributes.data());
    list = a.coefficients();
    v.count = a.rows();
  } else {
    const auto& a = *::flatbuffers::GetRoot<attrs::Svm>(attributes.data());
    const bool supports = a.vectors() > 0;
    list = supports ? a.supports() : a.coefficients();
    v.squared = supports && a.kernel() == attrs::SvmKernel::Rbf;
    v.count = supports ? a.vectors() : 1;
    if (op == Op::kSVMClassifier) {
      const SvmScratch size(a);
      if (!supports) v.count = size.classes;
      v.more = size.doubles();
    }
  }
  v.more += 2;                    // a classifier of one row makes two scores
  if (list == nullptr) return v;  // a model without features
  v.data = list->data();
  v.features = static_cast<int64_t>(list->size()) / v.count;
  return v;
}

void finish_linear_regressor(const KernelContext& ctx, int64_t r, double* s) {
  const auto& a = ctx.attrs<attrs::Linear>();
  add_intercepts(a, s);
  if (a.rows() > 1 || a.transform() == attrs::TreeTransform::Probit) transform_scores(a.transform(), s, a.rows());
  put_scores(ctx.out(0), r, s, a.rows());
}

void finish_linear_classifier(const KernelContext& ctx, int64_t r, double* s) {
  const auto& a = ctx.attrs<attrs::Linear>();
  add_intercepts(a, s);
  if (a.rows() == 1) {
    put_label(a, ctx.out(0), r, s[0] > 0 ? 1 : 0);
    split_score(a.transform(), s[0], 1 - s[0], s);
    put_scores(ctx.out(1), r, s, 2);
  } else {
    put_label(a, ctx.out(0), r, static_cast<uint32_t>(greatest(s, a.rows())));
    transform_scores(a.transform(), s, a.rows());
    put_scores(ctx.out(1), r, s, a.rows());
  }
}

void finish_svm_regressor(const KernelContext& ctx, int64_t r, double* sums) {
  const auto& a = ctx.attrs<attrs::Svm>();
  double s = 0;
  if (a.vectors() == 0) s = sums[0];
  for (uint32_t j = 0; j < a.vectors(); ++j) s += static_cast<double>(a.coefficients()->Get(j)) * kernel(a, sums[j]);
  s += static_cast<double>(a.rho()->Get(0));
  if (a.one_class()) s = s > 0 ? 1 : -1;
  put_scores(ctx.out(0), r, &s, 1);
}

void finish_svm_classifier(const KernelContext& ctx, int64_t n, double* kernels) {
  const auto& a = ctx.attrs<attrs::Svm>();
  const SvmScratch size(a);
  const int64_t classes = size.classes;
  if (size.vectors == 0) {
    double* const scores = kernels;
    for (int64_t c = 0; c < classes; ++c) scores[c] += static_cast<double>(a.rho()->Get(0));
    put_label(a, ctx.out(0), n, static_cast<uint32_t>(greatest(scores, classes)));
    transform_scores(a.transform(), scores, classes);
    put_scores(ctx.out(1), n, scores, classes);
    return;
  }
  double *const votes = kernels + size.vectors, *const scores = votes + classes;
  double* const r = scores + (size.pairs > classes ? size.pairs : classes);
  double *const q = r + classes * classes, *const qp = q + classes * classes, *const p = qp + classes;
  for (uint32_t j = 0; j < a.vectors(); ++j) kernels[j] = kernel(a, kernels[j]);
  for (int64_t c = 0; c < classes; ++c) votes[c] = 0;
  const float* coefficients = a.coefficients()->data();
  int64_t pair = 0, begin_i = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const int64_t end_i = begin_i + a.vectors_per_class()->Get(static_cast<uint32_t>(i));
    int64_t begin_j = end_i;
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      const int64_t end_j = begin_j + a.vectors_per_class()->Get(static_cast<uint32_t>(j));
      double s = static_cast<double>(a.rho()->Get(static_cast<uint32_t>(pair)));
      for (int64_t v = begin_i; v < end_i; ++v)
        s += static_cast<double>(coefficients[(j - 1) * size.vectors + v]) * kernels[v];
      for (int64_t v = begin_j; v < end_j; ++v)
        s += static_cast<double>(coefficients[i * size.vectors + v]) * kernels[v];
      scores[pair] = s;
      votes[s > 0 ? i : j] += 1;
      if (a.prob_a() != nullptr) {
        const auto at_pair = static_cast<uint32_t>(pair);
        const double v =
            s * static_cast<double>(a.prob_a()->Get(at_pair)) + static_cast<double>(a.prob_b()->Get(at_pair));
        const double pi = 1 - logistic(v);
        r[i * classes + j] =
            pi < 1e-7 ? 1e-7 : (pi > 1 - 1e-7 ? 1 - 1e-7 : pi);  // libsvm's bound keeps `couple` finite
        r[j * classes + i] = 1 - r[i * classes + j];
      }
      begin_j = end_j;
    }
    begin_i = end_i;
  }
  put_label(a, ctx.out(0), n, static_cast<uint32_t>(greatest(votes, classes)));
  double* out = scores;
  if (a.prob_a() != nullptr) {
    couple(classes, r, q, qp, p);
    transform_scores(a.transform(), p, classes);
    out = p;
  } else if (classes == 2) {
    const bool softmax =
        a.transform() == attrs::TreeTransform::Softmax || a.transform() == attrs::TreeTransform::SoftmaxZero;
    split_score(a.transform(), scores[0], softmax ? 1 - scores[0] : -scores[0], scores);
  } else {
    transform_scores(a.transform(), scores, size.pairs);
  }
  put_scores(ctx.out(1), n, out, size.columns);
}

namespace {

template <MlFinish kFinish, Op kOp>
Status run(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  double* const sums = reinterpret_cast<double*>(ctx.scratch.data());
  const MlVectors v = ml_vectors(kOp, ctx.attr_bytes);
  for (int64_t r = 0, n = row_count(x); r < n; ++r) {
    sums_of(v, row(x, r), sums);
    kFinish(ctx, r, sums);
  }
  return Status::kOk;
}

template <Op kOp>
int64_t scratch(const KernelQuery& query) {
  return ml_vectors(kOp, query.attr_bytes).doubles() * static_cast<int64_t>(sizeof(double));
}

}  // namespace

extern const RefKernel kLinearClassifierRef;
const RefKernel kLinearClassifierRef = {run<finish_linear_classifier, Op::kLinearClassifier>,
                                        scratch<Op::kLinearClassifier>};
extern const RefKernel kLinearRegressorRef;
const RefKernel kLinearRegressorRef = {run<finish_linear_regressor, Op::kLinearRegressor>,
                                       scratch<Op::kLinearRegressor>};
extern const RefKernel kSVMClassifierRef;
const RefKernel kSVMClassifierRef = {run<finish_svm_classifier, Op::kSVMClassifier>, scratch<Op::kSVMClassifier>};
extern const RefKernel kSVMRegressorRef;
const RefKernel kSVMRegressorRef = {run<finish_svm_regressor, Op::kSVMRegressor>, scratch<Op::kSVMRegressor>};

}  // namespace vireo
