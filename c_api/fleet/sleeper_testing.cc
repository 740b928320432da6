// A device for tests that really works beside the host: a plug-in that computes with the CPU delegate's own kernels, so
// to the bit what the host computes, and sleeps in each submit for as long as its device would work. One submit at a
// time, as a device has it.
//   SLEEPER_US=N       microseconds a node and row (dimension 0 of its first output)
//   SLEEPER_NODES=A-B  takes nodes A to B - 1 of a graph
//   SLEEPER_LOST=N     is lost in submit N, and from then on
//   SLEEPER_CANCELS=1  says that it was cancelled when nobody did
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "vireo/delegate.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace {

struct Sleeper {
  std::mutex works;
  std::atomic<int> submits{0};
  bool cancels = false;
  int lost_at = -1, us = 0;
  uint32_t first = 0, end = UINT32_MAX;
} device;

int number(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

vireo_status enumerate(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info, void** out) {
  const vireo_status status = vireo_cpu_delegate.enumerate(self, host, index, info, out);
  info->name = "sleeper";
  info->detail = "of a test";
  info->flags |= VIREO_DEVICE_EMULATED;
  return status;
}

// The CPU's claims of the nodes that are taken, the rest left.
struct Filter {
  const vireo_claims* to;
  static vireo_status take(void* context, const vireo_claim* claim) {
    const vireo_claims* const to = static_cast<Filter*>(context)->to;
    if (claim->node < device.first || claim->node >= device.end)
      return to->leave(to->context, claim->node, "not in this test");
    vireo_claim mine = *claim;
    mine.cost_ns = 0;  // never beside other nodes of the run
    mine.time_ns = 1000.0 * device.us;
    return to->take(to->context, &mine);
  }
  static vireo_status leave(void* context, uint32_t node, const char* reason) {
    const vireo_claims* const to = static_cast<Filter*>(context)->to;
    return to->leave(to->context, node, reason);
  }
};

vireo_status claim(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  Filter filter = {claims};
  vireo_claims mine = *claims;
  mine.context = &filter;
  mine.take = Filter::take;
  mine.leave = Filter::leave;
  return vireo_cpu_delegate.claim(self, host, graph, &mine);
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  const std::lock_guard<std::mutex> one(device.works);
  if (device.lost_at >= 0 && device.submits++ >= device.lost_at) {
    const char kWhy[] = "pulled out by the test";
    if (with->fault->message_bytes >= sizeof(kWhy)) std::memcpy(with->fault->message, kWhy, sizeof(kWhy));
    return VIREO_DEVICE_LOST;
  }
  if (device.cancels) return VIREO_CANCELLED;
  const vireo_status status = vireo_cpu_delegate.submit(loaded, inputs, input_count, outputs, output_count, with);
  const int64_t rows = outputs[0]->rank > 0 ? outputs[0]->dims[0] : 1;
  std::this_thread::sleep_for(std::chrono::microseconds(device.us * rows));
  return status;
}

vireo_delegate table() {
  vireo_delegate t = vireo_cpu_delegate;
  t.name = "sleeper";
  t.enumerate = enumerate;
  t.claim = claim;
  t.submit = submit;
  return t;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) vireo_status vireo_delegate_open(uint32_t abi, const vireo_host*,
                                                                                   const vireo_delegate** out) {
  static vireo_delegate mine;
  if (abi != VIREO_DELEGATE_ABI) return VIREO_UNSUPPORTED;
  mine = table();
  device.submits = 0;
  device.us = number("SLEEPER_US", 0);
  device.lost_at = number("SLEEPER_LOST", -1);
  device.cancels = number("SLEEPER_CANCELS", 0) != 0;
  device.first = 0;
  device.end = UINT32_MAX;
  if (const char* const nodes = std::getenv("SLEEPER_NODES"); nodes != nullptr) {
    char* rest = nullptr;
    device.first = static_cast<uint32_t>(std::strtoul(nodes, &rest, 10));
    if (*rest == '-') device.end = static_cast<uint32_t>(std::strtoul(rest + 1, nullptr, 10));
  }
  *out = &mine;
  return VIREO_OK;
}
