#include "sdk/ops/ml_linear/ml_linear.h"

#include <math.h>

#include "sdk/ops/kernel.h"
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

// A list is absent where the model has no features.
const float* data_of(const ::flatbuffers::Vector<float>* list) { return list == nullptr ? nullptr : list->data(); }

double dot(const Row& x, const float* w) {
  double sum = 0;
  for (int64_t k = 0; k < x.features; ++k) sum += x[k] * static_cast<double>(w[k]);
  return sum;
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

void linear_scores(const attrs::Linear& a, const Row& x, double* s) {
  for (uint32_t k = 0; k < a.rows(); ++k) {
    s[k] = dot(x, data_of(a.coefficients()) + k * static_cast<uint64_t>(x.features));
    if (a.intercepts() != nullptr) s[k] += static_cast<double>(a.intercepts()->Get(k));
  }
}

Status run_linear_regressor(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Linear>();
  const Tensor& x = *ctx.in(0);
  double* s = reinterpret_cast<double*>(ctx.scratch.data());
  for (int64_t r = 0, n = row_count(x); r < n; ++r) {
    linear_scores(a, row(x, r), s);
    if (a.rows() > 1 || a.transform() == attrs::TreeTransform::Probit) transform_scores(a.transform(), s, a.rows());
    put_scores(ctx.out(0), r, s, a.rows());
  }
  return Status::kOk;
}

Status run_linear_classifier(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Linear>();
  const Tensor& x = *ctx.in(0);
  double* s = reinterpret_cast<double*>(ctx.scratch.data());
  for (int64_t r = 0, n = row_count(x); r < n; ++r) {
    linear_scores(a, row(x, r), s);
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
  return Status::kOk;
}

int64_t scratch_linear(const KernelQuery& query) {
  return static_cast<int64_t>(query.attrs<attrs::Linear>().rows() + uint64_t{1}) * static_cast<int64_t>(sizeof(double));
}

double kernel(const attrs::Svm& a, const Row& x, const float* v) {
  const double gamma = static_cast<double>(a.gamma()), coef0 = static_cast<double>(a.coef0());
  switch (a.kernel()) {
    case attrs::SvmKernel::Linear:
      return dot(x, v);
    case attrs::SvmKernel::Poly:
      return pow(gamma * dot(x, v) + coef0, static_cast<double>(a.degree()));
    case attrs::SvmKernel::Sigmoid:
      return tanh(gamma * dot(x, v) + coef0);
    case attrs::SvmKernel::Rbf: {
      double sum = 0;
      for (int64_t k = 0; k < x.features; ++k)
        sum += (x[k] - static_cast<double>(v[k])) * (x[k] - static_cast<double>(v[k]));
      return exp(-gamma * sum);
    }
  }
  return 0;
}

Status run_svm_regressor(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Svm>();
  const Tensor& x = *ctx.in(0);
  for (int64_t r = 0, n = row_count(x); r < n; ++r) {
    const Row at = row(x, r);
    double s = a.vectors() > 0 || a.coefficients() == nullptr ? 0 : dot(at, a.coefficients()->data());
    for (uint32_t j = 0; j < a.vectors(); ++j) {
      s += static_cast<double>(a.coefficients()->Get(j)) *
           kernel(a, at, data_of(a.supports()) + j * static_cast<uint64_t>(at.features));
    }
    s += static_cast<double>(a.rho()->Get(0));
    if (a.one_class()) s = s > 0 ? 1 : -1;
    put_scores(ctx.out(0), r, &s, 1);
  }
  return Status::kOk;
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

// The parts of a classifier's scratch memory, in doubles.
struct SvmScratch {
  int64_t classes, pairs, vectors, columns;
  explicit SvmScratch(const attrs::Svm& a)
      : classes(static_cast<int64_t>(a.labels_strings() != nullptr ? a.labels_strings()->size()
                                                                   : a.labels_integers()->size())),
        pairs(classes * (classes - 1) / 2),
        vectors(static_cast<int64_t>(a.vectors())) {
    columns = classes == 2 || vectors == 0 || a.prob_a() != nullptr ? classes : pairs;
  }
  // kernels, votes, scores of the pairs (of the classes without vectors), r, q, qp, p
  int64_t doubles() const {
    return vectors + classes + (pairs > classes ? pairs : classes) + 2 * classes * classes + 2 * classes;
  }
};

Status run_svm_classifier(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Svm>();
  const Tensor& x = *ctx.in(0);
  const SvmScratch size(a);
  const int64_t classes = size.classes;
  double* kernels = reinterpret_cast<double*>(ctx.scratch.data());
  double* votes = kernels + size.vectors;
  double* scores = votes + classes;
  double* r = scores + (size.pairs > classes ? size.pairs : classes);
  double *q = r + classes * classes, *qp = q + classes * classes, *p = qp + classes;
  for (int64_t n = 0, count = row_count(x); n < count; ++n) {
    const Row at = row(x, n);
    const auto stride = static_cast<uint64_t>(at.features);
    if (size.vectors == 0) {
      for (int64_t c = 0; c < classes; ++c) {
        scores[c] = dot(at, data_of(a.coefficients()) + static_cast<uint64_t>(c) * stride) +
                    static_cast<double>(a.rho()->Get(0));
      }
      put_label(a, ctx.out(0), n, static_cast<uint32_t>(greatest(scores, classes)));
      transform_scores(a.transform(), scores, classes);
      put_scores(ctx.out(1), n, scores, classes);
      continue;
    }
    for (uint32_t j = 0; j < a.vectors(); ++j) kernels[j] = kernel(a, at, data_of(a.supports()) + j * stride);
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
  return Status::kOk;
}

int64_t scratch_svm(const KernelQuery& query) {
  return SvmScratch(query.attrs<attrs::Svm>()).doubles() * static_cast<int64_t>(sizeof(double));
}

}  // namespace

extern const RefKernel kLinearClassifierRef;
const RefKernel kLinearClassifierRef = {run_linear_classifier, scratch_linear};
extern const RefKernel kLinearRegressorRef;
const RefKernel kLinearRegressorRef = {run_linear_regressor, scratch_linear};
extern const RefKernel kSVMClassifierRef;
const RefKernel kSVMClassifierRef = {run_svm_classifier, scratch_svm};
extern const RefKernel kSVMRegressorRef;
const RefKernel kSVMRegressorRef = {run_svm_regressor, nullptr};

}  // namespace vireo
