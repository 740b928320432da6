// A card as a part of a model sees it: memory, copies and runs of a schedule. Each API has its classes of these
// (delegates/vulkan, delegates/cuda); parts, weights and the delegate's table are the same for all of them.
//
// Weighed: templates over the API's types (each delegate then compiles its own copy of the table), and a table a
// delegate (each API then repeats what a lost device, a run that is cancelled or a buffer in use must do). The calls
// here are a few a run, so that virtual ones cost nothing that could be measured.
#ifndef VIREO_DELEGATES_GPU_DEVICE_DEVICE_H_
#define VIREO_DELEGATES_GPU_DEVICE_DEVICE_H_

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegates/gpu/schedule/schedule.h"
#include "vireo/delegate.h"

namespace vireo::gpu {

// Of a submit; 0: of none, and done. Its last two bits are the lane that the work is in: each lane keeps its own order.
using Ticket = uint64_t;
constexpr uint32_t kLanes = 3;  // one for each vireo_priority; a card may serve several by one
constexpr Ticket ticket_of(uint64_t turn, uint32_t lane) { return turn << 2 | lane; }
constexpr uint64_t turn_of(Ticket ticket) { return ticket >> 2; }
constexpr uint32_t lane_of(Ticket ticket) { return ticket & 3; }

// Bindings and buffers are whole words, and never empty.
constexpr uint64_t words_up(uint64_t bytes) { return bytes == 0 ? 4 : (bytes + 3) / 4 * 4; }

// What a card says of itself before it is opened.
struct Facts {
  std::string vendor;              // "" where it is not known
  std::string driver;              // its name and version
  std::string detail;              // for people: the chip, version, memory
  bool emulated = false;           // it computes on the CPU
  bool unified = false;            // its memory is the host's, and mapped
  bool checks_access = true;       // no kernel reaches memory beyond what it is given
  bool units_flush = false;        // matrix units take subnormal halves for 0: only products of halves go through them
  uint64_t memory_bytes = 0;       // of its own
  uint64_t place_alignment = 256;  // of what a kernel binds
  double launch_ns = 0;            // a submit with its wait
  double transfer = 0;             // bytes a second between the host and memory of its own
  uint64_t max_buffer_bytes = 0;   // 0: as much as there is
  Target target;
};

// Memory of a device.
struct Block {
  uint64_t handle = 0;        // the API's: a VkBuffer, a CUdeviceptr
  uint64_t memory = 0;        // what is to be freed besides, where the API has both
  uint64_t bytes = 0;         // at least what was asked for, whole words
  uint8_t* mapped = nullptr;  // where the host sees it
};

enum class Use : uint8_t {
  kDevice,  // what kernels work on: mapped only where the device shares the host's memory
  kStaging  // mapped, what copies go through and what kernels tell the host
};

class Device;

// Memory in the host's hands (vireo_place.buffer).
struct DeviceBuffer {
  std::shared_ptr<Device> device;
  Block block;
  uint64_t id = 0;
  std::atomic<Ticket> last{0};  // of the newest submit that reads or writes it
  // Parts that were submitted and have pieces left that were not handed over, in the order of their submits: what comes
  // later and uses the buffer waits for them. With the device's lines_mutex.
  std::vector<class Part*> line;
};

// Where a value lies.
struct Place {
  DeviceBuffer* buffer = nullptr;
  uint64_t offset = 0;
};

// What a part has besides the values of its border.
struct OwnPlaces {
  std::vector<Place> weights;  // one a weight of the schedule
  Place inner;                 // no buffer where there are no inner values
  Place data;                  // no buffer where there are no tables
  Place errors;                // no buffer where no kernel reports any
};

// The launches of a schedule for one set of places, ready to be submitted: a VkCommandBuffer, a CUgraphExec.
using Commands = void*;

struct KernelCode;  // kernels.h

// When a step ran, by the device's clock.
struct StepTime {
  uint64_t begin_ns = 0, end_ns = 0;
};

// Steps of a schedule, [first, end), or with parts above 1 a part of the workgroups of step `first`.
struct Stretch {
  uint32_t first = 0, end = 0;
  uint32_t part = 0, parts = 1;
};
// Workgroups of a launch: those from `base` on, as many as `groups`.
struct Range {
  std::array<uint32_t, 3> base{0, 0, 0}, groups{1, 1, 1};
};
Range part_of(const std::array<uint32_t, 3>& groups, uint32_t part, uint32_t parts);

// The launches of a schedule, made ready once for each set of places that its values have lain at. They are one piece,
// or several where the caller wants gaps: then the first runs show how long each step takes.
class Recordings {
 public:
  virtual ~Recordings() = default;
  // The longest that a piece may take; 0: all steps are one. A longer step is cut by its workgroups where the API
  // launches them from any one on. Before make().
  void cut(uint64_t slice_ns) { slice_ns_ = slice_ns; }
  // Each step is to be timed, and so runs behind the one before it. Before make().
  void time() { timed_ = true; }
  // Machine code that make() is to use, and that it adds to (Device::shares_code). Before make(), and for it.
  void share(KernelCode* code) { code_ = code; }
  // Compiles kernels. On an error *why says what failed.
  virtual vireo_status make(Schedule schedule, std::string* why) = 0;
  // The commands of each piece, in order, for values that lie at `places`: inputs, then outputs. They are made where
  // callers bring new places; a few sets are kept, because callers take turns with their buffers. Nothing of it is
  // under way. The list lives until the next call.
  vireo_status at(const Place* places, const OwnPlaces& own, const std::vector<Commands>** out);
  // Piece `piece` of the last at() has taken so long at most.
  void took(size_t piece, uint64_t ns);
  // Of each step of the commands that at() gave last, once they ran. False: it is not known.
  bool times(std::vector<StepTime>* out) { return timed_ && read_times(last_, out); }
  // All pieces have. True: they are other ones from now on, and at() has their commands.
  bool ran();

