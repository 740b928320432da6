// Sums that outer products (Arm SME) keep in C itself: what vectors do before and after. Compiled once per instruction
// set.
#if defined(VIREO_DELEGATES_CPU_KERNELS_GEMM_OUTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_GEMM_OUTER_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_GEMM_OUTER_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_OUTER_INL_H_
#endif

#include "delegates/cpu/kernels/gemm/sums-inl.h"
#include "delegates/cpu/kernels/sme/sme.h"

#if HWY_ARCH_ARM_A64
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

template <int kGroup>
HWY_NOINLINE void pass_group(const SumsOf& sums, int64_t m, int64_t n, int64_t columns) {
  Sums t;
  sums.set_rows(m, &t);
  for (int64_t j = 0; j < columns; j += kWidth) {
    t.columns = columns - j < kWidth ? columns - j : kWidth;
    sums.set_tile(m, n + j, &t);
    VF acc[kGroup][2];
    begin_sums(t, acc);
    end_sums(t, acc);
  }
}
// What sums begin or end with, over rows of C: a tile of which nothing is multiplied.
inline void pass_rows(const SumsOf& sums, int64_t m, int64_t rows, int64_t n, int64_t columns) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) pass_group<8>(sums, m + r, n, columns);
  for (; r < rows; ++r) pass_group<1>(sums, m + r, n, columns);
}
// The first block of k adds to what this leaves, the last one leaves to end_outer what the epilogue does to the sum.
inline void begin_outer(const SumsOf& s, int64_t m, int64_t rows, int64_t n, int64_t columns) {
  if (s.first) pass_rows(SumsOf{s.e, s.bounds, true, false, s.c, s.c_row}, m, rows, n, columns);
}
inline void end_outer(const SumsOf& s, int64_t m, int64_t rows, int64_t n, int64_t columns) {
  if (s.last && (s.bounds.clip || s.bounds.slope))
    pass_rows(SumsOf{s.e, s.bounds, false, true, s.c, s.c_row}, m, rows, n, columns);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_ARCH_ARM_A64

#endif  // include guard per target
