// Products of floats by lanes: tiles in shared memory as quads, four floats each, and sums in registers. A lane reads
// its lines' next four of the depth at once and multiplies all of its rows by all of its columns: 16 reads stand beside
// 256 products of 8 x 8. Where a product has few tiles, groups of lanes take parts of each tile's depth, so that a
// multiprocessor has enough of them to wait with.
//
// Weighed: elements one by one (write_product's other way: a read for each two products, so that shared memory sets the
// pace), and sums of a part's own tiles in memory with a second kernel that adds them (another launch, and traffic).
#include <algorithm>

#include "delegates/gpu/templates/matrix_stage.h"

namespace vireo::gpu {
namespace {

constexpr uint32_t kPad = 4;  // floats between lines of sums, so that they begin in other banks

class FloatBody {
 public:
  FloatBody(Builder& b, const Target& target, Numbers& numbers, const ProductShape& shape, const ProductTiling& tiling)
      : b_(b), t_(tiling), shape_(shape), target_(target), lanes_(product_lanes(tiling)) {
    m_ = numbers(shape.m);
    n_ = numbers(shape.n);
    k_ = numbers(shape.k);
    lane_ = b_.lane();
    row0_ = b_.group(0) * t_.tile_m;
    column0_ = b_.group(1) * t_.tile_n;
    down_ = t_.tile_m / t_.lane_m;
    across_ = t_.tile_n / t_.lane_n;
    const Value of_part = lane_ % (down_ * across_);
    part_ = lane_ / (down_ * across_);
    row_ = of_part / across_;
    column_ = of_part % across_;
  }

  void run(const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
           const std::function<std::vector<Value>(Value, Value)>& place) {
    const TileLayout xl = layout_of(x, t_.tile_m, t_.tile_k, kQuadFloats),
                     wl = layout_of(w, t_.tile_n, t_.tile_k, kQuadFloats);
    MatrixStage xs(b_, target_, x, t_.tile_m, t_.tile_k, lanes_, 0, xl);
    MatrixStage ws(b_, target_, w, t_.tile_n, t_.tile_k, lanes_, xl.quads, wl);
    xs.take(row0_, m_, shape_.m, shape_.m_open);
    ws.take(column0_, n_, shape_.n, shape_.nk_open);
    for (uint32_t i = 0; i < t_.lane_m * t_.lane_n; ++i) sums_.push_back(b_.variable(b_.f32(0)));
    x_ = {row_, down_, t_.lane_m, 0, xl};
    w_ = {column_, across_, t_.lane_n, xl.quads, wl};
    TilePairs tiles(b_, xs, ws, t_.tile_k, k_, shape_.k, shape_.nk_open);
    const uint32_t quads = tiles.quads();
    const bool ahead = tiles.copies();
    const bool two = !tiles.one_step() && 2 * quads * 16 + scratch_bytes() <= target_.shared_bytes;
    const uint32_t stages = ahead ? tiles.stages_in(target_.stage_bytes / 3) : two ? 2 : 1;
    array_ = b_.shared(Type::kQuad, stages * quads);
    const auto multiply = [this](Value tile) { multiply_tile(tile); };
    if (ahead) {
      tiles.copy_ahead(array_, stages, multiply);
    } else {
      tiles.fetch_by_turns(array_, two, multiply);
    }
    end(epilogue, place);
  }

 private:
  // A lane's lines of an operand. Those that lie along k are as far apart as there are lanes, so that neighbours read
  // from other banks; a quad that follows lines is four of a lane's.
  struct Lines {
    Value lane;
    uint32_t lanes = 0, count = 0, first = 0;
    TileLayout layout;

    Value at(uint32_t i) const { return layout.along_k ? lane + int64_t{i} * lanes : lane * 4 + line_of_four(i); }
    int64_t line_of_four(uint32_t i) const { return int64_t{i / 4} * lanes * 4 + i % 4; }
  };

  void multiply_tile(Value tile) {
    b_.loop(part_, b_.u32(t_.tile_k / 4), t_.parts, [&](Value four) {
      const std::vector<Value> x = read(x_, tile, four), w = read(w_, tile, four);
      for (uint32_t k = 0; k < 4; ++k) {
        for (uint32_t i = 0; i < t_.lane_m; ++i) {
          for (uint32_t j = 0; j < t_.lane_n; ++j) {
            const Variable& sum = sums_[i * t_.lane_n + j];
            sum.set(b_.fma(x[i * 4 + k], w[j * 4 + k], sum.get()));
          }
        }
      }
    });
  }

  // Four of the depth of each of a lane's lines: [line][k].
  std::vector<Value> read(const Lines& l, Value tile, Value four) {
    std::vector<Value> out(size_t{l.count} * 4);
    const Value first = tile + int64_t{l.first};
    const auto part = [&](Value quad, uint32_t e) { return b_.bitcast(b_.part(quad, e), Type::kF32); };
    const uint32_t pitch = l.layout.pitch;
    if (l.layout.along_k) {
      const Value mine = first + l.lane * pitch + four;
      for (uint32_t i = 0; i < l.count; ++i) {
        const Value quad = b_.shared_load(array_, mine + int64_t{i} * l.lanes * pitch);
        for (uint32_t k = 0; k < 4; ++k) out[i * 4 + k] = part(quad, k);
      }
      return out;
    }
    const Value mine = first + four * (4 * pitch) + l.lane;
    for (uint32_t k = 0; k < 4; ++k) {
      for (uint32_t i = 0; i < l.count; i += 4) {
        const Value quad = b_.shared_load(array_, mine + (int64_t{k} * pitch + int64_t{i / 4} * l.lanes));
        for (uint32_t e = 0; e < 4; ++e) out[(i + e) * 4 + k] = part(quad, e);
      }
    }
    return out;
  }

