#include "delegates/hip/device.h"

#include <algorithm>
#include <iterator>

#include "delegates/gpu/hip/print.h"

namespace vireo::hip {
namespace {

// Errors behind which a card computes nothing more for this process, hipError_t.
bool is_loss(Result result) {
  constexpr Result kLosses[] = {4, 46, 201, 214, 700, 702, 709, 710, 719, 999, 1053};
  return std::find(std::begin(kLosses), std::end(kLosses), result) != std::end(kLosses);
}

}  // namespace

vireo_status Api::status_of(Result result) {
  if (result == kSuccess) return VIREO_OK;
  if (result == kNotReady) return VIREO_BUSY;
  if (is_loss(result)) return VIREO_DEVICE_LOST;
  return result == kOutOfMemory || result == kOutOfResources || result == kNoMemoryInRuntime ? VIREO_OUT_OF_ARENA
                                                                                             : VIREO_UNSUPPORTED;
}

// The thread's card is put back at once.
Result Api::open(const Driver& driver, const Card& card, Context* out) {
  DeviceNumber before = 0;
  const bool known = driver.call().current(&before) == kSuccess;
  const Result result = driver.call().make_current(card.number);
  if (known) (void)driver.call().make_current(before);
  *out = card.number;
  return result;
}

bool Api::make_code(const Driver& driver, const Card& card, const gpu::Kernel& kernel, std::vector<uint8_t>* out,
                    std::string* log) {
  const std::string text = gpu::hip_text(reinterpret_cast<const char*>(kernel.words.data()), card.target);
  return driver.compiler().compile(text, card.chip, out, log);
}

Result Api::load(const Driver& driver, const gpu::Kernel&, const void* image, Module* module, Function* function,
                 std::string*) {
  const Result result = driver.call().module_load(module, image);
  if (result == kSuccess) return driver.call().module_function(function, *module, "kernel");
  *module = nullptr;
  return result;
}

Result Api::follow(const Driver& driver, Graph graph, const Step& step, const std::vector<GraphNode>& before,
                   gpu::Start, GraphNode* out) {
  KernelNode node;
  node.function = step.function;
  node.grid_x = step.groups[0];
  node.grid_y = step.groups[1];
  node.grid_z = step.groups[2];
  node.block_x = step.size[0];
  node.block_y = step.size[1];
  node.block_z = step.size[2];
  node.shared_bytes = step.shared_bytes;
  node.arguments = step.arguments;
  return driver.call().graph_add_kernel(out, graph, before.data(), before.size(), &node);
}

}  // namespace vireo::hip
