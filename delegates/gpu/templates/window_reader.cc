#include "delegates/gpu/templates/window_reader.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kFewTaps = 16;

}  // namespace

bool always_inside(const Window& w, size_t axis) {
  const int64_t last = (w.out[axis] - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] - w.pad[axis];
  return !w.transposed && w.pad[axis] == 0 && last < w.in[axis];
}

WindowReader::WindowReader(Builder& builder, Numbers& numbers, const Window& w, const ImageView& view, bool counted)
    : b_(builder),
      offset_(numbers(view.offset)),
      image_(numbers(view.image)),
      channel_(numbers(view.channel)),
      transposed_(w.transposed) {
  for (size_t i = 0; i < 3; ++i) {
    always_inside_[i] = always_inside(w, i);
    in_[i] = numbers(always_inside_[i] ? 0 : w.in[i]);
    out_[i] = numbers(w.out[i]);
    kernel_[i] = counted && w.kernel[i] <= kFewTaps ? b_.u32(static_cast<uint32_t>(w.kernel[i])) : numbers(w.kernel[i]);
    stride_[i] = numbers(w.out[i] == 1 && !w.transposed ? 1 : w.stride[i]);
    dilation_[i] = numbers(w.kernel[i] == 1 ? 1 : w.dilation[i]);
    pad_[i] = numbers(w.pad[i]);
    step_[i] = numbers(w.in[i] == 1 ? 0 : view.spatial[i]);
  }
}

WindowReader::Place WindowReader::origin(const Place& out) const {
  Place at;
  for (size_t i = 0; i < 3; ++i) at[i] = transposed_ ? out[i] + pad_[i] : out[i] * stride_[i] - pad_[i];
  return at;
}

WindowReader::Place WindowReader::at(const Place& origin, const Place& tap) const {
  Place at;
  for (size_t i = 0; i < 3; ++i) {
    const Value reach = tap[i] * dilation_[i];
    if (!transposed_) {
      at[i] = origin[i] + reach;
      continue;
    }
    const Value place = (origin[i] - reach) / stride_[i];
    at[i] = b_.select(place * stride_[i] + reach == origin[i], place, b_.u32(UINT32_MAX));
  }
  return at;
}

Value WindowReader::inside(const Place& at) const {
  Value all = b_.boolean(true);
  for (size_t i = 0; i < 3; ++i) {
    if (!always_inside_[i]) all = all & (at[i] < in_[i]);
  }
  return all;
}

Value WindowReader::index(const Place& at) const { return at[0] * step_[0] + at[1] * step_[1] + at[2] * step_[2]; }

}  // namespace vireo::gpu
