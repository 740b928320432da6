#include "delegates/gpu/templates/product_body.h"

#include <algorithm>

namespace vireo::gpu {
namespace {

constexpr uint32_t kUnrolled = 4;  // steps along k that stand in the code one after the other

class Body {
 public:
  Body(Builder& b, const Target& target, Numbers& numbers, const ProductShape& shape, const ProductTiling& tiling)
      : b_(b), t_(tiling), shape_(shape), elements_(b, target), type_(lane_type(shape.sum, target)) {
    lanes_ = product_lanes(t_);
    m_ = numbers(shape.m);
    n_ = numbers(shape.n);
    k_ = numbers(shape.k);
    lane_ = b_.lane();
    row0_ = b_.group(0) * t_.tile_m;
    column0_ = b_.group(1) * t_.tile_n;
  }

  void run(const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
           const std::function<std::vector<Value>(Value, Value)>& place) {
    Stage xs = stage(x, t_.tile_m, row0_, m_, shape_.m, shape_.m_open),
          ws = stage(w, t_.tile_n, column0_, n_, shape_.n, shape_.nk_open);
    std::vector<Variable> sums;
    for (uint32_t i = 0; i < t_.lane_m * t_.lane_n; ++i) sums.push_back(b_.variable(b_.number(type_, 0)));
    const Value across = b_.u32(t_.tile_n / t_.lane_n);
    const Value first_row = (lane_ / across) * t_.lane_m, first_column = lane_ % across;
    const auto accumulate_tile = [&] {
      b_.loop(b_.u32(0), b_.u32(t_.tile_k), std::min(kUnrolled, t_.tile_k), [&](Value from) {
        for (uint32_t j = 0; j < std::min(kUnrolled, t_.tile_k); ++j)
          accumulate(xs, ws, from + j, first_row, first_column, sums);
      });
    };
    const auto fetch_both = [&](Value k0) { fetch(xs, k0), fetch(ws, k0); };
    const auto keep_both = [&] { keep(xs), keep(ws); };
    if (shape_.k <= t_.tile_k && !shape_.nk_open) {
      fetch_both(b_.u32(0));
      keep_both();
      b_.barrier();
      accumulate_tile();
    } else {
      // A turn asks for its tiles, takes the sums of those before them meanwhile, and keeps its own: one turn more than
      // there are tiles.
      b_.loop(b_.u32(0), k_ + t_.tile_k, t_.tile_k, [&](Value k0) {
        const Value more = k0 < k_;
        b_.when(more, [&] { fetch_both(k0); });
        b_.when(k0 != 0, accumulate_tile);
        b_.barrier();
        b_.when(more, keep_both);
        b_.barrier();
      });
    }
    for (uint32_t i = 0; i < t_.lane_m; ++i) {
      for (uint32_t j = 0; j < t_.lane_n; ++j) {
        const Value row = row0_ + first_row + i, column = column0_ + first_column + across * j;
        const Value row_inside = is_below(b_, row, m_, shape_.m, t_.tile_m, shape_.m_open),
                    column_inside = is_below(b_, column, n_, shape_.n, t_.tile_n, shape_.nk_open);
        b_.when(row_inside & column_inside, [&] {
          const std::vector<Value> at = place(row, column);
          epilogue.store(epilogue.at(at, {sums[i * t_.lane_n + j].get()}), at);
        });
      }
    }
  }

 private:
  // One operand's tile and how its lanes fill it.
  struct Stage {
    const ProductOperand* operand;
    uint32_t array, lines, pitch;
    struct Turn {  // one element of a lane
      Value line, k, place, there, line_inside;
      ProductOperand::Line known;
      Variable element;  // on its way to shared memory
    };
    std::vector<Turn> turns;
  };

