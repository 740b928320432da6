// Products and convolutions over drawn sizes and tilings, against plain loops: integers to the bit.
#include <gtest/gtest.h>
#include <math.h>

#include "delegates/gpu/spirv/emit.h"
#include "delegates/gpu/templates/product.h"
#include "delegates/gpu/templates/product_body.h"
#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::product_test {
namespace {

// y = relu(sum + bias[last axis]), or the sum itself.
Expression epilogue(DType sum, const View& y, bool bias) {
  Expression e;
  Input in;
  in.dtype = sum;
  in.given = true;
  e.inputs = {in};
  e.outputs = {{0, y}};
  if (!bias) return e;
  View b;
  b.strides.assign(y.strides.size(), 0);
  b.strides.back() = 1;
  e.inputs.push_back({sum, b});
  Step add, relu;
  add.function = Function::kAdd;
  add.type = relu.type = sum;
  add.a = 0;
  add.b = 1;
  relu.function = Function::kRelu;
  relu.a = 2;
  e.steps = {add, relu};
  e.outputs = {{3, y}};
  return e;
}

struct Case {
  int64_t m, n, k;
};

ProductProblem matrices(const Case& c, bool x_turned, bool w_turned, bool bias) {
  ProductProblem p;
  p.batch = {2, 3};  // x has both, w the second, once a batch
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.x.batch = {3 * c.m * c.k, c.m * c.k};
  p.x.row = x_turned ? 1 : c.k;
  p.x.column = x_turned ? c.m : 1;
  p.w.batch = {0, c.k * c.n};
  p.w.row = w_turned ? 1 : c.n;
  p.w.column = w_turned ? c.k : 1;
  p.epilogue = epilogue(DType::kF32, dense({2, 3, c.m, c.n}), bias);
  return p;
}

void add_matrices(Trials& trials, const ProductProblem& p, const ProductTiling& tiling, const Target& target,
                  bool bias) {
  const std::vector<float> x = random_floats(static_cast<size_t>(6 * p.m * p.k), 1),
                           w = random_floats(static_cast<size_t>(3 * p.k * p.n), 2),
                           b = random_floats(static_cast<size_t>(p.n), 3);
  std::vector<Bytes> bindings = {bytes_of(x), bytes_of(w)};
  if (bias) bindings.push_back(bytes_of(b));
  bindings.push_back(Bytes(static_cast<size_t>(6 * p.m * p.n * 4), 1));
  trials.add(
      "product " + std::to_string(p.m) + " " + std::to_string(p.n) + " " + std::to_string(p.k),
      make_product(p, tiling, target), target, bindings, [=](const std::vector<Bytes>& out) {
        const std::vector<float> y = as<float>(out.back());
        for (int64_t o = 0; o < 6; ++o) {
          for (int64_t i = 0; i < p.m * p.n; ++i) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < p.k; ++k) {
              const double one =
                  static_cast<double>(x[static_cast<size_t>(o * p.m * p.k + i / p.n * p.x.row + k * p.x.column)]) *
                  static_cast<double>(w[static_cast<size_t>(o % 3 * p.k * p.n + k * p.w.row + i % p.n * p.w.column)]);
              sum += one;
              size += fabs(one);
            }
            if (bias) sum = fmax(0, sum + static_cast<double>(b[static_cast<size_t>(i % p.n)]));
            ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(o * p.m * p.n + i)]), sum,
                        6e-8 * static_cast<double>(p.k + 2) * (size + 1));
          }
        }
      });
}

TEST(Product, BatchedMatricesOfAnyOrder) {
  Trials trials;
  const ProductTiling tilings[] = {{16, 16, 16, 4, 4}, {16, 64, 8, 2, 4}, {1, 64, 16, 1, 1}, {2, 4, 0, 0, 0, 16}};
  int turn = 0;
  for (const Case& c : {Case{1, 1, 1}, Case{5, 7, 9}, Case{16, 16, 16}, Case{33, 20, 18}, Case{2, 70, 5},
                        Case{1, 130, 33}, Case{3, 9, 260}, Case{64, 64, 16}}) {
    for (const Target& target : {plain_target(), rich_target(), opened(plain_target()), opened(rich_target())}) {
      const bool bias = turn % 3 != 0;
      ProductProblem p = matrices(c, (turn & 1) != 0, (turn & 2) != 0, bias);
      p.made_w = turn % 5 < 3;
      add_matrices(trials, p, choose_product(p, target), target, bias);
      add_matrices(trials, p, tilings[turn % 4], target, bias);
      ++turn;
    }
  }
}

