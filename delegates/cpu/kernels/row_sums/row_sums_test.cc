#include "delegates/cpu/kernels/row_sums/row_sums.h"

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

// Sums in double of at most 200 terms below 4: their order moves the last of 52 bits, 200 times at most.
TEST(RowSums, AsTheLoops) {
  testing::for_each_level([](const char*) {
    for (const int64_t features : {0, 1, 7, 8, 31, 32, 33, 200}) {
      for (const int64_t rows : {1, 3, 4, 9}) {
        for (const bool squared : {false, true}) {
          const int64_t count = 5, step = 6;
          testing::Floats from(static_cast<size_t>(rows * features)), w(static_cast<size_t>(count * features));
          testing::fill_uniform(from, 1);
          testing::fill_uniform(w, 2);
          const std::vector<double> x(from.begin(), from.end());
          std::vector<double> sums(static_cast<size_t>(rows * step), -7);
          row_sums_f64({rows, count, features, step, squared}, x.data(), w.data(), sums.data());
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t j = 0; j < step; ++j) {
              double want = j < count ? 0 : -7;
              for (int64_t k = 0; k < features && j < count; ++k) {
                const double a = x[static_cast<size_t>(r * features + k)], b = w[static_cast<size_t>(j * features + k)];
                want += squared ? (a - b) * (a - b) : a * b;
              }
              ASSERT_NEAR(sums[static_cast<size_t>(r * step + j)], want, 200 * 4 * 200 * 0x1p-53) << r << ", " << j;
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu
