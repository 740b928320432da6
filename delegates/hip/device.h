// How a device of streams and graphs (delegates/gpu/stream) calls HIP.
#ifndef VIREO_DELEGATES_HIP_DEVICE_H_
#define VIREO_DELEGATES_HIP_DEVICE_H_

#include <string>
#include <vector>

#include "delegates/gpu/stream/recordings.h"
#include "delegates/hip/driver.h"

namespace vireo::hip {

struct Api {
  using Driver = hip::Driver;
  using Card = hip::Card;
  using Result = hip::Result;
  using Context = DeviceNumber;  // a process has one a card
  using Stream = hip::Stream;
  using Event = hip::Event;
  using Module = hip::Module;
  using Function = hip::Function;
  using Graph = hip::Graph;
  using GraphNode = hip::GraphNode;
  using GraphExec = hip::GraphExec;
  using Step = gpu::StreamStep<Api>;
  static constexpr vireo_handle_kind kHandle = VIREO_HANDLE_HIP;
  static constexpr unsigned kStreamFlags = kStreamNonBlocking, kEventFlags = kEventWithoutTiming,
                            kTimingFlags = kEventWithTiming, kHostFlags = kHostMemoryOfAllDevices;

  static vireo_status status_of(Result result);
  static Result open(const Driver& driver, const Card& card, Context* out);
  static void close(const Driver&, Context) {}
  class Current {
   public:
    Current(const Driver& driver, Context card) : call_(driver.call()) {
      known_ = call_.current(&before_) == kSuccess;
      (void)call_.make_current(card);
    }
    ~Current() {
      if (known_) (void)call_.make_current(before_);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Functions& call_;
    DeviceNumber before_ = 0;
    bool known_ = false;
  };

  static constexpr bool kTakesText = false;
  static constexpr Result kNoImage = kNoKernelImage;
  static bool make_code(const Driver& driver, const Card& card, const gpu::Kernel& kernel, std::vector<uint8_t>* out,
                        std::string* log);
  static Result load(const Driver& driver, const gpu::Kernel& kernel, const void* image, Module* module,
                     Function* function, std::string* log);
  static bool starts_early(const Driver&, const Card&) { return false; }
  static bool can_time(const Driver&) { return true; }
  static Result follow(const Driver& driver, Graph graph, const Step& step, const std::vector<GraphNode>& before,
                       gpu::Start start, GraphNode* out);
};

using Device = gpu::StreamDevice<Api>;

}  // namespace vireo::hip

#endif  // VIREO_DELEGATES_HIP_DEVICE_H_
