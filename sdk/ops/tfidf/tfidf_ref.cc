#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/tfidf/tfidf_generated.h"

namespace vireo {
namespace {

using Attrs = attrs::TfIdf;

bool is_token(const Attrs& a, uint64_t pool, const Tensor& x, int64_t i) {
  const auto k = static_cast<uint32_t>(pool);
  if (x.dtype != DType::kString) return read_integer(x.dtype, x.data, i) == a.integers()->Get(k);
  const ::flatbuffers::String* s = a.strings()->Get(k);
  return x.as<const StringRef>()[i] == StringRef{s->c_str(), s->size()};
}

// Occurrences of the n-gram at `pool` in x[begin, end).
int64_t occurrences(const Attrs& a, uint64_t pool, int64_t n, const Tensor& x, int64_t begin, int64_t end) {
  int64_t count = 0;
  const int64_t most = n == 1 ? 1 : int64_t{a.skips()} + 1;
  for (int64_t stride = 1; stride <= most && (n - 1) * stride < end - begin; ++stride) {
    for (int64_t i = begin; i + (n - 1) * stride < end; ++i) {
      int64_t k = 0;
      while (k < n && is_token(a, pool + static_cast<uint64_t>(k), x, i + k * stride)) ++k;
      count += k == n ? 1 : 0;
    }
  }
  return count;
}

Status run_tfidf(const KernelContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const int64_t rows = x.shape.rank == 2 ? x.shape[0] : 1, tokens = x.shape[x.shape.rank - 1];
  for (int64_t i = 0, n = y.count(); i < n; ++i) y.as<float>()[i] = 0;
  const uint64_t pool =
      a.strings() != nullptr ? a.strings()->size() : (a.integers() != nullptr ? a.integers()->size() : 0);
  const uint32_t lengths = a.begins() == nullptr ? 0 : a.begins()->size();
  for (int64_t row = 0; row < rows; ++row) {
    float* out = y.as<float>() + row * a.columns();
    uint32_t gram = 0;
    for (uint32_t l = 0; l < lengths; ++l) {
      const int64_t n = l + 1;
      const uint64_t end = l + 1 < lengths ? a.begins()->Get(l + 1) : pool;
      for (uint64_t at = a.begins()->Get(l); at < end; at += static_cast<uint64_t>(n), ++gram) {
        if (n < a.shortest() || n > a.longest()) continue;
        const int64_t count = occurrences(a, at, n, x, row * tokens, (row + 1) * tokens);
        const float weight = a.weights() == nullptr ? 1 : a.weights()->Get(gram);
        float& to = out[a.places()->Get(gram)];
        switch (a.mode()) {
          case attrs::TfIdfMode::Tf:
            to += static_cast<float>(count);
            break;
          case attrs::TfIdfMode::Idf:
            to += count > 0 ? weight : 0;
            break;
          case attrs::TfIdfMode::TfIdf:
            to += static_cast<float>(count) * weight;
            break;
        }
      }
    }
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kTfIdfVectorizerRef;
const RefKernel kTfIdfVectorizerRef = {run_tfidf, nullptr};

}  // namespace vireo
