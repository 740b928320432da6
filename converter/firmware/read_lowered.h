// Nodes that become one call or several, by kernels that any core has and by those of float32.
#ifndef VIREO_CONVERTER_FIRMWARE_READ_LOWERED_H_
#define VIREO_CONVERTER_FIRMWARE_READ_LOWERED_H_

#include <string>

#include "converter/firmware/lower.h"

namespace vireo::firmware {

// Each: "", why no kernel takes the node, or kUnknownNode. Calls and values of a node that is refused are of no use.
std::string read_picks(Lower& n);             // Gather, Pad, Resize, Where...: what chooses elements
std::string read_integers(Lower& n);          // integers, casts, where the greatest element is
std::string read_more_reals(Lower& n);        // float32 element by element and along axes
std::string read_lowered_products(Lower& n);  // convolutions and products that are prepared in a run
std::string read_recurrent(Lower& n);         // LSTM, GRU, RNN

inline std::string read_lowered(Lower& n) {
  for (auto* const read : {read_picks, read_integers, read_more_reals, read_lowered_products, read_recurrent}) {
    std::string reason = read(n);
    if (reason != kUnknownNode) return reason;
  }
  return kUnknownNode;
}

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_READ_LOWERED_H_
