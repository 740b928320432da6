// A window's places inside a program.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_WINDOW_READER_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_WINDOW_READER_H_

#include <array>
#include <string>
#include <vector>

#include "delegates/gpu/ir/builder.h"
#include "delegates/gpu/templates/numbers.h"
#include "delegates/gpu/templates/window.h"

namespace vireo::gpu {

// A window's numbers, fetched once, where a program begins.
class WindowReader {
 public:
  using Place = std::array<Value, 3>;

  // `counted`: the taps are numbers of the code, where they are few, so that dividing by them is a product.
  WindowReader(Builder& builder, Numbers& numbers, const Window& window, const ImageView& view, bool counted = false);

  // The input's coordinates that tap 0 of an output place reads, times the stride where the window is transposed; what
  // lies before 0 is above every extent.
  Place origin(const Place& out) const;
  // Coordinates of tap `t`, and whether they lie inside.
  Place at(const Place& origin, const Place& tap) const;
  Value inside(const Place& at) const;
  // The element there, relative to its image and channel.
  Value index(const Place& at) const;
  Value image(Value i) const { return i * image_; }
  Value channel(Value c) const { return c * channel_; }
  Value offset() const { return offset_; }

  std::vector<Value> out_extents() const { return {out_.begin(), out_.end()}; }
  std::vector<Value> kernel_extents() const { return {kernel_.begin(), kernel_.end()}; }
  Value taps() const { return kernel_[0] * kernel_[1] * kernel_[2]; }

 private:
  Builder& b_;
  Value offset_, image_, channel_;
  Place in_, out_, kernel_, stride_, dilation_, pad_, step_;
  std::array<bool, 3> always_inside_;
  bool transposed_;
};

// Whether no tap of any output place lies outside, along an axis.
bool always_inside(const Window& window, size_t axis);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_WINDOW_READER_H_
