#include "delegates/gpu/templates/gemv.h"

#include <algorithm>
#include <memory>

#include "delegates/gpu/templates/rows_body.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kMostKeptOfRow = 16;  // elements of a row that a lane keeps while statistics are taken

bool is_narrow(DType t) { return t == DType::kF16 || t == DType::kBF16; }
bool is_coded(DType t) { return dtype_is_integer(t) && dtype_bits(t) <= 8; }
int64_t of_quad(DType t) { return 128 / dtype_bits(t); }  // elements of 16 bytes

// x in shared memory: the elements that lanes read together, `piece` apart, lie side by side, and those that they write
// together in different banks.
int64_t pitch_of(int64_t k, int64_t piece) { return (k / piece + 31) / 32 * 32 + 4; }

std::string refuse_numbers(const GemvProblem& p) {
  const auto is = [](DType t) { return t == DType::kF32 || is_narrow(t); };
  const bool coded = p.scales.block > 0 && dtype_bits(p.w_dtype) >= 4 && is_coded(p.w_dtype) && is(p.scales.dtype);
  if ((!coded && (!is(p.w_dtype) || p.scales.block != 0)) || (p.rows.empty() && !is(p.x_dtype)))
    return "the GPU has no product of " + std::string(dtype_name(p.x_dtype)) + " and " + dtype_name(p.w_dtype);
  const int64_t piece = of_quad(p.w_dtype), block = coded ? p.scales.block : 1;
  bool whole = p.k % piece == 0;
  const auto in_blocks = [&](int64_t elements) { return elements % block == 0; };
  if (p.rows.empty()) whole = whole && p.x_offset % of_quad(p.x_dtype) == 0 && p.k % of_quad(p.x_dtype) == 0;
  for (const GemvProblem::Columns& c : p.columns) {
    if (c.steps.size() != p.shape.size()) return "columns of another rank";
    whole = whole && c.offset % piece == 0 &&
            std::all_of(c.steps.begin(), c.steps.end(), [&](int64_t s) { return s % piece == 0; });
  }
  if (!whole) return "a row that is not read 16 bytes at a time";
  for (const GemvProblem::Columns& c : p.columns) {
    if ((coded && block % piece != 0) || !in_blocks(p.k) || !in_blocks(c.offset) ||
        !std::all_of(c.steps.begin(), c.steps.end(), in_blocks))
      return "columns that are no whole blocks of codes";
  }
  if (p.columns.empty() || p.epilogue.inputs.size() < p.columns.size()) return "an epilogue without its sums";
  for (size_t i = 0; i < p.columns.size(); ++i) {
    if (!p.epilogue.inputs[i].given || p.epilogue.inputs[i].dtype != DType::kF32) return "an epilogue without its sums";
  }
  return "";
}

std::string refuse_row(const RowsProblem& rows, int64_t k, const Target& target) {
  std::string why = refuse_rows(rows, target);
  const size_t outer = rows.shape.size() - static_cast<size_t>(rows.row_axes);
  const auto begin = rows.shape.begin() + static_cast<std::ptrdiff_t>(outer);
  if (why.empty() && (rows.per_row || rows.epilogue.outputs.size() != 1 || rows.epilogue.reports() ||
                      count_of({rows.shape.begin(), begin}) != 1 || count_of({begin, rows.shape.end()}) != k))
    why = "x is not one row";
  return why;
}

class Gemv {
 public:
  Gemv(const GemvProblem& problem, const GemvTiling& tiling, const Target& target)
      : p_(problem), t_(tiling), target_(target), numbers_(b_, target), elements_(b_, target) {}

  Dispatch run() {
    Dispatch out;
    out.refusal = refusal();
    if (!out.refusal.empty()) return out;
    const std::string name = "gemv" + (p_.rows.empty() ? "" : describe(p_.rows[0].epilogue)) + describe(p_.epilogue);
    const int64_t of_group = t_.lanes / target_.subgroup, places = count_of(p_.shape);
    out.refusal = cover((places + of_group - 1) / of_group, target_, &out);
    if (!out.refusal.empty()) return out;
    std::vector<size_t> parts;
    if (!p_.rows.empty()) {
      p_.rows[0].epilogue.outputs[0].view = View();  // it goes to shared memory
      fit_rows(p_.rows.data(), &parts);
    }
    write(parts, out);
    out.program = std::move(b_.program());
    out.program.name = name;
    out.program.size = {t_.lanes, 1, 1};
    out.push = numbers_.words();
    return out;
  }

