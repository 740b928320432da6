/* How devices are while they work: whether they answer, what they draw, how warm and how fast they are. What does not
 * change is vireo_device_info.
 *
 * The rules of vireo.h hold. */
#ifndef VIREO_TELEMETRY_H_
#define VIREO_TELEMETRY_H_

#include "vireo/vireo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far a device is awake. */
typedef uint32_t vireo_power;
enum {
  VIREO_POWER_UNKNOWN = 0,
  VIREO_POWER_OFF = 1,       /* wakes with the next submit, which then takes longer */
  VIREO_POWER_IDLE = 2,      /* ready */
  VIREO_POWER_BUSY = 3,      /* at work */
  VIREO_POWER_THROTTLED = 4, /* slower than it could be: too warm, or short of current */
};

/* The driver's figures at one moment. A number is 0 if the driver does not know it. */
typedef struct vireo_telemetry {
  uint32_t struct_size;
  uint32_t resets;      /* since open */
  uint64_t submits;     /* since open, of all parts */
  uint64_t busy_ns;     /* on the device's own clock, since open */
  uint64_t energy_nj;   /* since open */
  uint64_t memory_used; /* of vireo_device_info.memory_bytes */
  double temperature_c;
  double clock_mhz;
  vireo_power power;
  uint32_t reserved;
} vireo_telemetry;
#define VIREO_TELEMETRY_INIT VIREO_INIT_(vireo_telemetry)

/* Asks device `index` of the runtime. May be called from any thread, also while the device works. It runs nothing on
 * the device and does not wait. VIREO_DEVICE_LOST: the device does not answer; `out` holds the figures that its driver
 * still has. VIREO_UNSUPPORTED: it answers and has no figures. Sessions notice lost devices by themselves
 * (vireo_session_options.failover). */
VIREO_API vireo_status vireo_runtime_telemetry(const vireo_runtime* runtime, uint32_t index, vireo_telemetry* out,
                                               vireo_error* error);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_TELEMETRY_H_ */
