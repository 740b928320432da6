#include "delegates/cpu/kernels/attention/codes.h"

#include "delegates/cpu/kernels/intgemm/intgemm.h"
#include "delegates/cpu/kernels/transpose/transpose.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kBlockBytes = 128 << 10;  // of scores
constexpr int64_t kFewestRows = 32;         // that turning the keys and packing both right sides is spread over
constexpr int64_t kGrainMacs = 1 << 19;     // 5 us and more

int64_t rows_of_block(const AttentionCodes& s) {
  int64_t rows = kBlockBytes / (s.keys > 0 ? s.keys : 1);
  rows = rows < kFewestRows ? kFewestRows : rows;
  return rows < s.queries ? rows : s.queries;
}

// Of all queries, where these are one block.
int64_t heads_of_block(const AttentionCodes& s, int64_t rows) {
  const int64_t heads = kBlockBytes / (rows * (s.keys > 0 ? s.keys : 1) + 1);
  return heads < 1 ? 1 : heads < s.heads ? heads : s.heads;
}

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) & ~size_t{63}; }

GemmI8 scores_of(const AttentionCodes& s, int64_t rows) {
  GemmI8 g;
  g.m = rows;
  g.n = g.ldb = g.ldc = s.keys;
  g.k = s.head;
  g.lda = s.q.row;
  g.a_signed = s.q_signed;
  g.b_signed = s.k_signed;
  g.a_zero = s.q_zero;
  g.b_zero = s.k_zero;
  g.finish = &s.scores;
  return g;
}

GemmI8 result_of(const AttentionCodes& s, int64_t rows) {
  GemmI8 g;
  g.m = rows;
  g.n = s.value_head;
  g.k = g.lda = s.keys;
  g.ldb = s.v.row;
  g.ldc = s.y.row;
  g.a_signed = s.shares_signed;
  g.b_signed = s.v_signed;
  g.a_zero = s.shares_zero;
  g.b_zero = s.v_zero;
  g.finish = &s.result;
  return g;
}

// Lines of a block's softmax: `count` queries from `first` on of each head from `head` on.
struct Lines {
  const AttentionCodes* s;
  int64_t head, first, count;
};
int64_t kept_of_line(const void* context, int64_t line) {
  const Lines& l = *static_cast<const Lines*>(context);
  const int64_t head = l.head + line / l.count;
  const AttentionCodes::Steps& steps = l.s->kept_steps;
  return head / l.s->heads * steps.batches + head % l.s->heads * steps.heads + (l.first + line % l.count) * steps.row;
}

struct Room {
  size_t keys = 0, scores = 0, product = 0;  // bytes of a thread
  size_t all() const { return keys + scores + product; }
};

Room room_of(const AttentionCodes& s) {
  // With fewer keys a block has more rows, up to all queries: both products' scratch is for that.
  const int64_t rows = s.queries;
  const int64_t block = kBlockBytes > kFewestRows * s.keys ? kBlockBytes : kFewestRows * s.keys;
  const int64_t all = s.heads * rows * s.keys;
  Room r;
  r.keys = aligned(s.keys * s.head);
  r.scores = aligned(all < block ? all : block);
  const size_t first = gemm_i8_scratch_bytes(scores_of(s, rows), true, 1);
  const size_t second = gemm_i8_scratch_bytes(result_of(s, rows), true, 1);
  r.product = first > second ? first : second;
  return r;
}

}  // namespace

size_t attention_codes_scratch_bytes(const AttentionCodes& s, int32_t slots) {
  return room_of(s).all() * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void attention_codes(const AttentionCodes& s, const uint8_t* q, const uint8_t* k, const uint8_t* v, uint8_t* y,
                     const Parallel& parallel, void* scratch) {
  if (s.batch <= 0 || s.heads <= 0 || s.queries <= 0 || s.value_head <= 0) return;
  const int64_t rows = rows_of_block(s), blocks = (s.queries + rows - 1) / rows;
  const Room room = room_of(s);
  SoftmaxCodes softmax;
  softmax.axis = s.keys;
  softmax.x_signed = s.scores_signed;
  softmax.multiplier = s.softmax_multiplier;
  softmax.table = s.table;
  softmax.finish = s.shares;
  softmax.kept = s.kept;
  softmax.kept_step = s.kept_key;
  StridedCopy turn;
  turn.rank = 2;
  turn.dims[0] = s.head;
  turn.dims[1] = s.keys;
  turn.strides[0] = 1;
  turn.strides[1] = s.k.row;
  const Parallel alone;
  const int64_t macs = rows * s.keys * (s.head + s.value_head) + 1;
  // Heads whose scores fit into one block share its softmax, whose tables cost as much as some lines.
  const int64_t items = s.batch * s.heads * blocks, together = blocks > 1 ? 1 : heads_of_block(s, rows);
  parallel.for_range(items, kGrainMacs / macs + 1, [&](int64_t begin, int64_t end, int32_t slot) {
    auto* const mine = static_cast<uint8_t*>(scratch) + static_cast<size_t>(slot) * room.all();
    uint8_t* const turned = mine;
    uint8_t* const scores = mine + room.keys;
    void* const product = scores + room.scores;
    int64_t turned_head = -1;
    const auto at = [&](int64_t head, const AttentionCodes::Steps& steps) {
      return head / s.heads * steps.batches + head % s.heads * steps.heads;
    };
    for (int64_t i = begin; i < end; i += together) {
      const int64_t heads = end - i < together ? end - i : together, first = i % blocks * rows;
      const int64_t count = s.queries - first < rows ? s.queries - first : rows;
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t head = i / blocks + h;
        GemmI8 g = scores_of(s, count);
        const uint8_t* columns = k + at(head, s.k);
        if (s.k_turned) {
          g.ldb = s.k.row;
        } else {
          if (turned_head != head) strided_copy(turn, 1, columns, turned, alone);
          turned_head = head;
          columns = turned;
        }
        gemm_i8(g, q + at(head, s.q) + first * s.q.row, columns, scores + h * count * s.keys, alone, product);
      }
      const Lines lines = {&s, i / blocks, first, count};
      SoftmaxCodes of_block = softmax;
      of_block.outer = heads * count;
      of_block.kept_at = kept_of_line;
      of_block.context = &lines;
      softmax_codes(of_block, scores, scores, alone);
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t head = i / blocks + h;
        gemm_i8(result_of(s, count), scores + h * count * s.keys, v + at(head, s.v),
                y + at(head, s.y) + first * s.y.row, alone, product);
      }
    }
  });
}

}  // namespace vireo::cpu
