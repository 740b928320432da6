#include "delegates/cpu/kernels/codes/codes.h"

#include <string.h>

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/codes/codes.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/requantize/second-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_CODES_RANGE_
#define VIREO_DELEGATES_CPU_KERNELS_CODES_RANGE_
namespace vireo::cpu {
struct BinaryRange {
  const BinaryCodes* f;
  const BinaryRows* rows;
  const uint8_t *a, *b;
  uint8_t* y;
  int64_t begin, end;  // rows; elements where there is one row
};
}  // namespace vireo::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

template <bool kProduct>
HWY_INLINE VF combine(VF a, VF b, VF ma, VF mb) {
  // A product of two differences is at most 65,025: exact in float32.
  return kProduct ? hn::Mul(hn::Mul(a, b), ma) : hn::Add(hn::Mul(a, ma), hn::Mul(b, mb));
}

template <bool kProduct>
void binary_row(const BinaryCodes& f, const Finish& finish, const uint8_t* a, int64_t a_step, const uint8_t* b,
                int64_t b_step, uint8_t* y, int64_t count) {
  const CodesIn x(a, a_step, f.a_signed, f.a_zero), z(b, b_step, f.b_signed, f.b_zero);
  const VF ma = hn::Set(DF(), f.a_multiplier), mb = hn::Set(DF(), f.b_multiplier);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    VF xs[4], zs[4];
    x.blocks(i, xs);
    z.blocks(i, zs);
    VI r[4];
    VIREO_UNROLL
    for (int v = 0; v < 4; ++v) r[v] = finish.rounded(combine<kProduct>(xs[v], zs[v], ma, mb));
    finish.store(finish.blocks(r[0], r[1], r[2], r[3]), static_cast<size_t>(4 * kLanes), y + i);
  }
#endif
  for (; i < count; i += kLanes) {
    const size_t lanes = static_cast<size_t>(count - i < kLanes ? count - i : kLanes);
    finish.store(finish.rounded(combine<kProduct>(x.part(i, lanes), z.part(i, lanes), ma, mb)), lanes, y + i);
  }
}

void binary_range(const BinaryRange& r) {
  const BinaryCodes& f = *r.f;
  const BinaryRows& s = *r.rows;
  const float ma = f.a_multiplier < 0 ? -f.a_multiplier : f.a_multiplier;
  const float mb = f.b_multiplier < 0 ? -f.b_multiplier : f.b_multiplier;
  const Finish finish(f.finish, (f.is_product ? 65025 * ma : 255 * ma + 255 * mb) < 2147483520.0f);
  const auto row = f.is_product ? binary_row<true> : binary_row<false>;
  if (s.rows == 1) {
    const int64_t a = s.offset(s.context, 0, 0) + r.begin * s.a_step,
                  b = s.offset(s.context, 1, 0) + r.begin * s.b_step;
    return row(f, finish, r.a + a, s.a_step, r.b + b, s.b_step, r.y + r.begin, r.end - r.begin);
  }
  for (int64_t i = r.begin; i < r.end; ++i) {
    row(f, finish, r.a + s.offset(s.context, 0, i), s.a_step, r.b + s.offset(s.context, 1, i), s.b_step,
        r.y + i * s.row, s.row);
  }
}

void affine_rows(const SecondStep& s, bool x_signed, const BinaryRows& rows, const uint8_t* x, uint8_t* y,
                 int64_t begin, int64_t end) {
  const Finish finish(s.y);
  for (int64_t r = begin; r < end; ++r) {
    const CodesIn codes(x + rows.offset(rows.context, 0, r), 1, x_signed, s.zero);
    const int64_t at = rows.offset(rows.context, 1, r);
    uint8_t* const to = y + r * rows.row;
    for (int64_t i = 0; i < rows.row; i += kLanes) {
      const size_t lanes = static_cast<size_t>(rows.row - i < kLanes ? rows.row - i : kLanes);
      const auto some = [&](const float* from) HWY_ATTR {
        return rows.b_step == 0 ? hn::Set(DF(), from[at]) : hn::LoadN(DF(), from + at + i, lanes);
      };
      const VF factor = some(s.factor);
      VF v = times_by_sign(codes.part(i, lanes), factor, s.below != nullptr ? some(s.below) : factor);
      if (s.offset != nullptr) v = hn::Add(v, some(s.offset));
      finish.store(finish.rounded(v), lanes, to + i);
    }
  }
}

