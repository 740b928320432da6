// Two passes over the keys: the first finds each query's greatest score and the sum of exponentials, the second makes
// scores once more, and shares of them, which are multiplied with values. Weighed: one pass whose sums are scaled anew
// with each step, for which sums had to leave the matrix unit, because nobody says which lane has which row. Both
// passes are one loop, because what stands in the code twice is compiled twice.
#include "delegates/gpu/templates/attention.h"

#include <math.h>

#include <algorithm>
#include <functional>

#include "delegates/gpu/templates/attention_body.h"
#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/math.h"
#include "delegates/gpu/templates/matrix_stage.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr size_t kMostBatchAxes = 4;
constexpr int64_t kFill = 96;  // workgroups that keep a device busy

uint32_t up(int64_t n, uint32_t step) { return static_cast<uint32_t>((n + step - 1) / step * step); }

// Sizes of shared memory, in quads.
struct Sizes {
  uint32_t rows, lanes, depth, columns;  // of a workgroup; elements of a head and of a value, rounded up
  uint32_t scores, shares;               // quads from a query to the next
  uint32_t stage_k, stage_v, of_scores, of_shares;

  Sizes(const AttentionProblem& p, const AttentionTiling& t) {
    rows = t.down * t.unit.m;
    lanes = t.down * t.across * t.unit.lanes;
    depth = up(p.head, std::max(t.unit.k, kChunk));
    columns = up(p.value_head, std::max(t.unit.n, kChunk));
    scores = std::max(t.keys, columns) / 4 + 1;  // also the sums on their way out
    shares = t.keys / kChunk + 1;
    stage_k = std::max(most_quads(t.keys, depth), most_quads(rows, depth));
    stage_v = most_quads(columns, t.keys);
    of_scores = rows * scores;
    of_shares = rows * shares;
  }
  uint32_t quads() const { return stage_k + stage_v + of_scores + of_shares; }
  uint32_t bytes() const { return 16 * quads() + 2 * 4 * lanes; }
};

std::string refuse_tiling(const AttentionProblem& p, const AttentionTiling& t, const Target& target) {
  if (t.unit.m == 0) return "attention in one launch without a matrix unit";
  if (t.unit.m % 8 != 0 || t.unit.n % 8 != 0 || t.unit.k % 8 != 0 || t.down == 0 || t.across == 0 || t.keys == 0)
    return "attention by a matrix unit of odd sizes";
  if (p.shares > 1 && p.share_keys % t.keys != 0) return "attention in shares that steps do not divide";
  const Sizes s(p, t);
  if (t.keys % t.unit.k != 0 || t.keys / t.unit.n % t.across != 0 || t.keys % t.unit.n != 0 ||
      s.columns / t.unit.n % t.across != 0 || s.lanes % s.rows != 0 || t.keys % (kChunk * (s.lanes / s.rows)) != 0)
    return "attention in tiles that subgroups do not divide";
  if (s.lanes > std::min(target.workgroup, target.workgroup_x)) return "attention of more lanes than this GPU has";
  return s.bytes() <= target.shared_bytes
             ? ""
             : "attention of " + std::to_string(s.bytes()) + " bytes, more than this GPU shares";
}

// Registers of a lane for a step's keys and values on their way to shared memory, one by one. With more of them than
// this, clang spills for AMD's chips. Vulkan's drivers were measured without a limit.
constexpr uint32_t kMostWords = 80;
uint32_t words_of_lane(const AttentionProblem& p, const AttentionTiling& t) {
  const Sizes s(p, t);
  return t.keys * (s.depth + s.columns) / s.lanes;
}

class Attention : AttentionBody {
 public:
  Attention(const AttentionProblem& p, const AttentionTiling& t, const Target& target)
      : AttentionBody(p, t, target), s_(p, t) {}

  Dispatch run() {
    write();
    return take(s_.rows, s_.lanes);
  }

