// Products by a matrix unit: tiles of halves or bytes in shared memory, which subgroups multiply. How a unit spreads a
// matrix over lanes is its own affair, so sums go through shared memory before the epilogue.
// While a tile is multiplied, the next one's elements are on their way. A unit that reads tiles (Unit::reads_tiles) has
// them copied there, and multiplies while lanes ask for more.
#include <algorithm>

#include "delegates/gpu/templates/matrix_stage.h"

namespace vireo::gpu {
namespace {

class MatrixBody {
 public:
  MatrixBody(Builder& b, const Target& target, Numbers& numbers, const ProductShape& shape, const ProductTiling& tiling)
      : b_(b), t_(tiling), shape_(shape), target_(target) {
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
    if (t_.unit.reads_tiles) {
      multiply_tiles(x, w);
      return end(epilogue, place);
    }
    const uint32_t chunk = t_.unit.of_quad();
    MatrixStage xs(b_, target_, x, t_.tile_m, t_.tile_k, lanes_, 0, layout_of(x, t_.tile_m, t_.tile_k, chunk));
    MatrixStage ws(b_, target_, w, t_.tile_n, t_.tile_k, lanes_, xs.layout().quads,
                   layout_of(w, t_.tile_n, t_.tile_k, chunk));
    xs.take(row0_, m_, shape_.m, shape_.m_open);
    ws.take(column0_, n_, shape_.n, shape_.nk_open);
    TilePairs tiles(b_, xs, ws, t_.tile_k, k_, shape_.k, shape_.nk_open);
    const auto multiply_tile = [&](Value tile) {
      for (uint32_t k = 0; k < t_.tile_k; k += t_.unit.k) multiply(xs, ws, tile, k);
    };
    const uint32_t quads = tiles.quads();
    const bool ahead = tiles.copies() && 2 * quads * 16 <= target_.stage_bytes / 2;
    // With two tiles in turn, lanes keep the next while others still multiply this one.
    const bool two = !tiles.one_step() && 2 * quads * 16 <= target_.shared_bytes;
    const auto stages =
        static_cast<uint32_t>(ahead ? std::min<int64_t>(tiles.count(), tiles.stages_in(target_.stage_bytes / 2))
                              : two ? 2
                                    : 1);
    array_ = b_.shared(Type::kQuad, std::max(stages * quads, scratch_quads()));
    make_matrices();
    if (ahead) {
      tiles.copy_ahead(array_, stages, multiply_tile);
    } else {
      tiles.fetch_by_turns(array_, two, multiply_tile);
    }
    end(epilogue, place);
  }

 private:
  // A product is under way while lanes wait for the next tile, and what they ask for then goes where the product before
  // it has read: two tiles of all are not ahead.
  void multiply_tiles(const ProductOperand& x, const ProductOperand& w) {
    const uint32_t chunk = t_.unit.of_quad();
    MatrixStage xs(b_, target_, x, t_.tile_m, t_.tile_k, lanes_, 0, tile_layout_of(x, t_.tile_m, t_.tile_k, chunk));
    const uint32_t of_x = xs.layout().quads;
    MatrixStage ws(b_, target_, w, t_.tile_n, t_.tile_k, lanes_, of_x, tile_layout_of(w, t_.tile_n, t_.tile_k, chunk));
    xs.take(row0_, m_, shape_.m, shape_.m_open);
    ws.take(column0_, n_, shape_.n, shape_.nk_open);
    const uint32_t quads = of_x + ws.layout().quads, stages = t_.stages, ahead = stages - 2;
    array_ = b_.shared(Type::kQuad, std::max(stages * quads, scratch_quads()));
    make_matrices();
    const auto ask = [&](Value place, Value k0) {
      b_.when(k0 < k_, [&] {
        xs.copy(array_, place, k0, k_, shape_.k, false);
        ws.copy(array_, place, k0, k_, shape_.k, false);
      });
      b_.copy_group();
    };
    b_.loop(b_.u32(0), b_.u32(ahead), 1, [&](Value s) { ask(s * quads, s * t_.tile_k); });
    const Variable full = b_.variable(b_.u32(0)), empty = b_.variable(b_.u32(ahead * quads));
    const auto advance = [&](const Variable& place) {
      const Value next = place.get() + quads;
      place.set(b_.select(next == stages * quads, b_.u32(0), next));
    };
    // What a subgroup reads of a tile begins at a line of its own, or at a block of them.
    const auto first_of = [](const TileLayout& l, Value line) {
      return l.along_k ? line * l.pitch : line / (kChunk * kLineQuads) * l.block;
    };
    const Value left = first_of(xs.layout(), sub_row_), right = first_of(ws.layout(), sub_column_);
    b_.loop(b_.u32(0), k_, t_.tile_k, [&](Value k0) {
      b_.copy_wait(ahead - 1);
      b_.barrier();
      b_.tile_begin();
      for (uint32_t k = 0; k < t_.tile_k; k += t_.unit.k) {
        b_.tile_multiply(full.get() + left, full.get() + right + of_x, sums_[0],
                         {array_, k, t_.tile_k * kLineQuads, !xs.layout().along_k, !ws.layout().along_k});
      }
      b_.tile_commit();
      b_.tile_wait(1);  // behind the next barrier nobody reads the tile before this one
      ask(empty.get(), k0 + ahead * t_.tile_k);
      advance(full);
      advance(empty);
    });
    b_.tile_wait(0);
    b_.copy_wait(0);
    b_.barrier();
  }

