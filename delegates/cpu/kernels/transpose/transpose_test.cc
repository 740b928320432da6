#include "delegates/cpu/kernels/transpose/transpose.h"

#include <numeric>

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

using testing::for_each_level;
using testing::Guarded;

template <class T>
T value_of(size_t i) {
  T v;
  memset(&v, 0, sizeof(v));
  const size_t bytes = sizeof(v) < sizeof(i) ? sizeof(v) : sizeof(i);
  memcpy(&v, &i, bytes);
  return v;
}

template <class T>
void check(const std::vector<int64_t>& in, const std::vector<int>& perm, int32_t slots) {
  StridedCopy s;
  s.rank = static_cast<int>(in.size());
  std::vector<int64_t> steps(in.size());
  int64_t count = 1;
  for (size_t i = in.size(); i-- > 0;) {
    steps[i] = count;
    count *= in[i];
  }
  for (size_t i = 0; i < in.size(); ++i) {
    s.dims[i] = in[static_cast<size_t>(perm[i])];
    s.strides[i] = steps[static_cast<size_t>(perm[i])];
  }
  Guarded<T> x(static_cast<size_t>(count)), y(static_cast<size_t>(count));
  for (size_t i = 0; i < x.size(); ++i) x[i] = value_of<T>(i);
  testing::Threads threads(slots);
  strided_copy(s, sizeof(T), x.data(), y.data(), threads.parallel());
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, from = 0;
    for (int axis = s.rank - 1; axis >= 0; --axis) {
      from += rest % s.dims[axis] * s.strides[axis];
      rest /= s.dims[axis];
    }
    const T want = value_of<T>(static_cast<size_t>(from));
    ASSERT_EQ(memcmp(&y[static_cast<size_t>(i)], &want, sizeof(T)), 0) << "element " << i << " of size " << sizeof(T);
  }
}

struct Pair {
  uint64_t a, b;
};

template <class T>
void check_all(int32_t slots) {
  for (int64_t n : {1, 3, 4, 5, 15, 16, 17, 33, 70}) {
    check<T>({n, 7}, {1, 0}, slots);
    check<T>({6, n}, {1, 0}, slots);
    check<T>({2, 3, n}, {0, 2, 1}, slots);
    check<T>({2, n, 3}, {1, 0, 2}, slots);
    check<T>({2, n, 3}, {0, 2, 1}, slots);
    check<T>({2, 3, n, 5}, {3, 1, 0, 2}, slots);
    check<T>({2, 3, n, 5}, {0, 2, 3, 1}, slots);
  }
  std::vector<int> perm = {0, 1, 2, 3, 4};
  do check<T>({2, 3, 2, 5, 4}, perm, slots);
  while (std::next_permutation(perm.begin(), perm.end()));
  check<T>({}, {}, slots);
  check<T>({0, 4}, {1, 0}, slots);
}

TEST(StridedCopy, AllPermutationsAndElementSizes) {
  for_each_level([](const char*) {
    check_all<uint8_t>(1);
    check_all<uint16_t>(1);
    check_all<uint32_t>(1);
    check_all<uint64_t>(1);
    check_all<Pair>(1);
    check<uint32_t>({70, 300, 130}, {2, 0, 1}, 3);
    check<uint8_t>({70, 300, 130}, {2, 1, 0}, 3);
  });
}

TEST(StridedCopy, SlicesReversalsAndBroadcasts) {
  std::vector<float> x(60), y(60);
  std::iota(x.begin(), x.end(), 0.0f);
  StridedCopy every_other{2, {3, 5}, {20, 2}};
  strided_copy(every_other, 4, x.data() + 1, y.data(), Parallel{});
  for (int i = 0; i < 15; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<float>(1 + i / 5 * 20 + i % 5 * 2));
  StridedCopy reversed{1, {60}, {-1}};
  strided_copy(reversed, 4, x.data() + 59, y.data(), Parallel{});
  for (int i = 0; i < 60; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<float>(59 - i));
  StridedCopy repeated{3, {2, 3, 4}, {0, 1, 0}};
  strided_copy(repeated, 4, x.data(), y.data(), Parallel{});
  for (int i = 0; i < 24; ++i) EXPECT_EQ(y[static_cast<size_t>(i)], static_cast<float>(i / 4 % 3));
}

}  // namespace
}  // namespace vireo::cpu
