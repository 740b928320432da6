#include "delegates/cpu/kernels/winograd/winograd.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

struct Case {
  int64_t n, c, o, h, w, pad_y, pad_x, more_y, more_x;  // `more`: padding at the end
};

ConvF32 shape_of(const Case& z) {
  ConvF32 s;
  s.n = z.n;
  s.in_channels = z.c;
  s.out_channels = z.o;
  s.in[1] = z.h;
  s.in[2] = z.w;
  s.kernel[1] = s.kernel[2] = 3;
  s.pad[1] = z.pad_y;
  s.pad[2] = z.pad_x;
  s.out[1] = z.h + z.pad_y + z.more_y - 2;
  s.out[2] = z.w + z.pad_x + z.more_x - 2;
  return s;
}

// Results must be within ten times what a direct sum may be off by. A worst case of the transforms would exceed that
// (absolute values of a 4 x 4 tile's rows sum up to 27 in place of 3 along each axis), but roundings do not conspire
// so: the largest error here is 0.33 of the direct bound (4 x 4, one channel) and 0.1 (2 x 2), so that bound itself is
// asked for.
void check(const Case& z, const Activate& act = {}, int residual = 0, bool slope = false, bool bias = true) {
  ConvF32 s = shape_of(z);
  SCOPED_TRACE(::testing::Message() << "n " << z.n << " c " << z.c << " o " << z.o << " in " << z.h << "x" << z.w
                                    << " pad " << z.pad_y << "," << z.pad_x << " residual " << residual);
  const auto count = [](int64_t a) { return static_cast<size_t>(a); };
  const size_t out_count = count(s.n * s.out[1] * s.out[2] * s.out_channels);
  Floats x(count(s.n * z.h * z.w * z.c)), w(count(z.o * z.c * 9)), offsets(count(z.o)), extra(out_count);
  testing::fill_uniform(x, 1);
  testing::fill_uniform(w, 2);
  testing::fill_uniform(offsets, 3);
  testing::fill_uniform(extra, 4);
  s.bias = bias ? offsets.data() : nullptr;
  s.slope = slope ? offsets.data() : nullptr;  // any numbers
  s.act = act;
  s.residual = residual != 0 ? extra.data() : nullptr;
  s.residual_last = residual == 2;
  s.residual_times = residual == 3;
  std::vector<double> want(out_count), magnitude(out_count, 3);
  for (size_t i = 0; i < out_count; ++i) {
    const int64_t at = static_cast<int64_t>(i), o = at % z.o, pixel = at / z.o;
    const int64_t ox = pixel % s.out[2], oy = pixel / s.out[2] % s.out[1], image = pixel / s.out[2] / s.out[1];
    double sum = bias ? offsets[count(o)] : 0;
    for (int64_t t = 0; t < 9; ++t) {
      const int64_t py = oy - z.pad_y + t / 3, px = ox - z.pad_x + t % 3;
      if (py < 0 || py >= z.h || px < 0 || px >= z.w) continue;
      for (int64_t c = 0; c < z.c; ++c) {
        const double product =
            double{x[count(((image * z.h + py) * z.w + px) * z.c + c)]} * w[count((o * z.c + c) * 9 + t)];
        sum += product;
      }
    }
    // Outputs of a tile share what their neighbours sum: |x| and |w| are at most 1.
    magnitude[i] += static_cast<double>(9 * z.c) / 4;
    if (residual == 1) sum += extra[i];
    if (act.kind == Activation::kRelu) sum = std::max(sum, 0.0);
    if (act.kind == Activation::kClip) sum = std::min(std::max(sum, double{act.a}), double{act.b});
    if (act.kind == Activation::kHardSwish) sum *= std::min(std::max(sum / 6 + 0.5, 0.0), 1.0);
    if (slope && sum < 0) sum *= offsets[count(o)];
    if (residual == 2) sum += extra[i];
    if (residual == 3) sum *= extra[i];
    want[i] = sum;
  }
  const double steep = act.kind == Activation::kHardSwish ? 4 : 1;  // slope at most 1.5, and roundings of its own
  for (const int32_t tile : {4, 2}) {
    SCOPED_TRACE(::testing::Message() << "tile " << tile);
    testing::Threads one(1), many(3);
    Floats packed(count(winograd_f32_packed_floats(s, tile))), again(packed.size());
    ASSERT_NE(packed.size(), 0u);
    pack_winograd_f32(s, tile, w.data(), one.parallel(), packed.data());
    pack_winograd_f32(s, tile, w.data(), many.parallel(), again.data());
    ASSERT_EQ(memcmp(packed.data(), again.data(), packed.size() * sizeof(float)), 0);
    s.packed = packed.data();
    std::vector<float> first;
    for (const int32_t slots : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "slots " << slots);
      testing::Threads threads(slots);
      Floats y(out_count);
      const size_t bytes = winograd_f32_scratch_bytes(s, tile, slots, Sizes::kFixed);
      ASSERT_LE(bytes, winograd_f32_scratch_bytes(s, tile, slots, Sizes::kUpperBounds));
      testing::Scratch scratch(bytes);
      winograd_f32(s, tile, x.data(), y.data(), threads.parallel(), scratch.data());
      for (size_t i = 0; i < out_count; ++i) {
        ASSERT_NEAR(y[i], want[i], steep * testing::sum_bound(9 * z.c + 4, magnitude[i])) << "element " << i;
      }
      if (slots == 1) {
        first.assign(y.begin(), y.end());
        testing::Scratch more(winograd_f32_scratch_bytes(s, tile, 3, Sizes::kFixed));  // asked for three, run by one
        winograd_f32(s, tile, x.data(), y.data(), one.parallel(), more.data());
      }
      ASSERT_EQ(memcmp(first.data(), y.data(), out_count * sizeof(float)), 0) << "threads change the sums";
    }
  }
}

