// A part as it runs. Most memory that kernels see is the host's to plan: values, weights and inner values lie in
// buffers.
#ifndef VIREO_DELEGATES_GPU_DEVICE_PART_H_
#define VIREO_DELEGATES_GPU_DEVICE_PART_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/gpu/templates/expression.h"
#include "vireo/delegate.h"

namespace vireo::gpu {

// What a run brings where extents change from run to run: of vireo_delegate.submit.
struct Run {
  const vireo_graph* graph = nullptr;
  const vireo_tensor* const* inputs = nullptr;
};

// What the schedule of a run is made from.
class Source {
 public:
  virtual ~Source() = default;
  // The extents that change, and the contents that steer, in an order of its own.
  virtual std::vector<int64_t> key(const Run& run) const = 0;
  // "" or why the device does not run it so.
  virtual std::string lower(const Run& run, Schedule* out) const = 0;
};

class Part {
 public:
  explicit Part(std::shared_ptr<Device> device) : device_(std::move(device)), bounds_(device_->recordings()) {}
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // How the session wants its work to be done. Before load().
  void serve(vireo_priority priority, uint64_t slice_ns, bool profile);
  // As Recordings::share, for load().
  void share(KernelCode* code) { bounds_->share(code); }
  // Makes pipelines. `own` has the places of the schedule's weights and inner values; `source` is there if the schedule
  // is open. On an error *why says what failed.
  vireo_status load(Schedule schedule, OwnPlaces own, std::unique_ptr<Source> source, std::string* why);
  // The names of the part's nodes, which live as long as the model: for errors of a run.
  void set_names(std::vector<const char*> names) { names_ = std::move(names); }
  // Inputs, then outputs, as many as the schedule has. Nothing is under way.
  vireo_status bind(const Place* places);
  // Places are bound. On an error *why says what failed, or is empty.
  vireo_status submit(const Run& run, std::string* why);
  // An error of the run that a kernel found, and the name of its node, or null.
  struct Found {
    RunError what = RunError::kNone;
    const char* node = nullptr;
  };
  // Hands over the pieces that are left, each when the one before is done. VIREO_INVALID_ARGUMENT: *found says why.
  vireo_status wait(uint64_t timeout_ns, Found* found);
  vireo_fault* fault = nullptr;  // of the last submit, for wait
  // What each launch of the last run took, in their order. False: it is not known.
  bool timeline(const std::function<void(const Launch& step, const Kernel& kernel, const StepTime& time)>& take) const;
  // From any thread. Pieces that were not handed over are dropped.
  void cancel();

  const Schedule& schedule() const { return bounds_->schedule(); }

 private:
  // What runs a set of extents.
  struct Prepared {
    std::vector<int64_t> key;
    std::unique_ptr<Recordings> recordings;
    std::vector<uint8_t> tables;
  };
  static constexpr size_t kKeptExtents = 8;

  // Whether `bytes` from there on are in a buffer of this device.
  bool holds(const Place& at, uint64_t bytes) const;
  vireo_status prepare(const Run& run, Recordings** out, std::string* why);
  vireo_status write_tables(const std::vector<uint8_t>& tables, std::string* why);
  // With the lines' mutex.
  Part* part_before() const;
  vireo_status hand_over();
  void leave_lines();
  // Until all pieces are done.
  vireo_status advance(uint64_t timeout_ns);
  bool take_error(Found* out);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Recordings> bounds_;  // of fixed shapes, or at the bounds
  OwnPlaces own_;
  DeviceBuffer errors_;
  std::vector<const char*> names_;
  std::vector<Place> places_;
  bool has_places_ = false;
  const std::vector<Commands>* bound_ = nullptr;  // of fixed shapes
  vireo_priority priority_ = VIREO_PRIORITY_NORMAL;
  uint64_t slice_ns_ = 0;
  bool profile_ = false;
  Recordings* newest_ = nullptr;                   // of the last submit
  std::vector<DeviceBuffer*> buffers_;             // that it works on, each once
  const std::vector<Commands>* pieces_ = nullptr;  // of the last submit
  size_t next_ = 0;                                // piece to be handed over
  Recordings* running_ = nullptr;                  // whose pieces they are; null: their end was noted
  std::chrono::steady_clock::time_point began_;    // the piece that was handed over last
  std::unique_ptr<Source> source_;
  uint64_t table_bytes_ = 0;
  const Prepared* tables_of_ = nullptr;  // whose tables are on the device
  std::list<Prepared> kept_;             // the newest first
  std::atomic<Ticket> ticket_{0};        // of the last submit
  std::atomic<bool> cancelled_{false};
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_PART_H_
