#include <algorithm>

#include "sdk/ops/tfidf/tfidf_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_tfidf(ImportContext& ctx) {
  attrs::TfIdfT a;
  const std::string mode = ctx.attr_string("mode", "");
  if (mode == "IDF") {
    a.mode = attrs::TfIdfMode::Idf;
  } else if (mode == "TFIDF") {
    a.mode = attrs::TfIdfMode::TfIdf;
  } else if (mode != "TF") {
    return ctx.fail(Status::kInvalidModel, "mode '" + mode + "' is not TF, IDF or TFIDF");
  }
  a.shortest = ctx.attr_int32("min_gram_length", 1);
  a.longest = ctx.attr_int32("max_gram_length", 1);
  a.skips = ctx.attr_int32("max_skip_count", 0);
  a.integers = ctx.attr_ints("pool_int64s");
  a.strings = ctx.attr_strings("pool_strings");
  a.weights = ctx.attr_floats("weights");
  for (const int64_t begin : ctx.attr_ints("ngram_counts")) {
    if (begin < 0 || begin > INT32_MAX)
      return ctx.fail(Status::kInvalidModel, "ngram_counts has " + std::to_string(begin));
    a.begins.push_back(static_cast<uint32_t>(begin));
  }
  for (const int64_t place : ctx.attr_ints("ngram_indexes")) {
    if (place < 0 || place >= INT32_MAX)
      return ctx.fail(Status::kInvalidModel, "ngram_indexes has " + std::to_string(place));
    a.places.push_back(static_cast<uint32_t>(place));
    a.columns = std::max(a.columns, static_cast<uint32_t>(place) + 1);
  }
  std::vector<uint8_t> bytes = pack<attrs::TfIdf>(a);
  const OpRow* row = find_op(Op::kTfIdfVectorizer);
  if (row != nullptr && !row->def->verify(Span<const uint8_t>(bytes.data(), bytes.size()))) {
    return ctx.fail(Status::kInvalidModel, "ngram_counts, ngram_indexes, weights and the pool do not fit each other",
                    "ngram_counts must ascend within the pool, and each n-gram have one index");
  }
  return import_direct(ctx, Op::kTfIdfVectorizer, std::move(bytes));
}

}  // namespace

extern const OnnxImport kTfIdfVectorizerOnnx;
const OnnxImport kTfIdfVectorizerOnnx = {"", "TfIdfVectorizer", import_tfidf};

Status export_tfidf(ExportContext& ctx) {
  const char* const modes[] = {"TF", "IDF", "TFIDF"};
  const auto& a = ctx.attrs<attrs::TfIdf>();
  OnnxNode n = ctx.same().text("mode", modes[static_cast<size_t>(a.mode())]);
  n.number("min_gram_length", a.shortest()).number("max_gram_length", a.longest()).number("max_skip_count", a.skips());
  n.numbers("ngram_counts", a.begins()).numbers("ngram_indexes", a.places());
  return ctx.done(
      n.numbers("pool_int64s", a.integers()).texts("pool_strings", a.strings()).reals("weights", a.weights()));
}

}  // namespace vireo
