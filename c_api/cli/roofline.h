// The least time that a node can take on this machine: Williams et al., "Roofline", CACM 2009.
#ifndef VIREO_C_API_CLI_ROOFLINE_H_
#define VIREO_C_API_CLI_ROOFLINE_H_

#include "vireo/vireo.h"

namespace vireo::cli {

// Of one core.
struct Rates {
  double operations = 0;  // float32 multiplications and additions a second
  double near_bytes = 0;  // a second, read from caches
  double far_bytes = 0;   // and from memory
};
Rates measure_rates();  // takes some twenty milliseconds

// Microseconds, with a core for each thread: a bound below, so that what is near it cannot gain. The
// operations of convolutions count a quarter, which is what Winograd's tiles of 4 x 4 leave of them. `tiles`: the CPU
// multiplies matrices of small types (AMX).
double least_us(const vireo_node_info& node, const Rates& rates, bool tiles, int threads);

// The same of a device, by the rates that it tells or that were measured, with one unit for all types where it tells no
// rate of a smaller one. 0: its rates are not known. Of a node that its device runs together with others,
// `operations` and `bytes` are those of all.
double least_us(const vireo_device_info& device, vireo_dtype dtype, double operations, double bytes);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_ROOFLINE_H_