bool has(const Program& p, Op op) {
  return std::any_of(p.body.begin(), p.body.end(), [op](const Statement& s) { return s.op == op; });
}

ProductTiling quads_tiling(uint32_t tile_m, uint32_t tile_n, uint32_t tile_k, uint32_t lane_m, uint32_t lane_n,
                           uint32_t parts) {
  ProductTiling t;
  t.tile_m = tile_m;
  t.tile_n = tile_n;
  t.tile_k = tile_k;
  t.lane_m = lane_m;
  t.lane_n = lane_n;
  t.parts = parts;
  return t;
}

// Floats in quads: operands that lie along the depth and along lines, by vectors and one by one, copied ahead or not,
// with one tile of the depth and with several, and lanes that share it.
TEST(Product, FloatsInQuads) {
  Trials trials;
  Target ahead = rich_target();
  ahead.stage_bytes = 96u << 10;
  size_t turn = 0;
  for (const Case& c : {Case{33, 40, 48}, {16, 32, 16}, {40, 36, 76}, {21, 23, 37}}) {
    for (const bool x_turned : {false, true}) {
      for (const bool w_turned : {false, true}) {
        const Target& target = turn++ % 2 == 0 ? ahead : rich_target();
        const ProductProblem p = matrices(c, x_turned, w_turned, true);
        add_matrices(trials, p, quads_tiling(32, 32, 16, 4, 4, turn % 3 == 0 ? 4 : 1), target, true);
        add_matrices(trials, p, quads_tiling(32, 64, 16, 8, 8, 2), target, true);
        EXPECT_EQ(has(make_product(p, quads_tiling(32, 32, 16, 4, 4, 1), ahead).program, Op::kCopy),
                  c.k > 16 && c.k % 4 == 0 && (!w_turned ? c.n % 4 == 0 : true) && (x_turned ? c.m % 4 == 0 : true));
      }
    }
  }
  const ProductProblem p = matrices({128, 128, 64}, false, false, true);
  EXPECT_FALSE(make_product(p, quads_tiling(32, 32, 16, 4, 4, 3), ahead).refusal.empty());
  EXPECT_FALSE(make_product(p, quads_tiling(32, 32, 16, 4, 2, 1), ahead).refusal.empty());
}

// A token's vector: weights are read 16 bytes at a time, float16 with its subnormal numbers.
TEST(Product, FewRowsOfPieces) {
  Trials trials;
  const auto stored = [](DType type, const std::vector<float>& v) {
    if (type == DType::kF32) return bytes_of(v);
    std::vector<uint16_t> out;
    for (const float f : v) out.push_back(half_of(f));
    return bytes_of(out);
  };
  Target exchanging = rich_target();  // lanes that share a column exchange their sums
  exchanging.shuffles = true;
  int turn = 0;
  for (const auto& [x_type, w_type] : {std::pair{DType::kF16, DType::kF16}, std::pair{DType::kF32, DType::kF16},
                                       std::pair{DType::kF32, DType::kF32}, std::pair{DType::kF16, DType::kF32}}) {
    for (const Case& c : {Case{1, 9, 520}, Case{3, 6, 2048}, Case{2, 5, 264}}) {
      ProductProblem p;
      p.m = c.m;
      p.n = c.n;
      p.k = c.k;
      p.x = {x_type, 0, {}, c.k, 1};
      p.w = {w_type, 0, {}, 1, c.k};
      p.epilogue = epilogue(DType::kF32, dense({c.m, c.n}), false);
      std::vector<float> x = random_floats(static_cast<size_t>(c.m * c.k), 1),
                         w = random_floats(static_cast<size_t>(c.n * c.k), 2);
      for (float& v : x) v = floorf(v * 256) / 256;
      for (size_t i = 0; i < w.size(); ++i)  // the first column is subnormal
        w[i] = i < static_cast<size_t>(c.k) ? floorf(w[i] * 64) * 0x1p-24f : floorf(w[i] * 256) / 256;
      const Target target = turn++ % 2 == 0 ? exchanging : rich_target();
      p.made_w = turn % 3 == 0;
      const ProductTiling t = choose_product(p, target);
      ASSERT_EQ(t.depth_lanes, 32u);
      const Dispatch d = make_product(p, t, target);
      bool pieces = false;
      for (const Buffer& b : d.program.buffers) pieces = pieces || (b.binding == 1 && b.element == Element::kQuad);
      EXPECT_EQ(pieces, x_type == DType::kF32 || w_type == DType::kF16);
      EXPECT_EQ(has(d.program, Op::kAwait), pieces && !p.made_w);  // a constant is asked for before it waits
      EXPECT_EQ(has(d.program, Op::kShuffle), target.shuffles);
      trials.add("few rows " + std::to_string(c.k), d, target,
                 {stored(x_type, x), stored(w_type, w), Bytes(static_cast<size_t>(c.m * c.n * 4), 1)},
                 [=](const std::vector<Bytes>& out) {
                   const std::vector<float> y = as<float>(out.back());
                   for (int64_t at = 0; at < c.m * c.n; ++at) {
                     double sum = 0, size = 0;
                     for (int64_t k = 0; k < c.k; ++k) {
                       const double one = static_cast<double>(x[static_cast<size_t>(at / c.n * c.k + k)]) *
                                          static_cast<double>(w[static_cast<size_t>(at % c.n * c.k + k)]);
                       sum += one;
                       size += fabs(one);
                     }
                     ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(at)]), sum, 6e-8 * 40 * size) << at;
                   }
                 });
    }
  }
}

