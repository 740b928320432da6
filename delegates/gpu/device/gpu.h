// One card as the host sees it: a device of the delegate, behind which logical devices come and go.
#ifndef VIREO_DELEGATES_GPU_DEVICE_GPU_H_
#define VIREO_DELEGATES_GPU_DEVICE_GPU_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/gpu/lower/made_before.h"
#include "delegates/gpu/schedule/schedule.h"

namespace vireo::gpu {

// What `call` gives. What it lacks memory or a thread for must not leave through a table in C.
template <class Call>
vireo_status guarded(const Call& call) {
  try {
    return call();
  } catch (...) {
    return VIREO_OUT_OF_ARENA;
  }
}

class Gpu {
 public:
  // `facts` outlive it. `name` is what sessions call the device by; `open` opens the card, once and after each reset.
  Gpu(std::string name, const Facts& facts, Opener open, const vireo_host& host);

  const Facts& facts() const { return facts_; }
  const vireo_host& host() const { return host_; }
  const std::string& name() const { return name_; }
  // What kernels are made for, by what the session lets them do to float32. Compiled parts are for its text.
  const Target& target(vireo_math math) const { return math == VIREO_MATH_F16 ? halves_ : exact_; }

  // What that target has kernels for already, of parts whose extents change.
  MadeBefore& made(vireo_math math) { return math == VIREO_MATH_F16 ? made_halves_ : made_exact_; }

  // The logical device, which the first call opens: listing devices starts none. Of a lost one VIREO_DEVICE_LOST.
  vireo_status device(std::shared_ptr<Device>* out, std::string* why);
  vireo_status health();
  // Later calls of device() open another one. Whoever still holds the lost one keeps it until they let go.
  vireo_status reset();
  void telemetry(vireo_telemetry* out);

  // The weights of the parts that were asked for last, so that pack(), which is called for each of them, lowers no part
  // again. memory() comes before it and renews what another graph at the same address may have left.
  struct Weights {
    const vireo_graph* graph = nullptr;
    std::vector<uint32_t> nodes;
    vireo_math math = VIREO_MATH_EXACT;
    std::vector<vireo_packed> list;
    std::vector<Weight> kept;  // what each of them is
  };
  // Null: they are not known any more.
  std::shared_ptr<const Weights> weights(const vireo_graph* graph, const vireo_part& part);
  void keep(std::shared_ptr<const Weights> weights);

 private:
  const std::string name_;
  const Facts& facts_;
  const Opener open_;
  const vireo_host host_;
  MadeBefore made_exact_, made_halves_;
  const Target exact_, halves_;  // halves_: where there are matrix units, products of halves
  std::mutex mutex_;
  std::shared_ptr<Device> device_;
  std::list<std::shared_ptr<const Weights>> weights_;  // the newest first
  uint32_t resets_ = 0;
  uint64_t submits_ = 0;  // of devices before this one
};

// What may be done to float32; a host with an older header has none but the exact way.
template <class Struct>
vireo_math math_of(const Struct* s) {
  return VIREO_HAS(s, math) ? s->math : vireo_math{VIREO_MATH_EXACT};
}

// What enumerate handed out.
inline Gpu& gpu_of(void* device) { return *static_cast<Gpu*>(device); }

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_GPU_H_