  Stage stage(const ProductOperand& operand, uint32_t lines, Value first, Value end, int64_t extent, bool open) {
    // A pitch that is no power of two keeps lanes that write along k out of each other's banks.
    Stage s = {&operand, 0, lines, lines + (operand.k_is_fastest ? 1 : 0), {}};
    s.array = b_.shared(type_, s.pitch * t_.tile_k);
    const uint32_t count = lines * t_.tile_k;
    for (uint32_t turn = 0; turn * lanes_ < count; ++turn) {
      const Value at = lane_ + int64_t{turn} * lanes_;
      Stage::Turn one;
      const Value line = operand.k_is_fastest ? at / t_.tile_k : at % lines;
      one.k = operand.k_is_fastest ? at % t_.tile_k : at / lines;
      one.place = one.k * s.pitch + line;
      one.there = (turn + 1) * lanes_ > count ? at < count : b_.boolean(true);
      one.line = first + line;
      one.line_inside = is_below(b_, one.line, end, extent, lines, open);
      // A line that is not there is read as the last one: what is made of it is not stored.
      one.known = operand.line(b_.select(one.line_inside, one.line, end - 1));
      one.element = b_.variable(b_.number(type_, 0));
      s.turns.push_back(one);
    }
    return s;
  }

  void fetch(const Stage& s, Value k0) {
    for (const Stage::Turn& turn : s.turns) {
      b_.when(turn.there, [&] {
        const bool whole = shape_.k % t_.tile_k == 0 && !shape_.nk_open;
        const Value k = k0 + turn.k;
        const Value k_inside = is_below(b_, k, k_, shape_.k, t_.tile_k, shape_.nk_open);
        const ProductOperand::Element e = whole
                                              ? s.operand->read(turn.known, k0, turn.k)
                                              : s.operand->read(turn.known, b_.u32(0), b_.select(k_inside, k, k_ - 1));
        const Value inside = e.inside & k_inside;
        const Value element = elements_.load(s.operand->tensor, b_.select(inside, e.index, b_.u32(0)));
        Value v = b_.convert(element, type_);
        if (s.operand->zero != 0) v = v - s.operand->zero;
        turn.element.set(b_.select(inside, v, b_.number(type_, s.operand->outside)));
      });
    }
  }
  void keep(const Stage& s) {
    for (const Stage::Turn& turn : s.turns)
      b_.when(turn.there, [&] { b_.shared_store(s.array, turn.place, turn.element.get()); });
  }

  void accumulate(const Stage& xs, const Stage& ws, Value k, Value first_row, Value first_column,
                  const std::vector<Variable>& sums) {
    std::vector<Value> x, w;
    const int64_t across = t_.tile_n / t_.lane_n;
    for (uint32_t i = 0; i < t_.lane_m; ++i) x.push_back(b_.shared_load(xs.array, k * xs.pitch + first_row + i));
    for (uint32_t j = 0; j < t_.lane_n; ++j)
      w.push_back(b_.shared_load(ws.array, k * ws.pitch + first_column + across * j));
    for (uint32_t i = 0; i < t_.lane_m; ++i) {
      for (uint32_t j = 0; j < t_.lane_n; ++j) {
        const Variable& sum = sums[i * t_.lane_n + j];
        sum.set(type_ == Type::kF32 ? b_.fma(x[i], w[j], sum.get()) : x[i] * w[j] + sum.get());
      }
    }
  }

