// What a node takes on a device: measured, or as its delegate says, or by the device's rates.
#ifndef VIREO_RUNTIME_PLACE_PREDICT_H_
#define VIREO_RUNTIME_PLACE_PREDICT_H_

#include <stdint.h>

#include "runtime/place/placement.h"
#include "runtime/place/work.h"
#include "vireo/vireo.h"

namespace vireo {

// What stands for a number that neither the device nor a measurement gives. Low on purpose: work goes to a device that
// nothing is known of when it has to.
namespace assumed {
constexpr double kOperations = 4e9;  // a second: a core of 1 GHz, 4 lanes
constexpr double kBandwidth = 2e9;   // bytes a second: a narrow bus
constexpr double kReached = 0.5;     // of a declared rate: it is the most that the device's units can do
constexpr double kNodeNs = 1000;     // of each node beside its work: to find, to begin and to end it
constexpr double kLaunchNs =
    50e3;  // of a device with memory of its own: a driver's call, and to be woken when it is done
}  // namespace assumed

// All numbers of a device, none of them 0 but launches and ways of those that have none.
struct DeviceSpeed {
  double rate[3] = {};  // by WorkKind
  double bandwidth = 0;
  double node_ns = assumed::kNodeNs;
  PlaceDevice place;
  bool assumed_rate = false;  // nothing was known of any rate
};

// `measured`: the rates in `info` are what kernels reached, as `vireo devices --measure` finds it; else declared ones.
// A type whose rate is not known is computed in the next wider one that is; where only narrower ones are known, at what
// a multiplier of twice the width takes: a quarter, and half from 16 bits to 32, which devices split in two.
DeviceSpeed device_speed(const vireo_device_info& info, bool measured);

// Roofline (Williams, Waterman, Patterson, CACM 2009): operations or bytes, whichever takes longer.
double estimate_ns(const DeviceSpeed& speed, const NodeWork& work);

enum class TimeSource : uint8_t { kMeasured, kDelegate, kRates, kAssumed };

struct PredictedTime {
  double ns = 0;
  TimeSource source = TimeSource::kAssumed;
};

// `claimed_ns`: vireo_claim.time_ns; `measured_ns`: what such a node took here before. Numbers that are no times count
// as not known.
PredictedTime node_time(const DeviceSpeed& speed, const NodeWork& work, double claimed_ns, double measured_ns);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PLACE_PREDICT_H_
