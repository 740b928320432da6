#include "delegates/cpu/kernels/chain/chain.h"

#include <string.h>

#include "delegates/cpu/kernels/half/half.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kBlock = 1024;   // elements: six blocks lie in a first-level cache of 32 KiB
constexpr int64_t kLongRow = 256;  // from here on a block lies within a row; shorter ones share a block
constexpr int kMaxRank = BinaryF32::kMaxRank;

// The result's axes, neighbours joined where every operand walks them as one. The last axis of an operand has step 0
// or 1.
struct Walk {
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  ChainOperand operands[ChainF32::kMaxOperands];
  bool dense[ChainF32::kMaxOperands] = {};  // lies as the result does
  bool one[ChainF32::kMaxOperands] = {};    // a number
  bool shares = false;                      // several rows share a block
  int64_t rows = 1;
  int64_t reduced = 1;  // elements that the end makes one of: whole rows
  int64_t row() const { return dims[rank - 1]; }
};

Walk collapsed(const ChainF32& chain, int rank, const int64_t* dims, const ChainOperand* operands) {
  Walk w;
  for (int k = 0; k < chain.operand_count; ++k) w.operands[k].data = operands[k].data;
  const int kept = rank - chain.end.axes;  // what is reduced does not join what is not
  bool begins = true;
  for (int i = 0; i < rank; ++i) {
    begins = begins || i == kept;
    if (i >= kept) w.reduced *= dims[i];
    if (dims[i] == 1) continue;
    bool joins = !begins;
    begins = false;
    for (int k = 0; joins && k < chain.operand_count; ++k)
      joins = w.operands[k].strides[w.rank - 1] == operands[k].strides[i] * dims[i];
    if (!joins) w.dims[w.rank++] = 1;
    w.dims[w.rank - 1] *= dims[i];
    for (int k = 0; k < chain.operand_count; ++k) w.operands[k].strides[w.rank - 1] = operands[k].strides[i];
  }
  if (w.rank == 0 || (chain.end.axes > 0 && w.reduced == 1)) w.dims[w.rank++] = 1;
  for (int i = 0; i < w.rank - 1; ++i) w.rows *= w.dims[i];
  for (int k = 0; k < chain.operand_count; ++k) {
    int64_t step = 1;
    w.dense[k] = w.one[k] = true;
    for (int i = w.rank - 1; i >= 0; --i) {
      w.one[k] = w.one[k] && w.operands[k].strides[i] == 0;
      w.dense[k] = w.dense[k] && (w.dims[i] == 1 || w.operands[k].strides[i] == step);
      step *= w.dims[i];
    }
  }
  w.shares = w.row() < kLongRow;
  if (chain.end.axes > 0 && 2 * w.row() <= kBlock) {  // nothing is written out for it: the more rows the better
    bool plain = true;
    for (int k = 0; k < chain.operand_count; ++k) plain = plain && (w.dense[k] || w.one[k]);
    w.shares = w.shares || plain;
  }
  return w;
}

// Elements of an operand for one block.
struct Source {
  const float* data;
  int64_t step;  // 0 or 1
};

// Where row `r` of operand `k` begins.
int64_t row_of(const Walk& w, int k, int64_t r) {
  int64_t at = 0;
  for (int i = w.rank - 2; i >= 0; --i) {
    at += r % w.dims[i] * w.operands[k].strides[i];
    r /= w.dims[i];
  }
  return at;
}

// `count` elements of an operand from `at` on: where they lie, or widened in `room`.
Source elements(const ChainF32& chain, const ChainOperand& from, int64_t at, int64_t count, float* room) {
  if (!chain.halves) return {static_cast<const float*>(from.data) + at, 1};
  f32_from_f16(static_cast<const uint16_t*>(from.data) + at, room, count, Parallel{});
  return {room, 1};
}
// One of them, for all of a block.
Source number(const ChainF32& chain, const ChainOperand& from, int64_t at, float* room) {
  if (!chain.halves) return {static_cast<const float*>(from.data) + at, 0};
  *room = f16_to_f32(static_cast<const uint16_t*>(from.data)[at]);
  return {room, 0};
}