  Builder& b_;
  const ProductTiling& t_;
  const ProductShape& shape_;
  Elements elements_;
  Type type_;
  uint32_t lanes_ = 0;
  Value m_, n_, k_, lane_, row0_, column0_;
};

}  // namespace

uint32_t product_lanes(const ProductTiling& t) {
  if (t.unit.m != 0) return (t.tile_m / t.sub_m) * (t.tile_n / t.sub_n) * t.unit.lanes;
  if (t.depth_lanes > 0) return t.tile_n * t.depth_lanes;
  return (t.tile_m / t.lane_m) * (t.tile_n / t.lane_n) * std::max(t.parts, 1u);
}

namespace {

bool refuses_matrices(const ProductTiling& t) {
  const auto divides = [](uint32_t part, uint32_t whole) { return part != 0 && whole != 0 && whole % part == 0; };
  return t.depth_lanes != 0 || t.unit.lanes == 0 || !divides(8, t.unit.m) || !divides(8, t.unit.n) ||
         !divides(8, t.unit.k) ||
         (t.unit.reads_tiles && (t.stages < 3 || t.sub_m != t.unit.m || t.sub_n != t.unit.n)) ||
         !divides(t.unit.m, t.sub_m) || !divides(t.unit.n, t.sub_n) || !divides(t.sub_m, t.tile_m) ||
         !divides(t.sub_n, t.tile_n) || !divides(t.unit.k, t.tile_k);
}

// Workgroups of four subgroups, and the largest tiles of which there are enough to keep a device busy.
ProductTiling matrix_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, const Unit& unit, const Target& target) {
  constexpr uint32_t kTiles[][2] = {{128, 128}, {64, 64}, {32, 64}, {32, 32}};
  ProductTiling t;
  // Workgroups that a device takes at once. Where small tiles end in registers, fewer of the next size are faster.
  constexpr int64_t kFill = 128, kFillSmall = 80;
  t.unit = unit;
  const auto tiles = [&](int64_t rows, int64_t columns) {
    return batch * ((m + rows - 1) / rows) * ((n + columns - 1) / columns);
  };
  for (const auto& tile : kTiles) {
    t.tile_m = tile[0];
    t.tile_n = tile[1];
    if (tiles(t.tile_m, t.tile_n) >= (unit.known && tile[0] < 128 ? kFillSmall : kFill)) break;
  }
  t.tile_k = (k * 8 <= 32 * int64_t{unit.of_quad()} ? 4 : 8) * unit.of_quad();
  const auto halve = [&](uint32_t* tile, int64_t extent, uint32_t least) {
    while (*tile / 2 >= least && extent <= *tile / 2) *tile /= 2;
  };
  halve(&t.tile_m, m, unit.m);
  halve(&t.tile_n, n, unit.n);
  t.sub_m = std::max(t.tile_m / 2, unit.m);
  // Of the largest tiles a subgroup has less: RDNA's registers do not hold 64 x 64 of them beside its operands.
  const bool halved = unit.known || (target.hip != 0 && target.subgroup == 32);
  t.sub_n = std::max(t.tile_n / (halved && t.tile_m * t.tile_n >= 128 * 128 ? 4 : 2), unit.n);
  const uint32_t lanes = std::min(target.workgroup, target.workgroup_x);
  while (t.tile_m > t.sub_m && (product_lanes(t) > lanes || matrix_bytes(t) > target.shared_bytes)) t.tile_m /= 2;
  return t;
}

}  // namespace

ProductTiling tile_tiling(uint32_t tile_m, uint32_t tile_n, uint32_t stages) {
  ProductTiling t;
  t.tile_m = tile_m;
  t.tile_n = tile_n;
  t.tile_k = 64;
  t.sub_m = 64;
  t.sub_n = tile_n;
  t.unit = {64, tile_n, 16, 128, true, true};
  t.stages = stages;
  return t;
}

