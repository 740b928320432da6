#include "delegates/cpu/kernels/attention/bf16.h"

#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/amx/amx.h"
#include "delegates/cpu/kernels/gemm_bf16/product.h"
#include "sdk/base/half.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/attention/bf16.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/attention/bf16_engines-inl.h"
#include "delegates/cpu/kernels/attention/bf16_weights-inl.h"

#ifndef VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_SLOT_
#define VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_SLOT_
namespace vireo::cpu {
namespace {

constexpr int64_t kMostBlockRows = 32, kBlockKeys = 256;
constexpr int64_t kScoreRow = kBlockKeys + 16;  // floats: whole lines, and not a power of two
constexpr int64_t kAhead = 64;                  // bytes in front of a slot: which head is packed in it

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
size_t up(int64_t bytes) { return static_cast<size_t>((larger(bytes, 0) + 63) / 64 * 64); }

// A slot's memory: panels of a head's keys and values; of a block of queries themselves, scores that become weights,
// sums of values, and for each row the greatest score, the sum of weights, and what sums made for a lesser one are
// multiplied by.
struct BlockRoom {
  size_t keys, values, left, scores, sums;
  explicit BlockRoom(const AttentionBf16& s) {
    const int64_t deep = round_up(s.head, kBf16Depth), wide = round_up(s.value_head, kBf16Columns);
    const int64_t count = round_up(s.keys, kBf16Depth);
    keys = up(count * deep * 2);
    values = up(count * wide * 2);
    left = up(kMostBlockRows * (larger(deep, wide) + 32) * 4);
    scores = up(kMostBlockRows * kScoreRow * 4);
    sums = up(kMostBlockRows * (wide + 16) * 4);
  }
  size_t all() const { return kAhead + keys + values + left + scores + sums + 3 * kMostBlockRows * sizeof(float); }
};
static_assert(kBf16Columns == kBf16Depth, "keys are columns of one product and depth of the other");

struct BlockSlot {
  int64_t* head;  // that is packed, -1: none
  uint16_t *keys, *values;
  void* left;
  float *scores, *sums, *tops, *totals, *factors;

  BlockSlot(const BlockRoom& room, void* scratch, int32_t slot) {
    uint8_t* at = static_cast<uint8_t*>(scratch) + static_cast<size_t>(slot) * room.all();
    head = reinterpret_cast<int64_t*>(at);
    keys = reinterpret_cast<uint16_t*>(at += kAhead);
    values = reinterpret_cast<uint16_t*>(at += room.keys);
    left = at += room.values;
    scores = reinterpret_cast<float*>(at += room.left);
    sums = reinterpret_cast<float*>(at += room.scores);
    tops = reinterpret_cast<float*>(at + room.sums);
    totals = tops + kMostBlockRows;
    factors = totals + kMostBlockRows;
  }
};

// Rows of an operand of one head, as they lie.
struct HeadRows {
  const void* data;
  int64_t row;
  bool wide;

  HeadRows(const void* base, int64_t at, int64_t row_step, bool is_wide)
      : data(static_cast<const uint8_t*>(base) + at * (is_wide ? 4 : 2)), row(row_step), wide(is_wide) {}
  const float* floats(int64_t i) const { return static_cast<const float*>(data) + i * row; }
  const uint16_t* bits(int64_t i) const { return static_cast<const uint16_t*>(data) + i * row; }
  float at(int64_t i, int64_t d) const { return bf16_to_f32(wide ? f32_to_bf16(floats(i)[d]) : bits(i)[d]); }
};

// Queries [first, first + rows) of one head.
struct BlockOf {
  const AttentionBf16* shape;
  HeadRows q, k, v;
  uint8_t* y;  // at the first row
  int64_t mask_at, first, rows;