  const Schedule& schedule() const { return schedule_; }  // without the kernels' code

 protected:
  static constexpr uint32_t kKept = 4;
  // Makes the commands of set `slot`, one for each of `pieces`, in place of those that it had.
  virtual vireo_status record(uint32_t slot, const std::vector<Stretch>& pieces, const Place* places,
                              const OwnPlaces& own, std::vector<Commands>* out) = 0;
  // Where `binding` lies; without a buffer for an empty value.
  static Place place_of(const Schedule& schedule, const Place* places, const OwnPlaces& own, const Binding& binding);

  // As times(), of set `slot`. An API that cannot tell leaves it as it is.
  virtual bool read_times(uint32_t, std::vector<StepTime>*) { return false; }
  bool timed() const { return timed_; }
  KernelCode* code() const { return code_; }  // NULL: it is of no use to anybody
  // Whether the API launches workgroups from any one on, so that a long step may be several pieces.
  virtual bool launches_parts() const { return false; }
  bool cuts() const { return slice_ns_ != 0; }
  // The most pieces that a set may have.
  size_t most_pieces() const {
    return !cuts() ? 1 : std::max<size_t>(1, schedule_.steps.size()) + (launches_parts() ? kMoreParts : 0);
  }

  Schedule schedule_;

 private:
  static constexpr uint32_t kTrials = 2;      // runs step by step, to see what each takes
  static constexpr uint32_t kMoreParts = 64;  // than steps, of all steps together
  uint32_t parts_of(uint32_t step, uint32_t left) const;
  void plan();

  struct Kept {
    std::vector<Commands> commands;
    std::vector<Place> places;
    std::vector<uint64_t> ids;  // of their buffers: a new buffer may lie where an old one lay
    uint64_t used = 0;          // when it was asked for last; 0: nothing is recorded
  };
  Kept kept_[kKept];
  uint64_t asked_ = 0;
  uint64_t slice_ns_ = 0;
  bool timed_ = false;
  KernelCode* code_ = nullptr;
  uint32_t last_ = 0;  // set that at() gave last
  uint32_t runs_ = 0;
  std::vector<uint64_t> times_;  // of the steps, in ns: the least that was seen
  std::vector<Stretch> pieces_;
  bool late_ = false;  // a piece took longer than expected
};

// Work goes to a device in the order of the calls. Each submit has the next ticket, so "is it done", "wait for it" and
// "is this buffer free" are one comparison. Calls may come from any thread.
class Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;
  virtual const Facts& facts() const = 0;
  virtual std::unique_ptr<Recordings> recordings() = 0;
  // What a VIREO_HANDLE_... of a block's handle is.
  virtual vireo_handle_kind handle_kind() const = 0;

  // Whether recordings give machine code of their kernels and take it (Recordings::share). Where they do not, the
  // device may still have code().
  virtual bool shares_code() const { return false; }
  // What the driver made of kernels, for other processes; empty where it keeps nothing, or by itself.
  virtual std::vector<uint8_t> code() { return {}; }
  // code() of another process. What is not of this very card and driver is left alone.
  virtual void take_code(const void*, size_t) {}
  // How many kernels the driver compiled.
  virtual uint64_t compiled() { return 0; }

