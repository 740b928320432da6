// The nearest whole number, of two the even one, as std::nearbyint says it of |x| < 2^51; larger ones come out about as
// they are. No call, so that loops over it become vectors.
#ifndef VIREO_QUANT_SHARED_NEAREST_H_
#define VIREO_QUANT_SHARED_NEAREST_H_

namespace vireo::quant {

inline double nearest_whole(double x) {
  constexpr double kNoFraction = 0x1.8p52;
  return x + kNoFraction - kNoFraction;
}

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SHARED_NEAREST_H_