  int64_t reach(int64_t i) const {  // keys that row i may see
    return shape->causal ? larger(0, smaller(shape->keys, shape->offset + first + i + 1)) : shape->keys;
  }
  uint8_t* y_row(int64_t i) const { return y + i * shape->y.row * (shape->wide_y ? 4 : 2); }
};

// Row i of a block by plain loops, the query in row 0 of `q`: where it is not finite, be it because a key that is not
// seen has a NaN for a value, which the products multiply by 0.
void plain_row(const BlockOf& b, int64_t i, const HeadRows& q, float* y) {
  const AttentionBf16& s = *b.shape;
  const int64_t keys = b.reach(i), mask = b.mask_at + i * s.mask.row;
  const auto score = [&](int64_t j, float* out) {
    if (s.allowed != nullptr && s.allowed[mask + j] == 0) return false;
    if (s.added != nullptr && s.added[mask + j] == -HUGE_VALF) return false;
    float sum = 0;
    for (int64_t d = 0; d < s.head; ++d) sum += q.at(0, d) * b.k.at(j, d);
    sum *= s.scale;
    if (s.softcap > 0) sum = s.softcap * tanhf(sum / s.softcap);
    *out = s.added != nullptr ? sum + s.added[mask + j] : sum;
    return true;
  };
  float top = -HUGE_VALF, total = 0, t = 0;
  for (int64_t j = 0; j < keys; ++j) {
    if (score(j, &t) && !(t <= top)) top = t;
  }
  memset(y, 0, static_cast<size_t>(s.value_head) * sizeof(float));
  if (top == -HUGE_VALF) return;
  for (int64_t j = 0; j < keys; ++j) {
    if (!score(j, &t)) continue;
    const float weight = expf(t - top);
    total += weight;
    for (int64_t d = 0; d < s.value_head && weight != 0; ++d) y[d] += weight * b.v.at(j, d);
  }
  for (int64_t d = 0; d < s.value_head; ++d) y[d] /= total;
}

}  // namespace
}  // namespace vireo::cpu
#endif  // VIREO_DELEGATES_CPU_KERNELS_ATTENTION_BF16_SLOT_

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// A row in bfloat16, filled up with zeros.
template <class T>
void put_row(const HeadRows& from, int64_t i, int64_t count, int64_t deep, T* to) {
  if (from.wide) {
    put_rounded(from.floats(i), count, to);
  } else if (sizeof(T) == sizeof(uint16_t)) {
    memcpy(to, from.bits(i), static_cast<size_t>(count) * sizeof(T));
  } else {
    for (int64_t d = 0; d < count; ++d) to[d] = static_cast<T>(bf16_to_f32(from.bits(i)[d]));
  }
  put_zeros(deep - count, to + count);
}

// Keys are the columns of their product: a row goes down its column, two elements at a time.
void pack_keys(const HeadRows& k, int64_t keys, int64_t head, uint16_t* row, uint16_t* to) {
  const int64_t deep = round_up(head, kBf16Depth);
  for (int64_t j = 0; j < keys; j += kBf16Columns, to += kBf16Columns * deep) {
    for (int64_t c = 0; c < kBf16Columns; ++c) {
      if (j + c < keys) {
        put_row(k, j + c, head, deep, row);
      } else {
        put_zeros(deep, row);
      }
      for (int64_t p = 0; p < deep; p += 2) memcpy(to + p * kBf16Columns + 2 * c, row + p, 2 * sizeof(*to));
    }
  }
}

// Pairs of elements, the first one low.
template <class V>
HWY_INLINE void put_pairs(V pairs, uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR  // has no vectors of other lanes
  const uint32_t pair = hn::GetLane(pairs);
  memcpy(to, &pair, sizeof(pair));
#else
  const hn::ScalableTag<uint16_t> d16;
  hn::StoreU(hn::BitCast(d16, pairs), d16, to);
#endif
}

