// Span: a borrowed run of elements. Owns nothing, checks nothing but in debug builds.
#ifndef VIREO_SDK_BASE_SPAN_H_
#define VIREO_SDK_BASE_SPAN_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo {

template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}  // NOLINT: a view of an array is the array
  template <class U>
  constexpr Span(const Span<U>& other) : data_(other.data()), size_(other.size()) {}  // NOLINT: adds const only

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace vireo

#endif  // VIREO_SDK_BASE_SPAN_H_
