// Counts n-grams of a pool in a row of tokens.
//   x [C] or [N, C]: i32, i64 or strings -> y f32 [columns] or [N, columns]
//   TF: the counts, IDF: the weight where a count is above 0, TFIDF: count times weight
//   An n-gram's tokens stand s + 1 apart, for every s from 0 to `skips`; a single token is counted once.
//   alias none;  scratch none
// Source: ONNX opset 9 "TfIdfVectorizer".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/tfidf/tfidf_generated.h"

namespace vireo {
namespace {

template <class V>
uint64_t size(const V* v) {
  return v == nullptr ? 0 : v->size();
}

// Lists ascend, hold whole n-grams, and each n-gram has a place among the columns.
bool verify(Span<const uint8_t> bytes) {
  if (!verify_attrs<attrs::TfIdf>(bytes)) return false;
  const auto& a = *::flatbuffers::GetRoot<attrs::TfIdf>(bytes.data());
  if (a.mode() > attrs::TfIdfMode::MAX || a.shortest() < 1 || a.longest() < a.shortest() || a.skips() < 0) return false;
  if (a.integers() != nullptr && a.strings() != nullptr) return false;
  const uint64_t pool = a.strings() != nullptr ? a.strings()->size() : size(a.integers());
  uint64_t grams = 0;
  for (uint32_t k = 0; k < size(a.begins()); ++k) {
    const uint64_t begin = a.begins()->Get(k), end = k + 1 < a.begins()->size() ? a.begins()->Get(k + 1) : pool;
    if (begin > end || end > pool || (end - begin) % (k + 1) != 0) return false;
    grams += (end - begin) / (k + 1);
  }
  if (grams != size(a.places()) || (a.weights() != nullptr && a.weights()->size() != grams)) return false;
  for (uint32_t k = 0; k < grams; ++k) {
    if (a.places()->Get(k) >= a.columns()) return false;
  }
  return true;
}

Status infer_tfidf(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::TfIdf>();
  VIREO_TRY(check_rank(ctx, 0, 1, 2));
  const TensorType& x = ctx.input(0);
  const bool strings = x.dtype == DType::kString;
  if ((!strings && x.dtype != DType::kI32 && x.dtype != DType::kI64) ||
      (strings ? a.integers() != nullptr : a.strings() != nullptr)) {
    return ctx.fail(Status::kInvalidModel, "tokens are {}, the pool's {}", dtype_name(x.dtype),
                    a.strings() != nullptr ? "strings" : "integers");
  }
  Shape s = x.shape;
  s[s.rank - 1] = a.columns();
  ctx.output(0) = {DType::kF32, s};
  return Status::kOk;
}

}  // namespace

extern const OpDef kTfIdfVectorizerOp;
const OpDef kTfIdfVectorizerOp = {"TfIdfVectorizer", verify, infer_tfidf, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