  virtual vireo_status allocate(uint64_t bytes, Use use, Block* out) = 0;
  // The host's memory as it lies. VIREO_UNSUPPORTED: the driver does not take it.
  virtual vireo_status import(void* memory, uint64_t bytes, Block* out) = 0;
  // Nothing is under way on it; what still is, in a device that hangs, keeps its memory.
  virtual void release(Block* block) = 0;

  // Makes what work of this priority needs: to be called before its first submit.
  vireo_status open_lane(vireo_priority priority);
  virtual vireo_status submit(Commands commands, vireo_priority priority, Ticket* out) = 0;
  // Whether it is done, or nothing will ever come of it any more.
  virtual bool reached(Ticket ticket) = 0;
  // VIREO_OK, VIREO_BUSY or VIREO_DEVICE_LOST.
  virtual vireo_status wait(Ticket ticket, uint64_t timeout_ns) = 0;

  // Lost is for ever: a reset opens another device.
  bool lost() const;
  // Nothing of it may be destroyed: it is another process's, or still works on what it was given.
  bool untouchable();
  // What was submitted up to `ticket` touches nothing any more, or the device is given up.
  void settle(Ticket ticket);

  // Makes the memory that copies go through, if it is not there.
  vireo_status open_staging();
  // Copies between the host and a block, in the order of the work. `from` may change afterwards; `to` is there on
  // return.
  vireo_status write(const Block& block, uint64_t offset, const void* from, uint64_t bytes);
  vireo_status read(const Block& block, uint64_t offset, void* to, uint64_t bytes);

  // Whether all that was submitted is done.
  virtual bool idle() = 0;
  // The ticket of the newest copy.
  Ticket newest_copy() const { return copied_.load(); }
  // Whether work of `priority`, or a copy, takes its turn behind `before` by itself: both are in one lane.
  bool orders(Ticket before, vireo_priority priority) const { return before == 0 || lane_of(before) == lane(priority); }
  bool orders_copy(Ticket before) const { return orders(before, VIREO_PRIORITY_NORMAL); }
  // Where it does not, waits until `before` is done.
  vireo_status follow(Ticket before, vireo_priority priority);
  // Of a buffer: no two have the same.
  uint64_t next_id() { return ++ids_; }
  uint64_t memory_used() const { return memory_used_.load(std::memory_order_relaxed); }
  uint64_t submits() const { return submits_.load(std::memory_order_relaxed); }

  std::mutex lines_mutex;  // guards DeviceBuffer::line and the remaining pieces in it

  std::atomic<bool> took_code{false};  // a cache was looked at
  std::atomic<uint64_t> kept_code{0};  // compiled() when it was written last

  uint64_t cancel_ns = 2'000'000'000;          // how long a cancelled submit may take to come to its end
  uint64_t copy_ns = VIREO_DEVICE_TIMEOUT_NS;  // how long a copy waits for the work before it

 protected:
  Device();
  // The lane that serves this priority. Copies take that of VIREO_PRIORITY_NORMAL, which is always open.
  virtual uint32_t lane(vireo_priority priority) const = 0;
  virtual vireo_status open(uint32_t lane) = 0;
  // Makes what copy() needs besides the staging block. Called until it succeeds.
  virtual vireo_status prepare_copies() = 0;
  // Copies behind all work before it. No copy of this half, 0 or 1, is under way.
  virtual vireo_status copy(uint32_t half, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                            uint64_t bytes, Ticket* out) = 0;
  // To be called by destructors, while the API's device is there.
  void release_staging() { release(&staging_); }
  void lose() { lost_.store(true); }
  bool hangs() const { return hangs_.load(); }

  std::atomic<uint64_t> memory_used_{0}, submits_{0};

 private:
  vireo_status stage();  // under staging_mutex_
  vireo_status await(Ticket ticket);
  // A device that does not come to an end in time: it is lost, and what it works on stays where it is.
  void give_up();

  const pid_t process_;  // a process that was forked since has no device
  std::atomic<bool> lost_{false}, hangs_{false};
  std::atomic<uint64_t> ids_{0};
  std::mutex staging_mutex_;
  Block staging_;  // two halves: while one is on its way, the other is filled
  Ticket halves_[2] = {0, 0};
  std::atomic<Ticket> copied_{0};
  uint32_t next_half_ = 0;
};

// Opens a card: VIREO_OUT_OF_ARENA or VIREO_DEVICE_LOST, with *why, where the driver gives no device.
using Opener = std::function<vireo_status(std::shared_ptr<Device>* out, std::string* why)>;

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_DEVICE_H_
