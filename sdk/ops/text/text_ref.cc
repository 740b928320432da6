#include "sdk/ops/shared/text.h"

#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/text/case_mapping.h"
#include "sdk/ops/text/text_generated.h"

namespace vireo {
namespace {

using attrs::CaseChange;

// ---- StringConcat

int64_t concat_text(const KernelQuery& query) {
  return text_room(query.outputs[0], query.attrs<attrs::StringConcat>().string_bytes());
}

Status run_concat(const KernelContext& ctx) {
  const Tensor &a = ctx.required(0), &b = ctx.required(1), &y = *ctx.out(0);
  const Shape* shapes[2] = {&a.shape, &b.shape};
  const Broadcast walk(y.shape, shapes, 2);
  const auto for_pairs = [&](const auto& f) {
    for (int64_t r = 0; r < walk.rows(); ++r) {
      const StringRef* p = a.as<const StringRef>() + walk.offset(0, r);
      const StringRef* q = b.as<const StringRef>() + walk.offset(1, r);
      for (int64_t i = 0; i < walk.row(); ++i) f(p[i * walk.step(0)], q[i * walk.step(1)], r * walk.row() + i);
    }
  };
  uint64_t bytes = 0;
  for_pairs([&](const StringRef& p, const StringRef& q, int64_t) {
    if (p.size != 0 && q.size != 0) bytes += uint64_t{p.size} + q.size;
  });
  VIREO_TRY(TextWriter::check(ctx, bytes));
  TextWriter text(ctx);
  for_pairs([&](const StringRef& p, const StringRef& q, int64_t at) {
    if (p.size == 0 || q.size == 0) {
      y.as<StringRef>()[at] = p.size == 0 ? q : p;
      return;
    }
    char* to = text.take(p.size + q.size);
    memcpy(to, p.data, p.size);
    memcpy(to + p.size, q.data, q.size);
    y.as<StringRef>()[at] = {to, p.size + q.size};
  });
  return Status::kOk;
}

// ---- StringSplit

bool is_space(uint32_t c) {  // Unicode's White_Space
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Where white space, or what is none, ends.
size_t skip(const StringRef& s, size_t at, bool space) {
  while (at < s.size) {
    const CodePoint c = read_code_point(s.data + at, s.size - at);
    if (is_space(c.value) != space) break;
    at += c.size;
  }
  return at;
}

size_t find(const StringRef& s, size_t at, const StringRef& what) {
  for (; s.size - at >= what.size; ++at) {
    if (memcmp(s.data + at, what.data, what.size) == 0) return at;
  }
  return s.size;
}

// Calls f(part, k) for part k of the string; gives how many there are.
template <class F>
int64_t split(const StringRef& s, const StringRef& delimiter, int64_t max_splits, const F& f) {
  int64_t parts = 0;
  const auto last = [&] { return max_splits >= 0 && parts == max_splits; };
  if (delimiter.size == 0) {
    for (size_t at = skip(s, 0, true); at < s.size; at = skip(s, at, true)) {
      const size_t end = last() ? s.size : skip(s, at, false);
      f(StringRef{s.data + at, end - at}, parts++);
      at = end;
    }
    return parts;
  }
  for (size_t at = 0;;) {
    const size_t end = last() ? s.size : find(s, at, delimiter);
    f(StringRef{s.data == nullptr ? nullptr : s.data + at, end - at}, parts++);
    if (end == s.size) return parts;
    at = end + delimiter.size;
  }
}

Status run_split(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::StringSplit>();
  const StringRef delimiter =
      a.delimiter() == nullptr ? StringRef{} : StringRef{a.delimiter()->c_str(), a.delimiter()->size()};
  const Tensor& x = ctx.required(0);
  const int64_t count = x.count();
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t parts = split(x.as<const StringRef>()[i], delimiter, a.max_splits(), [](StringRef, int64_t) {});
    if (parts > int64_t{a.most_parts()} && (a.max_splits() < 0 || a.max_splits() >= int64_t{a.most_parts()})) {
      return ctx.fail(Status::kInvalidArgument,
                      "string {} has {} parts, {} are reserved: convert with more --string-bytes", i, parts,
                      int64_t{a.most_parts()});
    }
    if (parts > most) most = parts;
  }
  if (Tensor* y = ctx.out(0)) {
    y->shape[y->shape.rank - 1] = most;
    for (int64_t i = 0; i < count; ++i) {
      StringRef* to = y->as<StringRef>() + i * most;
      for (int64_t k = 0; k < most; ++k) to[k] = {};
      split(x.as<const StringRef>()[i], delimiter, a.max_splits(), [&](StringRef part, int64_t k) { to[k] = part; });
    }
  }
  for (int64_t i = 0; ctx.out(1) != nullptr && i < count; ++i) {
    ctx.out(1)->as<int64_t>()[i] =
        split(x.as<const StringRef>()[i], delimiter, a.max_splits(), [](StringRef, int64_t) {});
  }
  return Status::kOk;
}

// ---- StringNormalizer

uint32_t change_case(const attrs::StringNormalizer& a, uint32_t c) {
  if (a.turkic()) {
    if (a.change() == CaseChange::Upper && c == 'i') return 0x130;
    if (a.change() == CaseChange::Lower && c == 'I') return 0x131;
  }
  return a.change() == CaseChange::Upper ? upper_case(c) : lower_case(c);
}

// The size of the string in the other case; `changes`: whether any byte differs.
size_t changed_size(const attrs::StringNormalizer& a, const StringRef& s, bool* changes) {
  size_t size = 0;
  *changes = false;
  for (size_t at = 0; at < s.size && a.change() != CaseChange::None;) {
    const CodePoint c = read_code_point(s.data + at, s.size - at);
    const uint32_t to = change_case(a, c.value);
    *changes = *changes || to != c.value;
    size += code_point_size(to);
    at += c.size;
  }
  return *changes ? size : s.size;
}

bool same_but_for_case(const StringRef& a, const StringRef& b) {
  size_t i = 0, j = 0;
  while (i < a.size && j < b.size) {
    const CodePoint p = read_code_point(a.data + i, a.size - i), q = read_code_point(b.data + j, b.size - j);
    if (case_key(p.value) != case_key(q.value)) return false;
    i += p.size;
    j += q.size;
  }
  return i == a.size && j == b.size;
}

bool is_stopword(const attrs::StringNormalizer& a, const StringRef& s) {
  for (::flatbuffers::uoffset_t k = 0; a.stopwords() != nullptr && k < a.stopwords()->size(); ++k) {
    const ::flatbuffers::String* word = a.stopwords()->Get(k);
    const StringRef w = {word->c_str(), word->size()};
    if (a.case_sensitive() ? w == s : same_but_for_case(w, s)) return true;
  }
  return false;
}

int64_t normalizer_text(const KernelQuery& query) {
  const auto& a = query.attrs<attrs::StringNormalizer>();
  return a.change() == CaseChange::None ? 0 : text_room(query.outputs[0], a.string_bytes());
}

Status run_normalizer(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::StringNormalizer>();
  const Tensor& x = ctx.required(0);
  Tensor& y = *ctx.out(0);
  if (x.shape.rank == 2 && x.shape[0] != 1)
    return ctx.fail(Status::kInvalidArgument, "StringNormalizer of {}: wanted [C] or [1, C]", x.shape);
  const int64_t count = x.count();
  uint64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    bool changes = false;
    const StringRef& s = x.as<const StringRef>()[i];
    const size_t size = changed_size(a, s, &changes);
    if (changes && !is_stopword(a, s)) bytes += size;
  }
  VIREO_TRY(TextWriter::check(ctx, bytes));
  TextWriter text(ctx);
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i) {
    const StringRef s = x.as<const StringRef>()[i];
    if (is_stopword(a, s)) continue;
    bool changes = false;
    const size_t size = changed_size(a, s, &changes);
    StringRef& to = y.as<StringRef>()[n++];
    to = s;
    if (!changes) continue;
    char* p = text.take(size);
    to = {p, size};
    for (size_t at = 0; at < s.size;) {
      const CodePoint c = read_code_point(s.data + at, s.size - at);
      const uint32_t value = change_case(a, c.value);
      write_code_point(value, p);
      p += code_point_size(value);
      at += c.size;
    }
  }
  if (n == 0) y.as<StringRef>()[n++] = {};
  y.shape[y.shape.rank - 1] = n;
  return Status::kOk;
}

}  // namespace

extern const RefKernel kStringConcatRef;
extern const RefKernel kStringSplitRef;
extern const RefKernel kStringNormalizerRef;

const RefKernel kStringConcatRef = {run_concat, nullptr, concat_text};
const RefKernel kStringSplitRef = {run_split, nullptr};
const RefKernel kStringNormalizerRef = {run_normalizer, nullptr, normalizer_text};

}  // namespace vireo