void table_range(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t count) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3_DL  // 256 entries are four vectors here, and one instruction looks into two
  const hn::ScalableTag<uint8_t> d;
  const auto t0 = hn::LoadU(d, table), t1 = hn::LoadU(d, table + 64), t2 = hn::LoadU(d, table + 128),
             t3 = hn::LoadU(d, table + 192);
  const auto seven = hn::Set(d, uint8_t{127});
  for (; i + 64 <= count; i += 64) {
    const auto v = hn::LoadU(d, x + i);
    const auto at = hn::IndicesFromVec(d, hn::And(v, seven));
    const auto low = hn::TwoTablesLookupLanes(d, t0, t1, at), high = hn::TwoTablesLookupLanes(d, t2, t3, at);
    hn::StoreU(hn::IfThenElse(hn::Gt(v, seven), high, low), d, y + i);
  }
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // An instruction looks into 16 entries by the lower four bits of a code, and gives 0 for a negative one. Part p of
  // each half of the table holds how its entries differ from those of part p - 1. A code less 16 p is negative in parts
  // that begin behind it; those that it meets add up to its own entry.
  const hn::ScalableTag<uint8_t> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const hn::CappedTag<uint8_t, 16> part;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN uint8_t steps[256];
  for (int64_t p = 0; p < (count < lanes ? 0 : 16); ++p) {
    const auto entries = hn::LoadU(part, table + 16 * p);
    hn::Store(p % 8 == 0 ? entries : hn::Xor(entries, hn::LoadU(part, table + 16 * p - 16)), part, steps + 16 * p);
  }
  const auto sixteen = hn::Set(ds, int8_t{16});
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    auto low = hn::BitCast(ds, v), high = hn::BitCast(ds, hn::Xor(v, hn::Set(d, uint8_t{128})));
    auto from_low = hn::Zero(d), from_high = hn::Zero(d);
    VIREO_UNROLL
    for (int p = 0; p < 8; ++p) {
      const auto at = [&](int q) HWY_ATTR { return hn::LoadDup128(d, steps + 16 * q); };
      from_low = hn::Xor(from_low, hn::TableLookupBytesOr0(at(p), hn::BitCast(d, low)));
      from_high = hn::Xor(from_high, hn::TableLookupBytesOr0(at(p + 8), hn::BitCast(d, high)));
      low = hn::SaturatedSub(low, sixteen);
      high = hn::SaturatedSub(high, sixteen);
    }
    hn::StoreU(hn::Or(from_low, from_high), d, y + i);
  }
#elif HWY_ARCH_ARM_A64  // one instruction looks into 64 entries; a code beyond them gives 0, or leaves what was there
  const uint8x16x4_t t0 = vld1q_u8_x4(table), t1 = vld1q_u8_x4(table + 64), t2 = vld1q_u8_x4(table + 128),
                     t3 = vld1q_u8_x4(table + 192);
  const uint8x16_t part = vdupq_n_u8(64);
  for (; i + 16 <= count; i += 16) {
    uint8x16_t v = vld1q_u8(x + i), found = vqtbl4q_u8(t0, v);
    v = vsubq_u8(v, part);
    found = vqtbx4q_u8(found, t1, v);
    v = vsubq_u8(v, part);
    found = vqtbx4q_u8(found, t2, v);
    v = vsubq_u8(v, part);
    vst1q_u8(y + i, vqtbx4q_u8(found, t3, v));
  }
#endif
  for (; i < count; ++i) y[i] = table[x[i]];
}

HWY_INLINE int32_t greatest(const uint8_t* x, int64_t count, int64_t step, uint8_t flip) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (step == 1 && count >= lanes) {
    int64_t i = 0;
    auto most = hn::Zero(d);
    for (; i + lanes <= count; i += lanes) most = hn::Max(most, hn::Xor(hn::LoadU(d, x + i), hn::Set(d, flip)));
    if (i < count) most = hn::Max(most, hn::Xor(hn::LoadU(d, x + count - lanes), hn::Set(d, flip)));
    return hn::ReduceMax(d, most);
  }
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // with masks
  if (step == 1) {
    const auto first = hn::FirstN(d, static_cast<size_t>(count));
    return hn::ReduceMax(d, hn::IfThenElseZero(first, hn::Xor(hn::MaskedLoad(first, d, x), hn::Set(d, flip))));
  }
