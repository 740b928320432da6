// Products of few rows (a token's vector, a classifier behind a pool): bound by reading w once, so that nothing goes
// through shared memory but the sums. Lanes share the depth of a column, neighbours where w has neighbours.
#include "delegates/gpu/templates/product_body.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kTurns = 4;  // loads of w that a lane asks for before it needs the first

class FewRows {
 public:
  FewRows(Builder& b, const Target& target, Numbers& numbers, const ProductShape& shape, const ProductTiling& tiling)
      : b_(b), t_(tiling), shape_(shape), target_(target), elements_(b, target), type_(lane_type(shape.sum, target)) {
    m_ = numbers(shape.m);
    n_ = numbers(shape.n);
    k_ = numbers(shape.k);
    lane_ = b_.lane();
  }

  void run(const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
           const std::function<std::vector<Value>(Value, Value)>& place) {
    const int64_t columns = t_.tile_n, shares = t_.depth_lanes;
    const Value of_column = w.k_is_fastest ? lane_ / shares : lane_ % columns;
    share_ = w.k_is_fastest ? lane_ % shares : lane_ / columns;
    const Value row0 = b_.group(0) * t_.tile_m, column = b_.group(1) * columns + of_column;
    const Value column_inside = shape_.n % columns == 0 && !shape_.nk_open ? b_.boolean(true) : column < n_;
    const ProductOperand::Line w_line = w.line(b_.select(column_inside, column, n_ - 1));
    std::vector<ProductOperand::Line> x_lines;
    std::vector<Variable> sums;
    for (uint32_t i = 0; i < t_.tile_m; ++i) {
      x_lines.push_back(x.line(b_.select(row_inside(row0 + i), row0 + i, m_ - 1)));
      sums.push_back(b_.variable(b_.number(type_, 0)));
    }
    if (is_wide(x, w)) {
      accumulate_pieces(x, x_lines, w, w_line, sums);
    } else {
      b_.loop(share_, k_, t_.depth_lanes * static_cast<uint32_t>(kTurns), [&](Value from) {
        for (int64_t turn = 0; turn < kTurns; ++turn) accumulate(x, x_lines, w, w_line, from + turn * shares, sums);
      });
    }
    const std::vector<Value> totals = exchanges_shares(w) ? exchanged(sums) : gathered(sums, w.k_is_fastest);
    for (uint32_t i = 0; i < t_.tile_m; ++i) {
      b_.when((share_ == 0) & column_inside & row_inside(row0 + i), [&] {
        const std::vector<Value> at = place(row0 + i, column);
        epilogue.store(epilogue.at(at, {totals[i].valid() ? totals[i] : b_.shared_load(arrays_[i], lane_)}), at);
      });
    }
  }

 private:
  Value row_inside(Value row) { return shape_.m % t_.tile_m == 0 && !shape_.m_open ? b_.boolean(true) : row < m_; }

  // Whether a lane takes 16 bytes of w at once, and what belongs to them of x in loads of 16 bytes as well.
  bool is_wide(const ProductOperand& x, const ProductOperand& w) const {
    const bool loads =
        w.k_is_fastest && x.k_is_fastest && w.neighbours > 1 && x.neighbours > 1 && w.neighbours % x.neighbours == 0;
    return loads && type_ == Type::kF32 && shape_.k >= int64_t{w.neighbours} * t_.depth_lanes && !shape_.nk_open;
  }

  // Weights are asked for one turn of the loop ahead, and the first of them before what other launches write is waited
  // for, where a constant brings them.
  void accumulate_pieces(const ProductOperand& x, const std::vector<ProductOperand::Line>& x_lines,
                         const ProductOperand& w, const ProductOperand::Line& w_line,
                         const std::vector<Variable>& sums) {
    const int64_t piece = w.neighbours, step = t_.depth_lanes * piece, all = step * kTurns;
    const bool whole = shape_.k % all == 0;
    const uint32_t quads = b_.buffer(w.tensor.binding, Element::kQuad, false);
    std::vector<Variable> ahead;
    for (int64_t turn = 0; turn < kTurns; ++turn) ahead.push_back(b_.variable(Type::kQuad));
    const auto is_there = [&](Value k) { return whole ? b_.boolean(true) : k < k_; };
    const auto ask = [&](Value from) {
      for (int64_t turn = 0; turn < kTurns; ++turn) {
        const Value k = from + turn * step;
        const ProductOperand::Element e = w.read(w_line, b_.u32(0), b_.select(is_there(k), k, b_.u32(0)));
        ahead[static_cast<size_t>(turn)].set(b_.load(Type::kQuad, quads, e.index / piece));
      }
    };
    ask(share_ * piece);
    if (shape_.w_constant) b_.await();
    b_.loop(share_ * piece, k_, static_cast<uint32_t>(all), [&](Value from) {
      std::vector<Value> weights;
      for (const Variable& v : ahead) weights.push_back(v.get());
      b_.when(from + all < k_, [&] { ask(from + all); });
      for (int64_t turn = 0; turn < kTurns; ++turn) {
        const Value k = from + turn * step, there = is_there(k), at = b_.select(there, k, b_.u32(0));
        const std::vector<Value> of_w = elements_.of_quad(w.tensor.dtype, weights[static_cast<size_t>(turn)]);
        for (size_t i = 0; i < sums.size(); ++i) {
          const Value now = sums[i].get();
          Value inside = there, next = now;
          const std::vector<Value> mine = piece_of(x, x_lines[i], at, piece, &inside);
          for (size_t e = 0; e < mine.size(); ++e) next = b_.fma(mine[e], of_w[e], next);
          sums[i].set(b_.select(inside, next, now));
        }
      }
    });
  }
  // `count` elements from k on, in loads of 16 bytes; *inside becomes false where they stand for 0.
  std::vector<Value> piece_of(const ProductOperand& operand, const ProductOperand::Line& line, Value k, int64_t count,
                              Value* inside) {
    const DType type = operand.tensor.dtype;
    const uint32_t quads = b_.buffer(operand.tensor.binding, Element::kQuad, false);
    std::vector<Value> out;
    for (int64_t first = 0; first < count; first += operand.neighbours) {
      const ProductOperand::Element e = operand.read(line, b_.u32(0), k + first);
      *inside = *inside & e.inside;
      const Value quad =
          b_.load(Type::kQuad, quads, b_.select(e.inside, e.index, b_.u32(0)) / int64_t{operand.neighbours});
      for (const Value v : elements_.of_quad(type, quad)) out.push_back(v);
    }
    return out;
  }