TEST(Winograd, PlanesAroundTiles) {
  for_each_level([](const char*) {
    for (int64_t h : {1, 2, 4, 5, 7, 9}) {
      for (int64_t w : {1, 3, 4, 6, 8, 13}) check({1, 5, 3, h, w, 1, 1, 1, 1});
    }
    check({3, 5, 3, 6, 6, 1, 1, 1, 1});
  });
}

TEST(Winograd, ChannelsAroundVectors) {
  for_each_level([](const char*) {
    for (int64_t c : {1, 3, 4, 8, 15, 16, 17, 33}) check({1, c, 20, 6, 7, 1, 1, 1, 1});
    for (int64_t o : {1, 4, 7, 16, 17, 31, 32, 33, 64, 65, 100})
      check({2, 6, o, 5, 6, 1, 1, 1, 1}, {Activation::kRelu});
  });
}

TEST(Winograd, Paddings) {
  for_each_level([](const char*) {
    check({1, 8, 8, 9, 9, 0, 0, 0, 0});
    check({1, 8, 8, 3, 3, 0, 0, 0, 0});
    check({1, 8, 8, 6, 5, 2, 2, 2, 2});
    check({1, 8, 8, 5, 6, 0, 1, 1, 0});
    check({1, 8, 8, 4, 5, 1, 0, 0, 2});
    check({2, 8, 8, 2, 2, 4, 3, 5, 7});  // tiles of nothing but padding
  });
}

TEST(Winograd, Tails) {
  for_each_level([](const char*) {
    for (int64_t o : {6, 40}) {
      const Case z = {2, 9, o, 6, 7, 1, 1, 1, 1};
      for (int residual = 0; residual <= 3; ++residual) {
        check(z, {}, residual);
        check(z, {Activation::kRelu}, residual);
        check(z, {Activation::kHardSwish}, residual);
        check(z, {}, residual, true);
      }
      check(z, {Activation::kClip, -0.5f, 0.75f}, 1);
      check(z, {}, 1, false, false);
      check(z, {Activation::kHardSwish}, 0, false, false);
    }
  });
}

// Many tiles go out in blocks, few with many filters by filters; products of more than 512 channels in parts.
TEST(Winograd, BlocksAndFilters) {
  for_each_level([](const char*) {
    check({1, 24, 40, 50, 46, 1, 1, 1, 1}, {Activation::kRelu}, 1);
    check({1, 40, 200, 14, 14, 1, 1, 1, 1}, {Activation::kRelu});
    check({1, 20, 130, 7, 7, 1, 1, 1, 1}, {Activation::kHardSwish}, 2);
    check({1, 530, 33, 5, 9, 1, 1, 1, 1});
  });
}

// Extents that change between runs: whatever is smaller than the bounds runs in the scratch of the bounds.
TEST(Winograd, SmallerThanBounds) {
  const ConvF32 most = shape_of({3, 40, 100, 60, 60, 1, 1, 1, 1});
  for (const int32_t tile : {4, 2}) {
    for (int32_t slots = 1; slots <= 9; ++slots) {
      const size_t bound = winograd_f32_scratch_bytes(most, tile, slots);
      for (int64_t n = 1; n <= 3; ++n) {
        for (int64_t h = 1; h <= 60; h += n) {
          const ConvF32 s = shape_of({n, 40, 100, h, 61 - h, 1, 1, 1, 1});
          const size_t own = winograd_f32_scratch_bytes(s, tile, slots, Sizes::kFixed);
          ASSERT_LE(own, bound) << n << " " << h << " slots " << slots;
          ASSERT_LE(winograd_f32_scratch_bytes(s, tile, 1, Sizes::kFixed), own) << n << " " << h << " on one thread";
        }
      }
    }
  }
  // Tiles that are shared, as many as two threads take of an odd number of lines each.
  const auto images = [](int64_t n) { return shape_of({n, 16, 256, 52, 56, 1, 1, 1, 1}); };
  for (int64_t n = 1; n <= 4; ++n)
    ASSERT_LE(winograd_f32_scratch_bytes(images(n), 4, 2, Sizes::kFixed), winograd_f32_scratch_bytes(images(4), 4, 2));
}

TEST(Winograd, OtherWindowsAreNot) {
  const auto floats = [](const std::function<void(ConvF32*)>& change) {
    ConvF32 s = shape_of({1, 32, 32, 9, 9, 1, 1, 1, 1});
    change(&s);
    EXPECT_EQ(winograd_f32_best(s) == 0, winograd_f32_packed_floats(s, 4) == 0);
    return winograd_f32_packed_floats(s, 4);
  };
  EXPECT_EQ(floats([](ConvF32*) {}), 36 * 32 * 32);
  EXPECT_EQ(floats([](ConvF32* s) { s->groups = 2; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->kernel[1] = 5; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->kernel[2] = 1; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->kernel[0] = 3; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->stride[1] = 2; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->stride[2] = 2; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->dilation[1] = 2; }), 0);
  EXPECT_EQ(floats([](ConvF32* s) { s->in[0] = s->out[0] = 2; }), 0);
}

TEST(Winograd, NothingToDo) {
  ConvF32 s = shape_of({0, 32, 32, 9, 9, 1, 1, 1, 1});
  EXPECT_EQ(winograd_f32_scratch_bytes(s, 4, 2), 0u);
  winograd_f32(s, 4, nullptr, nullptr, Parallel{}, nullptr);
}

}  // namespace
}  // namespace vireo::cpu