  // Whether the epilogue takes sums from the lanes' registers. Its code then stands once for each four of a lane.
  bool ends_in_registers(const Evaluator& epilogue) const {
    constexpr size_t kMostFours = 8;  // with more of them, sums leave the registers
    const size_t fours = t_.sub_m * t_.sub_n / t_.unit.lanes / 4;
    return t_.unit.known && shape_.n % 4 == 0 && !shape_.nk_open && !epilogue.reports() && fours <= kMostFours &&
           fours * epilogue.size() <= kMostCode;
  }

  // What several fours read is asked for before the first of them is written.
  static constexpr size_t kAtOnce = 8, kMostCode = 100;
  struct Four {
    Value row, column, quad;
    std::vector<Value> place;
    Value inside;
    Evaluator::Four outputs;
  };
  void ask_for(Four* f, Evaluator& epilogue, const std::array<Value, 4>& sums,
               const std::function<std::vector<Value>(Value, Value)>& place) {
    const Value row_inside = is_below(b_, f->row, m_, shape_.m, t_.tile_m, shape_.m_open),
                column_inside = is_below(b_, f->column, n_, shape_.n, t_.tile_n, false);
    f->place = place(b_.select(row_inside, f->row, m_ - 1), b_.select(column_inside, f->column, n_ - 4));
    f->inside = row_inside & column_inside;
    f->outputs = epilogue.four_at(f->place, sums);
  }
  void write(const std::vector<Four>& fours, Evaluator& epilogue) {
    for (const Four& f : fours) b_.when(f.inside, [&] { epilogue.write_four(f.place, f.outputs); });
  }

  void end_in_registers(Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    std::vector<Four> fours;
    const Value lane = lane_ % 32, lines = lane_ % t_.unit.lanes / 32 * 16;
    const Value row0 = row0_ + sub_row_ + lines + lane / 4 + (lane & 1) * 8,
                column0 = column0_ + sub_column_ + (lane & 2) * 2;
    const uint32_t across = t_.sub_n / 8, of_sum = t_.unit.n / 8;
    for (uint32_t i = 0; i < t_.sub_m / t_.unit.m; ++i) {
      for (uint32_t j = 0; j < across; ++j) {
        const std::array<Value, 4> sums = four_of(b_, sums_[(i * across + j) / of_sum], j % of_sum);
        Four f;
        f.row = row0 + i * t_.unit.m;
        f.column = column0 + j * 8;
        ask_for(&f, epilogue, sums, place);
        fours.push_back(std::move(f));
        if (fours.size() < kAtOnce) continue;
        write(fours, epilogue);
        fours.clear();
      }
    }
    write(fours, epilogue);
  }

  void end(Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    if (ends_in_registers(epilogue)) return end_in_registers(epilogue, place);
    const uint32_t lines = t_.sub_m / t_.unit.m;
    if (lines == 1) return finish(b_.u32(0), epilogue, place);
    b_.loop(b_.u32(0), b_.u32(lines), 1, [&](Value line) { finish(line, epilogue, place); });
  }

  void make_matrices() {
    const Value subgroup = t_.unit.reads_tiles ? lane_ / t_.unit.lanes : b_.subgroup();
    across_ = t_.tile_n / t_.sub_n;
    sub_row_ = subgroup / across_ * t_.sub_m;
    sub_column_ = subgroup % across_ * t_.sub_n;
    const uint32_t down = t_.sub_m / t_.unit.m, across = t_.sub_n / t_.unit.n;
    for (uint32_t i = 0; i < down && !t_.unit.reads_tiles; ++i) lefts_.push_back(b_.matrix(Builder::Role::kLeft));
    for (uint32_t j = 0; j < across && !t_.unit.reads_tiles; ++j) rights_.push_back(b_.matrix(Builder::Role::kRight));
    for (uint32_t i = 0; i < down * across; ++i) sums_.push_back(b_.matrix(Builder::Role::kTotal));
    for (const uint32_t sum : sums_) b_.matrix_zero(sum);
  }

  void multiply(const MatrixStage& xs, const MatrixStage& ws, Value tile, uint32_t k) {
    for (uint32_t i = 0; i < lefts_.size(); ++i)
      b_.matrix_load(lefts_[i], array_, xs.first_quad(tile, sub_row_, i * t_.unit.m, k), xs.layout().pitch,
                     !xs.layout().along_k);
    for (uint32_t j = 0; j < rights_.size(); ++j)
      b_.matrix_load(rights_[j], array_, ws.first_quad(tile, sub_column_, j * t_.unit.n, k), ws.layout().pitch,
                     ws.layout().along_k);
    for (size_t i = 0; i < lefts_.size(); ++i) {
      for (size_t j = 0; j < rights_.size(); ++j)
        b_.matrix_multiply(lefts_[i], rights_[j], sums_[i * rights_.size() + j]);
    }
  }

