// The engine of Arm SME: bytes as they are, in outer products, over the panels that VNNI and AMX read (packed.h).
//
// Rows of A are transposed once, in fours of k, into scratch, where they stay while all panels pass. Zero points are
// taken out of the sums as for VNNI: sum (a - az)(b' - bz') = sum a b' - bz' sum a - az sum b' + k az bz'.
#if defined(VIREO_DELEGATES_CPU_KERNELS_INTGEMM_OUTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_OUTER_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_OUTER_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_OUTER_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/intgemm/product.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"

#if HWY_ARCH_ARM_A64
HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of a product, at most: their sums of a panel are 16 KiB of the stack.
constexpr int64_t kOuterRows = 64;
// Rows whose transposed bytes fit into the scratch that pairs have for panels.
inline int64_t outer_room(int64_t k) {
  const int64_t depth = int_depth(k);
  const int64_t elements = depth * kPairFloor < kPairPanels ? depth * kPairFloor : kPairPanels;
  return elements * 2 / ((k + 3) / 4 * 4);
}
inline bool outer_serves(const IntProduct& p) {
  return p.outer != nullptr && p.packed != nullptr && p.m >= kFewestSmeRows && p.k > 0 &&
         outer_room(p.k) >= kFewestSmeRows &&
         (p.finish == nullptr || p.finish->then == nullptr);  // a second step is done in vectors alone
}

class OuterPanels {
 public:
  OuterPanels(const IntProduct& p, void* scratch)
      : p_(p),
        left_(static_cast<uint8_t*>(scratch)),
        moved_(p.a_signed != p.b_signed ? 0
               : p.b_signed             ? 128
                                        : -128),
        finish_(p.finish != nullptr ? *p.finish : none_,
                p.finish == nullptr || products_in_range(p.finish->multiplier, multipliers_of(p))) {}

  void run(int64_t m0, int64_t m1, int64_t n0, int64_t n1) {
    const int64_t words = (p_.k + 3) / 4, room = outer_room(p_.k);
    int64_t group = 2 * sme_words();
    group = group < kOuterRows ? group : kOuterRows;
    group = group < room ? group : room;
    int64_t most = room / group * group;
    most = most < kMost ? most : kMost / group * group;
    for (int64_t m = m0; m < m1; m += most) {
      const int64_t rows = m1 - m < most ? m1 - m : most;
      for (int64_t i = 0; i < rows; i += group) {
        sme_transpose(row(m + i), p_.a_row, rows - i < group ? rows - i : group, p_.k, left_ + i * words * 4);
      }
      for (int64_t i = 0; i < rows; ++i) {
        a_zeros_[i] = zero_at(p_.a_zero, p_.a_signed, p_.a_zero_per_row ? m + i : 0);
        rests_[i] = rest(m + i, a_zeros_[i]);
      }
      for (int64_t n = n0; n < n1;) {
        const int64_t width = packed_panel_columns(p_.n, n), columns = n1 - n < width ? n1 - n : width;
        set_panel(n, width, columns);
        for (int64_t i = 0; i < rows; i += group) {
          const int64_t high = rows - i < group ? rows - i : group;
          HWY_ALIGN int32_t sums[kOuterRows * kIntPanel];
          OuterProduct o;
          o.a = left_ + i * words * 4;
          o.a_step = high * 4;
          o.rows = high;
          o.k = words;
          o.b = panel_;
          o.b_step = width * 4;
          o.columns = o.panel = width;
          o.c = sums;
          o.c_step = kIntPanel * 4;
          p_.outer(o, p_.a_signed);
          for (int64_t r = 0; r < high; ++r) end_row(m + i + r, i + r, n, width, columns, sums + r * kIntPanel);
        }
        n += columns;
      }
    }
  }

 private:
  static constexpr int64_t kMost = 512;

  const uint8_t* row(int64_t m) const { return static_cast<const uint8_t*>(p_.a) + m * p_.a_row; }
  // k az - sum a of row m, what a zero point of B is multiplied with.
  int32_t rest(int64_t m, int32_t a_zero) const {
    if (!p_.b_zero_per_column && zero_at(p_.b_zero, p_.b_signed, 0) + moved_ == 0) return 0;
    const hn::Full128<uint8_t> d;
    const hn::Repartition<uint64_t, decltype(d)> d64;
    const auto flip = hn::Set(d, static_cast<uint8_t>(p_.a_signed ? 0x80 : 0));
    const uint8_t* const a = row(m);
    auto sum = hn::Zero(d64);
    int64_t i = 0;
    for (; i + 16 <= p_.k; i += 16) sum = hn::Add(sum, hn::SumsOf8(hn::Xor(hn::LoadU(d, a + i), flip)));
    uint64_t total = hn::ReduceSum(d64, sum);
    for (; i < p_.k; ++i) total += static_cast<uint64_t>(a[i] ^ (p_.a_signed ? 0x80 : 0));
    const uint32_t low = static_cast<uint32_t>(total) - (p_.a_signed ? 128u * static_cast<uint32_t>(p_.k) : 0u);
    return static_cast<int32_t>(static_cast<uint32_t>(p_.k) * static_cast<uint32_t>(a_zero) - low);
  }

