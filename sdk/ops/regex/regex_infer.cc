// RegexFullMatch (x): y bool, whether the whole of each string matches the pattern. The pattern, in RE2's syntax, is an
// automaton by then (regex_import.h): a step for each byte, whatever the text. Bytes that are no UTF-8 match nothing
// but \C.
//   alias    none;  scratch none
// Source: ONNX opset 20 "RegexFullMatch".
#include "sdk/ops/regex/regex_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

// The kernel follows the table without a look.
bool verify_pattern(Span<const uint8_t> bytes) {
  if (!verify_attrs<attrs::RegexFullMatch>(bytes)) return false;
  const auto& a = *::flatbuffers::GetRoot<attrs::RegexFullMatch>(bytes.data());
  if (a.classes() == nullptr || a.next() == nullptr || a.accepts() == nullptr || a.classes()->size() != 256)
    return false;
  uint32_t classes = 0;
  for (const uint8_t c : *a.classes()) classes = c >= classes ? c + 1u : classes;
  const uint32_t states = a.accepts()->size();
  if (states == 0 || a.next()->size() != uint64_t{states} * classes) return false;
  for (const uint16_t s : *a.next()) {
    if (s >= states) return false;
  }
  return true;
}

Status infer_regex(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kStringSet));
  ctx.output(0) = {DType::kBool, ctx.input(0).shape};
  return Status::kOk;
}

}  // namespace

extern const OpDef kRegexFullMatchOp;
const OpDef kRegexFullMatchOp = {"RegexFullMatch", verify_pattern, infer_regex, 1, 1, 1, 1,
                                 OpDef::kPure,     /*inplace=*/0};

}  // namespace vireo
