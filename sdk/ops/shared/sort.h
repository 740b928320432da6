// Sorting without the heap: indices in scratch memory.
#ifndef VIREO_SDK_OPS_SHARED_SORT_H_
#define VIREO_SDK_OPS_SHARED_SORT_H_

#include <stdint.h>

namespace vireo {

// Sorts p[0, n) so that !less(p[i + 1], p[i]). In place, O(n log n) in the worst case, not stable: let `less` compare
// the indices of equal elements. Source: Williams 1964, "Algorithm 232: Heapsort".
template <class T, class Less>
void heap_sort(T* p, int64_t n, const Less& less) {
  const auto sink = [&](int64_t root, int64_t size) {
    const T v = p[root];
    while (true) {
      int64_t child = 2 * root + 1;
      if (child >= size) break;
      if (child + 1 < size && less(p[child], p[child + 1])) ++child;
      if (!less(v, p[child])) break;
      p[root] = p[child];
      root = child;
    }
    p[root] = v;
  };
  for (int64_t i = n / 2 - 1; i >= 0; --i) sink(i, n);
  for (int64_t size = n - 1; size > 0; --size) {
    const T last = p[size];
    p[size] = p[0];
    p[0] = last;
    sink(0, size);
  }
}

// a < b with NaN above every number, so that sorting has an order to follow.
template <class T>
bool total_less(const T& a, const T& b) {
  if (a != a) return false;
  return b != b || a < b;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_SORT_H_