// Keys are the depth of the product of values: two rows at a time, panel by panel.
void pack_values(const HeadRows& v, int64_t keys, int64_t size, uint16_t* row, uint16_t* to) {
  const int64_t wide = round_up(size, kBf16Columns), deep = round_up(keys, kBf16Depth);
  uint16_t* const next = row + wide;
  for (int64_t j = 0; j < deep; j += 2) {
    for (int64_t i = 0; i < 2; ++i) {
      if (j + i < keys) {
        put_row(v, j + i, size, wide, row + i * wide);
      } else {
        put_zeros(wide, row + i * wide);
      }
    }
    const hn::ScalableTag<uint32_t> d32;
    const hn::Rebind<uint16_t, decltype(d32)> d16;
    for (int64_t n = 0; n < wide; n += kBf16Columns) {
      uint16_t* const pairs = to + n * deep + j * kBf16Columns;
      for (int64_t c = 0; c < kBf16Columns; c += static_cast<int64_t>(hn::Lanes(d32))) {
        const auto low = hn::PromoteTo(d32, hn::LoadU(d16, row + n + c));
        const auto high = hn::PromoteTo(d32, hn::LoadU(d16, next + n + c));
        put_pairs(hn::Or(low, hn::ShiftLeft<16>(high)), pairs + 2 * c);
      }
    }
  }
}

// Rounds a row of y to bfloat16, in the type that it is stored in. False where one is not finite.
HWY_INLINE bool put_result(float* sums, float inverse, int64_t size, bool wide, uint8_t* y) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, inverse);
  auto nothing = hn::Zero(d);  // 0 times each: NaN once one is not finite
  for (int64_t c = 0; c < size; c += lanes) {
    auto t = hn::Mul(hn::LoadU(d, sums + c), factor);
    t = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(size - c < lanes ? size - c : lanes)), t);
    nothing = hn::MulAdd(t, hn::Zero(d), nothing);
    hn::StoreU(t, d, sums + c);
  }
  if (!hn::AllFalse(d, hn::IsNaN(nothing))) return false;
  if (wide) {
    put_rounded(sums, size, reinterpret_cast<float*>(y));
  } else {
    put_rounded(sums, size, reinterpret_cast<uint16_t*>(y));
  }
  return true;
}