#endif
#endif
  uint8_t top = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t v = x[i * step] ^ flip;
    top = v > top ? v : top;
  }
  return top;
}

// What a line keeps of its elements. Null: all.
struct KeptOf {
  const uint8_t* from;
  int64_t step;
  KeptOf(const SoftmaxCodes& s, int64_t line)
      : from(s.kept != nullptr ? s.kept + s.kept_at(s.context, line) : nullptr), step(s.kept_step) {
    if (from == nullptr) return;
    const int64_t first = run(0, s.axis, true), rest = first + run(first, s.axis, false);
    none = first == 0 && rest == s.axis;
    if (first != 0 && rest == s.axis) prefix = first;
  }
  bool operator[](int64_t k) const { return from == nullptr || from[k * step] != 0; }
  bool none = false;
  int64_t prefix = 0;  // how many are kept, where these stand before all others; else 0

 private:
  // How many from `k` on are alike.
  int64_t run(int64_t k, int64_t count, bool kept) const {
    const int64_t begin = k;
    const uint64_t alike = kept ? 0x0101010101010101u : 0;
    for (uint64_t eight; step == 1 && k + 8 <= count; k += 8) {
      memcpy(&eight, from + k, sizeof(eight));
      if (eight != alike) break;
    }
    while (k < count && (from[k * step] != 0) == kept) ++k;
    return k - begin;
  }
};
HWY_INLINE int32_t greatest_kept(const uint8_t* x, int64_t count, int64_t step, uint8_t flip, const KeptOf& kept) {
  int32_t top = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int32_t v = x[k * step] ^ flip;
    if (kept[k] && v > top) top = v;
  }
  return top;
}

#if HWY_TARGET == HWY_AVX3_DL
// Softmax of lines side by side in memory whose exponentials are from 0 to 2^24 - 1: three tables of bytes, in each of
// which one instruction looks up 64 codes, in place of a load for each element, and sums of bytes for their sum.
class SoftmaxOfBytes {
 public:
  explicit SoftmaxOfBytes(const SoftmaxCodes& s)
      : multiplier_(s.multiplier), flip_(s.x_signed ? 0x80 : 0), finish_(s.finish, true) {
    const Requantize& f = s.finish;
    const int32_t least = f.is_signed ? -128 : 0, low = f.low < least ? least : f.low,
                  high = f.high > least + 255 ? least + 255 : f.high;
    code_of_0_ = static_cast<uint8_t>(f.zero_point < low ? low : f.zero_point > high ? high : f.zero_point);
    HWY_ALIGN uint8_t bytes[3][256];
    for (int i = 0; i < 256; ++i) {
      for (int p = 0; p < 3; ++p) bytes[p][i] = static_cast<uint8_t>(s.table[i] >> (8 * p));
    }
    for (int p = 0; p < 3; ++p) {
      for (int q = 0; q < 4; ++q) table_[p][q] = hn::Load(D8(), bytes[p] + 64 * q);
    }
  }
  // An exponential is at most the sum, so that a quotient is at most the multiplier, which rounding must bear.
  static bool serves(const SoftmaxCodes& s) {
    bool in_range = s.inner == 1 && s.multiplier >= 0 && s.multiplier < 1e9f;
    in_range = in_range && (s.kept == nullptr || s.axis <= kMostKept);
    for (int i = 0; i < 256; ++i) in_range = in_range && s.table[i] >= 0 && s.table[i] < 1 << 24;
    return in_range && s.table[0] > 0;  // of the greatest: no sum is 0
  }

