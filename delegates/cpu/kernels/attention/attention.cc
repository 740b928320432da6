#include "delegates/cpu/kernels/attention/attention.h"

#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/attention/weights.h"
#include "delegates/cpu/kernels/gemm/gemm.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kBlockScores = 1 << 17;  // floats: half of the second-level cache of common cores
constexpr int64_t kFewestRows = 16;
constexpr int64_t kTileRows = 42;  // three register tiles with 32 registers, seven with 16
constexpr int64_t kFewestPacked =
    8;  // queries: below, turning keys into panels costs more than reading them as they lie
constexpr int64_t kPanelColumns = 32;  // of packed keys and values

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// Of a block: as many as leave its scores in the cache, a multiple of what register tiles are high.
int64_t rows_of(int64_t queries, int64_t keys) {
  const int64_t most = kBlockScores / larger(keys, 1);
  return smaller(queries, larger(kFewestRows, most < kTileRows ? most : most / kTileRows * kTileRows));
}

GemmF32 scores_product(const AttentionF32& s, int64_t rows, int64_t keys) {
  GemmF32 g;
  g.m = rows;
  g.n = keys;
  g.k = s.head;
  g.trans_b = true;
  g.lda = s.q.row;
  g.ldb = s.k.row;
  g.ldc = keys;
  if (s.softcap > 0) {
    g.epilogue.alpha = s.scale / s.softcap;
    g.epilogue.act.kind = Activation::kTanh;
  }
  return g;
}

GemmF32 values_product(const AttentionF32& s, int64_t rows, int64_t keys) {
  GemmF32 g;
  g.m = rows;
  g.n = s.value_head;
  g.k = keys;
  g.lda = keys;
  g.ldb = s.v.row;
  g.ldc = s.y.row;
  return g;
}

size_t up(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

// A slot's memory: which head's keys and values are packed in it, these, a block's scores and what its rows are divided
// by, what a product needs that packs on the way.
struct Room {
  size_t keys, values, scores, inverse, product;
  explicit Room(const AttentionF32& s) {
    const auto panels = [&](const GemmF32& g) {
      return s.queries < kFewestPacked ? 0 : up(static_cast<size_t>(gemm_f32_packed_floats(g)) * sizeof(float));
    };
    keys = panels(scores_product(s, s.queries, s.keys));
    values = panels(values_product(s, s.queries, s.keys));
    // Fewer keys let a block have more rows, so the bound is not that of these sizes alone.
    // Rows are bounded before they are multiplied: a damaged file may have any number of them.
    const int64_t rows = s.keys <= 0 ? 0 : larger(kFewestRows, (kBlockScores + s.keys - 1) / s.keys);
    const int64_t most = smaller(smaller(s.queries, rows) * s.keys, larger(kFewestRows * s.keys, kBlockScores));
    scores = up(static_cast<size_t>(larger(most, 0)) * sizeof(float));
    inverse = up(static_cast<size_t>(larger(s.queries, 0)) * sizeof(float));
    const size_t a = gemm_f32_scratch_bytes(scores_product(s, s.queries, s.keys), 1);
    const size_t b = gemm_f32_scratch_bytes(values_product(s, s.queries, s.keys), 1);
    product = up(a > b ? a : b);
  }
  size_t all() const { return kTagBytes + keys + values + scores + inverse + product; }

  static constexpr size_t kTagBytes = 64;
};

struct Slot {
  int64_t* head;  // that is packed, -1: none
  float *keys, *values, *scores, *inverse;
  void* product;

  Slot(const Room& room, void* scratch, int32_t slot) {
    uint8_t* at = static_cast<uint8_t*>(scratch) + static_cast<size_t>(slot) * room.all();
    head = reinterpret_cast<int64_t*>(at);
    keys = reinterpret_cast<float*>(at += Room::kTagBytes);
    values = reinterpret_cast<float*>(at += room.keys);
    scores = reinterpret_cast<float*>(at += room.values);
    inverse = reinterpret_cast<float*>(at += room.scores);
    product = at + room.inverse;
  }
};

// The sum of a row of y again where that is not finite. The product has added 0 times a NaN or infinity for each key
// that is not seen, and sums of weights may overflow where sums of their quotients do not.
void again_where_not_finite(const float* weights, float inverse, bool masked, int64_t keys, const float* v,
                            int64_t v_row, float* y, int64_t size) {
  bool finite = true;
  for (int64_t d = 0; d < size; ++d) finite = finite && isfinite(y[d]);
  if (finite || isnan(inverse)) return;
  memset(y, 0, static_cast<size_t>(size) * sizeof(float));
  for (int64_t j = 0; j < keys; ++j) {
    if (masked && weights[j] == 0) continue;
    for (int64_t d = 0; d < size; ++d) y[d] += weights[j] * inverse * v[j * v_row + d];
  }
}

// Queries [first, first + rows) of one head; `packed` keys and values lie in the slot.
void block(const AttentionF32& s, const float* q, const float* k, const float* v, float* y, int64_t mask_at,
           int64_t first, int64_t rows, bool keys_packed, bool values_packed, const Slot& slot) {
  const int64_t keys = s.causal ? larger(0, smaller(s.keys, s.offset + first + rows)) : s.keys;
  if (keys == 0) {
    for (int64_t i = 0; i < rows; ++i) memset(y + i * s.y.row, 0, static_cast<size_t>(s.value_head) * sizeof(float));
    return;
  }
  GemmF32 g = scores_product(s, rows, keys);
  if (keys_packed) g.packed = slot.keys;
  gemm_f32(g, q, k, slot.scores, Parallel{}, slot.product);

  WeightsOf of;
  of.scale = s.softcap > 0 ? s.softcap : s.scale;  // the mask is added to what is capped
  const int64_t mask_first = mask_at + first * s.mask.row;
  if (s.added != nullptr) of.added = s.added + mask_first;
  if (s.allowed != nullptr) of.allowed = s.allowed + mask_first;
  of.mask_row = s.mask.row;
  of.seen = s.causal ? s.offset + first + 1 : keys;
  of.seen_step = s.causal ? 1 : 0;
  attention_weights_f32(of, slot.scores, rows, keys, slot.inverse);

  g = values_product(s, rows, keys);
  if (values_packed && keys < s.keys) {  // panels are as deep as there are keys
    for (int64_t c = 0; c < s.value_head; c += kPanelColumns) {
      g.n = smaller(kPanelColumns, s.value_head - c);
      g.packed = slot.values + c * s.keys;
      gemm_f32(g, slot.scores, nullptr, y + c, Parallel{}, nullptr);
    }
  } else {
    if (values_packed) g.packed = slot.values;
    gemm_f32(g, slot.scores, v, y, Parallel{}, slot.product);
  }
  if (scale_rows_f32(y, s.y.row, rows, s.value_head, slot.inverse)) return;
  const bool masked = s.causal || s.added != nullptr || s.allowed != nullptr;
  for (int64_t i = 0; i < rows; ++i) {
    again_where_not_finite(slot.scores + i * keys, slot.inverse[i], masked, keys, v, s.v.row, y + i * s.y.row,
                           s.value_head);
  }
}

// One query a head, as when a text grows word by word: heads that share keys become the queries of one, so that keys
// and values are read once for all of them.
AttentionF32 one_query(const AttentionF32& shape) {
  AttentionF32 s = shape;
  const int64_t group = s.q_heads / s.kv_heads;
  s.queries = group;
  s.q_heads = s.kv_heads;
  const auto turn = [&](AttentionF32::Steps* steps) {
    steps->row = steps->heads;
    steps->heads *= group;
  };
  turn(&s.q);
  turn(&s.y);
  turn(&s.mask);
  if (s.causal) s.keys = larger(0, smaller(s.keys, s.offset + 1));
  s.causal = false;
  return s;
}

}  // namespace