  uint32_t scratch_bytes() const { return t_.parts * down_ * (t_.tile_n + kPad) * 4; }

  // One row of each lane after the other goes through shared memory, so that the epilogue's code stands once, parts
  // come together, and neighbours write neighbours.
  void end(Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    scratch_ = b_.shared(Type::kF32, scratch_bytes() / 4);
    b_.loop(b_.u32(0), b_.u32(t_.lane_m), 1, [&](Value i) { finish(i, epilogue, place); });
  }
  void finish(Value i, Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
    const uint32_t pitch = t_.tile_n + kPad;
    const Value mine = (part_ * down_ + row_) * pitch;
    for (uint32_t line = 0; line < t_.lane_m; ++line) {
      b_.when(i == line, [&] {
        for (uint32_t j = 0; j < t_.lane_n; ++j)
          b_.shared_store(scratch_, mine + w_.at(j), sums_[line * t_.lane_n + j].get());
      });
    }
    b_.barrier();
    const uint32_t fours = t_.tile_n / 4;
    // As Lines::at of line i, for an i that is no constant.
    const auto row_of = [&](Value lane) {
      return x_.layout.along_k ? lane + i * down_ : lane * 4 + i / 4 * (4 * down_) + i % 4;
    };
    b_.loop(lane_, b_.u32(down_ * fours), lanes_, [&](Value at) {
      const Value lane = at / fours, four = at % fours;
      const Value row = row0_ + row_of(lane), column = column0_ + four * 4;
      const Value row_inside = is_below(b_, row, m_, shape_.m, t_.tile_m, shape_.m_open),
                  column_inside = is_below(b_, column, n_, shape_.n, t_.tile_n, shape_.nk_open);
      b_.when(row_inside & column_inside, [&] {
        std::array<Value, 4> sums;
        for (uint32_t p = 0; p < t_.parts; ++p) {
          for (uint32_t e = 0; e < 4; ++e) {
            const Value one = b_.shared_load(scratch_, (lane + int64_t{p} * down_) * pitch + four * 4 + e);
            sums[e] = p == 0 ? one : sums[e] + one;
          }
        }
        if (shape_.n % 4 == 0 && !shape_.nk_open) return epilogue.store_four(place(row, column), sums);
        for (uint32_t e = 0; e < 4; ++e) {
          b_.when(e == 0 ? b_.boolean(true) : column + e < n_, [&] {
            const std::vector<Value> there = place(row, column + e);
            epilogue.store(epilogue.at(there, {sums[e]}), there);
          });
        }
      });
    });
    b_.barrier();
  }

  Builder& b_;
  const ProductTiling& t_;
  const ProductShape& shape_;
  const Target& target_;
  const uint32_t lanes_;
  uint32_t array_ = 0, scratch_ = 0, down_ = 0, across_ = 0;
  Value m_, n_, k_, lane_, row0_, column0_, part_, row_, column_;
  Lines x_, w_;
  std::vector<Variable> sums_;
};

}  // namespace

uint32_t float_bytes(const ProductTiling& t) {
  const uint32_t quads = most_quads(t.tile_m, t.tile_k, kQuadFloats) + most_quads(t.tile_n, t.tile_k, kQuadFloats);
  return quads * 16 + t.parts * (t.tile_m / t.lane_m) * (t.tile_n + kPad) * 4;
}

// The tiles that compute the fewest elements, those beyond the product's ends and those that a device which is not full
// could have computed meanwhile among them. Larger ones read less for each.
ProductTiling choose_float_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, const Target& target) {
  struct Tile {
    uint32_t m, n, k, lane_m, lane_n, parts;
    int64_t fill, most;  // the workgroups that keep a device busy, and the most that are on it at once
    int64_t cost;        // of an element
  };
  constexpr Tile kTiles[] = {{64, 128, 16, 8, 8, 1, 250, 396, 10},
                             {32, 64, 16, 4, 8, 2, 380, 792, 12},
                             {32, 32, 32, 4, 8, 8, 100, 600, 16},
                             {16, 32, 32, 4, 4, 8, 100, 660, 25}};
  constexpr int64_t kLeastDepth = 64, kLeast = 32, kTooFewRows = 8;
  ProductTiling best;
  int64_t least = INT64_MAX;
  if (k < kLeastDepth || n < kLeast || m <= kTooFewRows) return best;
  for (const Tile& tile : kTiles) {
    ProductTiling t;
    t.tile_m = tile.m;
    t.tile_n = tile.n;
    t.tile_k = tile.k;
    t.lane_m = tile.lane_m;
    t.lane_n = tile.lane_n;
    t.parts = tile.parts;
    const int64_t tiles = batch * ((m + tile.m - 1) / tile.m) * ((n + tile.n - 1) / tile.n);
    const int64_t turns = (tiles + tile.most - 1) / tile.most;
    const int64_t cost = (turns == 1 ? std::max(tiles, tile.fill) : turns * tile.most) * tile.m * tile.n * tile.cost;
    if (cost >= least || !refuse_tiling(t, target).empty()) continue;
    best = t;
    least = cost;
  }
  return best;
}

void write_float_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                         const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w,
                         Evaluator& epilogue, const std::function<std::vector<Value>(Value, Value)>& place) {
  FloatBody(builder, target, numbers, shape, tiling).run(x, w, epilogue, place);
}

}  // namespace vireo::gpu