TEST(Product, CodesAreExact) {
  Trials trials;
  for (const DType type : {DType::kI8, DType::kU8}) {
    ProductProblem p;
    p.m = 21;
    p.n = 18;
    p.k = 100;
    p.x = {type, 0, {}, 100, 1};
    p.w = {DType::kI8, 0, {}, 18, 1};
    p.sum = DType::kI32;
    p.x_zero = type == DType::kI8 ? -3 : 128;
    p.w_zero = 5;
    p.epilogue = epilogue(DType::kI32, dense({21, 18}), false);
    const Bytes x = random_bytes(2100, 4), w = random_bytes(1800, 5);
    for (const Target& target : {plain_target(), rich_target()}) {
      trials.add("codes", make_product(p, choose_product(p, target), target), target, {x, w, Bytes(21 * 18 * 4)},
                 [=](const std::vector<Bytes>& out) {
                   const std::vector<int32_t> y = as<int32_t>(out[2]);
                   for (size_t i = 0; i < y.size(); ++i) {
                     int32_t sum = 0;
                     for (size_t k = 0; k < 100; ++k) {
                       const uint8_t code = x[i / 18 * 100 + k];
                       sum += ((type == DType::kI8 ? static_cast<int8_t>(code) : code) - p.x_zero) *
                              (static_cast<int8_t>(w[k * 18 + i % 18]) - 5);
                     }
                     ASSERT_EQ(y[i], sum);
                   }
                 });
    }
  }
}

std::vector<float> normal(size_t count, uint32_t seed) { return random_floats(count, seed); }
// Numbers that float16 has.
std::vector<float> halves(size_t count, uint32_t seed) {
  std::vector<float> out = random_floats(count, seed);
  for (float& v : out) v = floorf(v * 512) / 512;
  return out;
}

struct Layout {
  bool channels_last, weights_last;
};

// Numbers that float16 has, as `type`.
Bytes numbers_as(DType type, const std::vector<float>& v) {
  if (type == DType::kF32) return bytes_of(v);
  std::vector<uint16_t> out;
  for (const float f : v) out.push_back(half_of(f));
  return bytes_of(out);
}

