#include "delegates/cpu/kernels/attention/cached.h"

#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/attention/weights.h"
#include "sdk/base/half.h"

#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/attention/cached.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CACHED_ONCE_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CACHED_ONCE_
namespace vireo::cpu {
namespace {

constexpr int64_t kMostDirect = 16;  // queries

struct Bf16Element {
  uint16_t bits;
  float wide() const { return bf16_to_f32(bits); }
};
struct F16Element {
  uint16_t bits;
  float wide() const { return f16_to_f32(bits); }
};
struct I8Element {
  int8_t bits;
  float wide() const { return static_cast<float>(bits); }
};

// Rows of q by rows of keys, or rows of weights by rows of values.
struct CachedProduct {
  const float* a;  // [rows, a_row]
  int64_t rows, a_row;
  const void* b;  // [keys, b_row], `size` elements of each
  int64_t keys, b_row, size;
  float* c;  // [rows, c_row]
  int64_t c_row;
};

}  // namespace
}  // namespace vireo::cpu
#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_CACHED_ONCE_

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DF()));

// Vectors of elements as float32; what is beyond `count` is 0.
HWY_INLINE VF widened(const Bf16Element* from, int64_t count) {
  const DF d;
  const hn::RebindToUnsigned<DF> du;
  const hn::Rebind<uint16_t, DF> d16;
  const auto* const at = reinterpret_cast<const uint16_t*>(from);
  const auto bits = count >= kLanes ? hn::LoadU(d16, at) : hn::LoadN(d16, at, static_cast<size_t>(count));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}
HWY_INLINE VF widened(const F16Element* from, int64_t count) {
  const DF d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64  // have an instruction for it
  const hn::Rebind<hwy::float16_t, DF> d16;
  const hn::Rebind<uint16_t, DF> du;
  const auto* const at = reinterpret_cast<const uint16_t*>(from);
  const auto bits = count >= kLanes ? hn::LoadU(du, at) : hn::LoadN(du, at, static_cast<size_t>(count));
  return hn::PromoteTo(d, hn::BitCast(d16, bits));
#else
  HWY_ALIGN float wide[kLanes] = {};
  for (int64_t i = 0; i < count && i < kLanes; ++i) wide[i] = from[i].wide();
  return hn::Load(d, wide);
#endif
}
HWY_INLINE VF widened(const I8Element* from, int64_t count) {
  const DF d;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<int8_t, DF> d8;
  const auto* const at = reinterpret_cast<const int8_t*>(from);
  const auto codes = count >= kLanes ? hn::LoadU(d8, at) : hn::LoadN(d8, at, static_cast<size_t>(count));
  return hn::ConvertTo(d, hn::PromoteTo(di, codes));
}

// The lane sums of four vectors, side by side.
HWY_INLINE void put_sums(VF a, VF b, VF c, VF e, int64_t count, float* to) {
#if HWY_TARGET == HWY_SCALAR
  const float sums[4] = {hn::GetLane(a), hn::GetLane(b), hn::GetLane(c), hn::GetLane(e)};
#else
  const DF d;
  const hn::Repartition<uint64_t, DF> d64;
  // In each block of four lanes: a0 + a2, b0 + b2, a1 + a3, b1 + b3; then the sums of a, b, c and e.
  const VF ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const VF ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto low = hn::InterleaveLower(d64, hn::BitCast(d64, ab), hn::BitCast(d64, ce));
  const auto high = hn::InterleaveUpper(d64, hn::BitCast(d64, ab), hn::BitCast(d64, ce));
  HWY_ALIGN float blocks[kLanes];
  hn::Store(hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)), d, blocks);
  const hn::CappedTag<float, 4> d4;
  auto all = hn::Load(d4, blocks);
  for (int64_t i = 4; i < kLanes; i += 4) all = hn::Add(all, hn::Load(d4, blocks + i));
  if (count == 4) return hn::StoreU(all, d4, to);
  HWY_ALIGN float sums[4];
  hn::Store(all, d4, sums);
#endif
  memcpy(to, sums, static_cast<size_t>(count) * sizeof(float));
}

