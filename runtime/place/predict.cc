#include "runtime/place/predict.h"

#include <math.h>

namespace vireo {
namespace {

bool known(double v) { return v > 0 && isfinite(v); }

}  // namespace

DeviceSpeed device_speed(const vireo_device_info& info, bool measured) {
  DeviceSpeed speed;
  const double reached = measured ? 1 : assumed::kReached;
  const auto or_else = [](double v, double otherwise) { return known(v) ? v : otherwise; };
  const double of_bytes = or_else(info.f16_rate / 2, info.i8_rate / 8);
  const double full = or_else(info.f32_rate, of_bytes);
  const double half = or_else(info.f16_rate, or_else(info.f32_rate, info.i8_rate / 4));
  const double byte = or_else(info.i8_rate, half);
  speed.assumed_rate = !known(full);
  const double declared[3] = {full, half, byte};
  for (int k = 0; k < 3; ++k) speed.rate[k] = known(declared[k]) ? reached * declared[k] : assumed::kOperations;
  speed.bandwidth = known(info.bandwidth) ? reached * info.bandwidth : assumed::kBandwidth;
  // The contract: nothing needs to be moved where a device gives no rate of transfer.
  speed.place.unified = (info.flags & VIREO_DEVICE_UNIFIED) != 0 || !known(info.transfer);
  speed.place.launch_ns = or_else(info.launch_ns, speed.place.unified ? 0 : assumed::kLaunchNs);
  if (!speed.place.unified) {
    // A device that does not say how long a copy takes to start is assumed to need as long as for a launch.
    speed.place.transfer_ns = or_else(info.transfer_ns, speed.place.launch_ns);
    speed.place.transfer_rate = reached * info.transfer;
  }
  return speed;
}

double estimate_ns(const DeviceSpeed& speed, const NodeWork& work) {
  const double compute = static_cast<double>(work.operations) / speed.rate[static_cast<int>(work.kind)];
  const double move = static_cast<double>(work.bytes) / speed.bandwidth;
  return speed.node_ns + 1e9 * (compute > move ? compute : move);
}

PredictedTime node_time(const DeviceSpeed& speed, const NodeWork& work, double claimed_ns, double measured_ns) {
  if (known(measured_ns)) return {measured_ns, TimeSource::kMeasured};
  if (known(claimed_ns)) return {claimed_ns, TimeSource::kDelegate};
  return {estimate_ns(speed, work), speed.assumed_rate ? TimeSource::kAssumed : TimeSource::kRates};
}

}  // namespace vireo