template <class Engine>
void block_of_queries(Engine& engine, const BlockOf& b, const BlockSlot& slot) {
  using Left = typename Engine::Left;
  const hn::ScalableTag<float> d;
  const AttentionBf16& s = *b.shape;
  const int64_t deep = round_up(s.head, kBf16Depth), wide = round_up(s.value_head, kBf16Columns);
  const int64_t all = round_up(s.keys, kBf16Depth), sums_row = wide + 16;
  Left* const left = static_cast<Left*>(slot.left);
  for (int64_t i = 0; i < b.rows; ++i) put_row(b.q, i, s.head, deep, left + i * (deep + 32));
  for (int64_t i = 0; i < kMostBlockRows; ++i) {
    slot.tops[i] = -HUGE_VALF;
    slot.totals[i] = 0;
  }
  RowOf of;
  of.cap = s.softcap > 0 ? s.scale / s.softcap : 0;
  of.factor = (s.softcap > 0 ? s.softcap : s.scale) * kLog2E;
  of.plain = s.added == nullptr && s.allowed == nullptr && s.softcap <= 0 && s.scale > 0;

  const int64_t keys = b.reach(b.rows - 1);
  for (int64_t j = 0; j < keys; j += kBlockKeys) {
    const int64_t count = round_up(smaller(kBlockKeys, keys - j), kBf16Columns);
    engine.run({left, deep + 32, slot.keys + j * deep, kBf16Columns * deep, count / kBf16Columns, deep, slot.scores,
                kScoreRow, false},
               b.rows);
    const auto row_of = [&](int64_t i) {
      const int64_t mask = b.mask_at + i * s.mask.row + j;
      of.added = s.added == nullptr ? nullptr : s.added + mask;
      of.allowed = s.allowed == nullptr ? nullptr : s.allowed + mask;
      return slot.scores + i * kScoreRow;
    };
    const auto seen = [&](int64_t i) { return larger(0, smaller(b.reach(i) - j, kBlockKeys)); };
    for (int64_t i = 0; i < b.rows; ++i) {
      float* const row = row_of(i);
      const float top = top_of_row(of, row, seen(i));
      slot.factors[i] = slot.tops[i];
      if (!(top <= slot.tops[i])) slot.tops[i] = top;
    }
    bool moved = false;
    for (int64_t i = 0; i < b.rows; i += static_cast<int64_t>(hn::Lanes(d))) {
      const auto was = hn::LoadU(d, slot.factors + i), is = hn::LoadU(d, slot.tops + i);
      const auto same = hn::Eq(was, is);
      moved = moved || !hn::AllTrue(d, same);
      hn::StoreU(
          hn::IfThenElse(same, hn::Set(d, 1.0f), power_of_weight(d, hn::Mul(hn::Sub(was, is), hn::Set(d, of.unit())))),
          d, slot.factors + i);
    }
    for (int64_t i = 0; i < b.rows; ++i) {
      float* const row = row_of(i);
      const float total = weights_of_row<Left>(of, row, seen(i), count, slot.tops[i]);
      slot.totals[i] = slot.totals[i] * slot.factors[i] + total;
    }
    for (int64_t i = 0; moved && j > 0 && i < b.rows; ++i) {
      if (slot.factors[i] == 1) continue;
      const auto factor = hn::Set(d, slot.factors[i]);
      float* const row = slot.sums + i * sums_row;
      for (int64_t c = 0; c < wide; c += static_cast<int64_t>(hn::Lanes(d)))
        hn::StoreU(hn::Mul(hn::LoadU(d, row + c), factor), d, row + c);
    }
    constexpr int64_t kWeightsRow = kScoreRow * static_cast<int64_t>(sizeof(float) / sizeof(Left));
    engine.run({reinterpret_cast<const Left*>(slot.scores), kWeightsRow, slot.values + j * kBf16Columns,
                kBf16Columns * all, wide / kBf16Columns, count, slot.sums, sums_row, j > 0},
               b.rows);
  }
  for (int64_t i = 0; i < b.rows; ++i) {
    float* const row = slot.sums + i * sums_row;
    uint8_t* const y = b.y_row(i);
    const float total = slot.totals[i];
    if (total == 0) {
      memset(y, 0, static_cast<size_t>(s.value_head) * (s.wide_y ? 4 : 2));
      continue;
    }
    if (put_result(row, 1 / total, s.value_head, s.wide_y, y)) continue;
    // The query as it stands in scratch: y may lie on q.
    plain_row(b, i, HeadRows(left + i * (deep + 32), 0, 0, sizeof(Left) == sizeof(float)), row);
    if (s.wide_y) {
      for (int64_t c = 0; c < s.value_head; ++c) row[c] = bf16_to_f32(f32_to_bf16(row[c]));
      memcpy(y, row, static_cast<size_t>(s.value_head) * sizeof(float));
    } else {
      put_rounded(row, s.value_head, reinterpret_cast<uint16_t*>(y));
    }
  }
}

// Blocks [begin, end) of all heads' queries.
template <class Engine>
void blocks_with(const AttentionBf16& s, const void* q, const void* k, const void* v, void* y, int64_t begin,
                 int64_t end, const BlockSlot& slot) {
  const int64_t blocks = (s.queries + Engine::kBlockRows - 1) / Engine::kBlockRows, group = s.q_heads / s.kv_heads;
  Engine engine;
  engine.begin();
  for (int64_t t = begin; t < end; ++t) {
    const int64_t first = t % blocks * Engine::kBlockRows, h = t / blocks % s.q_heads, batch = t / blocks / s.q_heads;
    const int64_t kv = h / group, y_at = batch * s.y.batches + h * s.y.heads + first * s.y.row;
    const BlockOf b = {&s,
                       HeadRows(q, batch * s.q.batches + h * s.q.heads + first * s.q.row, s.q.row, s.wide_q),
                       HeadRows(k, batch * s.k.batches + kv * s.k.heads, s.k.row, s.wide_k),
                       HeadRows(v, batch * s.v.batches + kv * s.v.heads, s.v.row, s.wide_v),
                       static_cast<uint8_t*>(y) + y_at * (s.wide_y ? 4 : 2),
                       batch * s.mask.batches + h * s.mask.heads + first * s.mask.row,
                       first,
                       smaller(Engine::kBlockRows, s.queries - first)};
    if (*slot.head != batch * s.kv_heads + kv) {
      *slot.head = batch * s.kv_heads + kv;
      pack_keys(b.k, s.keys, s.head, static_cast<uint16_t*>(slot.left), slot.keys);
      pack_values(b.v, s.keys, s.value_head, static_cast<uint16_t*>(slot.left), slot.values);
    }
    block_of_queries(engine, b, slot);
  }
  engine.end();
}