  // Of what is kept, side by side; all else becomes the code of 0.
  void line(const uint8_t* x, uint8_t* y, int64_t count, const KeptOf& kept) const {
    if (kept.prefix != 0) {  // a query and what came before it
      line(x, y, kept.prefix);
      memset(y + kept.prefix, code_of_0_, static_cast<size_t>(count - kept.prefix));
      return;
    }
    HWY_ALIGN uint8_t chosen[kMostKept];
    int64_t taken = 0;
    for (int64_t k = 0; k < count; ++k) {
      if (kept.none || kept[k]) chosen[taken++] = kept.none ? 0 : x[k];
    }
    line(chosen, chosen, taken);
    for (int64_t k = count; k-- > 0;) y[k] = kept.none || kept[k] ? chosen[--taken] : code_of_0_;
  }
  static constexpr int64_t kMostKept = 4096;  // elements of a line with some that are not

  void line(const uint8_t* x, uint8_t* y, int64_t count) const {
    const hn::Repartition<uint64_t, D8> d64;
    const V8 top = hn::Set(D8(), static_cast<uint8_t>(greatest(x, count, 1, flip_)));
    hn::Vec<decltype(d64)> sums[3] = {hn::Zero(d64), hn::Zero(d64), hn::Zero(d64)};
    int64_t i = 0;
    for (; i + 64 <= count; i += 64) {
      const Index at(hn::Sub(top, codes(hn::LoadU(D8(), x + i))));
      VIREO_UNROLL
      for (int p = 0; p < 3; ++p) sums[p] = hn::Add(sums[p], hn::SumsOf8(of(p, at)));
    }
    const size_t rest = static_cast<size_t>(count - i);
    if (rest != 0) {
      const Index at(hn::Sub(top, codes(hn::LoadN(D8(), x + i, rest))));
      VIREO_UNROLL
      for (int p = 0; p < 3; ++p)
        sums[p] = hn::Add(sums[p], hn::SumsOf8(hn::IfThenElseZero(hn::FirstN(D8(), rest), of(p, at))));
    }
    const uint64_t sum =
        hn::ReduceSum(d64, hn::Add(hn::Add(sums[0], hn::ShiftLeft<8>(sums[1])), hn::ShiftLeft<16>(sums[2])));
    const VF q = hn::Set(DF(), multiplier_ / static_cast<float>(static_cast<int64_t>(sum)));
    for (i = 0; i + 64 <= count; i += 64) {
      const Index at(hn::Sub(top, codes(hn::LoadU(D8(), x + i))));
      finish_.store(quotients(at, q), 64, y + i);
    }
    if (rest != 0) {
      const Index at(hn::Sub(top, codes(hn::LoadN(D8(), x + i, rest))));
      finish_.store(quotients(at, q), rest, y + i);
    }
  }

 private:
  using D8 = hn::Repartition<uint8_t, DI>;
  using V8 = hn::Vec<D8>;
  struct Index {
    decltype(hn::IndicesFromVec(D8(), hn::Zero(D8()))) low;
    hn::Mask<D8> high;
    explicit Index(V8 d)
        : low(hn::IndicesFromVec(D8(), hn::And(d, hn::Set(D8(), 127)))), high(hn::Gt(d, hn::Set(D8(), 127))) {}
  };

  HWY_INLINE V8 codes(V8 x) const { return hn::Xor(x, hn::Set(D8(), flip_)); }
  HWY_INLINE V8 of(int plane, const Index& at) const {
    const V8* const t = table_[plane];
    return hn::IfThenElse(at.high, hn::TwoTablesLookupLanes(D8(), t[2], t[3], at.low),
                          hn::TwoTablesLookupLanes(D8(), t[0], t[1], at.low));
  }
  // Unpacking bytes to 32 bits leaves the order that packing them again undoes.
  HWY_INLINE hn::Vec<hn::Repartition<int8_t, DI>> quotients(const Index& at, VF q) const {
    const hn::Repartition<uint16_t, DI> d16;
    const V8 b0 = of(0, at), b1 = of(1, at), b2 = of(2, at), zero = hn::Zero(D8());
    const auto low = hn::BitCast(d16, hn::InterleaveLower(D8(), b0, b1));
    const auto high = hn::BitCast(d16, hn::InterleaveUpper(D8(), b0, b1));
    const auto low2 = hn::BitCast(d16, hn::InterleaveLower(D8(), b2, zero));
    const auto high2 = hn::BitCast(d16, hn::InterleaveUpper(D8(), b2, zero));
    const auto code = [&](hn::Vec<decltype(d16)> e)
                          HWY_ATTR { return finish_.rounded(hn::Mul(hn::ConvertTo(DF(), hn::BitCast(DI(), e)), q)); };
    return finish_.blocks(code(hn::InterleaveLower(d16, low, low2)), code(hn::InterleaveUpper(d16, low, low2)),
                          code(hn::InterleaveLower(d16, high, high2)), code(hn::InterleaveUpper(d16, high, high2)));
  }