// c[i, j] = a[i, :] b[j, :] for kRows rows from `row` on; rows of a are filled up with zeros.
template <int kRows, class T>
HWY_NOINLINE void scores_of(const CachedProduct& p, int64_t row) {
  const DF d;
  const T* const b = static_cast<const T*>(p.b);
  const float* const a = p.a + row * p.a_row;
  for (int64_t j = 0; j < p.keys; j += 4) {
    const int64_t count = p.keys - j < 4 ? p.keys - j : 4;
    const T* at[4];
    for (int64_t i = 0; i < 4; ++i) at[i] = b + (j + (i < count ? i : 0)) * p.b_row;
    VF acc[kRows][4];
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r][0] = acc[r][1] = acc[r][2] = acc[r][3] = hn::Zero(d);
    const auto step = [&](int64_t k, int64_t columns) HWY_ATTR {
      const VF b0 = widened(at[0] + k, columns), b1 = widened(at[1] + k, columns);
      const VF b2 = widened(at[2] + k, columns), b3 = widened(at[3] + k, columns);
      VIREO_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const VF x = hn::LoadU(d, a + r * p.a_row + k);
        acc[r][0] = hn::MulAdd(x, b0, acc[r][0]);
        acc[r][1] = hn::MulAdd(x, b1, acc[r][1]);
        acc[r][2] = hn::MulAdd(x, b2, acc[r][2]);
        acc[r][3] = hn::MulAdd(x, b3, acc[r][3]);
      }
    };
    int64_t k = 0;
    for (; k + kLanes <= p.size; k += kLanes) step(k, kLanes);
    if (k < p.size) step(k, p.size - k);
    for (int r = 0; r < kRows; ++r)
      put_sums(acc[r][0], acc[r][1], acc[r][2], acc[r][3], count, p.c + (row + r) * p.c_row + j);
  }
}

// c[i, :] = a[i, :] b for kRows rows from `row` on, kVectors vectors of columns from `column` on.
template <int kRows, int kVectors, class T>
HWY_NOINLINE void sums_of(const CachedProduct& p, int64_t row, int64_t column) {
  const DF d;
  const T* b = static_cast<const T*>(p.b) + column;
  const float* const a = p.a + row * p.a_row;
  const int64_t columns = p.size - column;
  VF acc[kRows][kVectors];
  VIREO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    VIREO_UNROLL
    for (int i = 0; i < kVectors; ++i) acc[r][i] = hn::Zero(d);
  }
  for (int64_t j = 0; j < p.keys; ++j, b += p.b_row) {
    VF x[kVectors];
    VIREO_UNROLL
    for (int i = 0; i < kVectors; ++i) x[i] = widened(b + i * kLanes, kVectors == 1 ? columns : kLanes);
    VIREO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF w = hn::Set(d, a[r * p.a_row + j]);
      VIREO_UNROLL
      for (int i = 0; i < kVectors; ++i) acc[r][i] = hn::MulAdd(w, x[i], acc[r][i]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* const c = p.c + (row + r) * p.c_row + column;
    for (int i = 0; i < kVectors; ++i) {
      if (kVectors == 1 && columns < kLanes) {
        hn::StoreN(acc[r][i], d, c, static_cast<size_t>(columns));
      } else {
        hn::StoreU(acc[r][i], d, c + i * kLanes);
      }
    }
  }
}
template <int kRows, class T>
void sums_of_rows(const CachedProduct& p, int64_t row) {
  int64_t c = 0;
  for (; c + 4 * kLanes <= p.size; c += 4 * kLanes) sums_of<kRows, 4, T>(p, row, c);
  for (; c < p.size; c += kLanes) sums_of<kRows, 1, T>(p, row, c);
}

template <class T>
void scores_with(const CachedProduct& p) {
  int64_t i = 0;
  for (; i + 4 <= p.rows; i += 4) scores_of<4, T>(p, i);
  if (p.rows - i == 3) return scores_of<3, T>(p, i);
  for (; i < p.rows; ++i) scores_of<1, T>(p, i);
}
template <class T>
void sums_with(const CachedProduct& p) {
  int64_t i = 0;
  for (; i + 4 <= p.rows; i += 4) sums_of_rows<4, T>(p, i);
  if (p.rows - i == 3) return sums_of_rows<3, T>(p, i);
  for (; i < p.rows; ++i) sums_of_rows<1, T>(p, i);
}
template <class T>
void widen_row(const T* from, int64_t count, float factor, float* to) {
  const DF d;
  const VF by = hn::Set(d, factor);
  for (int64_t i = 0; i < count; i += kLanes) {
    const VF x = hn::Mul(widened(from + i, count - i), by);
    if (count - i >= kLanes) {
      hn::StoreU(x, d, to + i);
    } else {
      hn::StoreN(x, d, to + i, static_cast<size_t>(count - i));
    }
  }
}