// Two axes of 2-d images, in either layout of images and weights.
void add_convolution(Trials& trials, const Window& window, int64_t groups, int64_t channels, int64_t outputs,
                     const Layout& layout, const Target& target, int64_t shares = 1) {
  ConvolutionProblem p;
  p.shares = shares;
  p.images = 2;
  p.groups = groups;
  p.channels = channels;
  p.outputs = outputs;
  p.window = window;
  const int64_t c = groups * channels, o = groups * outputs, in = window.in[0] * window.in[1] * window.in[2],
                places = window.places(), taps = window.taps();
  const auto image = [&](int64_t count, const std::array<int64_t, 3>& extent, int64_t all) {
    ImageView v;
    const int64_t step = layout.channels_last ? count : 1;
    v.image = count * all;
    v.channel = layout.channels_last ? 1 : all;
    v.spatial = {extent[1] * extent[2] * step, extent[2] * step, step};
    return v;
  };
  p.x = image(c, window.in, in);
  const ImageView y = image(o, window.out, places);
  const int64_t w_step = layout.weights_last ? channels : 1;
  p.w.output = channels * taps;
  p.w.group = outputs * p.w.output;
  p.w.channel = layout.weights_last ? 1 : taps;
  p.w.spatial = {window.kernel[1] * window.kernel[2] * w_step, window.kernel[2] * w_step, w_step};
  View out;
  out.strides = {
      shares > 1 ? 2 * o * places : y.channel * outputs, y.image, y.spatial[0], y.spatial[1], y.spatial[2], y.channel};
  p.epilogue = epilogue(DType::kF32, out, false);
  const auto draw = [&](int64_t count, uint32_t seed) {
    return (target.half_products ? halves : normal)(static_cast<size_t>(count), seed);
  };
  const std::vector<float> x = draw(2 * c * in, 1), w = draw(o * channels * taps, 2);
  const DType stored = target.stage_bytes != 0 ? DType::kF16 : DType::kF32;  // what copies need
  p.x_dtype = p.w_dtype = stored;
  trials.add("convolution", make_convolution(p, choose_convolution(p, target), target), target,
             {numbers_as(stored, x), numbers_as(stored, w), Bytes(static_cast<size_t>(shares * 2 * o * places * 4), 1)},
             [=](const std::vector<Bytes>& result) {
               const std::vector<float> got = as<float>(result[2]);
               for (int64_t at = 0; at < 2 * o * places; ++at) {
                 const int64_t i = at / (o * places), f = at / places % o, place = at % places;
                 const int64_t where[] = {place / (window.out[1] * window.out[2]),
                                          place / window.out[2] % window.out[1], place % window.out[2]};
                 double sum = 0;
                 for (int64_t n = 0; n < channels * taps; ++n) {
                   const int64_t ch = n / taps, t = n % taps;
                   const int64_t tap[] = {t / (window.kernel[1] * window.kernel[2]),
                                          t / window.kernel[2] % window.kernel[1], t % window.kernel[2]};
                   int64_t x_at = i * p.x.image + (f / outputs * channels + ch) * p.x.channel,
                           w_at = f * p.w.output + ch * p.w.channel;
                   bool inside = true;
                   for (size_t a = 0; a < 3; ++a) {
                     const int64_t reach = tap[a] * window.dilation[a];
                     const int64_t far = where[a] + window.pad[a] - reach;
                     inside = inside && (!window.transposed || far % window.stride[a] == 0);
                     const int64_t z = window.transposed ? (far < 0 ? -1 : far / window.stride[a])
                                                         : where[a] * window.stride[a] + reach - window.pad[a];
                     inside = inside && z >= 0 && z < window.in[a];
                     x_at += z * p.x.spatial[a];
                     w_at += tap[a] * p.w.spatial[a];
                   }
                   if (inside)
                     sum += static_cast<double>(x[static_cast<size_t>(x_at)]) *
                            static_cast<double>(w[static_cast<size_t>(w_at)]);
                 }
                 const size_t to = static_cast<size_t>(i * y.image + f * y.channel + where[0] * y.spatial[0] +
                                                       where[1] * y.spatial[1] + where[2] * y.spatial[2]);
                 double all = 0;
                 for (int64_t s = 0; s < shares; ++s)
                   all += static_cast<double>(got[to + static_cast<size_t>(s * 2 * o * places)]);
                 ASSERT_NEAR(all, sum, 1e-4) << at;
               }
             });
}

// Vectors along a picture's lines are whole taps of a window.
Window patches(int64_t pad) {
  Window w;
  w.in = {1, 8, 16};
  w.kernel = {1, 4, 8};
  w.stride = {1, 4, pad == 0 ? 8 : 4};
  w.pad = {0, 2, pad};
  w.out = {1, 3, pad == 0 ? 2 : 5};
  return w;
}

TEST(Product, ConvolutionsOfEveryLayout) {
  Trials trials;
  Window plain;  // 3 x 3, padded
  plain.in = {1, 9, 7};
  plain.kernel = {1, 3, 3};
  plain.pad = {0, 1, 1};
  plain.out = {1, 9, 7};
  Window strided = plain;
  strided.stride = {1, 2, 3};
  strided.dilation = {1, 2, 1};
  strided.out = {1, 4, 3};
  Window point;
  point.in = point.out = {1, 6, 5};
  Window deep;  // three axes, unpadded
  deep.in = {4, 5, 6};
  deep.kernel = {2, 2, 3};
  deep.out = {3, 4, 4};
  Window line;
  line.in = {1, 1, 20};
  line.kernel = {1, 1, 5};
  line.pad = {0, 0, 2};
  line.out = {1, 1, 20};
  const Layout layouts[] = {{false, false}, {true, false}, {true, true}, {false, true}};
  size_t turn = 0;
  for (const Window& w : {plain, strided, point, deep, line}) {
    add_convolution(trials, w, 1, 5, 6, layouts[turn++ % 4], plain_target());
    add_convolution(trials, w, 3, 2, 4, layouts[turn++ % 4], rich_target());
  }
  add_convolution(trials, plain, 1, 5, 6, layouts[1], rich_target());
  add_convolution(trials, strided, 1, 5, 6, layouts[0], rich_target());
  Window whole;  // one place of the output: few rows
  whole.in = whole.kernel = {1, 3, 3};
  add_convolution(trials, whole, 1, 5, 6, layouts[2], plain_target());
  add_convolution(trials, whole, 2, 3, 4, layouts[0], rich_target());
  add_convolution(trials, plain, 1, 3, 40, {true, true}, rich_target());
}