int64_t bf16_block_height(bool tiles) {
#if VIREO_AMX && HWY_NATIVE_DOT_BF16
  if (tiles) return TileEngine<AmxTiles>::kBlockRows;
#endif
  (void)tiles;
  return VectorEngine::kBlockRows;
}
void bf16_blocks(bool tiles, const AttentionBf16& s, const void* q, const void* k, const void* v, void* y,
                 int64_t begin, int64_t end, const BlockSlot& slot) {
#if VIREO_AMX && HWY_NATIVE_DOT_BF16
  if (tiles) return blocks_with<TileEngine<AmxTiles>>(s, q, k, v, y, begin, end, slot);
#endif
  (void)tiles;
  blocks_with<VectorEngine>(s, q, k, v, y, begin, end, slot);
}

#if HWY_ONCE
void bf16_plain_blocks(const AttentionBf16& s, const void* q, const void* k, const void* v, void* y, int64_t count,
                       const BlockSlot& slot) {
  blocks_with<TileEngine<PlainTiles>>(s, q, k, v, y, 0, count, slot);
}
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(bf16_block_height);
HWY_EXPORT(bf16_blocks);

size_t attention_bf16_scratch_bytes(const AttentionBf16& s, int32_t slots) {
  return BlockRoom(s).all() * static_cast<size_t>(larger(slots, 1));
}

void attention_bf16(const AttentionBf16& s, const void* q, const void* k, const void* v, void* y,
                    const Parallel& parallel, void* scratch) {
  if (s.batch <= 0 || s.q_heads <= 0 || s.queries <= 0 || s.value_head <= 0) return;
  const auto run = HWY_DYNAMIC_POINTER(bf16_blocks);
  const bool tiles = has_amx_bf16();
  const int64_t height = HWY_DYNAMIC_DISPATCH(bf16_block_height)(tiles), blocks = (s.queries + height - 1) / height;
  const BlockRoom room(s);
  for (int32_t i = 0; i < larger(parallel.slots, 1); ++i) *BlockSlot(room, scratch, i).head = -1;
  // A piece is half a head at least where that leaves each thread two: a head is packed by all who have a part of it.
  const int64_t pieces = 2 * s.batch * s.q_heads, work = height * (s.keys + 1) * (s.head + s.value_head);
  const int64_t share = pieces >= 2 * parallel.slots ? (blocks + 1) / 2 : 1;
  parallel.for_range(s.batch * s.q_heads * blocks, larger(1 + (1 << 18) / work, share),
                     [&](int64_t begin, int64_t end, int32_t slot) {
                       run(tiles, s, q, k, v, y, begin, end, BlockSlot(room, scratch, slot));
                     });
}

void attention_bf16_plain_tiles(const AttentionBf16& s, const void* q, const void* k, const void* v, void* y,
                                void* scratch) {
  if (s.batch <= 0 || s.q_heads <= 0 || s.queries <= 0 || s.value_head <= 0) return;
  const BlockSlot slot(BlockRoom(s), scratch, 0);
  *slot.head = -1;
  const int64_t blocks = (s.queries + 2 * kTileRows - 1) / (2 * kTileRows);
  HWY_STATIC_DISPATCH(bf16_plain_blocks)(s, q, k, v, y, s.batch * s.q_heads * blocks, slot);
}
}  // namespace vireo::cpu
#endif
