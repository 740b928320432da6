#include "delegates/cpu/kernels/eltwise/compare.h"

#include <limits>

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;

constexpr Comparison kAll[] = {Comparison::kEqual, Comparison::kLess, Comparison::kLessOrEqual};

template <class T>
bool plain(Comparison op, T a, T b) {
  return op == Comparison::kEqual ? a == b : op == Comparison::kLess ? a < b : a <= b;
}

template <class T>
constexpr Compared kType = Compared::kF32;
template <>
constexpr Compared kType<int32_t> = Compared::kI32;
template <>
constexpr Compared kType<int64_t> = Compared::kI64;

// Few values, so that many are equal; among them those at the ends of the type, which differ in their upper halves
// alone.
template <class T>
T value(size_t i) {
  using Limits = std::numeric_limits<T>;
  const T values[] = {0, 1, T(-1), Limits::max(), Limits::lowest(), static_cast<T>(Limits::max() / 2), 3};
  if (std::is_floating_point_v<T> && i % 11 == 5) return static_cast<T>(NAN);
  return values[i * 2654435761u % 4093 % 7];
}

// Shapes have equal rank; 1 broadcasts.
template <class T>
void check(const std::vector<int64_t>& a_dims, const std::vector<int64_t>& b_dims, int32_t slots) {
  Broadcast s;
  s.rank = static_cast<int>(a_dims.size());
  int64_t a_step = 1, b_step = 1;
  for (size_t i = a_dims.size(); i-- > 0;) {
    s.dims[i] = a_dims[i] == 1 ? b_dims[i] : a_dims[i];
    s.a_strides[i] = a_dims[i] == 1 ? 0 : a_step;
    s.b_strides[i] = b_dims[i] == 1 ? 0 : b_step;
    a_step *= a_dims[i];
    b_step *= b_dims[i];
  }
  testing::Guarded<T> a(static_cast<size_t>(a_step)), b(static_cast<size_t>(b_step));
  testing::Guarded<uint8_t> y(static_cast<size_t>(s.count()));
  for (size_t i = 0; i < a.size(); ++i) a[i] = value<T>(i);
  for (size_t i = 0; i < b.size(); ++i) b[i] = value<T>(i + 3);
  testing::Threads threads(slots);
  for (const Comparison op : kAll) {
    compare(s, op, kType<T>, a.data(), b.data(), y.data(), threads.parallel());
    for (size_t i = 0; i < y.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      int64_t at_a = 0, at_b = 0;
      for (int axis = s.rank - 1; axis >= 0; --axis) {
        at_a += rest % s.dims[axis] * s.a_strides[axis];
        at_b += rest % s.dims[axis] * s.b_strides[axis];
        rest /= s.dims[axis];
      }
      const T p = a[static_cast<size_t>(at_a)], q = b[static_cast<size_t>(at_b)];
      ASSERT_EQ(y[i], plain(op, p, q) ? 1 : 0)
          << "element " << i << ": " << p << ", " << q << ", comparison " << static_cast<int>(op);
    }
  }
}

template <class T>
void check_all() {
  for_each_level([](const char*) {
    for (const int64_t n : {1, 3, 7, 15, 16, 17, 33, 100}) {
      check<T>({n}, {n}, 1);
      check<T>({n}, {1}, 1);
      check<T>({1}, {n}, 1);
      check<T>({3, n}, {3, 1}, 1);
      check<T>({3, 1}, {1, n}, 1);
      check<T>({2, 3, n, 2}, {1, 3, 1, 1}, 1);
      check<T>({n, 1}, {1, 1}, 1);
    }
    check<T>({}, {}, 1);
    check<T>({0, 3}, {1, 3}, 1);
    check<T>({500, 1}, {1, 301}, 3);
  });
}

TEST(Compare, Float32) { check_all<float>(); }
TEST(Compare, Int32) { check_all<int32_t>(); }
TEST(Compare, Int64) { check_all<int64_t>(); }

}  // namespace
}  // namespace vireo::cpu
