#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/ml_features/ml_features_generated.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/to_integer.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

double real(const Tensor& x, int64_t i) { return read_real(x.dtype, x.data, i); }
int64_t columns(const Tensor& x) { return x.shape.rank == 0 ? 1 : x.shape[x.shape.rank - 1]; }

// Element of a list of one value, or of one for each column.
template <class V>
auto of_column(const V* list, int64_t i, int64_t count) {
  return list->Get(list->size() == 1 ? 0 : static_cast<uint32_t>(i % count));
}

void store(Tensor* y, int64_t i, double v) {
  switch (y->dtype) {
    case DType::kF64:
      y->as<double>()[i] = v;
      break;
    case DType::kI32:
      y->as<int32_t>()[i] = to_integer<int32_t>(v);
      break;
    case DType::kI64:
      y->as<int64_t>()[i] = to_integer<int64_t>(v);
      break;
    default:
      y->as<float>()[i] = static_cast<float>(v);
      break;
  }
}

Status run_scaler(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Scaler>();
  const Tensor& x = *ctx.in(0);
  for (int64_t i = 0, n = x.count(), c = columns(x); i < n; ++i) {
    const double offset = static_cast<double>(of_column(a.offset(), i, c)),
                 scale = static_cast<double>(of_column(a.scale(), i, c));
    ctx.out(0)->as<float>()[i] = static_cast<float>((real(x, i) - offset) * scale);
  }
  return Status::kOk;
}

Status run_normalizer(const KernelContext& ctx) {
  const auto norm = ctx.attrs<attrs::Normalizer>().norm();
  const Tensor& x = *ctx.in(0);
  const int64_t c = columns(x);
  for (int64_t begin = 0, n = x.count(); begin < n; begin += c) {
    double by = norm == attrs::NormalizerNorm::Max ? -INFINITY : 0;
    for (int64_t i = begin; i < begin + c; ++i) {
      const double v = real(x, i);
      switch (norm) {
        case attrs::NormalizerNorm::Max:
          by = v > by ? v : by;
          break;
        case attrs::NormalizerNorm::L1:
          by += fabs(v);
          break;
        case attrs::NormalizerNorm::L2:
          by += v * v;
          break;
      }
    }
    if (norm == attrs::NormalizerNorm::L2) by = sqrt(by);
    for (int64_t i = begin; i < begin + c; ++i) {
      ctx.out(0)->as<float>()[i] = static_cast<float>(by == 0 ? real(x, i) : real(x, i) / by);
    }
  }
  return Status::kOk;
}

Status run_binarizer(const KernelContext& ctx) {
  const double threshold = static_cast<double>(ctx.attrs<attrs::Binarizer>().threshold());
  const Tensor& x = *ctx.in(0);
  for (int64_t i = 0, n = x.count(); i < n; ++i) store(ctx.out(0), i, real(x, i) > threshold ? 1 : 0);
  return Status::kOk;
}

Status run_imputer(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Imputer>();
  const Tensor& x = *ctx.in(0);
  Tensor* y = ctx.out(0);
  for (int64_t i = 0, n = x.count(), c = columns(x); i < n; ++i) {
    if (dtype_is_float(x.dtype)) {
      const double v = real(x, i), replaced = static_cast<double>(a.replaced_real());
      const bool replace = v == replaced || (v != v && replaced != replaced);
      store(y, i, replace ? static_cast<double>(of_column(a.imputed_reals(), i, c)) : v);
    } else {
      const int64_t v = read_integer(x.dtype, x.data, i);
      const int64_t w = v == a.replaced_integer() ? of_column(a.imputed_integers(), i, c) : v;
      if (y->dtype == DType::kI32) {
        y->as<int32_t>()[i] = static_cast<int32_t>(w);
      } else {
        y->as<int64_t>()[i] = w;
      }
    }
  }
  return Status::kOk;
}

Status run_vectorizer(const KernelContext& ctx) {
  const auto* dimensions = ctx.attrs<attrs::FeatureVectorizer>().dimensions();
  Tensor& y = *ctx.out(0);
  int64_t at = 0;
  for (uint32_t k = 0; k < dimensions->size(); ++k) {
    const Tensor& x = *ctx.in(k);
    const int64_t have = columns(x), width = dimensions->Get(k);
    for (int64_t r = 0; r < y.shape[0]; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        y.as<float>()[r * y.shape[1] + at + c] = c < have ? static_cast<float>(real(x, r * have + c)) : 0;
      }
    }
    at += width;
  }
  return Status::kOk;
}

Status run_extractor(const KernelContext& ctx) {
  const Tensor &x = *ctx.in(0), &indices = *ctx.in(1);
  const int64_t c = columns(x), count = indices.count(), rows = product(x.shape, 0, x.shape.rank - 1);
  const int64_t* index = indices.as<const int64_t>();
  for (int64_t k = 0; k < count; ++k) {
    if (index[k] < 0 || index[k] >= c) {
      return ctx.fail(Status::kInvalidArgument, "index {} is outside the last axis of {}", index[k], c);
    }
  }
  return dispatch_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < count; ++k) ctx.out(0)->as<T>()[r * count + k] = x.as<const T>()[r * c + index[k]];
    }
    return Status::kOk;
  });
}

Status run_one_hot(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::OneHotEncoder>();
  const Tensor& x = *ctx.in(0);
  const int64_t categories = ctx.out(0)->shape[x.shape.rank];
  for (int64_t i = 0, n = x.count(); i < n; ++i) {
    bool found = false;
    for (int64_t k = categories - 1; k >= 0; --k) {  // a repeated category: the last place of it
      const auto at = static_cast<uint32_t>(k);
      bool hit = false;
      if (x.dtype == DType::kString) {
        const ::flatbuffers::String* s = a.strings()->Get(at);
        hit = x.as<const StringRef>()[i] == StringRef{s->c_str(), s->size()};
      } else if (dtype_is_float(x.dtype)) {
        hit = real(x, i) == static_cast<double>(a.integers()->Get(at));
      } else {
        hit = read_integer(x.dtype, x.data, i) == a.integers()->Get(at);
      }
      ctx.out(0)->as<float>()[i * categories + k] = hit && !found ? 1 : 0;
      found = found || hit;
    }
    if (!found && !a.zeros()) return ctx.fail(Status::kInvalidArgument, "element {} is of no category", i);
  }
  return Status::kOk;
}

}  // namespace

#define VIREO_FEATURES_REF(name, run)  \
  extern const RefKernel k##name##Ref; \
  const RefKernel k##name##Ref = {run, nullptr};
VIREO_FEATURES_REF(Scaler, run_scaler)
VIREO_FEATURES_REF(Normalizer, run_normalizer)
VIREO_FEATURES_REF(Binarizer, run_binarizer)
VIREO_FEATURES_REF(Imputer, run_imputer)
VIREO_FEATURES_REF(FeatureVectorizer, run_vectorizer)
VIREO_FEATURES_REF(ArrayFeatureExtractor, run_extractor)
VIREO_FEATURES_REF(OneHotEncoder, run_one_hot)
#undef VIREO_FEATURES_REF

}  // namespace vireo