 private:
  std::string refusal() const {
    std::string why = refuse_numbers(p_);
    if (why.empty() && !target_.shuffles) why = "lanes that exchange nothing";
    if (why.empty() &&
        (t_.lanes % target_.subgroup != 0 || t_.lanes > std::min(target_.workgroup, target_.workgroup_x) ||
         (t_.lanes & (t_.lanes - 1)) != 0 || t_.turns == 0))
      why = "a row among lanes that this GPU does not have";
    if (why.empty() && !p_.rows.empty()) why = refuse_row(p_.rows[0], p_.k, target_);
    if (why.empty() && !p_.rows.empty() && !fits_shared()) why = "a row that is longer than what this GPU shares";
    if (why.empty()) why = refuse(p_.epilogue, p_.shape.size(), target_);
    for (const Output& o : p_.epilogue.outputs) {
      const DType type = p_.epilogue.type_of(o.value);
      if (why.empty() && !can_store(type, target_))
        why = "this GPU cannot write elements of " + std::string(dtype_name(type)) + " one by one";
    }
    return why;
  }
  int64_t piece() const { return of_quad(p_.w_dtype); }  // of the depth, in one load of w

  void write(const std::vector<size_t>& parts, const Dispatch& launch) {
    uint32_t binding = 0;
    if (p_.rows.empty()) x_ = b_.buffer(binding++, Element::kQuad, false);
    w_ = b_.buffer(binding++, Element::kQuad, false);
    if (coded()) scales_ = {p_.scales.dtype, binding++};
    k_ = numbers_(p_.k);
    const int64_t subgroup = target_.subgroup;
    share_ = b_.lane() % subgroup;
    std::vector<Value> extents;
    for (const int64_t e : p_.shape) extents.push_back(numbers_(e));
    const Value count = numbers_(count_of(p_.shape));
    std::vector<std::vector<Value>> steps;  // of columns, in quads
    for (const GemvProblem::Columns& c : p_.columns) {
      steps.push_back({numbers_(c.offset / piece())});
      for (const int64_t s : c.steps) steps.back().push_back(numbers_(s / piece()));
    }
    x_offset_ = numbers_(p_.rows.empty() ? p_.x_offset / of_quad(p_.x_dtype) : 0);
    RowsTiling row_tiling;
    std::unique_ptr<RowsBody> rows;
    std::unique_ptr<Evaluator> rows_end;
    if (!p_.rows.empty()) {
      row_tiling.lanes = row_tiling.lanes_of_row = t_.lanes;
      const int64_t each = (p_.k + t_.lanes - 1) / t_.lanes;
      row_tiling.kept = each <= kMostKeptOfRow ? static_cast<uint32_t>(each) : 0;
      rows = std::make_unique<RowsBody>(b_, target_, numbers_, p_.rows[0], parts, row_tiling, &binding);
      rows_end = std::make_unique<Evaluator>(b_, target_, numbers_, p_.rows[0].epilogue, &binding);
    }
    Evaluator epilogue(b_, target_, numbers_, p_.epilogue, &binding);
    epilogue.bind_outputs(numbers_, &binding);

    const int64_t subgroups = t_.lanes / subgroup;
    const Value number = group_number(b_, numbers_, launch) * subgroups + b_.lane() / subgroup;
    const Value there = count_of(p_.shape) % subgroups == 0 ? b_.boolean(true) : number < count;
    const std::vector<Value> place = unravel(b_.select(there, number, count - 1), extents);
    for (const std::vector<Value>& s : steps) {
      Value at = s[0];
      for (size_t a = 0; a < place.size(); ++a) at = at + place[a] * s[a + 1];
      firsts_.push_back(at);
    }
    // Weights are asked for one turn of the loop ahead, and the first of them before what other launches write is
    // waited for.
    for (size_t i = 0; i < firsts_.size() * t_.turns; ++i) {
      ahead_.push_back(b_.variable(Type::kQuad));
      if (coded()) scales_ahead_.push_back(b_.variable(b_.f32(0)));
    }
    ask(share_ * piece());
    b_.await();
    if (in_shared()) row_ = b_.shared(Type::kF32, static_cast<uint32_t>(pitch_of(p_.k, piece()) * piece()));
    if (rows != nullptr) {
      rows->run(b_.u32(0), [&](const std::vector<Value>& at, Value element, const std::vector<Value>& given) {
        keep(element, rows_end->output(rows_end->at(at, given), 0));
      });
    } else if (in_shared()) {
      const int64_t each = of_quad(p_.x_dtype);
      b_.loop(b_.lane(), k_ / each, t_.lanes, [&](Value quad) {
        const std::vector<Value> v = elements_.of_quad(p_.x_dtype, b_.load(Type::kQuad, x_, x_offset_ + quad));
        for (int64_t e = 0; e < each; ++e) keep(quad * each + e, v[static_cast<size_t>(e)]);
      });
    }
    if (in_shared()) b_.barrier();
    const std::vector<Value> sums = add_up();
    b_.when((share_ == 0) & there, [&] { epilogue.store(epilogue.at(place, sums), place); });
  }
  bool coded() const { return p_.scales.block != 0; }

