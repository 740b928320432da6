// Two passes over the keys: the first finds each query's greatest score and the sum of exponentials, the second makes
// scores once more, and shares of them, which are multiplied with values. Weighed: one pass whose sums are scaled anew
// with each step, for which sums had to leave the matrix unit, because nobody says which lane has which row.
#include "delegates/gpu/templates/attention.h"

#include <math.h>

#include <algorithm>
#include <functional>

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
  const Sizes s(p, t);
  if (t.keys % t.unit.k != 0 || t.keys / t.unit.n % t.across != 0 || t.keys % t.unit.n != 0 ||
      s.columns / t.unit.n % t.across != 0 || s.lanes % s.rows != 0 || t.keys % (kChunk * (s.lanes / s.rows)) != 0)
    return "attention in tiles that subgroups do not divide";
  if (s.lanes > std::min(target.workgroup, target.workgroup_x)) return "attention of more lanes than this GPU has";
  return s.bytes() <= target.shared_bytes
             ? ""
             : "attention of " + std::to_string(s.bytes()) + " bytes, more than this GPU shares";
}

class Attention {
 public:
  Attention(const AttentionProblem& p, const AttentionTiling& t, const Target& target)
      : p_(p), t_(t), s_(p, t), target_(target), numbers_(b_, target) {}

  Dispatch run() {
    Dispatch out;
    const int64_t tiles = (p_.queries + s_.rows - 1) / s_.rows;
    out.groups = {static_cast<uint32_t>(tiles), 1, static_cast<uint32_t>(count_of(p_.batch))};
    write();
    out.program = std::move(b_.program());
    out.program.name = "attention" + describe(p_.score);
    out.program.size = {s_.lanes, 1, 1};
    out.push = numbers_.words();
    return out;
  }