// The tiles of which all take the least time: what the second-level cache brings of one, or what the unit multiplies,
// whichever takes longer, and what begins and ends it. A multiprocessor takes one tile after another, or with half of
// its memory for each two at once, of which one ends while the other multiplies.
ProductTiling choose_tile_unit(int64_t m, int64_t n, int64_t k, int64_t batch, bool w_turned,
                               const Expression& epilogue, const Target& target) {
  constexpr uint32_t kTiles[][2] = {{128, 256}, {256, 128}, {128, 128}, {64, 256},
                                    {64, 128},  {128, 64},  {64, 64},   {64, 32}};
  constexpr int64_t kMultiprocessors = 132, kDeep = 256;
  // In times in which the cache brings 128 bytes: to begin, and for 256 elements of an epilogue.
  constexpr int64_t kBegin = 400, kElements = 8;
  constexpr uint32_t kMostStages = 8;
  ProductTiling best;
  if (!target.tile_unit || k < 64 || m < 32 || n < 32) return best;
  // With fewer, smaller tiles of another unit are faster.
  const int64_t least_tiles = k < kDeep ? 64 : 30;
  int64_t least = INT64_MAX;
  const int64_t steps = (k + 63) / 64, of_element = kElements + static_cast<int64_t>(code_size(epilogue));
  for (const auto& tile : kTiles) {
    const int64_t tm = tile[0], tn = tile[1];
    if ((tm > 64 && tm / 2 >= m) || (tn > 32 && tn / 2 >= n) || (tn % 64 != 0 && w_turned)) continue;
    const int64_t tiles = batch * ((m + tm - 1) / tm) * ((n + tn - 1) / tn);
    const int64_t turns = (tiles + kMultiprocessors - 1) / kMultiprocessors;
    const int64_t work = std::max(tm + tn, tm * tn / 64) * steps, ends = kBegin + tm * tn * of_element / 256;
    if (tiles < least_tiles) continue;
    for (const uint32_t at_once : {1u, 2u}) {
      const auto bytes = static_cast<uint32_t>((tm + tn) * 128);
      const uint32_t stages = std::min(kMostStages, target.stage_bytes / at_once / bytes);
      const ProductTiling t = tile_tiling(tile[0], tile[1], stages);
      if (!refuse_tiling(t, target).empty()) continue;
      const int64_t slow = stages == 3 ? work / 8 : 0;  // too few of them on their way
      const int64_t time = at_once == 1 ? turns * (work + ends) : turns * (work + slow) + (turns + 1) * ends / 2;
      if (time >= least) continue;
      best = t;
      least = time;
    }
  }
  return best;
}

ProductTiling code_tile_tiling(uint32_t tile_m, uint32_t tile_n, uint32_t stages, bool x_signed, bool w_signed) {
  ProductTiling t = tile_tiling(tile_m, tile_n, stages);
  t.tile_k *= 2;
  t.unit.k *= 2;
  t.unit.codes = true;
  t.unit.left_signed = x_signed;
  t.unit.right_signed = w_signed;
  return t;
}

// Of halves and of bytes, tiles have as many bytes; so what holds of one holds of the other at half the depth.
ProductTiling choose_code_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, bool copied, bool x_signed,
                                bool w_signed, const Expression& epilogue, const Target& target) {
  constexpr int64_t kLeastDepth = 16, kLeastColumns = 8;
  const MatrixUnit& unit = target.code_unit;
  if (unit.m == 0 || m <= kFewRows || k < kLeastDepth || n < kLeastColumns) return {};
  ProductTiling t;
  if (copied) t = choose_tile_unit(m, n, (k + 1) / 2, batch, false, epilogue, target);
  if (t.unit.m != 0) return code_tile_tiling(t.tile_m, t.tile_n, t.stages, x_signed, w_signed);
  t = matrix_tiles(m, n, k, batch,
                   {unit.m, unit.n, unit.k, target.subgroup, unit.known, false, true, x_signed, w_signed}, target);
  return refuse_tiling(t, target).empty() ? t : ProductTiling();
}