 private:
  void write() {
    const Operands operands = find_operands();
    uint32_t binding = 3;
    Evaluator score(b_, target_, numbers_, p_.score, &binding);
    Evaluator epilogue(b_, target_, numbers_, p_.epilogue, &binding);
    epilogue.bind_outputs(numbers_, &binding);
    find_tile(s_.rows);
    array_ = b_.shared(Type::kQuad, s_.quads());
    scores_ = s_.stage_k + s_.stage_v;
    shares_ = scores_ + s_.of_scores;
    make_matrices();
    find_share();
    {
      MatrixStage qs(b_, target_, operands.q, s_.rows, s_.depth, s_.lanes, 0);
      qs.take(row0_, queries_, p_.queries, target_.open);
      qs.fetch(b_.u32(0), head_, p_.head, false);
      qs.keep(array_, b_.u32(0));
      b_.barrier();
      for (size_t i = 0; i < lefts_.size(); ++i)
        b_.matrix_load(lefts_[i], array_, qs.first_quad(b_.u32(0), sub_row_, 0, static_cast<uint32_t>(i) * t_.unit.k),
                       qs.layout().pitch, !qs.layout().along_k);
      b_.barrier();
    }
    MatrixStage ks(b_, target_, operands.k, t_.keys, s_.depth, s_.lanes, 0),
        vs(b_, target_, operands.v, s_.columns, t_.keys, s_.lanes, s_.stage_k);
    vs.take(b_.u32(0), value_head_, p_.value_head, false);
    Both both = {ks, vs, score};
    find_row();
    most_ = b_.variable(b_.f32(-INFINITY));
    sum_ = b_.variable(b_.f32(0));
    if ((p_.shares > 1 ? p_.share_keys : p_.keys) <= t_.keys) {
      one_step(both);
    } else {
      all_steps(both);
    }
    if (p_.shares > 1) {
      const Value row = row0_ + row_;
      b_.when((part_ == 0) & (row < queries_), [&] { write_statistics(binding, row, most_.get(), sum_.get()); });
    }
    finish(epilogue);
  }

  // What steps work with.
  struct Both {
    MatrixStage &ks, &vs;
    Evaluator& score;
  };
  void fetch_keys(const Both& both, Value from) {
    both.ks.take(from, keys_, p_.keys, target_.open);
    both.ks.fetch(b_.u32(0), head_, p_.head, false);
  }
  void fetch_values(const Both& both, Value from) { both.vs.fetch(from, keys_, p_.keys, target_.open); }

  // All keys are one step: their scores stay where they are.
  void one_step(const Both& both) {
    fetch_keys(both, first_);
    fetch_values(both, first_);
    both.ks.keep(array_, b_.u32(0));
    both.vs.keep(array_, b_.u32(0));
    b_.barrier();
    multiply_keys(both.ks);
    b_.barrier();
    const bool one_chunk = t_.keys / kChunk == s_.lanes / s_.rows;  // a lane; its scores stay in registers
    std::array<Value, kChunk> kept;
    for_chunks([&](Value chunk) {
      kept = scores_of(both.score, first_, chunk);
      count(kept, most_, sum_);
    });
    const Scaling scaling = over_row();
    for_chunks(
        [&](Value chunk) { keep_shares(chunk, one_chunk ? kept : scores_of(both.score, first_, chunk), scaling); });
    b_.barrier();
    sum_values(both.vs);
    b_.barrier();
  }