void cached_scores(CacheType type, const CachedProduct& p) {
  if (type == CacheType::kBf16) return scores_with<Bf16Element>(p);
  if (type == CacheType::kF16) return scores_with<F16Element>(p);
  scores_with<I8Element>(p);
}
void cached_sums(CacheType type, const CachedProduct& p) {
  if (type == CacheType::kBf16) return sums_with<Bf16Element>(p);
  if (type == CacheType::kF16) return sums_with<F16Element>(p);
  sums_with<I8Element>(p);
}
// Row `i` of a head, times its scale.
void cached_row(CacheType type, const void* rows, int64_t at, int64_t count, float factor, float* to) {
  if (type == CacheType::kBf16) return widen_row(static_cast<const Bf16Element*>(rows) + at, count, factor, to);
  if (type == CacheType::kF16) return widen_row(static_cast<const F16Element*>(rows) + at, count, factor, to);
  widen_row(static_cast<const I8Element*>(rows) + at, count, factor, to);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(cached_scores);
HWY_EXPORT(cached_sums);
HWY_EXPORT(cached_row);

namespace {

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
size_t up(int64_t floats) { return (static_cast<size_t>(larger(floats, 0)) * sizeof(float) + 63) / 64 * 64; }
// Whole vectors, however long; a row of values goes there as well.
int64_t query_row(const AttentionF32& s) { return (larger(s.head, s.value_head) + 63) / 64 * 64; }

int64_t element_bytes(CacheType type) { return type == CacheType::kI8 ? 1 : 2; }
const void* ahead(const void* p, int64_t elements, CacheType type) {
  return static_cast<const uint8_t*>(p) + elements * element_bytes(type);
}

// A slot's memory where keys are read as they lie: queries, scores, what rows are divided by.
size_t direct_bytes(const AttentionF32& s) {
  return up(kMostDirect * query_row(s)) + up(kMostDirect * s.keys) + up(kMostDirect);
}

// One head of keys, as float32's kernel takes it.
AttentionF32 one_head(const AttentionCached& s) {
  AttentionF32 one = s;
  one.batch = 1;
  one.q_heads = s.q_heads / larger(s.kv_heads, 1);
  one.kv_heads = 1;
  one.k = {s.head, 0, 0};
  one.v = {s.value_head, 0, 0};
  return one;
}

// One query a head: heads that share keys become the queries of one (attention.cc).
AttentionCached folded(const AttentionCached& shape) {
  AttentionCached s = shape;
  const int64_t group = s.q_heads / s.kv_heads;
  if (s.queries != 1) return s;
  s.queries = group;
  s.q_heads = s.kv_heads;
  for (AttentionF32::Steps* steps : {&s.q, &s.y, &s.mask}) {
    steps->row = steps->heads;
    steps->heads *= group;
  }
  if (s.causal) s.keys = larger(0, smaller(s.keys, s.offset + 1));
  s.causal = false;
  return s;
}

// The sum of a row again where it is not finite: the product has added 0 times whatever is not seen.
void again(const AttentionCached& s, const float* weights, float inverse, int64_t keys, const void* v, float* row,
           float* y) {
  memset(y, 0, static_cast<size_t>(s.value_head) * sizeof(float));
  if (isnan(inverse)) {
    for (int64_t d = 0; d < s.value_head; ++d) y[d] = inverse;
    return;
  }
  for (int64_t j = 0; j < keys; ++j) {
    if (weights[j] == 0) continue;
    HWY_DYNAMIC_DISPATCH(cached_row)(s.type, v, j * s.v.row, s.value_head, 1, row);
    for (int64_t d = 0; d < s.value_head; ++d) y[d] += weights[j] * inverse * row[d];
  }
}

void direct_head(const AttentionCached& s, const float* q, const void* k, const void* v, const float* k_scale,
                 const float* v_scale, float* y, int64_t mask_at, uint8_t* room) {
  const int64_t keys = s.causal ? larger(0, smaller(s.keys, s.offset + s.queries)) : s.keys;
  float* const query = reinterpret_cast<float*>(room);
  float* const scores = reinterpret_cast<float*>(room += up(kMostDirect * query_row(s)));
  float* const inverse = reinterpret_cast<float*>(room + up(kMostDirect * s.keys));
  memset(query, 0, static_cast<size_t>(s.queries * query_row(s)) * sizeof(float));
  for (int64_t i = 0; i < s.queries; ++i)
    memcpy(query + i * query_row(s), q + i * s.q.row, static_cast<size_t>(s.head) * sizeof(float));
  HWY_DYNAMIC_DISPATCH(cached_scores)
  (s.type, {query, s.queries, query_row(s), k, keys, s.k.row, s.head, scores, keys});
  for (int64_t i = 0; k_scale != nullptr && i < s.queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) scores[i * keys + j] *= k_scale[j * s.k_scales.row];
  }
  WeightsOf of;
  of.scale = s.scale;
  if (s.added != nullptr) of.added = s.added + mask_at;
  if (s.allowed != nullptr) of.allowed = s.allowed + mask_at;
  of.mask_row = s.mask.row;
  of.seen = s.causal ? s.offset + 1 : keys;
  of.seen_step = s.causal ? 1 : 0;
  attention_weights_f32(of, scores, s.queries, keys, inverse);
  for (int64_t i = 0; v_scale != nullptr && i < s.queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      float& w = scores[i * keys + j];
      if (w != 0) w *= v_scale[j * s.v_scales.row];  // a scale that is not seen may be anything
    }
  }
  HWY_DYNAMIC_DISPATCH(cached_sums)
  (s.type, {scores, s.queries, keys, v, keys, s.v.row, s.value_head, y, s.y.row});
  if (scale_rows_f32(y, s.y.row, s.queries, s.value_head, inverse)) return;
  for (int64_t i = 0; i < s.queries; ++i) {
    bool finite = true;
    for (int64_t d = 0; d < s.value_head; ++d) finite = finite && isfinite(y[i * s.y.row + d]);
    if (!finite) {
      again(s, scores + i * keys, inverse[i], keys, v, query, y + i * s.y.row);
    }
  }
}

}  // namespace

