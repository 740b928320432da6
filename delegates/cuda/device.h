// How a device of streams and graphs (delegates/gpu/stream) calls CUDA.
#ifndef VIREO_DELEGATES_CUDA_DEVICE_H_
#define VIREO_DELEGATES_CUDA_DEVICE_H_

#include <string>
#include <vector>

#include "delegates/cuda/driver.h"
#include "delegates/gpu/stream/recordings.h"

namespace vireo::cuda {

struct Api {
  using Driver = cuda::Driver;
  using Card = cuda::Card;
  using Result = cuda::Result;
  using Context = cuda::Context;
  using Stream = cuda::Stream;
  using Event = cuda::Event;
  using Module = cuda::Module;
  using Function = cuda::Function;
  using Graph = cuda::Graph;
  using GraphNode = cuda::GraphNode;
  using GraphExec = cuda::GraphExec;
  using Step = gpu::StreamStep<Api>;
  static constexpr vireo_handle_kind kHandle = VIREO_HANDLE_CUDA;
  static constexpr unsigned kStreamFlags = kStreamNonBlocking, kEventFlags = kEventWithoutTiming,
                            kTimingFlags = kEventWithTiming, kHostFlags = kHostMemoryOfAllContexts;

  static vireo_status status_of(Result result);
  static Result open(const Driver& driver, const Card& card, Context* out);
  static void close(const Driver& driver, Context context) { (void)driver.call().context_destroy(context); }
  class Current {
   public:
    Current(const Driver& driver, Context context) : call_(driver.call()) { (void)call_.context_push(context); }
    ~Current() {
      Context ours = nullptr;
      (void)call_.context_pop(&ours);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Functions& call_;
  };

  static constexpr bool kTakesText = true;  // PTX
  static constexpr Result kNoImage = 209;
  static bool make_code(const Driver& driver, const Card& card, const gpu::Kernel& kernel, std::vector<uint8_t>* out,
                        std::string* log);
  static Result load(const Driver& driver, const gpu::Kernel& kernel, const void* image, Module* module,
                     Function* function, std::string* log);
  // Whether edges of graphs may be programmatic: the printed code says when, from the ninth family on.
  static bool starts_early(const Driver& driver, const Card& card) {
    return card.target.ptx >= 90 && driver.call().graph_add_edges != nullptr;
  }
  static bool can_time(const Driver& driver) {
    return driver.call().graph_add_event != nullptr && driver.call().event_elapsed != nullptr;
  }
  static Result follow(const Driver& driver, Graph graph, const Step& step, const std::vector<GraphNode>& before,
                       gpu::Start start, GraphNode* out);
};

using Device = gpu::StreamDevice<Api>;

}  // namespace vireo::cuda

#endif  // VIREO_DELEGATES_CUDA_DEVICE_H_
