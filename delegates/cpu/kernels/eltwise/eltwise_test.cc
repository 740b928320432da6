#include "delegates/cpu/kernels/eltwise/eltwise.h"

#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;

constexpr Binary kOps[] = {Binary::kAdd, Binary::kSub, Binary::kMul,   Binary::kDiv,
                           Binary::kMin, Binary::kMax, Binary::kPrelu, Binary::kSquaredDifference};

float plain(Binary op, float a, float b) {
  switch (op) {
    case Binary::kAdd:
      return a + b;
    case Binary::kSub:
      return a - b;
    case Binary::kMul:
      return a * b;
    case Binary::kDiv:
      return a / b;
    case Binary::kMin:
      return std::isnan(a) || a < b ? a : b;
    case Binary::kMax:
      return std::isnan(a) || a > b ? a : b;
    case Binary::kPow:
      return std::pow(a, b);
    case Binary::kPrelu:
      return a < 0 ? a * b : a;
    case Binary::kSquaredDifference:
      return (a - b) * (a - b);
  }
  return 0;
}

void strides_of(const std::vector<int64_t>& own, int64_t* strides) {
  int64_t step = 1;
  for (size_t i = own.size(); i-- > 0;) {
    strides[i] = own[i] == 1 ? 0 : step;
    step *= own[i];
  }
}

// Shapes have equal rank; 1 broadcasts. One operation in float32 has one right answer: bits must agree.
void check(Binary op, const std::vector<int64_t>& a_dims, const std::vector<int64_t>& b_dims, int32_t slots) {
  BinaryF32 s;
  s.op = op;
  s.rank = static_cast<int>(a_dims.size());
  size_t a_count = 1, b_count = 1, count = 1;
  for (size_t i = 0; i < a_dims.size(); ++i) {
    s.dims[i] = a_dims[i] == 1 ? b_dims[i] : a_dims[i];
    a_count *= static_cast<size_t>(a_dims[i]);
    b_count *= static_cast<size_t>(b_dims[i]);
    count *= static_cast<size_t>(s.dims[i]);
  }
  strides_of(a_dims, s.a_strides);
  strides_of(b_dims, s.b_strides);
  Floats a(a_count), b(b_count), y(count);
  testing::fill_uniform(a, 1);
  testing::fill_uniform(b, 2);
  testing::Threads threads(slots);
  binary_f32(s, a.data(), b.data(), y.data(), threads.parallel());
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    int64_t at_a = 0, at_b = 0;
    for (size_t axis = a_dims.size(); axis-- > 0;) {
      const int64_t at = static_cast<int64_t>(rest % static_cast<size_t>(s.dims[axis]));
      rest /= static_cast<size_t>(s.dims[axis]);
      at_a += at * s.a_strides[axis];
      at_b += at * s.b_strides[axis];
    }
    ASSERT_EQ(y[i], plain(op, a[static_cast<size_t>(at_a)], b[static_cast<size_t>(at_b)]))
        << "element " << i << " op " << static_cast<int>(op);
  }
}

TEST(Eltwise, Broadcast) {
  for_each_level([](const char*) {
    for (Binary op : kOps) {
      for (int64_t n : {0, 1, 3, 15, 16, 17, 33}) {
        check(op, {n}, {n}, 1);
        check(op, {n}, {1}, 1);
        check(op, {1}, {n}, 1);
        check(op, {3, n}, {3, 1}, 1);
        check(op, {3, n}, {1, n}, 1);
        check(op, {n, 1}, {1, 5}, 1);
        check(op, {2, 3, n, 2}, {1, 3, 1, 1}, 1);
        check(op, {2, 1, n, 1}, {1, 3, 1, 4}, 1);
      }
      check(op, {}, {}, 1);
      check(op, {4, 100, 300}, {1, 100, 1}, 3);
      check(op, {100, 1, 7}, {1, 300, 7}, 3);
    }
  });
}

TEST(Eltwise, StridedOperands) {
  for_each_level([](const char*) {
    std::vector<float> a(200), b(200), y(200);
    for (size_t i = 0; i < 200; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(i) * 0.5f;
    }
    BinaryF32 s;  // a transposed, plus b
    s.rank = 2;
    s.dims[0] = 10;
    s.dims[1] = 20;
    s.a_strides[0] = 1;
    s.a_strides[1] = 10;
    s.b_strides[0] = 20;
    s.b_strides[1] = 1;
    binary_f32(s, a.data(), b.data(), y.data(), Parallel{});
    for (size_t i = 0; i < 10; ++i) {
      for (size_t j = 0; j < 20; ++j) ASSERT_EQ(y[i * 20 + j], a[j * 10 + i] + b[i * 20 + j]);
    }
  });
}

