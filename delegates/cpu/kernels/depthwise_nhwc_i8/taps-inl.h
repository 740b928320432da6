// Depthwise sums in pairs of taps, 16-bit differences to both zero points: every instruction set, any weights.
#if defined(VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_TAPS_INL_H_
#undef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_TAPS_INL_H_
#else
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_TAPS_INL_H_
#endif

#include <hwy/highway.h>

#include "delegates/cpu/kernels/depthwise_i8/strip.h"
#include "delegates/cpu/kernels/depthwise_nhwc_i8/range.h"
#include "delegates/cpu/kernels/requantize/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

// A vector of 16-bit channels. Interleaving the differences of two taps block by block leaves pairs in two vectors of
// sums, the lower and the upper halves of each block: as Finish::store_halves takes them.
class PairGroup {
 public:
#if HWY_TARGET == HWY_SCALAR
  static constexpr int64_t kChannels = 1;
#else
  static constexpr int64_t kChannels = 2 * kLanes;
#endif

  PairGroup(const LastRange& r, int64_t c, int64_t count)
      : r_(r),
        c_(c),
        count_(count),
        pairs_((r.shape->window.kernel_h * r.shape->window.kernel_w + 1) / 2),
        weights_(static_cast<int16_t*>(r.scratch)),
        taps_(reinterpret_cast<const uint8_t**>(static_cast<char*>(r.scratch) + last_weight_bytes(r.shape->window))),
        offsets_(reinterpret_cast<int64_t*>(taps_ + tap_fours(r.shape->window) * 4)),
        finder_(r, c, offsets_) {
    const DepthwiseI8& s = *r.shape;
    const Requantize& q = *s.finish;
    const int64_t taps = s.window.kernel_h * s.window.kernel_w;
    for (int64_t i = 0; i < kChannels; ++i) {
      const int64_t o = c + i, lane = lane_of(i);
      const int32_t zero = i < count ? weight_zero(s, o) : 0;
      int32_t sum = 0;
      for (int64_t t = 0; t < 2 * pairs_; ++t) {
        const int32_t weight = i < count && t < taps ? code_at(r.weights, s.w_signed, o * taps + t) - zero : 0;
        weights_[t / 2 * 2 * kChannels + 2 * lane + t % 2] = static_cast<int16_t>(weight);
        sum += weight;
      }
      // Taps outside of the image hold x_zero too, so that one sum a channel takes it from all outputs.
      const int32_t bias = i < count && q.bias != nullptr ? q.bias[o] : 0;
      start_[lane] = static_cast<int32_t>(static_cast<uint32_t>(bias) -
                                          static_cast<uint32_t>(s.x_zero) * static_cast<uint32_t>(sum));
      multiplier_[lane] = i < count ? q.multiplier[q.multiplier_per_row ? o : 0] : 0;
    }
    if (taps % 2 != 0) {
      taps_[taps] = r.padding;
      offsets_[taps] = offsets_[0];
    }
  }

  void run(const Finish& finish) const { r_.shape->x_signed ? lines<int8_t>(finish) : lines<uint8_t>(finish); }

 private:
  // Where the pair of channel i stands.
  static int64_t lane_of(int64_t i) {
#if HWY_TARGET == HWY_SCALAR
    return i;
#else
    return i % 8 / 4 * kLanes + i / 8 * 4 + i % 4;
#endif
  }

  template <class Byte>
  void lines(const Finish& finish) const {
    if (count_ == kChannels) return lines<Byte, true>(finish);
    lines<Byte, false>(finish);
  }
  template <class Byte, bool kWhole>
  HWY_NOINLINE void lines(const Finish& finish) const {
    const Window& w = r_.shape->window;
    const int64_t channels = r_.shape->channels;
    for (int64_t line = r_.begin; line < r_.end; ++line) {
      uint8_t* to = r_.y + line * w.out_w * channels + c_;
      const int64_t first = finder_.inside_from(line), last = finder_.inside_to(line);
      int64_t ox = 0;
      const auto at_taps = [&](int64_t end) HWY_ATTR {
        for (; ox < end; ++ox, to += channels) {
          finder_.find(line, ox, taps_);
          pixel<Byte, kWhole>([&](int64_t t) { return taps_[t]; }, finish, to);
        }
      };
      at_taps(first);
      const uint8_t* from = ox < last ? finder_.first_tap(line, ox) : r_.padding;
      for (; ox < last; ++ox, to += channels, from += w.stride_w * channels)
        pixel<Byte, kWhole>([&](int64_t t) { return from + offsets_[t]; }, finish, to);
      at_taps(w.out_w);
    }
  }

#if HWY_TARGET != HWY_SCALAR
  using D16 = hn::Repartition<int16_t, DI>;
  template <class Byte, bool kWhole>
  HWY_INLINE hn::Vec<D16> load(const uint8_t* from) const {
    const hn::Rebind<Byte, D16> d8;
    const auto* const codes = reinterpret_cast<const Byte*>(from);
    return hn::PromoteTo(D16(), kWhole ? hn::LoadU(d8, codes) : hn::LoadN(d8, codes, static_cast<size_t>(count_)));
  }
#endif

  // tap(t): where the code of tap t lies.
  template <class Byte, bool kWhole, class Tap>
  HWY_INLINE void pixel(const Tap& tap, const Finish& finish, uint8_t* to) const {
#if HWY_TARGET == HWY_SCALAR
    uint32_t sum = static_cast<uint32_t>(start_[0]);  // modulo 2^32, as start_ is
    for (int64_t t = 0; t < 2 * pairs_; ++t)
      sum += static_cast<uint32_t>(*reinterpret_cast<const Byte*>(tap(t)) * weights_[t]);
    finish.store(finish.rounded(hn::Set(DI(), static_cast<int32_t>(sum)), hn::Set(DF(), multiplier_[0])), 1, to);
#else
    const DI d;
    const D16 d16;
    VI low = hn::Load(d, start_), high = hn::Load(d, start_ + kLanes);
    const int16_t* weights = weights_;
    for (int64_t p = 0; p < pairs_; ++p, weights += 2 * kChannels) {
      const auto a = load<Byte, kWhole>(tap(2 * p)), b = load<Byte, kWhole>(tap(2 * p + 1));
      low = hn::Add(low, hn::WidenMulPairwiseAdd(d, hn::InterleaveLower(d16, a, b), hn::Load(d16, weights)));
      high =
          hn::Add(high, hn::WidenMulPairwiseAdd(d, hn::InterleaveUpper(d16, a, b), hn::Load(d16, weights + kChannels)));
    }
    finish.store_halves(finish.rounded(low, hn::Load(DF(), multiplier_)),
                        finish.rounded(high, hn::Load(DF(), multiplier_ + kLanes)),
                        static_cast<size_t>(kWhole ? kChannels : count_), to);
#endif
  }

  const LastRange& r_;
  int64_t c_, count_, pairs_;
  int16_t* weights_;
  const uint8_t** taps_;
  int64_t* offsets_;
  TapFinder finder_;
  HWY_ALIGN int32_t start_[kChannels];
  HWY_ALIGN float multiplier_[kChannels];
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
