#include "delegates/cpu/kernels/codes/codes.h"

#include "delegates/cpu/kernels/bytes_testing.h"
#include "sdk/base/requantize.h"

namespace vireo::cpu {
namespace {

using testing::Bytes;
using testing::fill;
using testing::for_each_level;

int32_t value(uint8_t v, bool is_signed) { return is_signed ? static_cast<int8_t>(v) : v; }
Requantize bounds(bool is_signed, uint32_t seed) {
  Requantize q;
  q.is_signed = is_signed;
  q.zero_point = is_signed ? 11 : 140;
  q.low = is_signed ? -128 : 0;
  q.high = is_signed ? 127 : 255;
  if (seed % 2 == 1) {  // a fused activation
    q.low += 30;
    q.high -= 40;
  }
  return q;
}
uint8_t code(float v, const Requantize& q) {
  return static_cast<uint8_t>(round_and_clamp(v, q.zero_point, q.low, q.high));
}

int64_t row_offset(const void* context, int operand, int64_t row) {
  return static_cast<const int64_t*>(context)[operand] * row;
}

TEST(Codes, BinaryAsTheFormula) {
  for_each_level([](const char*) {
    uint32_t seed = 0;
    for (const int64_t count : {1, 3, 16, 63, 64, 65, 200}) {
      for (int signs = 0; signs < 8; ++signs) {
        for (const int steps : {3, 1, 2}) {
          for (const float scale : {0.7f, 1e12f, NAN}) {
            const int64_t rows = signs % 2 == 0 ? 1 : 3;
            BinaryCodes f;
            f.is_product = (++seed & 1) != 0;
            f.a_signed = (signs & 1) != 0;
            f.b_signed = (signs & 2) != 0;
            f.a_zero = f.a_signed ? -100 : 250;
            f.b_zero = f.b_signed ? 127 : 3;
            f.a_multiplier = f.is_product ? scale / 100 : scale;
            f.b_multiplier = -0.31f;
            f.finish = bounds((signs & 4) != 0, seed);
            BinaryRows r;
            r.rows = rows;
            r.row = count;
            r.a_step = steps & 1;
            r.b_step = steps >> 1;
            const int64_t jumps[] = {r.a_step == 0 ? 1 : count, r.b_step == 0 ? 1 : count};
            r.offset = row_offset;
            r.context = jumps;
            Bytes a(static_cast<size_t>(rows * jumps[0])), b(static_cast<size_t>(rows * jumps[1])),
                y(static_cast<size_t>(rows * count));
            fill(a, seed);
            fill(b, seed + 1);
            testing::Threads threads(signs == 3 ? 3 : 1);
            binary_codes(f, r, a.data(), b.data(), y.data(), threads.parallel());
            for (int64_t i = 0; i < rows * count; ++i) {
              const int64_t row = i / count, at = i % count;
              const int32_t da = value(a[static_cast<size_t>(row * jumps[0] + at * r.a_step)], f.a_signed) - f.a_zero;
              const int32_t db = value(b[static_cast<size_t>(row * jumps[1] + at * r.b_step)], f.b_signed) - f.b_zero;
              const float pa = static_cast<float>(da) * f.a_multiplier, pb = static_cast<float>(db) * f.b_multiplier;
              const float v = f.is_product ? static_cast<float>(da * db) * f.a_multiplier : pa + pb;
              ASSERT_EQ(y[static_cast<size_t>(i)], code(v, f.finish)) << i << " of " << count << ": " << v;
            }
          }
        }
      }
    }
  });
}

TEST(Codes, Table) {
  for_each_level([](const char*) {
    Bytes table(256);
    fill(table, 1);
    for (const size_t count : {1, 63, 64, 65, 256, 1000}) {
      Bytes x(count), y(count);
      fill(x, 2);
      for (size_t i = 0; i < count && i < 256; ++i) x[i] = static_cast<uint8_t>(i);
      table_codes(table.data(), x.data(), y.data(), static_cast<int64_t>(count), Parallel{});
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(y[i], table[x[i]]);
      table_codes(table.data(), x.data(), x.data(), static_cast<int64_t>(count), Parallel{});
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(x[i], y[i]);
    }
  });
}

TEST(Codes, SoftmaxAsTheFormula) {
  for_each_level([](const char*) {
    std::vector<int32_t> usual(256), wide(256);
    for (size_t d = 0; d < 256; ++d) {
      usual[d] = static_cast<int32_t>(std::nearbyint(std::exp2(23.0) * std::exp(-0.05 * static_cast<double>(d))));
      wide[d] = 1 << (d < 30 ? 30 - d : 0);  // more than three bytes
    }
    uint32_t seed = 0;
    for (const int64_t axis : {1, 5, 63, 64, 65, 100, 128, 400}) {
      const std::vector<int32_t>& table = axis == 100 ? wide : usual;
      for (const int64_t inner : {1, 3}) {
        for (const bool is_signed : {false, true}) {
          SoftmaxCodes s;
          s.outer = 3;
          s.axis = axis;
          s.inner = inner;
          s.x_signed = is_signed;
          s.multiplier = 256;
          s.table = table.data();
          s.finish = bounds(!is_signed, ++seed);
          Bytes x(static_cast<size_t>(3 * axis * inner)), y(x.size());
          fill(x, seed);
          testing::Threads threads(2);
          softmax_codes(s, x.data(), y.data(), threads.parallel());
          for (int64_t line = 0; line < 3 * inner; ++line) {
            const auto at = [&](int64_t k) {
              return static_cast<size_t>((line / inner * axis + k) * inner + line % inner);
            };
            int32_t top = -128;
            for (int64_t k = 0; k < axis; ++k) top = std::max(top, value(x[at(k)], is_signed));
            const auto e = [&](int64_t k) { return table[static_cast<size_t>(top - value(x[at(k)], is_signed))]; };
            int64_t sum = 0;
            for (int64_t k = 0; k < axis; ++k) sum += e(k);
            const float q = s.multiplier / static_cast<float>(sum);
            for (int64_t k = 0; k < axis; ++k)
              ASSERT_EQ(y[at(k)], code(static_cast<float>(e(k)) * q, s.finish)) << "line " << line << " at " << k;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu
