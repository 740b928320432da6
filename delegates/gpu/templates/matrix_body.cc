// Products by a matrix unit: tiles of halves in shared memory, which subgroups multiply. How a unit spreads a matrix
// over lanes is its own affair, so sums go through shared memory before the epilogue.
//
// Shared memory is one array of quads, eight halves each. A chunk is a quad: neighbours along k, or along a line where
// only those lie side by side in memory. While a tile is multiplied, the next one's elements are on their way as they
// lie in memory; they become halves when they are kept.
#include <algorithm>

#include "delegates/gpu/templates/product_body.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kChunk = 8;  // halves of a quad

// How one operand's tile lies in shared memory.
struct Lie {
  bool along_k;    // a quad's neighbours follow k
  uint32_t pitch;  // quads from a line to the next; from a k to the next where a quad follows lines
  uint32_t quads;
};
Lie lie_of(const ProductOperand& operand, uint32_t lines, uint32_t depth) {
  const bool along_k = operand.k_is_fastest || operand.neighbours == 1;
  // One quad more than a line needs: neighbouring lines begin in other banks.
  const uint32_t pitch = (along_k ? depth : lines) / kChunk + 1;
  return {along_k, pitch, pitch * (along_k ? lines : depth)};
}
uint32_t most_quads(uint32_t lines, uint32_t depth) {
  return std::max(lines * (depth / kChunk + 1), depth * (lines / kChunk + 1));
}

class MatrixBody {
 public:
  MatrixBody(Builder& b, const Target& target, Numbers& numbers, const ProductShape& shape, const ProductTiling& tiling)
      : b_(b), t_(tiling), shape_(shape), target_(target), elements_(b, target) {
    lanes_ = product_lanes(t_);
    m_ = numbers(shape.m);
    n_ = numbers(shape.n);
    k_ = numbers(shape.k);
    lane_ = b_.lane();
    row0_ = b_.group(0) * t_.tile_m;
    column0_ = b_.group(1) * t_.tile_n;
    b_.program().unit = t_.unit;
  }

  void run(const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
           const std::function<std::vector<Value>(Value, Value)>& place) {
    Stage xs = stage(x, t_.tile_m, row0_, m_, shape_.m), ws = stage(w, t_.tile_n, column0_, n_, shape_.n);
    ws.first = xs.lie.quads;
    const uint32_t quads = xs.lie.quads + ws.lie.quads;
    // With two tiles in turn, lanes keep the next while others still multiply this one.
    const bool two = shape_.k > t_.tile_k && 2 * quads * 16 <= target_.shared_bytes;
    array_ = b_.shared(Type::kQuad, std::max((two ? 2 : 1) * quads, scratch_quads()));
    make_matrices();
    fetch(xs, b_.u32(0));
    fetch(ws, b_.u32(0));
    b_.loop(b_.u32(0), k_, t_.tile_k, [&](Value k0) {
      const Value tile = two ? (k0 / t_.tile_k % 2) * quads : b_.u32(0);
      keep(xs, tile);
      keep(ws, tile);
      b_.barrier();
      const Value next = k0 + t_.tile_k;
      b_.when(next < k_, [&] {
        fetch(xs, next);
        fetch(ws, next);
      });
      for (uint32_t k = 0; k < t_.tile_k; k += t_.unit.k) multiply(xs, ws, tile, k);
      if (!two) b_.barrier();
    });
    if (two) b_.barrier();
    for (uint32_t i = 0; i < t_.sub_m / t_.unit.m; ++i) finish(i, epilogue, place);
  }

 private:
  struct Stage {
    const ProductOperand* operand;
    Lie lie;
    uint32_t first;  // quad of a tile
    struct Piece {   // elements that lie side by side, from one load
      Value line, k, line_inside;
      ProductOperand::Line known;
      Variable raw;
    };
    struct Turn {  // one quad of a lane
      Value place, there;
      std::vector<Piece> pieces;
    };
    std::vector<Turn> turns;
  };

  bool is_half(const ProductOperand& o) const { return o.tensor.dtype == DType::kF16; }

  Value below(Value v, Value end, int64_t extent, uint32_t tile) {
    return extent % tile == 0 ? b_.boolean(true) : v < end;
  }

  Stage stage(const ProductOperand& operand, uint32_t lines, Value first, Value end, int64_t extent) {
    Stage s = {&operand, lie_of(operand, lines, t_.tile_k), 0, {}};
    const bool along_k = s.lie.along_k, wide = operand.neighbours > 1;
    const uint32_t of_piece = wide ? (is_half(operand) ? 8 : 4) : 1, of_line = (along_k ? t_.tile_k : lines) / kChunk;
    const uint32_t count = lines * t_.tile_k / kChunk;
    for (uint32_t turn = 0; turn * lanes_ < count; ++turn) {
      const Value at = lane_ + int64_t{turn} * lanes_;
      Stage::Turn one;
      // Neighbouring lanes take neighbours in memory.
      const bool lines_first = along_k && !operand.k_is_fastest;
      const Value outer = lines_first ? at % lines : at / of_line, chunk = lines_first ? at / lines : at % of_line;
      one.place = outer * s.lie.pitch + chunk;
      one.there = (turn + 1) * lanes_ > count ? at < count : b_.boolean(true);
      for (uint32_t e = 0; e < kChunk; e += of_piece) {
        Stage::Piece piece;
        const Value inner = chunk * kChunk + e;
        piece.line = first + (along_k ? outer : inner);
        piece.k = along_k ? inner : outer;
        if (along_k && e != 0) {
          piece.known = one.pieces[0].known;
        } else {
          // A line that is not there is read as the last one: what is made of it is not stored.
          const Value inside = below(piece.line, end, extent, lines);
          piece.known = operand.line(b_.select(inside, piece.line, end - (along_k ? 1 : of_piece)));
        }
        piece.raw = b_.variable(of_piece == 1 ? Type::kU32 : Type::kQuad);
        one.pieces.push_back(piece);
      }
      s.turns.push_back(one);
    }
    return s;
  }

  void fetch(const Stage& s, Value k0) {
    const ProductOperand& o = *s.operand;
    const bool wide = o.neighbours > 1;
    const Value zero = b_.u32(0), nothing = wide ? b_.join({zero, zero, zero, zero}) : zero;
    for (const Stage::Turn& turn : s.turns) {
      b_.when(turn.there, [&] {
        for (const Stage::Piece& piece : turn.pieces) {
          const bool whole = shape_.k % t_.tile_k == 0;
          const Value k = k0 + piece.k, k_inside = below(k, k_, shape_.k, t_.tile_k);
          const ProductOperand::Element e = whole ? o.read(piece.known, k0, piece.k) : o.read(piece.known, zero, k);
          piece.raw.set(nothing);
          b_.when(e.inside & k_inside, [&] { piece.raw.set(raw(o, e.index, wide)); });
        }
      });
    }
  }
  Value raw(const ProductOperand& o, Value index, bool wide) {
    if (wide) {
      return b_.load(Type::kQuad, b_.buffer(o.tensor.binding, Element::kQuad, false), index >> (is_half(o) ? 3 : 2));
    }
    if (!is_half(o)) return b_.load(Type::kU32, b_.buffer(o.tensor.binding, Element::kWord, false), index);
    if (target_.storage16) return b_.load(Type::kU32, b_.buffer(o.tensor.binding, Element::kHalfWord, false), index);
    const Value word = b_.load(Type::kU32, b_.buffer(o.tensor.binding, Element::kWord, false), index >> 1);
    return (word >> ((index & 1) * 16)) & 0xFFFF;
  }

  void keep(const Stage& s, Value tile) {
    for (const Stage::Turn& turn : s.turns) {
      b_.when(turn.there, [&] { b_.shared_store(array_, tile + s.first + turn.place, halves(s, turn)); });
    }
  }
  // The quad of a turn.
  Value halves(const Stage& s, const Stage::Turn& turn) {
    const bool half = is_half(*s.operand), wide = s.operand->neighbours > 1;
    if (half && wide) return turn.pieces[0].raw.get();
    std::array<Value, 8> words;
    for (uint32_t e = 0; e < kChunk; ++e) {
      words[e] = wide ? b_.part(turn.pieces[e / 4].raw.get(), e % 4) : turn.pieces[e].raw.get();
    }
    std::array<Value, 4> out;
    for (uint32_t i = 0; i < 4; ++i) {
      const Value low = words[2 * i], high = words[2 * i + 1];
      out[i] = half ? low | (high << 16) : b_.pack_halves(b_.bitcast(low, Type::kF32), b_.bitcast(high, Type::kF32));
    }
    return b_.join(out);
  }

  void make_matrices() {
    const Value subgroup = b_.subgroup();
    across_ = t_.tile_n / t_.sub_n;
    sub_row_ = subgroup / across_ * t_.sub_m;
    sub_column_ = subgroup % across_ * t_.sub_n;
    for (uint32_t i = 0; i < t_.sub_m / t_.unit.m; ++i) lefts_.push_back(b_.matrix(Builder::Role::kLeft));
    for (uint32_t j = 0; j < t_.sub_n / t_.unit.n; ++j) rights_.push_back(b_.matrix(Builder::Role::kRight));
    for (size_t i = 0; i < lefts_.size() * rights_.size(); ++i) sums_.push_back(b_.matrix(Builder::Role::kTotal));
    for (const uint32_t sum : sums_) b_.matrix_zero(sum);
  }

  // The first quad of the matrix of lines from `line` on, at depth k of a tile.
  Value first_quad(const Stage& s, Value tile, Value line, uint32_t k) {
    const Value in_tile = s.lie.along_k ? line * s.lie.pitch + k / kChunk : line / kChunk + k * s.lie.pitch;
    return tile + s.first + in_tile;
  }
  void multiply(const Stage& xs, const Stage& ws, Value tile, uint32_t k) {
    for (uint32_t i = 0; i < lefts_.size(); ++i)
      b_.matrix_load(lefts_[i], array_, first_quad(xs, tile, sub_row_ + i * t_.unit.m, k), xs.lie.pitch,
                     !xs.lie.along_k);
    for (uint32_t j = 0; j < rights_.size(); ++j)
      b_.matrix_load(rights_[j], array_, first_quad(ws, tile, sub_column_ + j * t_.unit.n, k), ws.lie.pitch,
                     ws.lie.along_k);
    for (size_t i = 0; i < lefts_.size(); ++i) {
      for (size_t j = 0; j < rights_.size(); ++j)
        b_.matrix_multiply(lefts_[i], rights_[j], sums_[i * rights_.size() + j]);
    }
  }

  // Sums of one row of each subgroup's matrices on their way to lanes.
  uint32_t scratch_pitch() const { return t_.sub_n / 4 + 1; }
  uint32_t scratch_quads() const { return lanes_ / t_.unit.lanes * t_.unit.m * scratch_pitch(); }

  void finish(uint32_t i, Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    if (i != 0) b_.barrier();
    const Value mine = b_.subgroup() * (t_.unit.m * scratch_pitch());
    for (uint32_t j = 0; j < rights_.size(); ++j)
      b_.matrix_store(sums_[i * rights_.size() + j], array_, mine + j * t_.unit.n / 4, scratch_pitch());
    b_.barrier();
    const uint32_t fours = t_.sub_n / 4, count = lanes_ / t_.unit.lanes * t_.unit.m * fours;
    b_.loop(lane_, b_.u32(count), lanes_, [&](Value at) {
      const Value line = at / fours, four = at % fours;
      const Value subgroup = line / t_.unit.m, in_matrix = line % t_.unit.m;
      const Value row = row0_ + (subgroup / across_) * t_.sub_m + in_matrix + i * t_.unit.m;
      const Value column = column0_ + (subgroup % across_) * t_.sub_n + four * 4;
      b_.when(below(row, m_, shape_.m, t_.tile_m) & below(column, n_, shape_.n, t_.tile_n), [&] {
        const Value quad = b_.shared_load(array_, line * scratch_pitch() + four);
        std::array<Value, 4> sums;
        for (uint32_t j = 0; j < 4; ++j) sums[j] = b_.bitcast(b_.part(quad, j), Type::kF32);
        if (shape_.n % 4 == 0) return epilogue.store_four(place(row, column), sums);
        for (uint32_t j = 0; j < 4; ++j) {
          b_.when(j == 0 ? b_.boolean(true) : column + j < n_, [&] {
            const std::vector<Value> there = place(row, column + j);
            epilogue.store(epilogue.at(there, {sums[j]}), there);
          });
        }
      });
    });
  }

  Builder& b_;
  const ProductTiling& t_;
  const ProductShape& shape_;
  const Target& target_;
  Elements elements_;
  uint32_t lanes_ = 0, array_ = 0, across_ = 1;
  Value m_, n_, k_, lane_, row0_, column0_, sub_row_, sub_column_;
  std::vector<uint32_t> lefts_, rights_, sums_;
};

}  // namespace

uint32_t matrix_bytes(const ProductTiling& t) {
  const uint32_t staged = most_quads(t.tile_m, t.tile_k) + most_quads(t.tile_n, t.tile_k);
  const uint32_t scratch = product_lanes(t) / t.unit.lanes * t.unit.m * (t.sub_n / 4 + 1);
  return 16 * std::max(staged, scratch);
}

void write_matrix_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                          const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w,
                          Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
  MatrixBody(builder, target, numbers, shape, tiling).run(x, w, epilogue, place);
}

}  // namespace vireo::gpu