TEST(Product, ConvolutionsInSharesOfTheirDepth) {
  Trials trials;
  Window plain;  // 3 x 3, padded
  plain.in = plain.out = {1, 5, 6};
  plain.kernel = {1, 3, 3};
  plain.pad = {0, 1, 1};
  add_convolution(trials, plain, 1, 32, 8, {true, true}, rich_target(), 6);
  add_convolution(trials, plain, 1, 10, 8, {true, true}, rich_target(), 5);
  add_convolution(trials, plain, 1, 8, 6, {false, false}, plain_target(), 4);
  add_convolution(trials, plain, 1, 64, 24, {true, true}, unit_target(), 3);
  add_convolution(trials, plain, 1, 24, 16, {true, true}, unit_target(), 2);
}

TEST(Product, ConvolutionsByMatrixUnits) {
  Trials trials;
  const Target target = unit_target();
  Window plain;  // 3 x 3, padded
  plain.in = plain.out = {1, 9, 7};
  plain.kernel = {1, 3, 3};
  plain.pad = {0, 1, 1};
  Window strided = plain;
  strided.stride = {1, 2, 2};
  strided.out = {1, 5, 4};
  Window point;
  point.in = point.out = {1, 6, 5};
  add_convolution(trials, plain, 1, 16, 24, {true, true}, target);
  add_convolution(trials, plain, 2, 8, 16, {true, true}, target);
  add_convolution(trials, strided, 1, 12, 40, {true, true}, target);
  add_convolution(trials, strided, 1, 5, 18, {true, false}, target);
  add_convolution(trials, plain, 1, 6, 20, {false, false}, target);
  add_convolution(trials, point, 1, 64, 70, {true, true}, target);
  add_convolution(trials, point, 1, 32, 16, {false, true}, target);
  Window twice = strided;
  twice.transposed = true;
  twice.in = {1, 5, 4};
  twice.out = {1, 9, 7};
  add_convolution(trials, twice, 1, 8, 16, {true, false}, target);
  for (const Window& w : {patches(0), patches(4)}) {
    add_convolution(trials, w, 1, 3, 40, {false, false}, target);
    add_convolution(trials, w, 2, 2, 16, {false, false}, rich_target());
  }
}

// Drivers take a second or more for a kernel of 16,000 words.
TEST(Product, KernelsStayShort) {
  Target target = rich_target();
  target.units = {{16, 16, 16}};
  target.half_products = true;
  target.push_words = 64;
  ConvolutionProblem stem;  // ResNet50's first
  stem.channels = 3;
  stem.outputs = 64;
  stem.window.in = {1, 224, 224};
  stem.window.out = {1, 112, 112};
  stem.window.kernel = {1, 7, 7};
  stem.window.stride = {1, 2, 2};
  stem.window.pad = {0, 3, 3};
  stem.x.image = 3 * 224 * 224;
  stem.x.channel = 224 * 224;
  stem.x.spatial = {224 * 224, 224, 1};
  stem.w.output = 147;
  stem.w.channel = 49;
  stem.w.spatial = {49, 7, 1};
  View y;
  y.strides = {0, 0, 0, 112 * 64, 64, 1};
  stem.epilogue = epilogue(DType::kF32, y, true);
  EXPECT_LT(emit_spirv(make_convolution(stem, choose_convolution(stem, target), target).program, target).size(), 6500u);

  ProductProblem p;  // with an epilogue of 700 words
  p.m = 1500;
  p.n = 1536;
  p.k = 384;
  p.x.row = p.w.column = 384;
  p.x.column = p.w.row = 1;
  p.epilogue = epilogue(DType::kF32, dense({1500, 1536}), true);
  p.epilogue.steps.back().function = Function::kGeluErf;
  EXPECT_LT(emit_spirv(make_product(p, choose_product(p, target), target).program, target).size(), 7000u);
}