  float multiplier_;
  uint8_t flip_, code_of_0_;
  Finish finish_;
  V8 table_[3][4];
};
#endif

#if HWY_TARGET != HWY_SCALAR
// Softmax of a line side by side in memory, of at most kMost elements: each exponential is looked up once. By loads of
// one: gathers are no faster on many cores, and much slower where they are mended against leaks.
class SoftmaxOfLine {
 public:
  static constexpr int64_t kMost = 4096;
  explicit SoftmaxOfLine(const SoftmaxCodes& s)
      : table_(s.table), multiplier_(s.multiplier), flip_(s.x_signed ? 0x80 : 0), finish_(s.finish) {}
  static bool serves(const SoftmaxCodes& s) { return s.inner == 1 && s.axis <= kMost; }

  void line(const uint8_t* x, uint8_t* y, int64_t count, const KeptOf* kept = nullptr) const {
    constexpr int64_t kStep = 4 * kLanes;
    HWY_ALIGN int32_t e[kMost + kStep];
    const int64_t first = kept == nullptr ? count : kept->prefix;
    const int32_t* const from =
        table_ + (first != 0 ? greatest(x, first, 1, flip_) : greatest_kept(x, count, 1, flip_, *kept));
    // Unsigned, because a file may hold any table: sums then wrap around the same way everywhere.
    uint64_t sums[4] = {};
    int64_t i = 0;
    for (; first == 0 && i < count; ++i) {
      e[i] = kept->none ? table_[0] : (*kept)[i] ? from[-static_cast<int64_t>(x[i] ^ flip_)] : 0;
      sums[0] += static_cast<uint64_t>(static_cast<int64_t>(e[i]));
    }
    for (; i + 4 <= first; i += 4) {
      for (int j = 0; j < 4; ++j) {
        e[i + j] = from[-static_cast<int64_t>(x[i + j] ^ flip_)];
        sums[j] += static_cast<uint64_t>(static_cast<int64_t>(e[i + j]));
      }
    }
    for (; i < first; ++i) {
      e[i] = from[-static_cast<int64_t>(x[i] ^ flip_)];
      sums[0] += static_cast<uint64_t>(static_cast<int64_t>(e[i]));
    }
    for (; i < count || i % kStep != 0; ++i) e[i] = 0;
    const uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3];
    const VF q = hn::Set(DF(), multiplier_ / static_cast<float>(static_cast<int64_t>(sum)));
    const auto code = [&](int64_t at)
                          HWY_ATTR { return finish_.rounded(hn::Mul(hn::ConvertTo(DF(), hn::Load(DI(), e + at)), q)); };
    for (i = 0; i < count; i += kStep) {
      const auto codes = finish_.in_order(code(i), code(i + kLanes), code(i + 2 * kLanes), code(i + 3 * kLanes));
      finish_.store(codes, static_cast<size_t>(count - i), y + i);
    }
  }

 private:
  const int32_t* table_;
  float multiplier_;
  uint8_t flip_;
  Finish finish_;
};
#endif