 private:
  void write() {
    b_.program().unit = t_.unit;
    for (const int64_t d : p_.batch) extents_.push_back(numbers_(d));
    batch_ = unravel(b_.group(2), extents_);
    queries_ = numbers_(p_.queries);
    keys_ = numbers_(p_.keys);
    const Value head = numbers_(p_.head), value_head = numbers_(p_.value_head);
    const auto operand = [&](const MatrixView& view, uint32_t binding, int64_t lines, int64_t line, int64_t depth,
                             int64_t step) {
      return matrix_operand(b_, numbers_, view, binding, 0, lines, line, depth, step, batch_);
    };
    const ProductOperand q = operand(p_.q, 0, p_.queries, p_.q.row, p_.head, p_.q.column),
                         k = operand(p_.k, 1, p_.keys, p_.k.row, p_.head, p_.k.column),
                         v = operand(p_.v, 2, p_.value_head, p_.v.column, p_.keys, p_.v.row);
    uint32_t binding = 3;
    Evaluator score(b_, target_, numbers_, p_.score, &binding);
    Evaluator epilogue(b_, target_, numbers_, p_.epilogue, &binding);
    epilogue.bind_outputs(numbers_, &binding);
    row0_ = b_.group(0) * s_.rows;
    lane_ = b_.lane();
    array_ = b_.shared(Type::kQuad, s_.quads());
    scores_ = s_.stage_k + s_.stage_v;
    shares_ = scores_ + s_.of_scores;
    make_matrices();
    const bool single = p_.keys <= t_.keys;  // scores of one step stay where they are
    {
      MatrixStage qs(b_, target_, q, s_.rows, s_.depth, s_.lanes, 0);
      qs.take(row0_, queries_, p_.queries);
      qs.fetch(b_.u32(0), head, p_.head);
      qs.keep(array_, b_.u32(0));
      b_.barrier();
      for (size_t i = 0; i < lefts_.size(); ++i)
        b_.matrix_load(lefts_[i], array_, qs.first_quad(b_.u32(0), sub_row_, static_cast<uint32_t>(i) * t_.unit.k),
                       qs.layout().pitch, !qs.layout().along_k);
      b_.barrier();
    }
    MatrixStage ks(b_, target_, k, t_.keys, s_.depth, s_.lanes, 0),
        vs(b_, target_, v, s_.columns, t_.keys, s_.lanes, s_.stage_k);
    vs.take(b_.u32(0), value_head, p_.value_head);
    const auto fetch_keys = [&](Value from) {
      ks.take(from, keys_, p_.keys);
      ks.fetch(b_.u32(0), head, p_.head);
    };
    const auto fetch_values = [&](Value from) { vs.fetch(from, keys_, p_.keys); };

    find_row();
    const Variable most = b_.variable(b_.f32(-INFINITY)), sum = b_.variable(b_.f32(0));
    fetch_keys(b_.u32(0));
    if (single) fetch_values(b_.u32(0));
    steps(single, [&](Value from) {
      ks.keep(array_, b_.u32(0));
      if (single) vs.keep(array_, b_.u32(0));
      b_.barrier();
      if (!single) b_.when(from + t_.keys < keys_, [&] { fetch_keys(from + t_.keys); });
      multiply_keys(ks);
      b_.barrier();
      for_chunks([&](Value chunk) { count(scores_of(score, from, chunk), most, sum); });
    });
    const Value greatest = over_row(most.get(), sum);
    if (!single) {
      b_.barrier();
      fetch_keys(b_.u32(0));
      fetch_values(b_.u32(0));
    }
    const Value total = sum.get(), none = b_.f32(0);
    const Value scale = b_.select(total == none, none, b_.f32(1) / total);
    steps(single, [&](Value from) {
      if (!single) {
        ks.keep(array_, b_.u32(0));
        vs.keep(array_, b_.u32(0));
        b_.barrier();
        b_.when(from + t_.keys < keys_, [&] {
          fetch_keys(from + t_.keys);
          fetch_values(from + t_.keys);
        });
        multiply_keys(ks);
        b_.barrier();
      }
      for_chunks([&](Value chunk) {
        std::array<Value, kChunk> e = scores_of(score, from, chunk);
        for (Value& one : e) one = exp_of(one - greatest) * scale;
        b_.shared_store(array_, row_ * s_.shares + shares_ + chunk,
                        b_.join({b_.pack_halves(e[0], e[1]), b_.pack_halves(e[2], e[3]), b_.pack_halves(e[4], e[5]),
                                 b_.pack_halves(e[6], e[7])}));
      });
      b_.barrier();
      sum_values(vs);
      b_.barrier();
    });
    finish(epilogue, value_head);
  }

  void steps(bool single, const std::function<void(Value)>& step) {
    if (single) return step(b_.u32(0));
    b_.loop(b_.u32(0), keys_, t_.keys, step);
  }

