// Which taps of a window lie inside the input, without a look at each: a kernel may have 2^31 of them.
#ifndef VIREO_SDK_OPS_SHARED_TAPS_H_
#define VIREO_SDK_OPS_SHARED_TAPS_H_

#include "sdk/ops/shared/window.h"

namespace vireo {

// Taps of one spatial dimension at output `o`: position of the first, how many lie inside the padded input and where
// those inside the input begin and end.
struct Taps {
  int64_t first, padded, begin, end;
};

inline Taps taps_of(const Geometry& g, int d, int64_t o) {
  const int64_t first = o * g.stride[d] - g.pad[d], step = g.dilation[d];
  const auto before = [&](int64_t position) {  // how many lie left of it
    const int64_t room = position - first;
    if (room <= 0) return int64_t{0};
    const int64_t n = step == 1 ? room : (room - 1) / step + 1;
    return n < g.kernel[d] ? n : g.kernel[d];
  };
  return {first, before(g.in[d] + g.pad_end[d]), before(0), before(g.in[d])};
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_TAPS_H_