size_t attention_cached_scratch_bytes(const AttentionCached& s, int32_t slots) {
  const size_t direct = direct_bytes(s) * static_cast<size_t>(larger(slots, 1));
  const size_t widened =
      up(s.keys * s.head) + up(s.keys * s.value_head) + attention_f32_scratch_bytes(one_head(s), slots);
  return direct > widened ? direct : widened;
}

void attention_cached(const AttentionCached& shape, const float* q, const void* k, const void* v, float* y,
                      const Parallel& parallel, void* scratch) {
  if (shape.batch <= 0 || shape.q_heads <= 0 || shape.queries <= 0 || shape.value_head <= 0) return;
  const AttentionCached s = folded(shape);
  const int64_t group = s.q_heads / s.kv_heads;
  const auto head_of = [&](const AttentionF32::Steps& steps, int64_t b, int64_t h) {
    return b * steps.batches + h * steps.heads;
  };
  const auto scale_of = [&](const float* scale, const AttentionF32::Steps& steps, int64_t b, int64_t kv) {
    return scale == nullptr ? nullptr : scale + head_of(steps, b, kv);
  };
  if (s.queries <= kMostDirect && s.softcap <= 0) {
    const size_t room = direct_bytes(s);
    const int64_t work = larger(s.queries * s.keys * (s.head + s.value_head), 1);
    parallel.for_range(s.batch * s.q_heads, 1 + (1 << 16) / work, [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t h = t % s.q_heads, b = t / s.q_heads, kv = h / group;
        direct_head(s, q + head_of(s.q, b, h), ahead(k, head_of(s.k, b, kv), s.type),
                    ahead(v, head_of(s.v, b, kv), s.type), scale_of(s.k_scale, s.k_scales, b, kv),
                    scale_of(s.v_scale, s.v_scales, b, kv), y + head_of(s.y, b, h), head_of(s.mask, b, h),
                    static_cast<uint8_t*>(scratch) + static_cast<size_t>(slot) * room);
      }
    });
    return;
  }
  float* const keys = static_cast<float*>(scratch);
  float* const values = keys + up(shape.keys * shape.head) / sizeof(float);
  void* const rest = values + up(shape.keys * shape.value_head) / sizeof(float);
  const int64_t heads = shape.q_heads / shape.kv_heads;
  for (int64_t t = 0; t < shape.batch * shape.kv_heads; ++t) {
    const int64_t b = t / shape.kv_heads, kv = t % shape.kv_heads;
    const float* const k_scale = scale_of(shape.k_scale, shape.k_scales, b, kv);
    const float* const v_scale = scale_of(shape.v_scale, shape.v_scales, b, kv);
    const auto widen = HWY_DYNAMIC_POINTER(cached_row);
    parallel.for_range(
        shape.keys, 1 + (1 << 14) / (shape.head + shape.value_head + 1), [&](int64_t begin, int64_t end, int32_t) {
          for (int64_t j = begin; j < end; ++j) {
            widen(shape.type, k, head_of(shape.k, b, kv) + j * shape.k.row, shape.head,
                  k_scale == nullptr ? 1 : k_scale[j * shape.k_scales.row], keys + j * shape.head);
            widen(shape.type, v, head_of(shape.v, b, kv) + j * shape.v.row, shape.value_head,
                  v_scale == nullptr ? 1 : v_scale[j * shape.v_scales.row], values + j * shape.value_head);
          }
        });
    AttentionF32 one = one_head(shape);
    const int64_t mask_at = head_of(shape.mask, b, kv * heads);
    if (one.added != nullptr) one.added += mask_at;
    if (one.allowed != nullptr) one.allowed += mask_at;
    attention_f32(one, q + head_of(shape.q, b, kv * heads), keys, values, y + head_of(shape.y, b, kv * heads), parallel,
                  rest);
  }
}

}  // namespace vireo::cpu
#endif