  // An element that stands for 0 adds nothing, whatever the other operand is.
  void accumulate(const ProductOperand& x, const std::vector<ProductOperand::Line>& x_lines, const ProductOperand& w,
                  const ProductOperand::Line& w_line, Value k, const std::vector<Variable>& sums) {
    const bool whole = shape_.k % (t_.depth_lanes * kTurns) == 0 && !shape_.nk_open;
    const Value there = whole ? b_.boolean(true) : k < k_;
    const Value at = b_.select(there, k, k_ - 1);
    const ProductOperand::Element e = w.read(w_line, b_.u32(0), at);
    const Value weight = load(w, e);
    for (size_t i = 0; i < sums.size(); ++i) {
      const ProductOperand::Element mine = x.read(x_lines[i], b_.u32(0), at);
      const Value v = load(x, mine), now = sums[i].get();
      const Value next = type_ == Type::kF32 ? b_.fma(v, weight, now) : v * weight + now;
      sums[i].set(b_.select(there & mine.inside & e.inside, next, now));
    }
  }
  // Whether the lanes of a column are neighbours of one subgroup.
  bool exchanges_shares(const ProductOperand& w) const {
    return target_.shuffles && w.k_is_fastest && type_ == Type::kF32 && t_.depth_lanes <= target_.subgroup;
  }
  // Each lane gets the sum of its column's lanes, in one order for all of them.
  std::vector<Value> exchanged(const std::vector<Variable>& sums) {
    std::vector<Value> out;
    for (const Variable& sum : sums) {
      Value v = sum.get();
      for (uint32_t mask = t_.depth_lanes / 2; mask > 0; mask /= 2) v = v + b_.shuffle(v, mask);
      out.push_back(v);
    }
    return out;
  }
  // The first lane of a column finds it in shared memory.
  std::vector<Value> gathered(const std::vector<Variable>& sums, bool k_is_fastest) {
    const int64_t columns = t_.tile_n, shares = t_.depth_lanes;
    // Places of one column's shares are `pitch` apart.
    const int64_t pitch = k_is_fastest ? 1 : columns;
    for (uint32_t i = 0; i < t_.tile_m; ++i) arrays_.push_back(b_.shared(type_, product_lanes(t_)));
    for (uint32_t i = 0; i < t_.tile_m; ++i) b_.shared_store(arrays_[i], lane_, sums[i].get());
    b_.barrier();
    for (int64_t half = shares / 2; half > 0; half /= 2) {
      b_.when(share_ < half, [&] {
        for (const uint32_t array : arrays_) {
          const Value other = b_.shared_load(array, lane_ + half * pitch);
          b_.shared_store(array, lane_, b_.shared_load(array, lane_) + other);
        }
      });
      b_.barrier();
    }
    return std::vector<Value>(sums.size());
  }
  Value load(const ProductOperand& operand, const ProductOperand::Element& e) {
    const Value v = b_.convert(elements_.load(operand.tensor, b_.select(e.inside, e.index, b_.u32(0))), type_);
    return operand.zero != 0 ? v - operand.zero : v;
  }

  Builder& b_;
  const ProductTiling& t_;
  const ProductShape& shape_;
  const Target& target_;
  Elements elements_;
  Type type_;
  Value m_, n_, k_, lane_, share_;
  std::vector<uint32_t> arrays_;
};

}  // namespace

void write_few_rows(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                    const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
                    const std::function<std::vector<Value>(Value, Value)>& place) {
  FewRows(builder, target, numbers, shape, tiling).run(x, w, epilogue, place);
}

}  // namespace vireo::gpu