  // Whether all of x lies in shared memory. Codes meet so much of x that lanes would read it from far apart.
  bool in_shared() const { return !p_.rows.empty() || (coded() && fits_shared()); }
  bool fits_shared() const {
    const auto words = static_cast<uint64_t>(pitch_of(p_.k, piece()) * piece() + t_.lanes);
    return words * sizeof(float) <= target_.shared_bytes;
  }
  void keep(Value element, Value v) {
    b_.shared_store(row_, (element % piece()) * pitch_of(p_.k, piece()) + element / piece(), v);
  }

  int64_t step() const { return piece() * target_.subgroup; }
  int64_t of_turns() const { return step() * t_.turns; }
  Value is_there(Value k) { return p_.k % of_turns() == 0 ? b_.boolean(true) : k < k_; }

  void ask(Value from) {
    for (uint32_t turn = 0; turn < t_.turns; ++turn) {
      const Value k = from + int64_t{turn} * step();
      const Value quad = b_.select(is_there(k), k, b_.u32(0)) / piece();
      for (size_t c = 0; c < firsts_.size(); ++c) {
        const size_t i = turn * firsts_.size() + c;
        const Value at = firsts_[c] + quad;
        ahead_[i].set(b_.load(Type::kQuad, w_, at));
        if (coded()) scales_ahead_[i].set(elements_.load(scales_, at / (p_.scales.block / piece())));
      }
    }
  }

  std::vector<Value> add_up() {
    std::vector<Variable> sums;
    for (size_t c = 0; c < firsts_.size(); ++c) sums.push_back(b_.variable(b_.f32(0)));
    b_.loop(share_ * piece(), k_, static_cast<uint32_t>(of_turns()), [&](Value from) {
      std::vector<Value> weights, scales;
      for (const Variable& v : ahead_) weights.push_back(v.get());
      for (const Variable& v : scales_ahead_) scales.push_back(v.get());
      const Value next = from + of_turns();
      b_.when(next < k_, [&] { ask(next); });
      for (uint32_t turn = 0; turn < t_.turns; ++turn) {
        const Value k = from + int64_t{turn} * step(), there = is_there(k);
        const std::vector<Value> x = x_at(b_.select(there, k, b_.u32(0)));
        for (size_t c = 0; c < sums.size(); ++c) {
          const size_t i = turn * sums.size() + c;
          const Value before = sums[c].get();
          Value sum = before;
          if (coded()) {
            sum = b_.fma(sum_of_codes(weights[i], x), scales[i], sum);
          } else {
            const std::vector<Value> w = elements_.of_quad(p_.w_dtype, weights[i]);
            for (size_t e = 0; e < x.size(); ++e) sum = b_.fma(x[e], w[e], sum);
          }
          sums[c].set(b_.select(there, sum, before));
        }
      }
    });
    std::vector<Value> out;
    for (const Variable& v : sums) {
      Value sum = v.get();
      for (uint32_t mask = target_.subgroup / 2; mask > 0; mask /= 2) sum = sum + b_.shuffle(sum, mask);
      out.push_back(sum);
    }
    return out;
  }