  // A turn asks for the keys of its step, works on those of the step before it, and keeps its own. The second half of
  // the turns is the second pass.
  void all_steps(const Both& both) {
    const Value count_of_steps = (end_ - first_ + (t_.keys - 1)) / t_.keys;
    const Variable greatest = b_.variable(b_.f32(0)), scale = b_.variable(b_.f32(0));
    const auto step_of = [&](Value turn, Value second) {
      return first_ + b_.select(second, turn - count_of_steps, turn) * t_.keys;
    };
    b_.loop(b_.u32(0), count_of_steps * 2 + 1, 1, [&](Value turn) {
      const Value more = turn < count_of_steps * 2, second = turn >= count_of_steps;
      b_.when(more, [&] {
        const Value from = step_of(turn, second);
        fetch_keys(both, from);
        b_.when(second, [&] { fetch_values(both, from); });
      });
      b_.when(turn != 0, [&] {
        const Value done = turn - 1, shares = done >= count_of_steps, from = step_of(done, shares);
        multiply_keys(both.ks);
        b_.barrier();
        b_.when(done == count_of_steps, [&] {
          const Scaling scaling = over_row();
          greatest.set(scaling.against);
          scale.set(scaling.scale);
        });
        const Scaling scaling = {greatest.get(), scale.get()};
        for_chunks([&](Value chunk) {
          const std::array<Value, kChunk> scores = scores_of(both.score, from, chunk);
          b_.when(
              shares, [&] { keep_shares(chunk, scores, scaling); }, [&] { count(scores, most_, sum_); });
        });
        b_.when(shares, [&] {
          b_.barrier();
          sum_values(both.vs);
        });
        b_.barrier();
      });
      b_.when(more, [&] {
        both.ks.keep(array_, b_.u32(0));
        b_.when(second, [&] { both.vs.keep(array_, b_.u32(0)); });
      });
      b_.barrier();
    });
  }

  // What a row's scores become: exp(score - against) * scale.
  struct Scaling {
    Value against, scale;
  };
  void keep_shares(Value chunk, const std::array<Value, kChunk>& scores, const Scaling& scaling) {
    std::array<Value, kChunk> e;
    for (size_t i = 0; i < kChunk; ++i) e[i] = exp_of(scores[i] - scaling.against) * scaling.scale;
    b_.shared_store(array_, row_ * s_.shares + shares_ + chunk,
                    b_.join({b_.pack_halves(e[0], e[1]), b_.pack_halves(e[2], e[3]), b_.pack_halves(e[4], e[5]),
                             b_.pack_halves(e[6], e[7])}));
  }

  void make_matrices() {
    const Value subgroup = b_.subgroup();
    sub_row_ = subgroup / t_.across * t_.unit.m;
    column_ = subgroup % t_.across;
    for (uint32_t i = 0; i < s_.depth / t_.unit.k; ++i) lefts_.push_back(b_.matrix(Builder::Role::kLeft));
    left_ = b_.matrix(Builder::Role::kLeft);
    right_ = b_.matrix(Builder::Role::kRight);
    for (uint32_t j = 0; j < t_.keys / t_.unit.n / t_.across; ++j)
      products_.push_back(b_.matrix(Builder::Role::kTotal));
    for (uint32_t j = 0; j < s_.columns / t_.unit.n / t_.across; ++j) sums_.push_back(b_.matrix(Builder::Role::kTotal));
    for (const uint32_t sum : sums_) b_.matrix_zero(sum);
  }

  // Line `j` of a subgroup's matrices, of `count`.
  Value line_of(size_t j, size_t count) {
    return (column_ * static_cast<int64_t>(count) + static_cast<int64_t>(j)) * t_.unit.n;
  }
  // The quad of a row of scores where the subgroup's matrix at `line` begins.
  Value score_quad(Value line) { return sub_row_ * s_.scores + scores_ + line / 4; }

  void multiply_keys(const MatrixStage& ks) {
    for (const uint32_t product : products_) b_.matrix_zero(product);
    for (size_t i = 0; i < lefts_.size(); ++i) {
      for (size_t j = 0; j < products_.size(); ++j) {
        const Value line = line_of(j, products_.size());
        b_.matrix_load(right_, array_, ks.first_quad(b_.u32(0), line, 0, static_cast<uint32_t>(i) * t_.unit.k),
                       ks.layout().pitch, ks.layout().along_k);
        b_.matrix_multiply(lefts_[i], right_, products_[j]);
      }
    }
    for (size_t j = 0; j < products_.size(); ++j)
      b_.matrix_store(products_[j], array_, score_quad(line_of(j, products_.size())), s_.scores);
  }

  void sum_values(const MatrixStage& vs) {
    for (uint32_t k = 0; k < t_.keys; k += t_.unit.k) {
      b_.matrix_load(left_, array_, sub_row_ * s_.shares + shares_ + k / kChunk, s_.shares, false);
      for (size_t j = 0; j < sums_.size(); ++j) {
        b_.matrix_load(right_, array_, vs.first_quad(b_.u32(0), line_of(j, sums_.size()), 0, k), vs.layout().pitch,
                       vs.layout().along_k);
        b_.matrix_multiply(left_, right_, sums_[j]);
      }
    }
  }