// Lines [begin, end) of outer * inner.
void softmax_lines(const SoftmaxCodes& s, const uint8_t* x, uint8_t* y, int64_t begin, int64_t end) {
#if HWY_TARGET == HWY_AVX3_DL
  if (SoftmaxOfBytes::serves(s)) {
    const SoftmaxOfBytes bytes(s);
    for (int64_t line = begin; line < end; ++line) {
      if (s.kept == nullptr) {
        bytes.line(x + line * s.axis, y + line * s.axis, s.axis);
      } else {
        bytes.line(x + line * s.axis, y + line * s.axis, s.axis, KeptOf(s, line));
      }
    }
    return;
  }
#endif
#if HWY_TARGET != HWY_SCALAR
  if (SoftmaxOfLine::serves(s)) {
    const SoftmaxOfLine one(s);
    for (int64_t line = begin; line < end; ++line) {
      const KeptOf kept(s, line);
      one.line(x + line * s.axis, y + line * s.axis, s.axis, s.kept != nullptr ? &kept : nullptr);
    }
    return;
  }
#endif
  constexpr int64_t kChunk = 4 * kLanes;
  const Finish finish(s.finish);
  const uint8_t flip = s.x_signed ? 0x80 : 0;
  const int64_t step = s.inner;
  for (int64_t line = begin; line < end; ++line) {
    const int64_t base = line / s.inner * s.axis * s.inner + line % s.inner;
    const uint8_t* const from = x + base;
    uint8_t* const to = y + base;
    const KeptOf kept(s, line);
    const int32_t top =
        s.kept == nullptr ? greatest(from, s.axis, step, flip) : greatest_kept(from, s.axis, step, flip, kept);
    const auto number = [&](int64_t k) {
      return kept.none ? s.table[0] : kept[k] ? s.table[top - (from[k * step] ^ flip)] : 0;
    };
    // Unsigned, because a file may hold any table: sums then wrap around the same way everywhere.
    uint64_t sum = 0;
    for (int64_t k = 0; k < s.axis; ++k) sum += static_cast<uint64_t>(static_cast<int64_t>(number(k)));
    const VF q = hn::Set(DF(), s.multiplier / static_cast<float>(static_cast<int64_t>(sum)));
    HWY_ALIGN int32_t e[kChunk];
    HWY_ALIGN uint8_t codes[kChunk];
    for (int64_t k = 0; k < s.axis; k += kChunk) {
      const int64_t count = s.axis - k < kChunk ? s.axis - k : kChunk;
      for (int64_t i = 0; i < count; ++i) e[i] = number(k + i);
      for (int64_t i = count; i < kChunk; ++i) e[i] = 0;
      for (int64_t i = 0; i < count; i += kLanes) {
        const VF v = hn::Mul(hn::ConvertTo(DF(), hn::Load(DI(), e + i)), q);
        finish.store(finish.rounded(v), static_cast<size_t>(kLanes), codes + i);
      }
      for (int64_t i = 0; i < count; ++i) to[(k + i) * step] = codes[i];
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(binary_range);
HWY_EXPORT(affine_rows);
HWY_EXPORT(table_range);
HWY_EXPORT(softmax_lines);

namespace {
constexpr int64_t kGrain = 32 * 1024;  // elements a thread is woken for: some microseconds
}

void binary_codes(const BinaryCodes& f, const BinaryRows& rows, const uint8_t* a, const uint8_t* b, uint8_t* y,
                  const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(binary_range);
  const bool one = rows.rows == 1;
  parallel.for_range(one ? rows.row : rows.rows, one ? kGrain : 1 + kGrain / (rows.row + 8),
                     [&](int64_t begin, int64_t end, int32_t) {
                       const BinaryRange range = {&f, &rows, a, b, y, begin, end};
                       kernel(range);
                     });
}

void affine_codes(const SecondStep& step, bool x_signed, const BinaryRows& rows, const uint8_t* x, uint8_t* y,
                  const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(affine_rows);
  parallel.for_range(rows.rows, 1 + kGrain / (rows.row + 8),
                     [&](int64_t begin, int64_t end, int32_t) { kernel(step, x_signed, rows, x, y, begin, end); });
}

void table_codes(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t count, const Parallel& parallel) {
  const auto kernel = HWY_DYNAMIC_POINTER(table_range);
  parallel.for_range(count, kGrain,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(table, x + begin, y + begin, end - begin); });
}

void softmax_codes(const SoftmaxCodes& s, const uint8_t* x, uint8_t* y, const Parallel& parallel) {
  if (s.axis <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(softmax_lines);
  parallel.for_range(s.outer * s.inner, 1 + kGrain / 4 / s.axis,
                     [&](int64_t begin, int64_t end, int32_t) { kernel(s, x, y, begin, end); });
}
}  // namespace vireo::cpu
#endif