size_t attention_f32_scratch_bytes(const AttentionF32& s, int32_t slots) {
  AttentionF32 free = s;
  free.causal = false;  // all keys, wherever a run's queries stand
  const size_t all = Room(s).all(), one = Room(one_query(free)).all();
  return (all > one ? all : one) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void attention_f32(const AttentionF32& shape, const float* q, const float* k, const float* v, float* y,
                   const Parallel& parallel, void* scratch) {
  if (shape.batch <= 0 || shape.q_heads <= 0 || shape.queries <= 0 || shape.value_head <= 0) return;
  const AttentionF32 s = shape.queries == 1 ? one_query(shape) : shape;
  const Room room(s);
  const int64_t group = s.q_heads / s.kv_heads;
  // At least four blocks a slot, so that none waits long for the last.
  const int64_t heads = s.batch * s.q_heads;
  const int64_t wanted = (4 * parallel.slots + heads - 1) / heads;
  const int64_t even = parallel.slots <= 1 ? s.queries : larger(kFewestRows, (s.queries + wanted - 1) / wanted);
  const int64_t rows = smaller(even, rows_of(s.queries, s.keys)), blocks = (s.queries + rows - 1) / rows;
  // Fewer rows than kFewestPacked add up in another order, and threads decide where blocks end: the last one gets so
  // many.
  const auto begin_of = [&](int64_t n) {
    if (n == blocks) return s.queries;
    return n > 0 && n == blocks - 1 ? smaller(n * rows, s.queries - kFewestPacked) : n * rows;
  };
  const int64_t work = rows * (s.keys + 1) * (s.head + s.value_head);
  // One block would read them once: the product packs, or reads in place, as it likes best.
  const bool again = s.queries >= kFewestPacked && group * blocks > 1;
  const bool keys_packed = again && gemm_f32_packed_floats(scores_product(s, s.queries, s.keys)) > 0;
  const bool values_packed = again && gemm_f32_packed_floats(values_product(s, s.queries, s.keys)) > 0;
  for (int32_t i = 0; i < larger(parallel.slots, 1); ++i) *Slot(room, scratch, i).head = -1;
  parallel.for_range(heads * blocks, 1 + (1 << 17) / work, [&](int64_t begin, int64_t end, int32_t number) {
    const Slot slot(room, scratch, number);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = begin_of(t % blocks), h = t / blocks % s.q_heads, b = t / blocks / s.q_heads;
      const int64_t kv = h / group;
      const float* const keys = k + b * s.k.batches + kv * s.k.heads;
      const float* const values = v + b * s.v.batches + kv * s.v.heads;
      if (*slot.head != b * s.kv_heads + kv) {
        *slot.head = b * s.kv_heads + kv;
        if (keys_packed) pack_gemm_f32(scores_product(s, s.queries, s.keys), keys, Parallel{}, slot.keys);
        if (values_packed) pack_gemm_f32(values_product(s, s.queries, s.keys), values, Parallel{}, slot.values);
      }
      block(s, q + b * s.q.batches + h * s.q.heads + first * s.q.row, keys, values,
            y + b * s.y.batches + h * s.y.heads + first * s.y.row, b * s.mask.batches + h * s.mask.heads, first,
            begin_of(t % blocks + 1) - first, keys_packed, values_packed, slot);
    }
  });
}

}  // namespace vireo::cpu