  // Each query's scores are shared by neighbouring lanes, chunk by chunk.
  void find_row() {
    const uint32_t each = s_.lanes / s_.rows;
    row_ = lane_ / each;
    part_ = lane_ % each;
    const Value row = row0_ + row_;
    place_ = batch_;
    place_.push_back(p_.queries % s_.rows == 0 && !target_.open ? row : b_.select(row < queries_, row, queries_ - 1));
  }
  void for_chunks(const std::function<void(Value)>& f) {
    const uint32_t each = s_.lanes / s_.rows, chunks = t_.keys / kChunk;
    if (chunks == each) return f(part_);
    b_.loop(part_, b_.u32(chunks), each, f);
  }

  // Scores of a chunk; those behind the last key have no share.
  std::array<Value, kChunk> scores_of(Evaluator& score, Value from, Value chunk) {
    std::array<Value, kChunk> out;
    for (uint32_t half = 0; half < 2; ++half) {
      const Value quad = b_.shared_load(array_, row_ * s_.scores + scores_ + chunk * 2 + half);
      for (uint32_t e = 0; e < 4; ++e) {
        const Value key = from + chunk * kChunk + (4 * half + e), inside = key < keys_;
        const bool whole = p_.keys % t_.keys == 0 && !target_.open;  // share_keys is a multiple of a step's
        std::vector<Value> place = place_;
        place.push_back(whole ? key : b_.select(inside, key, keys_ - 1));
        const Value v = score.output(score.at(place, {b_.bitcast(b_.part(quad, e), Type::kF32)}), 0);
        out[4 * half + e] = whole ? v : b_.select(inside, v, b_.f32(-INFINITY));
      }
    }
    return out;
  }

  // What exponentials are taken against: a row without any share has none.
  Value base(Value most) { return b_.select(most == b_.f32(-INFINITY), b_.f32(0), most); }

  void count(const std::array<Value, kChunk>& scores, const Variable& most, const Variable& sum) {
    const Value before = most.get();
    Value now = before;
    for (const Value v : scores) now = b_.select(now < v, v, now);
    const Value against = base(now);
    Value added = sum.get() * exp_of(before - against);
    for (const Value v : scores) added = added + exp_of(v - against);
    most.set(now);
    sum.set(added);
  }

  // What the lanes of a row have found together, in *most_ and *sum_ of each.
  Scaling over_row() {
    const uint32_t each = s_.lanes / s_.rows, greatest = b_.shared(Type::kF32, s_.lanes),
                   sums = b_.shared(Type::kF32, s_.lanes);
    const Value most = most_.get();
    b_.shared_store(greatest, lane_, most);
    b_.shared_store(sums, lane_, sum_.get());
    b_.barrier();
    Value all = most;
    for (uint32_t i = 0; i < each; ++i) {
      const Value other = b_.shared_load(greatest, row_ * each + i);
      all = b_.select(all < other, other, all);
    }
    const Value against = base(all);
    Value total = b_.f32(0);
    for (uint32_t i = 0; i < each; ++i) {
      const Value other = b_.shared_load(greatest, row_ * each + i);
      total = total + b_.shared_load(sums, row_ * each + i) * exp_of(other - against);
    }
    most_.set(all);
    sum_.set(total);
    const Value none = b_.f32(0);
    return {against, b_.select(total == none, none, b_.f32(1) / total)};
  }

  void finish(Evaluator& epilogue) {
    for (size_t j = 0; j < sums_.size(); ++j)
      b_.matrix_store(sums_[j], array_, score_quad(line_of(j, sums_.size())), s_.scores);
    b_.barrier();
    const uint32_t fours = s_.columns / 4;
    b_.loop(lane_, b_.u32(s_.rows * fours), s_.lanes, [&](Value at) {
      const Value line = at / fours, four = at % fours, row = row0_ + line, column = four * 4;
      b_.when((row < queries_) & (column < value_head_), [&] {
        const Value quad = b_.shared_load(array_, line * s_.scores + scores_ + four);
        std::array<Value, 4> sums;
        for (uint32_t j = 0; j < 4; ++j) sums[j] = b_.bitcast(b_.part(quad, j), Type::kF32);
        store_four(epilogue, row, column, sums);
      });
    });
  }