std::string refuse_tiling(const ProductTiling& t, const Target& target) {
  const bool few = t.depth_lanes > 0, matrices = t.unit.m != 0;
  if (t.tile_m == 0 || t.tile_n == 0 || (few && (t.depth_lanes & (t.depth_lanes - 1)) != 0)) {
    return "a product's depth among lanes that are no power of two";
  }
  if (matrices && refuses_matrices(t)) return "a product's tile that the matrix unit does not divide";
  if (!few && !matrices &&
      (t.lane_m == 0 || t.lane_n == 0 || t.tile_k == 0 || t.tile_m % t.lane_m != 0 || t.tile_n % t.lane_n != 0 ||
       t.tile_k % std::min(kUnrolled, t.tile_k) != 0)) {
    return "a product's tile that lanes do not divide";
  }
  if (t.parts != 0 && (few || matrices || t.lane_m % 4 != 0 || t.lane_n % 4 != 0 || t.tile_k % (4 * t.parts) != 0))
    return "a product's depth among parts that do not divide it";
  const uint32_t shared = matrices       ? matrix_bytes(t)
                          : t.parts != 0 ? float_bytes(t)
                          : few          ? t.tile_m * product_lanes(t) * 4
                                         : (t.tile_m + 1 + t.tile_n + 1) * t.tile_k * 4;
  if (product_lanes(t) > std::min(target.workgroup, target.workgroup_x)) {
    return "a product's tile of more lanes than this GPU has";
  }
  if (shared <= (t.unit.reads_tiles ? target.stage_bytes : target.shared_bytes)) return "";
  return "a product's tile of " + std::to_string(shared) + " bytes, more than this GPU shares";
}

void write_product(Builder& builder, const Target& target, Numbers& numbers, const ProductShape& shape,
                   const ProductTiling& tiling, const ProductOperand& x, const ProductOperand& w, Evaluator& epilogue,
                   const std::function<std::vector<Value>(Value, Value)>& place) {
  if (tiling.unit.m != 0) return write_matrix_product(builder, target, numbers, shape, tiling, x, w, epilogue, place);
  if (tiling.parts != 0) return write_float_product(builder, target, numbers, shape, tiling, x, w, epilogue, place);
  if (tiling.depth_lanes > 0) return write_few_rows(builder, target, numbers, shape, tiling, x, w, epilogue, place);
  Body(builder, target, numbers, shape, tiling).run(x, w, epilogue, place);
}

ProductTiling choose_tiles(int64_t m, int64_t n, int64_t k, int64_t batch, bool along_k, bool halves,
                           const Target& target, bool nk_open) {
  const uint32_t lanes = std::min(target.workgroup, target.workgroup_x);
  if (m <= kFewRows) {
    ProductTiling few;
    few.tile_m = static_cast<uint32_t>(target.open ? kFewRows : m);
    few.depth_lanes = along_k ? 32 : 4;
    while (few.depth_lanes > 1 && few.depth_lanes > k && !nk_open) few.depth_lanes /= 2;
    few.tile_n = std::min(128u, lanes) / few.depth_lanes;
    return few;
  }
  if (halves && !target.units.empty() && k >= target.units[0].k && n >= target.units[0].n) {
    const MatrixUnit& unit = target.units[0];
    const ProductTiling t = matrix_tiles(m, n, k, batch, {unit.m, unit.n, unit.k, target.subgroup, unit.known}, target);
    if (refuse_tiling(t, target).empty()) return t;
  }
  ProductTiling t = {64, 64, 16, 4, 4};
  const auto tiles = [&] { return batch * ((m + t.tile_m - 1) / t.tile_m) * ((n + t.tile_n - 1) / t.tile_n); };
  while (t.tile_m > 16 && (m <= t.tile_m / 2 || tiles() < 64)) t.tile_m /= 2;
  while (t.tile_n > 16 && (n <= t.tile_n / 2 || tiles() < 32)) t.tile_n /= 2;
  if (nk_open) t.tile_m = t.tile_n = std::max(t.tile_m, t.tile_n);  // few kinds of them
  while (product_lanes(t) > lanes) t.tile_m /= 2;
  if (t.tile_m * t.tile_n < 1024) t.lane_n = 2;  // small tiles: 64 lanes all the same
  if (t.tile_m * t.tile_n < 512) t.lane_m = 2;
  return t;
}

}  // namespace vireo::gpu