void run_steps(const ChainF32& chain, const Source* operands, float* blocks, float* y, int64_t count) {
  for (int s = 0; s < chain.step_count; ++s) {
    const ChainStep& step = chain.steps[s];
    float* const to = s + 1 == chain.step_count ? y : blocks + step.y * kBlock;
    const auto source = [&](int16_t v) { return v >= 0 ? Source{blocks + v * kBlock, 1} : operands[-1 - v]; };
    const Source a = source(step.a);
    if (step.binary) {
      const Source b = source(step.b);
      BinaryF32 shape;
      shape.op = step.op;
      shape.rank = 1;
      shape.dims[0] = count;
      shape.a_strides[0] = a.step;
      shape.b_strides[0] = b.step;
      binary_f32(shape, a.data, b.data, to, Parallel{});
    } else if (a.step == 1) {
      activate_f32(a.data, to, count, step.act, Parallel{});
    } else {
      float one = 0;
      activate_f32(a.data, &one, 1, step.act, Parallel{});
      for (int64_t i = 0; i < count; ++i) to[i] = one;
    }
  }
}

// `rows` short rows from `first` on, in one block, to `y`: what broadcasts is written out.
void short_rows(const ChainF32& chain, const Walk& w, int64_t first, int64_t rows, float* blocks, float* y) {
  Source sources[ChainF32::kMaxOperands];
  const int64_t row = w.row();
  for (int k = 0; k < chain.operand_count; ++k) {
    const ChainOperand& from = w.operands[k];
    float* const out = blocks + (chain.blocks + k) * kBlock;
    if (w.dense[k]) {
      sources[k] = elements(chain, from, first * row, rows * row, out);
      continue;
    }
    if (w.one[k]) {
      sources[k] = number(chain, from, 0, out);
      continue;
    }
    sources[k] = {out, 1};
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = row_of(w, k, first + r);
      float* const to = out + r * row;
      if (from.strides[w.rank - 1] == 1) {
        const Source s = elements(chain, from, at, row, to);
        if (s.data != to) memcpy(to, s.data, static_cast<size_t>(row) * sizeof(float));
      } else {
        const float one = *number(chain, from, at, to).data;
        for (int64_t i = 0; i < row; ++i) to[i] = one;
      }
    }
  }
  run_steps(chain, sources, blocks, y, rows * row);
}

void long_row(const ChainF32& chain, const Walk& w, int64_t r, int64_t begin, int64_t count, float* blocks, float* y) {
  Source sources[ChainF32::kMaxOperands];
  for (int k = 0; k < chain.operand_count; ++k) {
    const int64_t step = w.operands[k].strides[w.rank - 1], at = row_of(w, k, r) + begin * step;
    float* const out = blocks + (chain.blocks + k) * kBlock;
    sources[k] = step == 1 ? elements(chain, w.operands[k], at, count, out) : number(chain, w.operands[k], at, out);
  }
  run_steps(chain, sources, blocks, y, count);
}

// Blocks of a slot: of the steps, of operands written out, and with an end of its value and of what blocks of it gave;
// of a value that is rounded.
int block_count(const ChainF32& chain) {
  return chain.blocks + chain.operand_count + (chain.end.axes > 0 ? 2 : chain.halves ? 1 : 0);
}
size_t slot_bytes(const ChainF32& chain) { return static_cast<size_t>(block_count(chain)) * kBlock * sizeof(float); }

// One result from more elements than a block has, piece by piece.
class Pieces {
 public:
  Pieces(Reduce kind, int64_t count, float* values) : kind_(kind), count_(count), values_(values) {}

  void take(const float* x, int64_t count) {
    if (taken_ == kBlock) {
      values_[0] = joined();
      taken_ = 1;
    }
    reduce_f32(kind_ == Reduce::kMean ? Reduce::kSum : kind_, x, values_ + taken_++, 1, count, 1, Parallel{});
  }
  float result() const { return kind_ == Reduce::kMean ? joined() / static_cast<float>(count_) : joined(); }

 private:
  float joined() const {
    const bool sums = kind_ == Reduce::kMean || kind_ == Reduce::kSumSquare || kind_ == Reduce::kSumAbs;
    float y = 0;
    reduce_f32(sums ? Reduce::kSum : kind_, values_, &y, 1, taken_, 1, Parallel{});
    return y;
  }

  const Reduce kind_;
  const int64_t count_;
  float* const values_;
  int64_t taken_ = 0;
};

