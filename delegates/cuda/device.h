// One context of a card: a stream for each priority that sessions have, its memory, and copies. An event behind each
// submit tells when it is done.
#ifndef VIREO_DELEGATES_CUDA_DEVICE_H_
#define VIREO_DELEGATES_CUDA_DEVICE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "delegates/cuda/driver.h"
#include "delegates/gpu/device/kernels.h"

namespace vireo::cuda {

using gpu::Block;
using gpu::Ticket;
using gpu::Use;

class Device final : public gpu::Device {
 public:
  static vireo_status open(const Driver& driver, const Card& card, std::shared_ptr<gpu::Device>* out, std::string* why);
  ~Device() override;

  const gpu::Facts& facts() const override { return card_; }
  std::unique_ptr<gpu::Recordings> recordings() override;
  vireo_handle_kind handle_kind() const override { return VIREO_HANDLE_CUDA; }

  const Driver& driver() const { return driver_; }
  const Functions& call() const { return driver_.call(); }
  // Whether a graph can have events in it.
  bool can_time() const { return call().graph_add_event != nullptr && call().event_elapsed != nullptr; }
  // Whether edges of graphs may be programmatic: the printed code says when, from the ninth family on.
  bool starts_early() const { return card_.target.ptx >= 90 && call().graph_add_edges != nullptr; }
  gpu::KernelCache& kernels() { return kernels_; }
  // Hands `result` back as the host's status, and remembers a loss.
  vireo_status take(Result result);

  vireo_status allocate(uint64_t bytes, Use use, Block* out) override;
  vireo_status import(void*, uint64_t, Block*) override { return VIREO_UNSUPPORTED; }
  void release(Block* block) override;

  vireo_status submit(gpu::Commands commands, vireo_priority priority, Ticket* out) override;
  bool idle() override;
  bool reached(Ticket ticket) override;
  vireo_status wait(Ticket ticket, uint64_t timeout_ns) override;

  // The context is the calling thread's for as long as this lives; the one before comes back.
  class Current {
   public:
    explicit Current(const Device& device) : call_(device.call()) { (void)call_.context_push(device.context_); }
    ~Current() {
      Context ours = nullptr;
      (void)call_.context_pop(&ours);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Functions& call_;
  };

 private:
  static constexpr size_t kEvents = 256;

  Device(const Driver& driver, const Card& card) : driver_(driver), card_(card) {}
  // What one priority has. An event stands behind each submit.
  struct Lane {
    Stream stream = nullptr;
    std::array<Event, kEvents> events{};
    std::atomic<uint64_t> last{0}, done{0};  // turns
    bool open = false;
  };

  vireo_status start(std::string* why);
  uint32_t lane(vireo_priority priority) const override { return priority < gpu::kLanes ? priority : 0; }
  vireo_status open(uint32_t lane) override;
  Result make(Lane* lane, uint32_t number);
  void drop(Lane* lane);
  vireo_status prepare_copies() override { return VIREO_OK; }
  vireo_status copy(uint32_t half, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                    uint64_t bytes, Ticket* out) override;
  // Both under queue_mutex_. close() puts an event behind what was given to the stream.
  vireo_status free_event(uint32_t lane);
  vireo_status close(uint32_t lane, Ticket* out);

  const Driver& driver_;
  const Card& card_;
  Context context_ = nullptr;
  Lane lanes_[gpu::kLanes];
  gpu::KernelCache kernels_;
  std::mutex queue_mutex_;  // guards the order of the streams, their making, and changes of Lane::last
};

}  // namespace vireo::cuda

#endif  // VIREO_DELEGATES_CUDA_DEVICE_H_
