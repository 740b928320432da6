// The device as the driver holds it: one machine, the work that waits for it, and what goes wrong with it on purpose.
//
// Two ways to submit were weighed. A ring in memory that the machine reads by itself, with a doorbell and completion
// entries, as real accelerators have it: nothing is copied and the driver never waits, but a simulated machine needs a
// thread that plays it all the same, and a host that reads rings wrong hangs both. A list of parts under one lock with
// one condition for both directions: a part has one submit under way at most, so the list needs no memory of its own
// (the parts are its links), and cancelling is taking one out. The second is here; what a device of silicon would do by
// interrupt, the thread does by notifying.
#ifndef VIREO_DELEGATES_NPU_DRIVER_DEVICE_H_
#define VIREO_DELEGATES_NPU_DRIVER_DEVICE_H_

#include "delegates/npu/driver/blob.h"
#include "delegates/npu/driver/memory.h"
#include "vireo/delegate.h"

#ifndef VIREO_NPU_THREAD
#define VIREO_NPU_THREAD 1
#endif
#if VIREO_NPU_THREAD
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#else
#include <chrono>

#include "vireo/vireo.h"
#endif

namespace vireo::npu {

// Things that go wrong, for tests: VIREO_NPU_FAULT=hang@3,corrupt@5,lost@7,memory@1,wrong,random=SEED:PERCENT.
struct FaultPlan {
  int64_t hang_at = -1, corrupt_at = -1, lost_at = -1;  // submits since open, from 0
  int64_t memory_at = -1;                               // compiles and loads since open
  bool wrong = false;                                   // every result
  uint64_t random = 0;                                  // state of a generator; 0: nothing at random
  uint32_t percent = 0;

  // False for a text that it does not understand.
  bool read(const char* text);
};

struct Buffer;
// Where a value lies on the device.
struct Place {
  Buffer* buffer = nullptr;
  uint64_t offset = 0;
};

struct Part {
  BlobView blob;
  uint8_t* tensors = nullptr;       // region 1
  LayerCounters* layers = nullptr;  // of the last run, in a profiled session
  const vireo_tensor* inputs[kMostValues] = {};
  vireo_tensor* outputs[kMostValues] = {};
  bool bound = false;                  // values lie at `places`, not where the tensors say
  Place places[2 * kMostValues] = {};  // inputs, then outputs
  class Device* device = nullptr;
  enum State : uint8_t { kIdle, kQueued, kRunning, kHung, kDone } state = kIdle;
  vireo_status status = VIREO_OK;
  bool cancelled = false;
  uint32_t generation = 0;  // of the device when it was loaded
  uint32_t rank = 0;        // of its session's priority: the highest goes first
  Faults faults;            // of the submit under way
  bool lost = false, hangs = false;
  Part* next = nullptr;
};

class Device {
 public:
  // `sram` are Machine::memory_bytes(config) bytes.
  Device(const MachineConfig& config, uint8_t* sram, const FaultPlan& plan);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // In a process that was forked since: the thread is the parent's, so the device is lost, and nothing here may wait
  // for it. That includes the end of this object, whose memory such a process keeps.
  bool inherited() const;

  const MachineConfig& config() const { return machine_.config(); }
  // False when a compile or load is to fail for want of memory.
  bool has_memory();

  void load(Part* part);
  void bind(Part* part, const vireo_place* const* inputs, const vireo_place* const* outputs);
  // Memory of the device's own, kDeviceBytes in all. False: there is not so much left.
  bool take(uint64_t bytes);
  void give_back(uint64_t bytes);
  // VIREO_BUSY while a part that waits or runs has something there.
  vireo_status may_copy(const Buffer& buffer, uint64_t offset, uint64_t bytes);
  vireo_status submit(Part* part);
  vireo_status wait(Part* part, uint64_t timeout_ns);
  void cancel(Part* part);
  vireo_status health();
  vireo_status reset();
  void telemetry(vireo_telemetry* out);
#if !VIREO_NPU_THREAD
  // What one part may take: nobody can cancel it while submit runs it.
  std::chrono::nanoseconds limit{static_cast<int64_t>(VIREO_DEVICE_TIMEOUT_NS)};
#endif

 private:
  void work();                                 // the thread
  Status run(Part* part, Counters* counters);  // without the lock
#if !VIREO_NPU_THREAD
  void drain();  // runs what waits, until a part hangs
#endif
  bool account(Part* part, Status status, const Counters& counters);
  void finish(Part* part, vireo_status status);
  static uint8_t* data_of(const Part& part, uint32_t value);
  static bool stops(void* self);  // the machine asks it between commands

  Machine machine_;
  FaultPlan plan_;
  int64_t submits_ = 0, grants_ = 0;
  bool lost_ = false;
  uint32_t generation_ = 0, resets_ = 0;
  uint64_t cycles_ = 0, energy_pj_ = 0;
  Part *first_ = nullptr, *last_ = nullptr;  // that wait, by rank, then in the order of their submits
  Part* running_ = nullptr;
  uint64_t memory_used_ = 0;
#if VIREO_NPU_THREAD
  const pid_t process_ = getpid();
  bool stop_ = false;
  std::atomic<bool> cancel_{false};  // of the part that runs
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
#else
  Part* hung_ = nullptr;
  std::chrono::steady_clock::time_point until_;  // of the part that runs
#endif
};

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_DRIVER_DEVICE_H_