// Results [first, first + count) of the end; more than one only where they have a block together.
void reduce_rows(const ChainF32& chain, const Walk& w, int64_t first, int64_t count, float* blocks, float* y) {
  float* const value = blocks + (block_count(chain) - 2) * kBlock;
  const int64_t row = w.row(), rows = w.reduced / row;
  if (w.shares && w.reduced <= kBlock) {
    short_rows(chain, w, first * rows, count * rows, blocks, value);
    reduce_f32(chain.end.kind, value, y + first, count, w.reduced, 1, Parallel{});
    return;
  }
  if (w.reduced <= kBlock) {
    for (int64_t r = 0; r < rows; ++r) long_row(chain, w, first * rows + r, 0, row, blocks, value + r * row);
    reduce_f32(chain.end.kind, value, y + first, 1, w.reduced, 1, Parallel{});
    return;
  }
  Pieces pieces(chain.end.kind, w.reduced, value + kBlock);
  const int64_t each = w.shares ? kBlock / row : 1;
  for (int64_t r = 0; r < rows; r += each) {
    if (w.shares) {
      const int64_t now = rows - r < each ? rows - r : each;
      short_rows(chain, w, first * rows + r, now, blocks, value);
      pieces.take(value, now * row);
      continue;
    }
    for (int64_t at = 0; at < row; at += kBlock) {
      const int64_t now = row - at < kBlock ? row - at : kBlock;
      long_row(chain, w, first * rows + r, at, now, blocks, value);
      pieces.take(value, now);
    }
  }
  y[first] = pieces.result();
}

}  // namespace

size_t chain_f32_scratch_bytes(const ChainF32& chain, int32_t slots) {
  return slot_bytes(chain) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void chain_f32(const ChainF32& chain, int rank, const int64_t* dims, const ChainOperand* operands, void* result,
               const Parallel& parallel, void* scratch) {
  float* const y = static_cast<float*>(result);
  const Walk w = collapsed(chain, rank, dims, operands);
  const int64_t row = w.row();
  const bool ends = chain.end.axes > 0;
  if (ends && w.reduced == 0) {
    int64_t kept = 1;
    for (int i = 0; i < rank - chain.end.axes; ++i) kept *= dims[i];
    reduce_f32(chain.end.kind, nullptr, y, kept, 0, 1, parallel);  // a root of 0 is 0
    return;
  }
  if (row == 0 || w.rows == 0) return;
  const auto blocks_of = [&](int32_t slot) {
    return reinterpret_cast<float*>(static_cast<uint8_t*>(scratch) + static_cast<size_t>(slot) * slot_bytes(chain));
  };
  // As many elements a range as one step alone asks for.
  const int64_t grain = 1 + 16384 / kBlock / chain.step_count;
  if (ends) {
    const int64_t results = w.rows * row / w.reduced;
    const int64_t each = w.shares && w.reduced <= kBlock ? kBlock / w.reduced : 1;
    const int64_t steps = chain.step_count + 1;
    parallel.for_range((results + each - 1) / each, 1 + 16384 / (each * w.reduced) / steps,
                       [&](int64_t begin, int64_t end, int32_t slot) {
                         for (int64_t i = begin; i < end; ++i) {
                           const int64_t left = results - i * each;
                           reduce_rows(chain, w, i * each, left < each ? left : each, blocks_of(slot), y);
                         }
                         const int64_t last = end * each < results ? end * each : results;
                         float* const from = y + begin * each;
                         if (chain.end.root)
                           activate_f32(from, from, last - begin * each, {Activation::kSqrt, 0, 0}, Parallel{});
                       });
    return;
  }
  // Where a block's value goes first, and what becomes of it.
  const auto value_at = [&](int32_t slot, int64_t at) {
    return chain.halves ? blocks_of(slot) + (block_count(chain) - 1) * kBlock : y + at;
  };
  const auto put = [&](const float* value, int64_t at, int64_t count) {
    if (chain.halves) f16_from_f32(value, static_cast<uint16_t*>(result) + at, count, Parallel{});
  };
  if (w.shares) {
    const int64_t each = kBlock / row;
    parallel.for_range((w.rows + each - 1) / each, grain, [&](int64_t begin, int64_t end, int32_t slot) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t left = w.rows - i * each, rows = left < each ? left : each, at = i * each * row;
        float* const value = value_at(slot, at);
        short_rows(chain, w, i * each, rows, blocks_of(slot), value);
        put(value, at, rows * row);
      }
    });
    return;
  }
  const int64_t parts = (row + kBlock - 1) / kBlock;
  parallel.for_range(w.rows * parts, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i % parts * kBlock, count = row - at < kBlock ? row - at : kBlock;
      const int64_t to = i / parts * row + at;
      float* const value = value_at(slot, to);
      long_row(chain, w, i / parts, at, count, blocks_of(slot), value);
      put(value, to, count);
    }
  });
}

}  // namespace vireo::cpu
