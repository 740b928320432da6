// One pass over the keys. Each subgroup has 16 queries; scores, shares and sums never leave its registers, because it
// is known which lane has which element: what a lane has of the scores is what the left operand of the second product
// takes. Subgroups beside each other take other keys of a step, and what they found is put together at the end.
#include <math.h>

#include <algorithm>
#include <array>

#include "delegates/gpu/templates/attention_body.h"
#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/matrix_stage.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kUnit = 16, kLanes = 32;
constexpr float kLog2E = 1.44269504f;

uint32_t up(int64_t n) { return static_cast<uint32_t>((n + kUnit - 1) / kUnit * kUnit); }

// Sizes of shared memory, in quads.
struct RegisterSizes {
  uint32_t rows, lanes, depth, columns;  // of a workgroup; elements of a head and of a value, rounded up
  uint32_t keys;                         // of a subgroup in a step
  uint32_t stage_k, stage_v;             // of a step
  uint32_t sums;                         // from a query to the next, on their way to be put together

  RegisterSizes(const AttentionProblem& p, const AttentionTiling& t) {
    rows = t.down * kUnit;
    lanes = t.down * t.across * kLanes;
    depth = up(p.head);
    columns = up(p.value_head);
    keys = t.keys / t.across;
    stage_k = std::max(most_quads(t.keys, depth), most_quads(rows, depth));
    stage_v = most_quads(columns, t.keys);
    sums = columns / 4 + 1;
  }
  uint32_t step() const { return stage_k + stage_v; }
  uint32_t merged(const AttentionTiling& t) const { return t.across > 1 ? t.across * rows * sums : 0; }
};