TEST(Product, TransposedConvolutions) {
  Trials trials;
  Window twice;  // 3 x 3, the input's places two and three apart
  twice.in = {1, 4, 3};
  twice.kernel = {1, 3, 3};
  twice.stride = {1, 2, 3};
  twice.pad = {0, 1, 0};
  twice.out = {1, 7, 9};
  twice.transposed = true;
  Window wide = twice;  // dilated, and more of the output than the input reaches
  wide.dilation = {1, 2, 1};
  wide.out = {1, 11, 10};
  Window one = twice;  // a row of one place
  one.out = {1, 1, 9};
  for (const Window& w : {twice, wide, one}) {
    add_convolution(trials, w, 1, 5, 6, {false, false}, plain_target());
    add_convolution(trials, w, 2, 3, 4, {true, false}, rich_target());
  }
}

// Matrix units: what lies in memory as halves or floats, in every order, with sizes at and beside the unit's.
struct Stored {
  DType x, w;
};

ProductTiling unit_tiling(const Target& target, uint32_t tile_m, uint32_t tile_n, uint32_t tile_k, uint32_t sub_m,
                          uint32_t sub_n) {
  const MatrixUnit& u = target.units[0];
  ProductTiling t;
  t.tile_m = tile_m;
  t.tile_n = tile_n;
  t.tile_k = tile_k;
  t.sub_m = sub_m;
  t.sub_n = sub_n;
  t.unit = {u.m, u.n, u.k, target.subgroup, u.known};
  return t;
}

void add_by_unit(Trials& trials, ProductProblem p, const Stored& stored, const ProductTiling& tiling,
                 const Target& target) {
  p.x.dtype = stored.x;
  p.w.dtype = stored.w;
  const std::vector<float> x = halves(static_cast<size_t>(6 * p.m * p.k), 1),
                           w = halves(static_cast<size_t>(3 * p.k * p.n), 2),
                           bias = random_floats(static_cast<size_t>(p.n), 3);
  const Dispatch dispatch = make_product(p, tiling, target);
  ASSERT_EQ(dispatch.program.unit.m, tiling.unit.m);
  trials.add(
      "matrices " + std::to_string(p.m) + " " + std::to_string(p.n) + " " + std::to_string(p.k), dispatch, target,
      {numbers_as(stored.x, x), numbers_as(stored.w, w), bytes_of(bias),
       Bytes(static_cast<size_t>(6 * p.m * p.n * 4), 1)},
      [=](const std::vector<Bytes>& out) {
        const std::vector<float> y = as<float>(out.back());
        for (int64_t at = 0; at < 6 * p.m * p.n; ++at) {
          const int64_t o = at / (p.m * p.n), row = at / p.n % p.m, column = at % p.n;
          double sum = 0, size = 0;
          for (int64_t k = 0; k < p.k; ++k) {
            const double one =
                static_cast<double>(x[static_cast<size_t>(o * p.m * p.k + row * p.x.row + k * p.x.column)]) *
                static_cast<double>(w[static_cast<size_t>(o % 3 * p.k * p.n + k * p.w.row + column * p.w.column)]);
            sum += one;
            size += fabs(one);
          }
          sum = fmax(0, sum + static_cast<double>(bias[static_cast<size_t>(column)]));
          // Units may cut where they add.
          ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(at)]), sum, 5e-7 * (size + 4)) << at;
        }
      });
}

TEST(Product, MatrixUnits) {
  Trials trials;
  const Target target = unit_target();
  const MatrixUnit& u = target.units[0];
  const ProductTiling tilings[] = {
      unit_tiling(target, 2 * u.m, 2 * u.n, 32, u.m, u.n),
      unit_tiling(target, 4 * u.m, 2 * u.n, u.k, 2 * u.m, 2 * u.n),
      unit_tiling(target, u.m, 4 * u.n, 2 * u.k, u.m, 2 * u.n),
  };
  const Stored types[] = {
      {DType::kF16, DType::kF16}, {DType::kF32, DType::kF32}, {DType::kF32, DType::kF16}, {DType::kF16, DType::kF32}};
  size_t turn = 0;
  for (const Case& c :
       {Case{32, 32, 32}, Case{40, 24, 48}, Case{33, 50, 19}, Case{16, 64, 104}, Case{70, 8, 64}, Case{5, 36, 20}}) {
    for (size_t order = 0; order < 4; ++order, ++turn) {
      ProductProblem p = matrices(c, (order & 1) != 0, (order & 2) != 0, true);
      p.made_w = turn % 5 < 3;
      for (const Target& t : {target, opened(target)})
        add_by_unit(trials, p, types[(turn + turn / 4) % 4], tilings[turn % 3], t);
    }
  }
  ProductProblem chosen = matrices({150, 130, 64}, false, true, true);
  chosen.x.dtype = chosen.w.dtype = DType::kF16;
  add_by_unit(trials, chosen, types[0], choose_product(chosen, target), target);
}

