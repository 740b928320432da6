#include "delegates/cpu/kernels/fourier/fourier.h"

#include <cmath>
#include <complex>

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

// u = 2^-24. Each step multiplies by a rounded factor (3 u) and adds p terms (p u), of sums of magnitudes alone.
double roundings(int64_t n) {
  double out = 2;
  for (int64_t p = 2; n > 1; n % p == 0 ? n /= p : ++p) out += n % p == 0 ? static_cast<double>(p) + 4 : 0;
  return out * 0x1p-24;
}

void check(int64_t n, int64_t outer, int64_t inner, int parts, bool window, int32_t slots) {
  SCOPED_TRACE(::testing::Message() << outer << " x " << n << " x " << inner << ", parts " << parts);
  const auto count = [](int64_t k) { return static_cast<size_t>(k); };
  Floats x(count(outer * n * inner * parts)), y(count(outer * n * inner * 2)), w(count(n));
  testing::fill_uniform(x, 1, -1, 1);
  testing::fill_uniform(w, 2, -1, 1);
  FourierF32 s;
  s.outer = outer;
  s.inner = inner;
  s.n = s.given = s.made = n;
  s.x_parts = parts;
  s.x_inner = parts;
  s.x_step = inner * parts;
  s.x_outer = n * s.x_step;
  s.y_inner = 2;
  s.y_step = inner * 2;
  s.y_outer = n * s.y_step;
  s.window = window ? w.data() : nullptr;
  testing::Threads threads(slots);
  testing::Scratch scratch(fourier_scratch_bytes(n, slots));
  fourier_f32(s, x.data(), y.data(), threads.parallel(), scratch.data());
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t o = line / inner, i = line % inner;
    double magnitude = 0;
    std::vector<std::complex<double>> samples;
    for (int64_t j = 0; j < n; ++j) {
      const size_t at = count(((o * n + j) * inner + i) * parts);
      const double by = window ? double{w[count(j)]} : 1;
      samples.emplace_back(x[at] * by, parts == 2 ? x[at + 1] * by : 0);
      magnitude += std::abs(samples.back());
    }
    for (int64_t k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += samples[count(j)] * std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n));
      const size_t at = count(((o * n + k) * inner + i) * 2);
      ASSERT_NEAR(y[at], sum.real(), roundings(n) * magnitude) << "line " << line << " bin " << k;
      ASSERT_NEAR(y[at + 1], sum.imag(), roundings(n) * magnitude) << "line " << line << " bin " << k;
    }
  }
}

TEST(Fourier, SumsOfAllLengths) {
  for_each_level([](const char*) {
    for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20, 25, 31, 32, 60, 64, 77, 192, 256}) {
      check(n, 1, 1, 2, false, 1);
      check(n, 3, 7, 1, true, 1);
      check(n, 37, 1, 2, true, 3);
    }
  });
}

// Few lines, which take the lanes one after another, and as parts of what they have.
TEST(Fourier, LinesByThemselves) {
  for_each_level([](const char*) {
    for (const int64_t n : {256, 512, 768}) {
      check(n, 1, 1, 1, true, 1);
      check(n, 1, 2, 2, false, 2);
    }
  });
}

TEST(Fourier, NoLines) {
  for_each_level([](const char*) { check(8, 0, 3, 1, false, 2); });
}

}  // namespace
}  // namespace vireo::cpu