class RegisterAttention : AttentionBody {
 public:
  RegisterAttention(const AttentionProblem& p, const AttentionTiling& t, const Target& target)
      : AttentionBody(p, t, target), s_(p, t), whole_(p.keys % t.keys == 0 && !target.open) {}

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
    find_places();
    MatrixStage ks(b_, target_, operands.k, t_.keys, s_.depth, s_.lanes, 0),
        vs(b_, target_, operands.v, s_.columns, t_.keys, s_.lanes, s_.stage_k);
    copies_ = ks.copies() && vs.copies() && 2 * s_.step() * 16 <= target_.stage_bytes / 2;
    array_ = b_.shared(Type::kQuad, std::max((copies_ ? 2 : 1) * s_.step(), s_.merged(t_)));
    make_matrices();
    load_queries(operands.q);
    vs.take(b_.u32(0), value_head_, p_.value_head, false);
    all_steps(ks, vs, score);
    for (size_t r = 0; r < 2; ++r) {
      Value sum = sum_[r].get();
      sum = sum + b_.shuffle(sum, 1);
      sum = sum + b_.shuffle(sum, 2);
      sum_[r].set(sum);
    }
    if (t_.across > 1) {
      put_together(epilogue, binding);
    } else {
      finish(epilogue, binding);
    }
  }

  void find_places() {
    find_tile(s_.rows);
    const Value subgroup = b_.subgroup(), lane = lane_ % kLanes;
    down_ = subgroup / t_.across;
    across_ = subgroup % t_.across;
    line_ = lane / 4;
    column_ = (lane & 3) * 2;
    const Value mine = row0_ + down_ * kUnit + line_;
    for (size_t r = 0; r < 2; ++r) {
      rows_[r] = mine + static_cast<int64_t>(8 * r);
      row_inside_[r] = p_.queries % s_.rows == 0 && !target_.open ? b_.boolean(true) : rows_[r] < queries_;
    }
    find_share();
    for (size_t r = 0; r < 2; ++r) {
      most_[r] = b_.variable(b_.f32(-INFINITY));
      sum_[r] = b_.variable(b_.f32(0));
    }
  }

  void make_matrices() {
    for (uint32_t i = 0; i < s_.depth / kUnit; ++i) lefts_.push_back(b_.matrix(Builder::Role::kLeft));
    left_ = b_.matrix(Builder::Role::kLeft);
    right_ = b_.matrix(Builder::Role::kRight);
    for (uint32_t j = 0; j < s_.keys / kUnit; ++j) products_.push_back(b_.matrix(Builder::Role::kTotal));
    for (uint32_t j = 0; j < s_.columns / kUnit; ++j) sums_.push_back(b_.matrix(Builder::Role::kTotal));
    for (const uint32_t sum : sums_) b_.matrix_zero(sum);
  }

  void load_queries(const ProductOperand& q) {
    MatrixStage qs(b_, target_, q, s_.rows, s_.depth, s_.lanes, 0);
    qs.take(row0_, queries_, p_.queries, target_.open);
    qs.fetch(b_.u32(0), head_, p_.head, false);
    qs.keep(array_, b_.u32(0));
    b_.barrier();
    for (uint32_t i = 0; i < lefts_.size(); ++i)
      b_.matrix_load(lefts_[i], array_, qs.first_quad(b_.u32(0), down_ * kUnit, 0, i * kUnit), qs.layout().pitch,
                     !qs.layout().along_k);
    b_.barrier();
  }

  // While a step is worked on, the next one's keys and values are on their way.
  void all_steps(MatrixStage& ks, MatrixStage& vs, Evaluator& score) {
    const Value zero = b_.u32(0), step = b_.u32(s_.step());
    const auto ask = [&](Value from, Value place) {
      ks.take(from, keys_, p_.keys, target_.open);
      if (copies_) {
        ks.copy(array_, place, zero, head_, p_.head, false);
        vs.copy(array_, place, from, keys_, p_.keys, target_.open);
      } else {
        ks.fetch(zero, head_, p_.head, false);
        vs.fetch(from, keys_, p_.keys, target_.open);
      }
    };
    const auto keep = [&] {
      ks.keep(array_, zero);
      vs.keep(array_, zero);
    };
    ask(first_, zero);
    if (copies_) {
      b_.copy_group();
    } else {
      keep();
      b_.barrier();
    }
    const Variable here = b_.variable(zero);
    b_.loop(first_, end_, t_.keys, [&](Value from) {
      const Value next = from + t_.keys, more = next < end_, place = copies_ ? here.get() : zero;
      b_.when(more, [&] { ask(next, step - place); });
      if (copies_) {
        b_.copy_group();
        b_.copy_wait(1);
        b_.barrier();
      }
      work(ks, vs, score, from, place);
      b_.barrier();
      if (copies_) {
        here.set(step - place);
      } else {
        b_.when(more, keep);
        b_.barrier();
      }
    });
  }

  Value exponential(Value v) { return b_.unary(Op::kExp2, v * b_.f32(kLog2E)); }
  // Pairs first: a chain through all of them would be waited for at every link.
  template <class Join>
  static Value reduce(std::vector<Value> of, const Join& join) {
    while (of.size() > 1) {
      for (size_t i = 0; i < of.size() / 2; ++i) of[i] = join(of[2 * i], of[2 * i + 1]);
      if (of.size() % 2 != 0) of[of.size() / 2] = of.back();
      of.resize((of.size() + 1) / 2);
    }
    return of[0];
  }

  void work(const MatrixStage& ks, const MatrixStage& vs, Evaluator& score, Value from, Value place) {
    multiply_keys(ks, place);
    for (uint32_t j = 0; j < products_.size(); ++j) {
      for (uint32_t e = 0; e < 8; ++e) b_.matrix_set(products_[j], e, score_at(score, j, e, from));
    }
    if (!whole_) b_.when(from + t_.keys > keys_, [&] { leave_out(from); });
    // scores[r]: of one of the lane's queries, two neighbours of each eight keys.
    std::array<std::vector<Value>, 2> scores;
    for (const uint32_t product : products_) {
      for (uint32_t e = 0; e < 8; ++e) scores[e >> 1 & 1].push_back(b_.matrix_element(product, e));
    }
    std::array<Value, 2> factor;
    for (size_t r = 0; r < 2; ++r) {
      const Value before = most_[r].get();
      Value now = maximum(before, reduce(scores[r], [](Value a, Value b) { return maximum(a, b); }));
      for (const uint32_t mask : {1u, 2u}) now = maximum(now, b_.shuffle(now, mask));
      // What exponentials are taken against: a query without any share has none.
      const Value against = -(b_.select(now == b_.f32(-INFINITY), b_.f32(0), now) * b_.f32(kLog2E));
      const auto share = [&](Value v) { return b_.unary(Op::kExp2, fma(v, b_.f32(kLog2E), against)); };
      factor[r] = share(before);
      for (Value& v : scores[r]) v = share(v);
      most_[r].set(now);
      sum_[r].set(fma(sum_[r].get(), factor[r], reduce(scores[r], [](Value a, Value b) { return a + b; })));
    }
    for (const uint32_t sum : sums_) {
      for (uint32_t e = 0; e < 8; ++e) b_.matrix_set(sum, e, b_.matrix_element(sum, e) * factor[e >> 1 & 1]);
    }
    multiply_values(vs, scores, place);
  }

  void multiply_keys(const MatrixStage& ks, Value place) {
    const Value line = across_ * s_.keys;
    for (const uint32_t product : products_) b_.matrix_zero(product);
    for (uint32_t i = 0; i < lefts_.size(); ++i) {
      for (uint32_t j = 0; j < products_.size(); ++j) {
        b_.matrix_load(right_, array_, ks.first_quad(place, line, j * kUnit, i * kUnit), ks.layout().pitch,
                       ks.layout().along_k);
        b_.matrix_multiply(lefts_[i], right_, products_[j]);
      }
    }
  }
  void multiply_values(const MatrixStage& vs, const std::array<std::vector<Value>, 2>& shares, Value place) {
    const uint32_t each = vs.layout().along_k ? s_.keys / kChunk : s_.keys * vs.layout().pitch;
    const Value mine = place + across_ * each;
    for (uint32_t k = 0; k < products_.size(); ++k) {
      std::array<Value, 4> words;
      for (uint32_t w = 0; w < 4; ++w) {
        const std::vector<Value>& of = shares[w & 1];
        const size_t at = k * 4 + w / 2 * 2;
        words[w] = b_.pack_halves(of[at], of[at + 1]);
      }
      b_.matrix_set_left(left_, b_.join(words));
      for (uint32_t j = 0; j < sums_.size(); ++j) {
        b_.matrix_load(right_, array_, vs.first_quad(mine, b_.u32(0), j * kUnit, k * kUnit), vs.layout().pitch,
                       vs.layout().along_k);
        b_.matrix_multiply(left_, right_, sums_[j]);
      }
    }
  }

  Value key_of(uint32_t j, uint32_t e, Value from) const {
    return from + across_ * s_.keys + column_ + (j * kUnit + (e >> 2) * 8 + (e & 1));
  }
  Value score_at(Evaluator& score, uint32_t j, uint32_t e, Value from) {
    const size_t r = e >> 1 & 1;
    const Value key = key_of(j, e, from);
    std::vector<Value> place = batch_;
    place.push_back(b_.select(row_inside_[r], rows_[r], queries_ - 1));
    place.push_back(whole_ ? key : b_.select(key < keys_, key, keys_ - 1));
    return score.output(score.at(place, {b_.matrix_element(products_[j], e)}), 0);
  }
  // Keys behind the last one have no share.
  void leave_out(Value from) {
    for (uint32_t j = 0; j < products_.size(); ++j) {
      for (uint32_t e = 0; e < 8; ++e) {
        const Value inside = key_of(j, e, from) < keys_;
        b_.matrix_set(products_[j], e, b_.select(inside, b_.matrix_element(products_[j], e), b_.f32(-INFINITY)));
      }
    }
  }

  Value inverse(Value sum) { return b_.select(sum == b_.f32(0), b_.f32(0), b_.f32(1) / sum); }

  void write_four(Evaluator& epilogue, Value row, Value column, const std::array<Value, 4>& four) {
    b_.when((row < queries_) & (column < value_head_), [&] { store_four(epilogue, row, column, four); });
  }

  void finish(Evaluator& epilogue, uint32_t binding) {
    const std::array<Value, 2> scale = {inverse(sum_[0].get()), inverse(sum_[1].get())};
    const Value lane = lane_ % kLanes, row = row0_ + down_ * kUnit + line_ + (lane & 1) * 8;
    for (uint32_t j = 0; j < sums_.size(); ++j) {
      for (uint32_t e = 0; e < 8; ++e) b_.matrix_set(sums_[j], e, b_.matrix_element(sums_[j], e) * scale[e >> 1 & 1]);
      for (uint32_t half = 0; half < 2; ++half)
        write_four(epilogue, row, (lane & 2) * 2 + (j * kUnit + half * 8), four_of(b_, sums_[j], half));
    }
    if (p_.shares <= 1) return;
    for (size_t r = 0; r < 2; ++r) {
      b_.when((column_ == 0) & (rows_[r] < queries_),
              [&] { write_statistics(binding, rows_[r], most_[r].get(), sum_[r].get()); });
    }
  }

  // Subgroups beside each other have found sums over other keys, against other scores.
  void put_together(Evaluator& epilogue, uint32_t binding) {
    const Value lane = lane_ % kLanes, line = across_ * s_.rows + down_ * kUnit + line_;
    for (uint32_t j = 0; j < sums_.size(); ++j) {
      for (uint32_t half = 0; half < 2; ++half) {
        const std::array<Value, 4> four = four_of(b_, sums_[j], half);
        std::array<Value, 4> words;
        for (size_t e = 0; e < 4; ++e) words[e] = b_.bitcast(four[e], Type::kU32);
        b_.shared_store(array_, (line + (lane & 1) * 8) * s_.sums + (lane & 2) / 2 + (j * 4 + half * 2),
                        b_.join(words));
      }
    }
    for (size_t r = 0; r < 2; ++r) {
      const Value most = b_.bitcast(most_[r].get(), Type::kU32), sum = b_.bitcast(sum_[r].get(), Type::kU32);
      b_.when(column_ == 0, [&] {
        b_.shared_store(array_, (line + static_cast<int64_t>(8 * r)) * s_.sums + (s_.sums - 1),
                        b_.join({most, sum, b_.u32(0), b_.u32(0)}));
      });
    }
    b_.barrier();
    const uint32_t fours = s_.columns / 4;
    b_.loop(lane_, b_.u32(s_.rows * fours), s_.lanes, [&](Value at) {
      const Value of = at / fours, four = at % fours, row = row0_ + of;
      const auto quad_of = [&](uint32_t a, Value quad) {
        return b_.shared_load(array_, (of + int64_t{a} * s_.rows) * s_.sums + quad);
      };
      const auto part = [&](Value quad, uint32_t e) { return b_.bitcast(b_.part(quad, e), Type::kF32); };
      std::vector<Value> statistics;
      Value most = b_.f32(-INFINITY);
      for (uint32_t a = 0; a < t_.across; ++a) {
        statistics.push_back(quad_of(a, b_.u32(s_.sums - 1)));
        const Value other = part(statistics[a], 0);
        most = b_.select(most < other, other, most);
      }
      const Value against = b_.select(most == b_.f32(-INFINITY), b_.f32(0), most);
      Value total = b_.f32(0);
      std::array<Value, 4> sums;
      for (uint32_t a = 0; a < t_.across; ++a) {
        const Value weight = exponential(part(statistics[a], 0) - against), quad = quad_of(a, four);
        total = total + part(statistics[a], 1) * weight;
        for (uint32_t e = 0; e < 4; ++e) {
          const Value one = part(quad, e) * weight;
          sums[e] = a == 0 ? one : sums[e] + one;
        }
      }
      const Value scale = inverse(total);
      for (Value& v : sums) v = v * scale;
      write_four(epilogue, row, four * 4, sums);
      if (p_.shares > 1) b_.when((four == 0) & (row < queries_), [&] { write_statistics(binding, row, most, total); });
    });
  }

  const RegisterSizes s_;
  Value down_, across_, line_, column_;
  std::array<Value, 2> rows_, row_inside_;
  std::array<Variable, 2> most_, sum_;  // of the lane's two queries
  bool copies_ = false;
  const bool whole_;  // steps divide the keys; share_keys is a multiple of a step's
  uint32_t array_ = 0, left_ = 0, right_ = 0;
  std::vector<uint32_t> lefts_, products_, sums_;
};

}  // namespace

