#include "sdk/ops/einsum/einsum.h"

#include "sdk/ops/einsum/einsum_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr int kLetters = 52;
constexpr int kSymbols = kLetters + kMaxRank;  // letters, then the dimensions of "..." counted from the last

int letter(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';  // ASCII order: upper case first
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  return -1;
}

// Reads one term up to ',', '-' or the end. `rank` < 0: an output, whose "..." has `ellipsis` dimensions.
const char* parse_term(const char** at, int rank, int* ellipsis, uint8_t* symbols, int* count) {
  uint8_t before[kMaxRank], after[kMaxRank];
  int nb = 0, na = 0;
  bool dots = false;
  const char* p = *at;
  for (; *p != 0 && *p != ',' && *p != '-'; ++p) {
    if (*p == ' ') continue;
    if (*p == '.') {
      if (dots || p[1] != '.' || p[2] != '.') return "a term with more than one \"...\", or with lone dots";
      dots = true;
      p += 2;
      continue;
    }
    const int s = letter(*p);
    if (s < 0) return "a character that is no letter";
    if (nb + na == kMaxRank) return "a term of more than 8 indices";
    (dots ? after[na++] : before[nb++]) = static_cast<uint8_t>(s);
  }
  *at = p;
  int wide = dots ? *ellipsis : 0;
  if (rank >= 0) {
    wide = rank - nb - na;
    if (wide < 0 || (!dots && wide != 0)) return "a term with another number of indices than its input has dimensions";
    if (wide > *ellipsis) *ellipsis = wide;
  }
  if (nb + wide + na > kMaxRank) return "an output of more than 8 dimensions";
  *count = 0;
  for (int i = 0; i < nb; ++i) symbols[(*count)++] = before[i];
  for (int i = wide - 1; i >= 0; --i) symbols[(*count)++] = static_cast<uint8_t>(kLetters + i);
  for (int i = 0; i < na; ++i) symbols[(*count)++] = after[i];
  return nullptr;
}

bool is_number(DType t) {
  return (dtype_is_float(t) && dtype_bits(t) >= 16) || (dtype_is_integer(t) && dtype_bits(t) >= 8);
}

Status infer_einsum(InferContext& ctx) {
  const auto* equation = ctx.attrs<attrs::Einsum>().equation();
  if (equation == nullptr) return ctx.fail(Status::kInvalidModel, "the equation is missing");
  const int n = ctx.input_count();
  if (n > kMaxEinsumTerms) return ctx.fail(Status::kUnsupported, "{} inputs, at most {} are built", n, kMaxEinsumTerms);
  const DType t = ctx.input(0).dtype;
  if (!is_number(t)) return ctx.fail(Status::kInvalidModel, "Einsum of {}", dtype_name(t));
  int ranks[kMaxEinsumTerms];
  for (int i = 0; i < n; ++i) {
    if (ctx.input(i).dtype != t) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(t), i,
                      dtype_name(ctx.input(i).dtype));
    }
    ranks[i] = ctx.input(i).shape.rank;
  }
  Einsum e;
  if (const char* wrong = parse_einsum(equation->c_str(), ranks, n, &e)) {
    return ctx.fail(Status::kInvalidModel, "equation \"{}\": {}", equation->c_str(), wrong);
  }
  Dim extent[kMaxEinsumLabels];
  for (Dim& d : extent) d = 1;
  for (int i = 0; i < n; ++i) {
    for (int d = 0; d < ranks[i]; ++d) {
      Dim& have = extent[e.label[i][d]];
      const Dim met = ctx.input(i).shape[d];
      if (met == 1 || ctx.equal(have, met)) continue;
      if (have != 1 && ctx.differ(have, met)) {
        return ctx.fail(Status::kInvalidModel, "equation \"{}\": an index is {} in one input and {} in input {}",
                        equation->c_str(), have, met, i);
      }
      if (have == 1 || is_symbolic(have)) have = met;
    }
  }
  TensorType& y = ctx.output(0);
  y.dtype = t;
  y.shape.rank = e.output_rank;
  for (int i = 0; i < e.output_rank; ++i) y.shape[i] = extent[i];
  return Status::kOk;
}

}  // namespace

const char* parse_einsum(const char* equation, const int* ranks, int count, Einsum* out) {
  uint8_t symbols[kMaxEinsumTerms][kMaxRank];
  int lengths[kMaxEinsumTerms];
  int uses[kSymbols] = {};
  int ellipsis = 0;
  const char* p = equation;
  for (int i = 0; i < count; ++i) {
    if (i > 0 && *p++ != ',') return "fewer terms than inputs";
    if (const char* wrong = parse_term(&p, ranks[i], &ellipsis, symbols[i], &lengths[i])) return wrong;
    for (int d = 0; d < lengths[i]; ++d) ++uses[symbols[i][d]];
  }
  if (*p == ',') return "more terms than inputs";
  uint8_t output[kMaxRank];
  int rank = 0;
  if (*p == '-') {
    if (*++p != '>') return "a \"-\" without \">\"";
    ++p;
    if (const char* wrong = parse_term(&p, -1, &ellipsis, output, &rank)) return wrong;
    if (*p != 0) return "text after the output term";
  } else {
    for (int i = ellipsis - 1; i >= 0; --i) output[rank++] = static_cast<uint8_t>(kLetters + i);
    for (int s = 0; s < kLetters; ++s) {
      if (uses[s] != 1) continue;
      if (rank == kMaxRank) return "an output of more than 8 dimensions";
      output[rank++] = static_cast<uint8_t>(s);
    }
  }
  int label_of[kSymbols];
  for (int& l : label_of) l = -1;
  out->terms = count;
  out->output_rank = rank;
  out->labels = 0;
  for (int i = 0; i < rank; ++i) {
    if (label_of[output[i]] >= 0) return "an output index that is named twice";
    if (uses[output[i]] == 0) return "an output index that no input has";
    label_of[output[i]] = out->labels++;
  }
  for (int i = 0; i < count; ++i) {
    for (int d = 0; d < lengths[i]; ++d) {
      int& l = label_of[symbols[i][d]];
      if (l < 0) {
        if (out->labels == kMaxEinsumLabels) return "more than 24 indices";
        l = out->labels++;
      }
      out->label[i][d] = static_cast<uint8_t>(l);
    }
  }
  return nullptr;
}

extern const OpDef kEinsumOp;
const OpDef kEinsumOp = {"Einsum",     verify_attrs<attrs::Einsum>, infer_einsum, 1, 255, 1, 1, OpDef::kPure,
                         /*inplace=*/0};

}  // namespace vireo