// A unit that reads tiles where they lie: operands in every order, depths and extents that tiles do not divide, sums
// that end in registers and such that go through shared memory, three tiles to six.
TEST(Product, UnitsThatReadTiles) {
  Trials trials;
  Target target = unit_target();
  target.units = {{16, 16, 16, true}};
  target.tile_unit = true;
  target.stage_bytes = 227u << 10;
  const Stored halves_of_both{DType::kF16, DType::kF16};
  for (size_t order = 0; order < 4; ++order) {
    const bool x_turned = (order & 1) != 0, w_turned = (order & 2) != 0;
    add_by_unit(trials, matrices({72, 72, 136}, x_turned, w_turned, true), halves_of_both, tile_tiling(64, 64, 6),
                target);
  }
  add_by_unit(trials, matrices({72, 136, 200}, true, false, true), halves_of_both, tile_tiling(128, 128, 3), target);
  add_by_unit(trials, matrices({72, 264, 72}, false, true, true), halves_of_both, tile_tiling(64, 256, 5), target);
  add_by_unit(trials, matrices({64, 40, 64}, false, true, true), halves_of_both, tile_tiling(64, 32, 4), target);
  const ProductProblem large = matrices({512, 1024, 520}, false, true, false);
  ProductProblem chosen = large;
  chosen.x.dtype = chosen.w.dtype = DType::kF16;
  EXPECT_TRUE(choose_product(chosen, target).unit.reads_tiles);
  chosen.x.dtype = DType::kF32;
  EXPECT_FALSE(choose_product(chosen, target).unit.reads_tiles) << "tiles are copied as they lie";
  EXPECT_NE(make_product(chosen, tile_tiling(64, 64, 4), target).refusal, "");
  chosen = matrices({512, 1024, 520}, false, false, false);  // w's columns lie side by side
  chosen.x.dtype = chosen.w.dtype = DType::kF16;
  EXPECT_EQ(make_product(chosen, tile_tiling(64, 64, 4), target).refusal, "");
  EXPECT_NE(make_product(chosen, tile_tiling(64, 32, 4), target).refusal, "");
}

// Where it is known how a unit spreads its sums, the epilogue takes them from there: whole tiles, and cut ones.
TEST(Product, EpiloguesOfRegisters) {
  Trials trials;
  Target target = unit_target();
  target.units = {{16, 16, 16, true}};
  const auto tiling = [&](uint32_t m, uint32_t n, uint32_t sub_m, uint32_t sub_n) {
    return unit_tiling(target, m, n, 32, sub_m, sub_n);
  };
  const auto stores = [&](const ProductProblem& p, const ProductTiling& t) {
    return has(make_product(p, t, target).program, Op::kMatrixStore);
  };
  for (const Case& c : {Case{64, 64, 32}, Case{40, 24, 48}, Case{33, 52, 19}, Case{5, 36, 20}}) {
    for (const ProductTiling& t : {tiling(32, 32, 16, 16), tiling(64, 32, 32, 16), tiling(32, 64, 32, 32)}) {
      const ProductProblem p = matrices(c, false, c.m % 2 == 0, true);
      add_by_unit(trials, p, {DType::kF32, DType::kF16}, t, target);
      EXPECT_FALSE(stores(p, t));
    }
  }
  const ProductProblem odd = matrices({40, 30, 48}, false, false, true);  // no fours
  add_by_unit(trials, odd, {DType::kF16, DType::kF16}, tiling(32, 32, 16, 16), target);
  EXPECT_TRUE(stores(odd, tiling(32, 32, 16, 16)));
}

