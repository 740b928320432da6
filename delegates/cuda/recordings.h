// The launches of a schedule as graphs of CUDA: one for each set of places that its values have lain at.
#ifndef VIREO_DELEGATES_CUDA_RECORDINGS_H_
#define VIREO_DELEGATES_CUDA_RECORDINGS_H_

#include <memory>
#include <string>
#include <vector>

#include "delegates/cuda/device.h"

namespace vireo::cuda {

class Recordings final : public gpu::Recordings {
 public:
  explicit Recordings(Device& device) : device_(device) {}
  ~Recordings() override;
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  vireo_status make(gpu::Schedule schedule, std::string* why) override;

 private:
  vireo_status record(uint32_t slot, const std::vector<gpu::Stretch>& pieces, const gpu::Place* places,
                      const gpu::OwnPlaces& own, std::vector<gpu::Commands>* out) override;
  Result build(Graph graph, uint32_t slot, const gpu::Stretch& piece, const gpu::Place* places,
               const gpu::OwnPlaces& own) const;
  vireo_status make_events(uint32_t slot);
  bool read_times(uint32_t slot, std::vector<gpu::StepTime>* out) override;
  void drop(uint32_t slot);

  Device& device_;
  std::vector<std::shared_ptr<gpu::CompiledKernel>> kernels_;
  std::vector<GraphExec> kept_[kKept];  // of each piece
  std::vector<Event> events_[kKept];    // where steps are timed: before each, and behind it
};

}  // namespace vireo::cuda

#endif  // VIREO_DELEGATES_CUDA_RECORDINGS_H_