TEST(Eltwise, InPlace) {
  for_each_level([](const char*) {
    BinaryF32 s;
    s.op = Binary::kSub;
    s.rank = 2;
    s.dims[0] = 7;
    s.dims[1] = 21;
    s.a_strides[0] = 21;
    s.a_strides[1] = 1;
    s.b_strides[0] = 1;
    s.b_strides[1] = 0;
    Floats a(147), b(7), y(147);
    testing::fill_uniform(a, 1);
    testing::fill_uniform(b, 2);
    binary_f32(s, a.data(), b.data(), y.data(), Parallel{});
    binary_f32(s, a.data(), b.data(), a.data(), Parallel{});
    for (size_t i = 0; i < 147; ++i) ASSERT_EQ(a[i], y[i]);
  });
}

TEST(Eltwise, Power) {
  for_each_level([](const char*) {
    const float bases[] = {0.0f, -0.0f, 1.0f, 2.5f, -2.5f, 1e-30f, INFINITY, -INFINITY, NAN, 3e20f, -1.0f};
    for (float exponent : {2.0f, 3.0f, 1.0f, -1.0f, 0.5f, 0.0f, 1.7f, -2.0f}) {
      BinaryF32 s;
      s.op = Binary::kPow;
      s.rank = 1;
      s.dims[0] = 11;
      s.a_strides[0] = 1;
      float y[11];
      binary_f32(s, bases, &exponent, y, Parallel{});
      for (int i = 0; i < 11; ++i) {
        const double want = std::pow(double{bases[i]}, double{exponent});
        EXPECT_LE(testing::ulp_error(y[i], want), 1.5) << bases[i] << " ^ " << exponent;
      }
    }
  });
}

TEST(Eltwise, NotANumber) {
  for_each_level([](const char*) {
    for (Binary op : kOps) {
      float a[40], b[40], y[40];
      for (int i = 0; i < 40; ++i) {
        a[i] = i == 3 || i == 35 ? NAN : -1;
        b[i] = i == 4 || i == 36 ? NAN : 2;
      }
      BinaryF32 s;
      s.op = op;
      s.rank = 1;
      s.dims[0] = 40;
      s.a_strides[0] = s.b_strides[0] = 1;
      binary_f32(s, a, b, y, Parallel{});
      for (int i = 0; i < 40; ++i)
        EXPECT_EQ(std::isnan(y[i]), std::isnan(a[i]) || std::isnan(b[i])) << i << " op " << static_cast<int>(op);
    }
  });
}

TEST(Eltwise, ScalesRowsInBfloat16) {
  for_each_level([](const char*) {
    for (const int64_t columns : {1, 7, 16, 33, 100}) {
      for (const int64_t rows : {1, 5, 49}) {
        const int64_t images = 2;
        testing::Floats wide(static_cast<size_t>(images * rows * columns)),
            factor(static_cast<size_t>(images * columns));
        testing::Guarded<uint16_t> x(wide.size()), scale(factor.size()), y(wide.size());
        testing::fill_uniform(wide, 1);
        testing::fill_uniform(factor, 2);
        for (size_t i = 0; i < x.size(); ++i) x[i] = f32_to_bf16(wide[i]);
        for (size_t i = 0; i < scale.size(); ++i) scale[i] = f32_to_bf16(factor[i]);
        x[0] = 0x7FC0;  // NaN
        testing::Threads threads(3);
        scale_rows_bf16(x.data(), scale.data(), y.data(), images, rows, columns, threads.parallel());
        for (size_t i = 0; i < y.size(); ++i) {
          const size_t c = i % static_cast<size_t>(columns), image = i / static_cast<size_t>(rows * columns);
          const float want = bf16_to_f32(x[i]) * bf16_to_f32(scale[image * static_cast<size_t>(columns) + c]);
          ASSERT_EQ(y[i], f32_to_bf16(want)) << "element " << i << " of " << columns;
        }
      }
    }
  });
}

}  // namespace
}  // namespace vireo::cpu