  // Sums of one row of each subgroup's matrices on their way to lanes.
  uint32_t scratch_pitch() const { return t_.sub_n / 4 + 1; }
  uint32_t scratch_quads() const { return lanes_ / t_.unit.lanes * t_.unit.m * scratch_pitch(); }

  // The code of the epilogue stands once for all lines of matrices.
  void finish(Value i, Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    const uint32_t down = t_.sub_m / t_.unit.m, across = t_.sub_n / t_.unit.n;
    const Value owner = t_.unit.reads_tiles ? lane_ / t_.unit.lanes : b_.subgroup();
    const Value mine = owner * (t_.unit.m * scratch_pitch());
    for (uint32_t line = 0; line < down; ++line) {
      b_.when(i == line, [&] {
        for (uint32_t j = 0; j < across; ++j)
          b_.matrix_store(sums_[line * across + j], array_, mine + j * t_.unit.n / 4, scratch_pitch());
      });
    }
    b_.barrier();
    const uint32_t fours = t_.sub_n / 4, count = lanes_ / t_.unit.lanes * t_.unit.m * fours;
    const auto four_of_scratch = [&](Value at) {
      Four f;
      const Value line = at / fours, four = at % fours;
      const Value subgroup = line / t_.unit.m, in_matrix = line % t_.unit.m;
      f.row = row0_ + (subgroup / across_) * t_.sub_m + in_matrix + i * t_.unit.m;
      f.column = column0_ + (subgroup % across_) * t_.sub_n + four * 4;
      f.quad = line * scratch_pitch() + four;
      return f;
    };
    const auto sums_of = [&](Value quad_at) {
      const Value quad = b_.shared_load(array_, quad_at);
      std::array<Value, 4> sums;
      for (uint32_t j = 0; j < 4; ++j) sums[j] = b_.bitcast(b_.part(quad, j), t_.unit.sum());
      return sums;
    };
    // A lane asks for what several fours read before it writes the first.
    uint32_t at_once = 1;
    const bool whole = shape_.n % 4 == 0 && !shape_.nk_open && !epilogue.reports() && t_.unit.reads_tiles;
    while (whole && at_once < kAtOnce && count % (2 * at_once * lanes_) == 0 &&
           2 * at_once * epilogue.size() <= kMostCode)
      at_once *= 2;
    b_.loop(lane_, b_.u32(count), at_once * lanes_, [&](Value first) {
      if (whole) {
        std::vector<Four> all;
        for (uint32_t u = 0; u < at_once; ++u) {
          all.push_back(four_of_scratch(first + int64_t{u} * lanes_));
          ask_for(&all.back(), epilogue, sums_of(all.back().quad), place);
        }
        return write(all, epilogue);
      }
      const Four f = four_of_scratch(first);
      const Value row = f.row, column = f.column;
      const Value row_inside = is_below(b_, row, m_, shape_.m, t_.tile_m, shape_.m_open),
                  column_inside = is_below(b_, column, n_, shape_.n, t_.tile_n, shape_.nk_open);
      b_.when(row_inside & column_inside, [&] {
        const std::array<Value, 4> sums = sums_of(f.quad);
        if (shape_.n % 4 == 0 && !shape_.nk_open) return epilogue.store_four(place(row, column), sums);
        for (uint32_t j = 0; j < 4; ++j) {
          b_.when(j == 0 ? b_.boolean(true) : column + j < n_, [&] {
            const std::vector<Value> there = place(row, column + j);
            epilogue.store(epilogue.at(there, {sums[j]}), there);
          });
        }
      });
    });
    if (down > 1) b_.barrier();
  }

  Builder& b_;
  const ProductTiling& t_;
  const ProductShape& shape_;
  const Target& target_;
  uint32_t lanes_ = 0, array_ = 0, across_ = 1;
  Value m_, n_, k_, lane_, row0_, column0_, sub_row_, sub_column_;
  std::vector<uint32_t> lefts_, rights_, sums_;
};

}  // namespace

uint32_t matrix_bytes(const ProductTiling& t) {
  const uint32_t chunk = t.unit.of_quad();
  const uint32_t staged = t.unit.reads_tiles
                              ? t.stages * (t.tile_m + t.tile_n) * t.tile_k / chunk
                              : most_quads(t.tile_m, t.tile_k, chunk) + most_quads(t.tile_n, t.tile_k, chunk);
  const uint32_t scratch = product_lanes(t) / t.unit.lanes * t.unit.m * (t.sub_n / 4 + 1);
  return 16 * std::max(staged, scratch);
}

void write_matrix_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                          const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w,
                          Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
  MatrixBody(builder, target, numbers, shape, tiling).run(x, w, epilogue, place);
}

}  // namespace vireo::gpu