  void set_panel(int64_t n, int64_t width, int64_t columns) {
    panel_ = packed_panel(p_.packed, p_.k, n);
    memcpy(column_sums_, panel_ + packed_quads(p_.k) * 4 * width, static_cast<size_t>(width) * 4);
    for (int64_t c = 0; c < width; ++c) {
      const int64_t at = p_.b_zero_per_column ? (c < columns ? n + c : n) : 0;
      b_zeros_[packed_lane(width, c)] = zero_at(p_.b_zero, p_.b_signed, at) + moved_;
    }
  }

  // Four columns of a row from `c` on, which stand side by side in every panel.
  HWY_INLINE VI four(const int32_t* sums, int64_t lane, VI rest, VI a_zero) const {
    const DI d;
    const VI b_part = hn::Mul(rest, hn::Load(d, b_zeros_ + lane));
    const VI a_part = hn::Mul(a_zero, hn::Load(d, column_sums_ + lane));
    return hn::Sub(hn::Add(hn::Load(d, sums + lane), b_part), a_part);
  }

  void end_row(int64_t m, int64_t i, int64_t n, int64_t width, int64_t columns, const int32_t* sums) const {
    const DI d;
    const VI rest = hn::Set(d, rests_[i]), a_zero = hn::Set(d, a_zeros_[i]);
    const int64_t at = m * p_.c_row + n;
    if (p_.finish == nullptr) {
      int32_t* const to = static_cast<int32_t*>(p_.c) + at;
      for (int64_t c = 0; c < columns; c += 4) {
        VI v = four(sums, packed_lane(width, c), rest, a_zero);
        if (p_.real != nullptr) v = real_of(*p_.real, v, n + c, static_cast<size_t>(columns - c < 4 ? columns - c : 4));
        if (columns - c >= 4) {
          hn::StoreU(v, d, to + c);
        } else {
          hn::StoreN(v, d, to + c, static_cast<size_t>(columns - c));
        }
      }
      return;
    }
    const DF df;
    const Requantize& q = *p_.finish;
    const VI row_bias = hn::Set(d, q.bias != nullptr && !q.bias_per_column ? q.bias[m] : 0);
    const VF one = hn::Set(df, q.multiplier_per_column ? 0 : q.multiplier[q.multiplier_per_row ? m : 0]);
    uint8_t* const to = static_cast<uint8_t*>(p_.c) + at;
    for (int64_t c = 0; c < columns; c += 16) {
      VI codes[4];
      VIREO_UNROLL
      for (int64_t b = 0; b < 4; ++b) {
        const int64_t column = c + 4 * b, left = columns - column;
        const size_t count = static_cast<size_t>(left < 0 ? 0 : left < 4 ? left : 4);
        VI v = hn::Add(four(sums, packed_lane(width, column), rest, a_zero), row_bias);
        if (q.bias != nullptr && q.bias_per_column && count > 0)
          v = hn::Add(v, hn::LoadN(d, q.bias + n + column, count));
        const VF by = q.multiplier_per_column && count > 0 ? hn::LoadN(df, q.multiplier + n + column, count) : one;
        codes[b] = finish_.rounded(v, by);
      }
      const int64_t count = columns - c < 16 ? columns - c : 16;
      finish_.store(finish_.in_order(codes[0], codes[1], codes[2], codes[3]), static_cast<size_t>(count), to + c);
    }
  }

  const IntProduct& p_;
  uint8_t* left_;
  int32_t moved_;  // b' - b
  Requantize none_;
  Finish finish_;
  const uint8_t* panel_ = nullptr;
  int32_t a_zeros_[kMost], rests_[kMost];
  HWY_ALIGN int32_t column_sums_[kIntPanel];  // by lane, like
  HWY_ALIGN int32_t b_zeros_[kIntPanel];
};

// Rows [m0, m1) and columns [n0, n1) of packed B, n0 at the begin of a panel. `scratch`: A.
inline void product_of_outer(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
  OuterPanels(p, scratch).run(m0, m1, n0, n1);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_ARCH_ARM_A64

#endif  // include guard per target
