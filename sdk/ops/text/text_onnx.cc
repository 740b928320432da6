// StringConcat and StringSplit (both since opset 20), StringNormalizer (opset 10, once ai.onnx.ml 1 in drafts). How
// long strings are is not in the file: --string-bytes says what is reserved for each that a node makes, and so how many
// parts one can have.
#include <algorithm>

#include "sdk/ops/text/text_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_concat(ImportContext& ctx) {
  attrs::StringConcatT a;
  a.string_bytes = ctx.string_bytes();
  return import_direct(ctx, Op::kStringConcat, pack<attrs::StringConcat>(a));
}

Status import_split(ImportContext& ctx) {
  attrs::StringSplitT a;
  a.delimiter = ctx.attr_string("delimiter", "");
  a.max_splits = ctx.attr_int("maxsplit", -1);
  const auto bytes = ctx.string_bytes();
  // Parts without a delimiter have a character at least, and as many less one stand between them.
  a.most_parts = a.delimiter.empty() ? (bytes + 1) / 2
                                     : bytes / static_cast<uint32_t>(std::min<size_t>(a.delimiter.size(), bytes)) + 1;
  return import_direct(ctx, Op::kStringSplit, pack<attrs::StringSplit>(a));
}

Status import_normalizer(ImportContext& ctx) {
  attrs::StringNormalizerT a;
  const std::string change = ctx.attr_string("case_change_action", "NONE");
  if (change == "LOWER") {
    a.change = attrs::CaseChange::Lower;
  } else if (change == "UPPER") {
    a.change = attrs::CaseChange::Upper;
  } else if (change != "NONE") {
    return ctx.fail(Status::kInvalidModel,
                    "case_change_action is \"" + change + "\", wanted \"LOWER\", \"UPPER\" or \"NONE\"");
  }
  const std::string locale = ctx.attr_string("locale", "");
  const std::string language = locale.substr(0, locale.find_first_of("_-.@"));
  a.turkic = language == "tr" || language == "az";
  a.case_sensitive = ctx.attr_int("is_case_sensitive", 0) != 0;
  a.stopwords = ctx.attr_strings("stopwords");
  a.string_bytes = ctx.string_bytes();
  return import_direct(ctx, Op::kStringNormalizer, pack<attrs::StringNormalizer>(a));
}

}  // namespace

extern const OnnxImport kStringConcatOnnx;
extern const OnnxImport kStringSplitOnnx;
extern const OnnxImport kStringNormalizerOnnx;

const OnnxImport kStringConcatOnnx = {"", "StringConcat", import_concat};
const OnnxImport kStringSplitOnnx = {"", "StringSplit", import_split};
const OnnxImport kStringNormalizerOnnx = {"", "StringNormalizer", import_normalizer};

Status export_text(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  if (ctx.op() == Op::kStringSplit) {
    const auto& a = ctx.attrs<attrs::StringSplit>();
    if (a.delimiter() != nullptr && a.delimiter()->size() != 0) n.text("delimiter", a.delimiter()->str());
    if (a.max_splits() >= 0) n.number("maxsplit", a.max_splits());
  } else if (ctx.op() == Op::kStringNormalizer) {
    const auto& a = ctx.attrs<attrs::StringNormalizer>();
    if (a.change() != attrs::CaseChange::None)
      n.text("case_change_action", a.change() == attrs::CaseChange::Lower ? "LOWER" : "UPPER");
    n.flag("is_case_sensitive", a.case_sensitive()).texts("stopwords", a.stopwords());
    if (a.turkic()) n.text("locale", "tr_TR");
  }
  return ctx.done(std::move(n));
}

}  // namespace vireo