// Tiles are on their way while others are multiplied: more of them than there are places, as many, and fewer.
TEST(Product, TilesAheadOfTheUnit) {
  Trials trials;
  Target target = unit_target();
  target.stage_bytes = 96u << 10;
  target.units = {{16, 16, 16, true}};
  const MatrixUnit& u = target.units[0];
  const ProductTiling tiling = unit_tiling(target, 2 * u.m, 2 * u.n, 32, u.m, u.n);
  const Stored halves{DType::kF16, DType::kF16};
  for (const int64_t k : {40, 64, 96, 128, 200, 456}) {
    for (const bool w_turned : {false, true}) {
      const ProductProblem p = matrices({40, 24, k}, false, w_turned, true);
      add_by_unit(trials, p, halves, tiling, target);
      ProductProblem stored = p;
      stored.x.dtype = stored.w.dtype = DType::kF16;
      EXPECT_TRUE(has(make_product(stored, tiling, target).program, Op::kCopy)) << k;
    }
  }
  add_by_unit(trials, matrices({48, 32, 136}, true, false, true), halves, tiling, target);
  Window plain;  // 3 x 3, padded
  plain.in = plain.out = {1, 9, 7};
  plain.kernel = {1, 3, 3};
  plain.pad = {0, 1, 1};
  add_convolution(trials, plain, 1, 16, 24, {true, true}, target);
  add_convolution(trials, plain, 1, 64, 40, {true, true}, target);
  add_convolution(trials, plain, 1, 32, 24, {true, true}, target, 2);
  Window strided = plain;
  strided.stride = {1, 2, 2};
  strided.out = {1, 5, 4};
  add_convolution(trials, strided, 1, 24, 40, {true, true}, target);
  add_convolution(trials, patches(0), 1, 3, 40, {false, false}, target);
}

// Floats stay floats where nobody asked for halves, and integers are no halves.
TEST(Product, LargeTilesOfFloatsAreShallow) {
  Target target = unit_target();
  target.units = {{16, 16, 16}};
  target.half_products = true;
  ProductProblem p;
  p.m = 1500;
  p.n = 1536;
  p.k = 384;
  p.x.dtype = p.w.dtype = DType::kF16;
  p.sum = DType::kF32;
  EXPECT_EQ(choose_product(p, target).tile_m, 128u);
  EXPECT_EQ(choose_product(p, target).tile_k, 64u);
  for (DType* one : {&p.x.dtype, &p.w.dtype}) {
    *one = DType::kF32;
    EXPECT_EQ(choose_product(p, target).tile_m, 128u);
    EXPECT_EQ(choose_product(p, target).tile_k, 32u);
    *one = DType::kF16;
  }
}

TEST(Product, MatrixUnitsAreAskedFor) {
  Target target = unit_target();
  ProductProblem p = matrices({64, 64, 64}, false, false, false);
  EXPECT_NE(choose_product(p, target).unit.m, 0u);
  target.half_products = false;
  EXPECT_EQ(choose_product(p, target).unit.m, 0u);
  p.w.dtype = DType::kF16;
  EXPECT_EQ(choose_product(p, target).unit.m, 0u);
  p.x.dtype = DType::kF16;
  EXPECT_NE(choose_product(p, target).unit.m, 0u);
  p.w.dtype = DType::kBF16;
  EXPECT_EQ(choose_product(p, target).unit.m, 0u);
  p.m = 2;
  p.w.dtype = DType::kF16;
  EXPECT_EQ(choose_product(p, target).unit.m, 0u);
}

TEST(Product, WhatDoesNotFitIsRefused) {
  const ProductProblem p = matrices({64, 64, 64}, false, false, false);
  EXPECT_NE(make_product(p, {128, 128, 16, 4, 4}, plain_target()).refusal, "");  // 1024 lanes
  EXPECT_NE(make_product(p, {64, 64, 64, 8, 8}, plain_target()).refusal, "");    // 33 KB of shared memory
  EXPECT_NE(make_product(p, {2, 4, 0, 0, 0, 12}, plain_target()).refusal, "");   // no power of two
  const Target unit = unit_target();
  EXPECT_NE(make_product(p, unit_tiling(unit, 64, 64, 20, 32, 32), unit).refusal, "");
  EXPECT_NE(make_product(p, unit_tiling(unit, 64, 64, 32, 48, 32), unit).refusal, "");
  EXPECT_NE(make_product(p, unit_tiling(unit, 512, 512, 64, 128, 128), unit).refusal, "");  // shared memory
  ProductProblem mixed = p;
  mixed.x.dtype = DType::kI8;
  EXPECT_NE(make_product(mixed, choose_product(mixed, plain_target()), plain_target()).refusal, "");
}

}  // namespace
}  // namespace vireo::gpu::product_test
