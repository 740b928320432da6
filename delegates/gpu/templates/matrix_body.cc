// Products by a matrix unit: tiles of halves in shared memory, which subgroups multiply. How a unit spreads a matrix
// over lanes is its own affair, so sums go through shared memory before the epilogue.
// While a tile is multiplied, the next one's elements are on their way.
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
    MatrixStage xs(b_, target_, x, t_.tile_m, t_.tile_k, lanes_, 0);
    MatrixStage ws(b_, target_, w, t_.tile_n, t_.tile_k, lanes_, xs.layout().quads);
    xs.take(row0_, m_, shape_.m, shape_.m_open);
    ws.take(column0_, n_, shape_.n, shape_.nk_open);
    const uint32_t quads = xs.layout().quads + ws.layout().quads;
    if (xs.copies() && ws.copies() && !shape_.nk_open && shape_.k > t_.tile_k &&
        2 * quads * 16 <= target_.stage_bytes) {
      run_ahead(xs, ws, quads);
      return end(epilogue, place);
    }
    // With two tiles in turn, lanes keep the next while others still multiply this one.
    const bool one_step = shape_.k <= t_.tile_k && !shape_.nk_open;
    const bool two = !one_step && 2 * quads * 16 <= target_.shared_bytes;
    array_ = b_.shared(Type::kQuad, std::max((two ? 2 : 1) * quads, scratch_quads()));
    make_matrices();
    const auto multiply_tile = [&](Value tile) {
      for (uint32_t k = 0; k < t_.tile_k; k += t_.unit.k) multiply(xs, ws, tile, k);
    };
    if (one_step) {
      fetch(xs, ws, b_.u32(0));
      keep(xs, ws, b_.u32(0));
      b_.barrier();
      multiply_tile(b_.u32(0));
      b_.barrier();
    } else {
      // A turn asks for its tile, multiplies the one before it, and keeps its own: one turn more than there are tiles.
      b_.loop(b_.u32(0), k_ + t_.tile_k, t_.tile_k, [&](Value k0) {
        const Value more = k0 < k_, odd = k0 / t_.tile_k % 2, none = b_.u32(0);
        b_.when(more, [&] { fetch(xs, ws, k0); });
        b_.when(k0 != 0, [&] { multiply_tile(two ? (b_.u32(1) - odd) * quads : none); });
        if (!two) b_.barrier();
        b_.when(more, [&] { keep(xs, ws, two ? odd * quads : none); });
        b_.barrier();
      });
    }
    end(epilogue, place);
  }

 private:
  // Several tiles are on their way to shared memory while one is multiplied.
  void run_ahead(MatrixStage& xs, MatrixStage& ws, uint32_t quads) {
    constexpr int64_t kMostStages = 4;
    const int64_t tiles = (shape_.k + t_.tile_k - 1) / t_.tile_k;
    const auto stages =
        static_cast<uint32_t>(std::clamp<int64_t>(target_.stage_bytes / (quads * 16), 2, std::min(kMostStages, tiles)));
    array_ = b_.shared(Type::kQuad, std::max(stages * quads, scratch_quads()));
    make_matrices();
    const auto ask = [&](Value place, Value k0) {
      xs.copy(array_, place, k0, k_, shape_.k, false);
      ws.copy(array_, place, k0, k_, shape_.k, false);
    };
    for (uint32_t s = 0; s + 1 < stages; ++s) {
      ask(b_.u32(s * quads), b_.u32(s * t_.tile_k));  // there are as many
      b_.copy_group();
    }
    const Variable full = b_.variable(b_.u32(0)), empty = b_.variable(b_.u32((stages - 1) * quads));
    const auto advance = [&](const Variable& place) {
      const Value next = place.get() + quads;
      place.set(b_.select(next == stages * quads, b_.u32(0), next));
    };
    b_.loop(b_.u32(0), k_, t_.tile_k, [&](Value k0) {
      b_.copy_wait(stages - 2);
      b_.barrier();  // also: everybody has multiplied the tile whose place is filled now
      const Value ahead = k0 + (stages - 1) * t_.tile_k;
      b_.when(ahead < k_, [&] { ask(empty.get(), ahead); });
      b_.copy_group();
      for (uint32_t k = 0; k < t_.tile_k; k += t_.unit.k) multiply(xs, ws, full.get(), k);
      advance(full);
      advance(empty);
    });
    b_.copy_wait(0);
    b_.barrier();
  }

  // Whether the epilogue takes sums from the lanes' registers. Its code then stands once for each four of a lane.
  bool ends_in_registers(const Evaluator& epilogue) const {
    constexpr size_t kMostFours = 8, kMostCode = 100;  // with more of them, sums leave the registers
    const size_t fours = t_.sub_m * t_.sub_n / 128;
    return t_.unit.known && shape_.n % 4 == 0 && !shape_.nk_open && !epilogue.reports() && fours <= kMostFours &&
           fours * epilogue.size() <= kMostCode;
  }

  // What several fours read is asked for before the first of them is written.
  void end_in_registers(Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    constexpr size_t kAtOnce = 8;
    struct Four {
      std::vector<Value> place;
      Value inside;
      Evaluator::Four outputs;
    };
    std::vector<Four> fours;
    const auto write = [&] {
      for (const Four& f : fours) b_.when(f.inside, [&] { epilogue.write_four(f.place, f.outputs); });
      fours.clear();
    };
    const Value lane = lane_ % 32;
    const Value row0 = row0_ + sub_row_ + lane / 4 + (lane & 1) * 8, column0 = column0_ + sub_column_ + (lane & 2) * 2;
    for (uint32_t i = 0; i < lefts_.size(); ++i) {
      for (uint32_t j = 0; j < 2 * rights_.size(); ++j) {
        const Value row = row0 + i * t_.unit.m, column = column0 + j * 8;
        const Value row_inside = is_below(b_, row, m_, shape_.m, t_.tile_m, shape_.m_open),
                    column_inside = is_below(b_, column, n_, shape_.n, t_.tile_n, false);
        const std::array<Value, 4> sums = four_of(b_, sums_[i * rights_.size() + j / 2], j % 2);
        Four f;
        f.place = place(b_.select(row_inside, row, m_ - 1), b_.select(column_inside, column, n_ - 4));
        f.inside = row_inside & column_inside;
        f.outputs = epilogue.four_at(f.place, sums);
        fours.push_back(std::move(f));
        if (fours.size() == kAtOnce) write();
      }
    }
    write();
  }

  void end(Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    if (ends_in_registers(epilogue)) return end_in_registers(epilogue, place);
    const uint32_t lines = t_.sub_m / t_.unit.m;
    if (lines == 1) return finish(b_.u32(0), epilogue, place);
    b_.loop(b_.u32(0), b_.u32(lines), 1, [&](Value line) { finish(line, epilogue, place); });
  }

  void fetch(MatrixStage& xs, MatrixStage& ws, Value k0) {
    xs.fetch(k0, k_, shape_.k, shape_.nk_open);
    ws.fetch(k0, k_, shape_.k, shape_.nk_open);
  }
  void keep(MatrixStage& xs, MatrixStage& ws, Value tile) {
    xs.keep(array_, tile);
    ws.keep(array_, tile);
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
    const Value mine = b_.subgroup() * (t_.unit.m * scratch_pitch());
    for (uint32_t line = 0; line < lefts_.size(); ++line) {
      b_.when(i == line, [&] {
        for (uint32_t j = 0; j < rights_.size(); ++j)
          b_.matrix_store(sums_[line * rights_.size() + j], array_, mine + j * t_.unit.n / 4, scratch_pitch());
      });
    }
    b_.barrier();
    const uint32_t fours = t_.sub_n / 4, count = lanes_ / t_.unit.lanes * t_.unit.m * fours;
    b_.loop(lane_, b_.u32(count), lanes_, [&](Value at) {
      const Value line = at / fours, four = at % fours;
      const Value subgroup = line / t_.unit.m, in_matrix = line % t_.unit.m;
      const Value row = row0_ + (subgroup / across_) * t_.sub_m + in_matrix + i * t_.unit.m;
      const Value column = column0_ + (subgroup % across_) * t_.sub_n + four * 4;
      const Value row_inside = is_below(b_, row, m_, shape_.m, t_.tile_m, shape_.m_open),
                  column_inside = is_below(b_, column, n_, shape_.n, t_.tile_n, shape_.nk_open);
      b_.when(row_inside & column_inside, [&] {
        const Value quad = b_.shared_load(array_, line * scratch_pitch() + four);
        std::array<Value, 4> sums;
        for (uint32_t j = 0; j < 4; ++j) sums[j] = b_.bitcast(b_.part(quad, j), Type::kF32);
        if (shape_.n % 4 == 0 && !shape_.nk_open) return epilogue.store_four(place(row, column), sums);
        for (uint32_t j = 0; j < 4; ++j) {
          b_.when(j == 0 ? b_.boolean(true) : column + j < n_, [&] {
            const std::vector<Value> there = place(row, column + j);
            epilogue.store(epilogue.at(there, {sums[j]}), there);
          });
        }
      });
    });
    if (lefts_.size() > 1) b_.barrier();
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
