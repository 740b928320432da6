#include "delegates/cpu/kernels/attention/attention.h"

#include <math.h>
#include <string.h>

#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/kernels/softmax/softmax.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kBlockScores = 1 << 17;  // floats: half of the second-level cache of common cores
constexpr int64_t kFewestRows = 16;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t rows_of(int64_t queries, int64_t keys) {
  return smaller(queries, larger(kFewestRows, kBlockScores / larger(keys, 1)));
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
  g.epilogue.alpha = s.scale;
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

// A slot's memory: scores, marks of rows that see nothing, what a product needs.
struct Room {
  size_t scores, marks, product;
  explicit Room(const AttentionF32& s) {
    // Fewer keys let a block have more rows, so the bound is not that of these sizes alone.
    const int64_t most = smaller(s.queries * s.keys, larger(kFewestRows * s.keys, kBlockScores));
    scores = up(static_cast<size_t>(larger(most, 0)) * sizeof(float));
    marks = up(static_cast<size_t>(larger(s.queries, 0)));
    const size_t a = gemm_f32_scratch_bytes(scores_product(s, s.queries, s.keys), 1);
    const size_t b = gemm_f32_scratch_bytes(values_product(s, s.queries, s.keys), 1);
    product = up(a > b ? a : b);
  }
  size_t all() const { return scores + marks + product; }
};

bool sees_nothing(const float* row, int64_t keys) {
  for (int64_t j = 0; j < keys; ++j) {
    if (row[j] != -INFINITY) return false;
  }
  return true;
}

// Where a row of y is not finite: the sum again, without the values of keys that have no weight. A product has added
// 0 times a NaN or infinity for each of them.
void without_unseen(const float* weights, int64_t keys, const float* v, int64_t v_row, float* y, int64_t size) {
  bool finite = true;
  for (int64_t d = 0; d < size; ++d) finite = finite && isfinite(y[d]);
  if (finite) return;
  memset(y, 0, static_cast<size_t>(size) * sizeof(float));
  for (int64_t j = 0; j < keys; ++j) {
    for (int64_t d = 0; weights[j] != 0 && d < size; ++d) y[d] += weights[j] * v[j * v_row + d];
  }
}

// Queries [first, first + rows) of one head.
void block(const AttentionF32& s, const float* q, const float* k, const float* v, float* y, int64_t mask_at,
           int64_t first, int64_t rows, float* scores, uint8_t* marks, void* room) {
  const int64_t keys = s.causal ? larger(0, smaller(s.keys, s.offset + first + rows)) : s.keys;
  if (keys == 0) {
    for (int64_t i = 0; i < rows; ++i) memset(y + i * s.y.row, 0, static_cast<size_t>(s.value_head) * sizeof(float));
    return;
  }
  GemmF32 g = scores_product(s, rows, keys);
  const int64_t mask_first = mask_at + first * s.mask.row;
  if (s.added != nullptr && s.softcap <= 0) {
    g.epilogue.residual = s.added + mask_first;
    g.epilogue.residual_stride = s.mask.row;
  }
  gemm_f32(g, q, k, scores, Parallel{}, room);
  for (int64_t i = 0; s.softcap > 0 && i < rows; ++i) {  // the mask is added to what is capped
    RowFinish capped;
    capped.scale = s.softcap;
    if (s.added != nullptr) capped.residual = s.added + mask_first + i * s.mask.row;
    finish_row_f32(scores + i * keys, keys, capped);
  }
  const bool masked = s.causal || s.added != nullptr || s.allowed != nullptr;
  for (int64_t i = 0; masked && i < rows; ++i) {
    float* const row = scores + i * keys;
    if (s.allowed != nullptr) {
      const uint8_t* const may = s.allowed + mask_first + i * s.mask.row;
      for (int64_t j = 0; j < keys; ++j) row[j] = may[j] != 0 ? row[j] : -INFINITY;
    }
    for (int64_t j = larger(0, s.offset + first + i + 1); s.causal && j < keys; ++j) row[j] = -INFINITY;
    marks[i] = sees_nothing(row, keys);
  }
  softmax_f32(scores, scores, rows, keys, 1, false, Parallel{});
  for (int64_t i = 0; masked && i < rows; ++i) {
    if (marks[i] != 0) memset(scores + i * keys, 0, static_cast<size_t>(keys) * sizeof(float));
  }
  gemm_f32(values_product(s, rows, keys), scores, v, y, Parallel{}, room);
  for (int64_t i = 0; masked && i < rows; ++i) {
    without_unseen(scores + i * keys, keys, v, s.v.row, y + i * s.y.row, s.value_head);
  }
}

}  // namespace

size_t attention_f32_scratch_bytes(const AttentionF32& s, int32_t slots) {
  return Room(s).all() * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void attention_f32(const AttentionF32& s, const float* q, const float* k, const float* v, float* y,
                   const Parallel& parallel, void* scratch) {
  if (s.batch <= 0 || s.q_heads <= 0 || s.queries <= 0 || s.value_head <= 0) return;
  const Room room(s);
  const int64_t group = s.q_heads / s.kv_heads;
  // At least four blocks a slot, so that none waits long for the last.
  const int64_t heads = s.batch * s.q_heads;
  const int64_t wanted = (4 * parallel.slots + heads - 1) / heads;
  const int64_t even = parallel.slots <= 1 ? s.queries : larger(kFewestRows, (s.queries + wanted - 1) / wanted);
  const int64_t rows = smaller(even, rows_of(s.queries, s.keys)), blocks = (s.queries + rows - 1) / rows;
  const int64_t work = rows * (s.keys + 1) * (s.head + s.value_head);
  parallel.for_range(heads * blocks, 1 + (1 << 17) / work, [&](int64_t begin, int64_t end, int32_t slot) {
    uint8_t* const mine = static_cast<uint8_t*>(scratch) + static_cast<size_t>(slot) * room.all();
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t % blocks * rows, h = t / blocks % s.q_heads, b = t / blocks / s.q_heads, kv = h / group;
      block(s, q + b * s.q.batches + h * s.q.heads + first * s.q.row, k + b * s.k.batches + kv * s.k.heads,
            v + b * s.v.batches + kv * s.v.heads, y + b * s.y.batches + h * s.y.heads + first * s.y.row,
            b * s.mask.batches + h * s.mask.heads, first, smaller(rows, s.queries - first),
            reinterpret_cast<float*>(mine), mine + room.scores, mine + room.scores + room.marks);
    }
  });
}

}  // namespace vireo::cpu