std::string refuse_register_tiling(const AttentionProblem& p, const AttentionTiling& t, const Target& target) {
  constexpr uint32_t kMostColumns = 128;  // of registers for sums and queries
  if (t.unit.m != kUnit || t.unit.n != kUnit || t.unit.k != kUnit || t.unit.lanes != kLanes || t.down == 0 ||
      t.across == 0 || t.keys == 0 || t.keys % (t.across * kUnit) != 0)
    return "attention in tiles that subgroups do not divide";
  const RegisterSizes s(p, t);
  if (p.shares > 1 && p.share_keys % t.keys != 0) return "attention in shares that steps do not divide";
  if (s.depth > kMostColumns || s.columns > kMostColumns) return "attention of heads that are longer than registers";
  if (s.lanes > std::min(target.workgroup, target.workgroup_x)) return "attention of more lanes than this GPU has";
  const uint32_t bytes = 16 * std::max(s.step(), s.merged(t));
  return bytes <= target.shared_bytes ? ""
                                      : "attention of " + std::to_string(bytes) + " bytes, more than this GPU shares";
}

// Subgroups below each other share the keys that are fetched; beside each other they shorten the way.
AttentionTiling choose_register_attention(const AttentionProblem& p, const Target& target) {
  constexpr int64_t kFill = 128;  // workgroups that keep a device busy
  AttentionTiling best;
  const MatrixUnit& unit = target.units[0];
  for (const uint32_t down : {4u, 2u, 1u}) {
    for (const uint32_t keys : {64u, 32u}) {
      const uint32_t across = 4 / down;
      if (across > 1 && p.keys <= keys * across / 2 && keys > 16) continue;
      const AttentionTiling t = {down, across, keys * across, {unit.m, unit.n, unit.k, target.subgroup, true}};
      if (!refuse_register_tiling(p, t, target).empty()) continue;
      best = t;
      const int64_t rows = int64_t{down} * kUnit;
      if ((p.queries + rows - 1) / rows * count_of(p.batch) >= kFill) return t;
      break;
    }
  }
  return best;
}

Dispatch make_register_attention(const AttentionProblem& p, const AttentionTiling& t, const Target& target) {
  return RegisterAttention(p, t, target).run();
}

}  // namespace vireo::gpu