  void make_matrices() {
    const Value subgroup = b_.subgroup();
    sub_row_ = subgroup / t_.across * t_.unit.m;
    column_ = subgroup % t_.across;
    for (uint32_t i = 0; i < s_.depth / t_.unit.k; ++i) lefts_.push_back(b_.matrix(Builder::Role::kLeft));
    share_ = b_.matrix(Builder::Role::kLeft);
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
        b_.matrix_load(right_, array_, ks.first_quad(b_.u32(0), line, static_cast<uint32_t>(i) * t_.unit.k),
                       ks.layout().pitch, ks.layout().along_k);
        b_.matrix_multiply(lefts_[i], right_, products_[j]);
      }
    }
    for (size_t j = 0; j < products_.size(); ++j)
      b_.matrix_store(products_[j], array_, score_quad(line_of(j, products_.size())), s_.scores);
  }

  void sum_values(const MatrixStage& vs) {
    for (uint32_t k = 0; k < t_.keys; k += t_.unit.k) {
      b_.matrix_load(share_, array_, sub_row_ * s_.shares + shares_ + k / kChunk, s_.shares, false);
      for (size_t j = 0; j < sums_.size(); ++j) {
        b_.matrix_load(right_, array_, vs.first_quad(b_.u32(0), line_of(j, sums_.size()), k), vs.layout().pitch,
                       vs.layout().along_k);
        b_.matrix_multiply(share_, right_, sums_[j]);
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
    place_.push_back(p_.queries % s_.rows == 0 ? row : b_.select(row < queries_, row, queries_ - 1));
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
        const bool whole = p_.keys % t_.keys == 0;
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

  // What the lanes of a row have found together: *sum, and the number that exponentials are taken against.
  Value over_row(Value most, const Variable& sum) {
    const uint32_t each = s_.lanes / s_.rows, greatest = b_.shared(Type::kF32, s_.lanes),
                   sums = b_.shared(Type::kF32, s_.lanes);
    b_.shared_store(greatest, lane_, most);
    b_.shared_store(sums, lane_, sum.get());
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
    sum.set(total);
    return against;
  }

  void finish(Evaluator& epilogue, Value value_head) {
    for (size_t j = 0; j < sums_.size(); ++j)
      b_.matrix_store(sums_[j], array_, score_quad(line_of(j, sums_.size())), s_.scores);
    b_.barrier();
    const uint32_t fours = s_.columns / 4;
    b_.loop(lane_, b_.u32(s_.rows * fours), s_.lanes, [&](Value at) {
      const Value line = at / fours, four = at % fours, row = row0_ + line, column = four * 4;
      b_.when((row < queries_) & (column < value_head), [&] {
        const Value quad = b_.shared_load(array_, line * s_.scores + scores_ + four);
        std::array<Value, 4> sums;
        for (uint32_t j = 0; j < 4; ++j) sums[j] = b_.bitcast(b_.part(quad, j), Type::kF32);
        const auto place = [&](Value c) {
          std::vector<Value> there = batch_;
          there.push_back(row);
          there.push_back(c);
          return there;
        };
        if (p_.value_head % 4 == 0) return epilogue.store_four(place(column), sums);
        for (uint32_t j = 0; j < 4; ++j) {
          b_.when(column + j < value_head,
                  [&] { epilogue.store(epilogue.at(place(column + j), {sums[j]}), place(column + j)); });
        }
      });
    });
  }

  const AttentionProblem& p_;
  const AttentionTiling& t_;
  const Sizes s_;
  const Target& target_;
  Builder b_;
  Numbers numbers_;
  std::vector<Value> extents_, batch_, place_;
  Value queries_, keys_, row0_, lane_, sub_row_, column_, row_, part_;
  uint32_t array_ = 0, scores_ = 0, shares_ = 0, share_ = 0, right_ = 0;
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
  if (why.empty()) why = refuse(p.epilogue, axes, target);
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
  constexpr uint32_t kSubgroups[][2] = {{4, 2}, {2, 4}, {2, 2}, {4, 1}, {1, 4}, {1, 2}, {2, 1}, {1, 1}};
  for (const auto& [down, across] : kSubgroups) {
    for (const uint32_t keys : {128u, 64u, 32u}) {
      if (keys == 128 && p.keys > 128) continue;  // only where one step is enough
      if (keys > 32 && p.keys <= keys / 2) continue;
      const AttentionTiling t = {down, across, keys, {unit.m, unit.n, unit.k, target.subgroup}};
      if (!refuse_tiling(p, t, target).empty()) continue;
      const int64_t rows = int64_t{down} * unit.m;
      if ((best.unit.m == 0 || down < best.down)) best = t;
      if ((p.queries + rows - 1) / rows * count_of(p.batch) >= kFill) return t;
    }
  }
  return best;
}

Dispatch make_attention(const AttentionProblem& p, const AttentionTiling& t, const Target& target) {
  Dispatch out;
  out.refusal = refuse_problem(p, target);
  if (out.refusal.empty()) out.refusal = refuse_tiling(p, t, target);
  if (out.refusal.empty() && count_of(p.batch) > target.groups_z)
    out.refusal = "attention of more heads than this GPU takes in a launch";
  if (!out.refusal.empty()) return out;
  return Attention(p, t, target).run();
}

}  // namespace vireo::gpu
