// What the two ways of computing depthwise sums channels last share.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_RANGE_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_RANGE_H_

#include "delegates/cpu/kernels/depthwise_nhwc_i8/depthwise_nhwc_i8.h"

namespace vireo::cpu {

// Lines [begin, end) of N * OH, channels [c0, c1), c0 a multiple of 64.
struct LastRange {
  static constexpr size_t kPadding = 64;  // as many bytes as a group has channels

  const DepthwiseI8* shape;
  const uint8_t* x;
  const void* weights;
  const uint8_t* padding;  // codes of x_zero, for taps outside of the image
  uint8_t* y;
  int64_t begin, end, c0, c1;
  void* scratch;
};

// Weights of one group of channels, twice for two lines at once; then where the taps of up to four pixels lie, and the
// taps' offsets.
constexpr int64_t kMostParts = 4;
inline int64_t tap_fours(const Window& w) { return (w.kernel_h * w.kernel_w + 3) / 4; }
inline size_t last_weight_bytes(const Window& w) {
  const int64_t columns = w.kernel_w * 2, fours = tap_fours(w) > columns ? tap_fours(w) : columns;
  return static_cast<size_t>(fours * 256);
}
inline size_t last_slot_bytes(const Window& w) {
  return last_weight_bytes(w) + static_cast<size_t>((kMostParts + 1) * tap_fours(w) * 4 * 8 + 63) / 64 * 64;
}

// Where the taps of an output lie, channel c first.
class TapFinder {
 public:
  // `offsets`: as many as taps.
  TapFinder(const LastRange& r, int64_t c, int64_t* offsets) : r_(r), w_(r.shape->window), c_(c), offsets_(offsets) {
    for (int64_t t = 0; t < w_.kernel_h * w_.kernel_w; ++t) {
      offsets[t] = (t / w_.kernel_w * w_.dilation_h * w_.in_w + t % w_.kernel_w * w_.dilation_w) * r.shape->channels;
    }
    const auto up = [&](int64_t columns) {  // outputs that begin before so many columns of the padded line
      const int64_t outputs = columns <= 0 ? 0 : (columns + w_.stride_w - 1) / w_.stride_w;
      return outputs < w_.out_w ? outputs : w_.out_w;
    };
    from_ = up(w_.pad_left);
    to_ = up(w_.in_w + w_.pad_left - (w_.kernel_w - 1) * w_.dilation_w);
  }
  // The outputs [inside_from, inside_to) of a line whose taps all lie inside of the image: none of some lines. Tap t of
  // such a one is at first_tap + offsets[t].
  int64_t inside_from(int64_t line) const { return is_inside(line) ? from_ : w_.out_w; }
  int64_t inside_to(int64_t line) const { return is_inside(line) ? to_ : w_.out_w; }
  const uint8_t* first_tap(int64_t line, int64_t ox) const {
    const int64_t y = line / w_.out_h * w_.in_h + line % w_.out_h * w_.stride_h - w_.pad_top;
    return r_.x + (y * w_.in_w + ox * w_.stride_w - w_.pad_left) * r_.shape->channels + c_;
  }
  void find(int64_t line, int64_t ox, const uint8_t** taps) const {
    const int64_t channels = r_.shape->channels;
    if (ox >= inside_from(line) && ox < inside_to(line)) {
      const uint8_t* const first = first_tap(line, ox);
      for (int64_t t = 0; t < w_.kernel_h * w_.kernel_w; ++t) taps[t] = first + offsets_[t];
      return;
    }
    const uint8_t* const image = r_.x + line / w_.out_h * w_.in_h * w_.in_w * channels + c_;
    const int64_t x0 = ox * w_.stride_w - w_.pad_left, step = w_.dilation_w * channels;
    int64_t y = line % w_.out_h * w_.stride_h - w_.pad_top;
    for (int64_t i = 0; i < w_.kernel_h; ++i, y += w_.dilation_h) {
      // No column of a line outside of the image lies inside.
      const auto columns = static_cast<uint64_t>(y >= 0 && y < w_.in_h ? w_.in_w : 0);
      int64_t x = x0, at = columns != 0 ? (y * w_.in_w + x0) * channels : 0;
      for (int64_t j = 0; j < w_.kernel_w; ++j, x += w_.dilation_w, at += step)
        *taps++ = static_cast<uint64_t>(x) < columns ? image + at : r_.padding;
    }
  }

 private:
  bool is_inside(int64_t line) const {
    const int64_t y0 = line % w_.out_h * w_.stride_h - w_.pad_top;
    return y0 >= 0 && y0 + (w_.kernel_h - 1) * w_.dilation_h < w_.in_h;
  }

  const LastRange& r_;
  const Window& w_;
  int64_t c_;
  int64_t* offsets_;
  int64_t from_, to_;  // outputs whose columns lie inside
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_RANGE_H_
