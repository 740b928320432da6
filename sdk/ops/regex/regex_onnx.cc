// RegexFullMatch (opset 20): the pattern becomes a table here.
#include "sdk/ops/regex/regex_generated.h"
#include "sdk/ops/regex/regex_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_regex(ImportContext& ctx) {
  const std::string pattern = ctx.attr_string("pattern", "");
  RegexTable table;
  std::string message;
  switch (compile_regex(pattern, &table, &message)) {
    case RegexResult::kInvalid:
      return ctx.fail(Status::kInvalidModel, "the pattern \"" + pattern + "\" is none of RE2: " + message);
    case RegexResult::kUnsupported:
      return ctx.fail(Status::kUnsupported, "the pattern \"" + pattern + "\" cannot be a table: " + message,
                      "write it in ASCII classes, with smaller repeats");
    case RegexResult::kOk:
      break;
  }
  attrs::RegexFullMatchT a;
  a.pattern = pattern;
  a.classes = std::move(table.classes);
  a.next = std::move(table.next);
  a.accepts = std::move(table.accepts);
  return import_direct(ctx, Op::kRegexFullMatch, pack<attrs::RegexFullMatch>(a));
}

}  // namespace

extern const OnnxImport kRegexFullMatchOnnx;
const OnnxImport kRegexFullMatchOnnx = {"", "RegexFullMatch", import_regex};

Status export_regex(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::RegexFullMatch>();
  return ctx.done(ctx.same().text("pattern", a.pattern() == nullptr ? "" : a.pattern()->str()));
}

}  // namespace vireo
