// Products and convolutions of bytes by a matrix unit, against plain loops, to the bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "delegates/gpu/templates/product.h"
#include "delegates/gpu/templates/product_body.h"
#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::codes_test {
namespace {

// What a card of the ninth family has, or a later one without the unit that reads tiles.
Target code_target(bool tiles) {
  Target t = rich_target();
  t.units = {{16, 16, 16, true}};
  t.code_unit = {16, 16, 32, true};
  t.shuffles = true;
  t.stage_bytes = 227u << 10;
  t.tile_unit = tiles;
  return t;
}

// y = sum + addend[last axis], as the sum's type or as a byte (its low bits).
Expression ending(const View& y, bool as_byte) {
  Expression e;
  Input sum, addend;
  sum.dtype = addend.dtype = DType::kI32;
  sum.given = true;
  addend.view.strides.assign(y.strides.size(), 0);
  addend.view.strides.back() = 1;
  e.inputs = {sum, addend};
  Step add, low;
  add.function = Function::kAdd;
  add.type = DType::kI32;
  add.a = 0;
  add.b = 1;
  low.function = Function::kCast;
  low.type = DType::kI8;
  low.a = 2;
  e.steps = {add};
  if (as_byte) e.steps.push_back(low);
  e.outputs = {{as_byte ? 3 : 2, y}};
  return e;
}

int32_t number(DType type, uint8_t code) { return type == DType::kI8 ? static_cast<int8_t>(code) : code; }

void expect(const Bytes& y, size_t at, uint32_t sum, bool as_byte) {
  if (as_byte) {
    ASSERT_EQ(y[at], static_cast<uint8_t>(sum)) << at;
  } else {
    ASSERT_EQ(as<uint32_t>(y)[at], sum) << at;
  }
}

struct Case {
  int64_t m, n, k;
  DType x, w;
  bool x_turned, w_turned;  // x: lines side by side; w: columns side by side
};

ProductProblem problem_of(const Case& c, bool as_byte) {
  ProductProblem p;
  p.batch = {2};  // of x
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.x = {c.x, 0, {c.m * c.k}, c.x_turned ? 1 : c.k, c.x_turned ? c.m : 1};
  p.w = {c.w, 0, {0}, c.w_turned ? c.n : 1, c.w_turned ? 1 : c.k};
  p.sum = DType::kI32;
  p.x_zero = 7;
  p.w_zero = -5;
  p.raw = true;
  p.epilogue = ending(dense({2, c.m, c.n}), as_byte);
  return p;
}

void add(Trials& trials, const Case& c, const Target& target, bool as_byte, const ProductTiling* tiles = nullptr) {
  const ProductProblem p = problem_of(c, as_byte);
  const ProductTiling tiling = tiles != nullptr ? *tiles : choose_product(p, target);
  ASSERT_TRUE(tiling.unit.codes);
  const Bytes x = random_bytes(static_cast<size_t>(2 * c.m * c.k), 4),
              w = random_bytes(static_cast<size_t>(c.k * c.n), 5),
              addends = random_bytes(static_cast<size_t>(c.n * 4), 6);
  trials.add("codes " + std::to_string(c.m) + " " + std::to_string(c.n) + " " + std::to_string(c.k),
             make_product(p, tiling, target), target,
             {x, w, addends, Bytes(static_cast<size_t>(2 * c.m * c.n * (as_byte ? 1 : 4)))},
             [=](const std::vector<Bytes>& out) {
               for (int64_t at = 0; at < 2 * c.m * c.n; ++at) {
                 const int64_t image = at / (c.m * c.n), row = at / c.n % c.m, column = at % c.n;
                 uint32_t sum = as<uint32_t>(addends)[static_cast<size_t>(column)];
                 for (int64_t k = 0; k < c.k; ++k)
                   sum += static_cast<uint32_t>(
                       number(c.x, x[static_cast<size_t>(image * p.x.batch[0] + row * p.x.row + k * p.x.column)]) *
                       number(c.w, w[static_cast<size_t>(k * p.w.row + column * p.w.column)]));
                 expect(out[3], static_cast<size_t>(at), sum, as_byte);
               }
             });
}

// Bytes of either sign that lie by sixteens, by fours and one by one, in either order; depths and extents that tiles do
// not divide; sums that end in registers and such that go through shared memory.
TEST(Codes, Products) {
  Trials trials;
  constexpr DType kI = DType::kI8, kU = DType::kU8;
  const Target target = code_target(false);
  bool as_byte = false;
  for (const Case& c : {Case{40, 24, 96, kI, kI, false, false}, Case{33, 20, 100, kU, kI, false, false},
                        Case{16, 50, 37, kI, kU, true, false}, Case{70, 16, 64, kU, kU, false, true},
                        Case{5, 36, 272, kU, kI, false, false}, Case{150, 130, 48, kI, kI, true, true}}) {
    add(trials, c, target, as_byte);
    as_byte = !as_byte;
    add(trials, c, opened(target), as_byte);
  }
}

TEST(Codes, UnitsThatReadTiles) {
  Trials trials;
  constexpr DType kI = DType::kI8, kU = DType::kU8;
  const Target target = code_target(true);
  const ProductTiling small = code_tile_tiling(64, 64, 6, true, true), wide = code_tile_tiling(64, 128, 3, false, true),
                      tall = code_tile_tiling(128, 32, 4, true, false);
  add(trials, {72, 72, 272, kI, kI, false, false}, target, true, &small);
  add(trials, {40, 136, 144, kU, kI, false, false}, target, false, &wide);
  add(trials, {136, 36, 528, kI, kU, false, false}, target, true, &tall);
}

// Images with channels side by side, weights along the depth. What lies outside of the picture is the zero point.
void add_convolution(Trials& trials, const Window& window, int64_t groups, int64_t channels, int64_t outputs,
                     DType type, const Target& target, int64_t shares = 1, const ProductTiling* tiles = nullptr) {
  ConvolutionProblem p;
  p.images = 2;
  p.groups = groups;
  p.channels = channels;
  p.outputs = outputs;
  p.shares = shares;
  p.window = window;
  const int64_t c = groups * channels, o = groups * outputs, in = window.in[1] * window.in[2], places = window.places(),
                taps = window.taps(), depth = channels * taps;
  p.x_dtype = type;
  p.w_dtype = DType::kI8;
  p.x.image = in * c;
  p.x.channel = 1;
  p.x.spatial = {in * c, window.in[2] * c, c};
  p.w.group = outputs * depth;
  p.w.output = depth;
  p.w.channel = 1;
  p.w.spatial = {depth, window.kernel[2] * channels, channels};
  p.sum = DType::kI32;
  p.x_zero = type == DType::kI8 ? -3 : 128;
  p.raw = true;
  View y;
  y.strides = {shares > 1 ? 2 * places * o : outputs, places * o, places * o, window.out[2] * o, o, 1};
  p.epilogue = ending(y, false);
  for (int64_t& step : p.epilogue.inputs[1].view.strides) step = 0;
  p.epilogue.inputs[1].view.strides = {shares > 1 ? 0 : outputs, 0, 0, 0, 0, 1};
  const ProductTiling tiling = tiles != nullptr ? *tiles : choose_convolution(p, target);
  ASSERT_TRUE(tiling.unit.codes);
  const Bytes x = random_bytes(static_cast<size_t>(2 * in * c), 1), w = random_bytes(static_cast<size_t>(o * depth), 2),
              addends = random_bytes(static_cast<size_t>(o * 4), 3);
  trials.add(
      "convolution of codes", make_convolution(p, tiling, target), target,
      {x, w, addends, Bytes(static_cast<size_t>(shares * 2 * places * o * 4))}, [=](const std::vector<Bytes>& out) {
        const std::vector<uint32_t> got = as<uint32_t>(out[3]);
        for (int64_t at = 0; at < 2 * places * o; ++at) {
          const int64_t f = at % o, place = at / o % places, image = at / (o * places);
          uint32_t sum = as<uint32_t>(addends)[static_cast<size_t>(f)] * static_cast<uint32_t>(shares), all = 0;
          for (int64_t d = 0; d < depth; ++d) {
            const int64_t t = d / channels;
            const int64_t row = place / window.out[2] * window.stride[1] + t / window.kernel[2] - window.pad[1],
                          column = place % window.out[2] * window.stride[2] + t % window.kernel[2] - window.pad[2];
            const bool inside = row >= 0 && row < window.in[1] && column >= 0 && column < window.in[2];
            const int64_t from =
                ((image * window.in[1] + row) * window.in[2] + column) * c + f / outputs * channels + d % channels;
            const int32_t a = inside ? number(type, x[static_cast<size_t>(from)]) : p.x_zero;
            sum += static_cast<uint32_t>(a * number(DType::kI8, w[static_cast<size_t>(f * depth + d)]));
          }
          for (int64_t s = 0; s < shares; ++s) all += got[static_cast<size_t>(s * 2 * places * o + at)];
          ASSERT_EQ(all, sum) << at;
        }
      });
}

TEST(Codes, Convolutions) {
  Trials trials;
  Window plain;  // 3 x 3, padded
  plain.in = plain.out = {1, 9, 7};
  plain.kernel = {1, 3, 3};
  plain.pad = {0, 1, 1};
  Window strided = plain;
  strided.stride = {1, 2, 2};
  strided.out = {1, 5, 4};
  Window point;
  point.in = point.out = {1, 6, 5};
  const Target some = code_target(false), reads = code_target(true);
  add_convolution(trials, plain, 1, 32, 24, DType::kI8, some);
  add_convolution(trials, plain, 2, 16, 16, DType::kU8, some);
  add_convolution(trials, strided, 1, 12, 40, DType::kU8, some);
  add_convolution(trials, strided, 1, 3, 18, DType::kI8, some);
  add_convolution(trials, plain, 1, 32, 24, DType::kI8, some, 3);
  add_convolution(trials, point, 1, 64, 20, DType::kI8, some);
  const ProductTiling tiles = code_tile_tiling(64, 64, 4, true, true), mixed = code_tile_tiling(64, 64, 5, false, true);
  Trials of_tiles;
  add_convolution(of_tiles, point, 1, 144, 40, DType::kI8, reads, 1, &tiles);
  add_convolution(of_tiles, plain, 1, 32, 72, DType::kU8, reads, 1, &mixed);
  add_convolution(of_tiles, strided, 1, 128, 40, DType::kI8, reads, 1, &tiles);
}

// A product that takes zero points off each element, and one of few rows, go another way.
TEST(Codes, WhatHasNoUnit) {
  const Target target = code_target(true);
  ProductProblem p = problem_of({64, 64, 64, DType::kI8, DType::kI8, false, false}, false);
  EXPECT_TRUE(choose_product(p, target).unit.codes);
  EXPECT_TRUE(choose_product(problem_of({1000, 512, 256, DType::kU8, DType::kI8, false, false}, true), target)
                  .unit.reads_tiles);
  p.raw = false;
  EXPECT_EQ(choose_product(p, target).unit.m, 0u);
  p.x_zero = p.w_zero = 0;
  EXPECT_TRUE(choose_product(p, target).unit.codes);
  p.m = 3;
  EXPECT_EQ(choose_product(p, target).unit.m, 0u);
  EXPECT_EQ(choose_product(problem_of({64, 64, 64, DType::kI8, DType::kI8, false, false}, false), rich_target()).unit.m,
            0u);
}

}  // namespace
}  // namespace vireo::gpu::codes_test