  // The sum of x times what a quad's codes are above the zero point. A code that is put into the digits of 2^23 where
  // it lies is 2^23 + code * 2^at: one instruction for the bits, one for the difference, and none that converts. Sums
  // are kept by `at`, and made one at the end. Digits above 2^20 are shifted down first.
  Value sum_of_codes(Value quad, const std::vector<Value>& x) const {
    const int bits = dtype_bits(p_.w_dtype), of_word = 32 / bits, low = 20 / bits;
    const bool is_signed = p_.w_dtype == DType::kI4 || p_.w_dtype == DType::kI8;
    const int64_t middle = is_signed ? int64_t{1} << (bits - 1) : 0, zero = middle + p_.scales.zero;
    constexpr uint32_t kTwo23 = 0x4B000000;
    uint32_t flip = 0;  // codes with a sign, from 0 on
    for (int i = 0; i < of_word; ++i) flip |= static_cast<uint32_t>(middle) << (i * bits);
    std::vector<Value> sums;
    for (uint32_t word = 0; word < 4; ++word) {
      Value codes = b_.part(quad, word);
      if (flip != 0) codes = b_.binary(Op::kXor, codes, b_.u32(flip));
      for (int i = 0; i < of_word; ++i) {
        const int at = i % low;
        if (i != 0 && at == 0) codes = codes >> int64_t{low * bits};
        const uint32_t mask = ((1u << bits) - 1) << (at * bits);
        const Value digits = (codes & int64_t{mask}) | int64_t{kTwo23};
        const float less = static_cast<float>((int64_t{1} << 23) + (zero << (at * bits)));
        const Value v = b_.bitcast(digits, Type::kF32) - b_.f32(less);
        const Value& mine = x[word * static_cast<size_t>(of_word) + static_cast<size_t>(i)];
        if (static_cast<size_t>(at) == sums.size()) {
          sums.push_back(mine * v);
        } else {
          sums[static_cast<size_t>(at)] = b_.fma(mine, v, sums[static_cast<size_t>(at)]);
        }
      }
    }
    Value sum = sums[0];
    for (size_t at = 1; at < sums.size(); ++at) {
      const float size = 1.0f / static_cast<float>(int64_t{1} << (at * static_cast<size_t>(bits)));
      sum = b_.fma(sums[at], b_.f32(size), sum);
    }
    return sum;
  }

  // x from k on, as many as a load of w has.
  std::vector<Value> x_at(Value k) {
    std::vector<Value> out;
    if (in_shared()) {
      const Value first = k / piece();
      for (int64_t e = 0; e < piece(); ++e) out.push_back(b_.shared_load(row_, first + e * pitch_of(p_.k, piece())));
      return out;
    }
    const int64_t each = of_quad(p_.x_dtype);
    // Where x is narrower than w, half of what a load brings belongs to another lane's weights.
    if (each > piece()) {
      const Value quad = b_.load(Type::kQuad, x_, x_offset_ + k / each);
      const std::vector<Value> both = elements_.of_quad(p_.x_dtype, quad);
      const Value second = k % each != 0;
      for (int64_t e = 0; e < piece(); ++e)
        out.push_back(b_.select(second, both[static_cast<size_t>(e + piece())], both[static_cast<size_t>(e)]));
      return out;
    }
    for (int64_t e = 0; e < piece(); e += each) {
      const Value quad = b_.load(Type::kQuad, x_, x_offset_ + k / each + e / each);
      for (const Value v : elements_.of_quad(p_.x_dtype, quad)) out.push_back(v);
    }
    return out;
  }

  GemvProblem p_;
  const GemvTiling& t_;
  const Target& target_;
  mutable Builder b_;
  Numbers numbers_;
  Elements elements_;
  uint32_t x_ = 0, w_ = 0, row_ = 0;
  Value k_, share_, x_offset_;
  Tensor scales_;
  std::vector<Value> firsts_;  // quads of the place's columns
  std::vector<Variable> ahead_, scales_ahead_;
};

}  // namespace

GemvTiling choose_gemv(const GemvProblem& problem, const Target& target) {
  GemvTiling t;
  // What a lane asks for at once, of one column or of several. Codes take more instructions than bytes, and share what
  // makes x among more columns. A subgroup with two or four columns of codes, which then reads x once for all, was
  // slower: it leaves a multiprocessor too few subgroups.
  const bool coded = problem.scales.block != 0;
  const int64_t most = coded ? 4 : 8;
  t.lanes = std::min({coded ? 512u : 256u, target.workgroup, target.workgroup_x});
  const int64_t step = of_quad(problem.w_dtype) * target.subgroup, steps = (problem.k + step - 1) / step;
  const auto columns = static_cast<int64_t>(std::max<size_t>(1, problem.columns.size()));
  t.turns = static_cast<uint32_t>(std::min(steps, std::max<int64_t>(1, most / columns)));
  return t;
}

Dispatch make_gemv(const GemvProblem& problem, const GemvTiling& tiling, const Target& target) {
  return Gemv(problem, tiling, target).run();
}

}  // namespace vireo::gpu