  const Sizes s_;
  std::vector<Value> place_;
  Value sub_row_, column_, row_, part_;
  Variable most_, sum_;  // of a lane's scores, then of a row's
  uint32_t array_ = 0, scores_ = 0, shares_ = 0, left_ = 0, right_ = 0;
  std::vector<uint32_t> lefts_, products_, sums_;
};

std::string refuse_problem(const AttentionProblem& p, const Target& target) {
  const size_t axes = p.batch.size() + 2;
  if (p.batch.size() > kMostBatchAxes || p.q.batch.size() != p.batch.size() || p.k.batch.size() != p.batch.size() ||
      p.v.batch.size() != p.batch.size())
    return "attention over batches of different ranks";
  for (const MatrixView* view : {&p.q, &p.k, &p.v}) {
    if (view->dtype != DType::kF16 && view->dtype != DType::kF32)
      return "attention of " + std::string(dtype_name(view->dtype)) + " by a matrix unit";
  }
  std::string why = refuse(p.score, axes, target);
  if (why.empty()) why = refuse(p.epilogue, p.shares > 1 ? axes + 1 : axes, target);
  if (why.empty() && p.shares > 1 && p.shares != (p.keys + p.share_keys - 1) / p.share_keys)
    why = "attention whose shares do not cover its keys";
  if (why.empty() && p.score.outputs.size() != 1) why = "scores without one output";
  for (const Output& o : p.epilogue.outputs) {
    const DType type = p.epilogue.type_of(o.value);
    if (why.empty() && !can_store(type, target))
      why = "this GPU cannot write elements of " + std::string(dtype_name(type)) + " one by one";
  }
  return why;
}

}  // namespace

AttentionTiling choose_attention(const AttentionProblem& p, const Target& target) {
  AttentionTiling best;
  if (target.units.empty()) return best;
  const MatrixUnit& unit = target.units[0];
  if (unit.known) best = choose_register_attention(p, target);
  if (best.unit.m != 0) return best;
  constexpr uint32_t kSubgroups[][2] = {{4, 2}, {2, 4}, {2, 2}, {4, 1}, {1, 4}, {1, 2}, {2, 1}, {1, 1}};
  for (const auto& [down, across] : kSubgroups) {
    for (const uint32_t keys : {128u, 64u, 32u}) {
      if (keys == 128 && p.keys > 128) continue;  // only where one step is enough
      if (keys > 32 && p.keys <= keys / 2) continue;
      const AttentionTiling t = {down, across, keys, {unit.m, unit.n, unit.k, target.subgroup}};
      if (!refuse_tiling(p, t, target).empty() || (target.hip != 0 && words_of_lane(p, t) > kMostWords)) continue;
      const int64_t rows = int64_t{down} * unit.m;
      if ((best.unit.m == 0 || down < best.down)) best = t;
      if ((p.queries + rows - 1) / rows * count_of(p.batch) >= kFill) return t;
    }
  }
  return best;
}

std::string refuse_attention(const AttentionProblem& p, const AttentionTiling& t, const Target& target) {
  std::string why = refuse_problem(p, target);
  if (why.empty()) why = t.unit.known ? refuse_register_tiling(p, t, target) : refuse_tiling(p, t, target);
  if (why.empty() && (count_of(p.batch) > target.groups_z || p.shares > target.groups_y))
    why = "attention of more heads than this GPU takes in a launch";
  return why;
}

Dispatch make_attention(const AttentionProblem& p, const AttentionTiling& t, const Target& target) {
  Dispatch out;
  out.refusal = refuse_attention(p, t, target);
  if (!out.refusal.empty()) return out;
  return t.unit.known ? make_register_attention(p, t, target) : Attention(p, t, target).run();
}

}  // namespace vireo::gpu
