#include "delegates/cuda/device.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace vireo::cuda {
namespace {

constexpr unsigned kLogBytes = 1024;

// Errors behind which a context computes nothing more, CUresult.
bool is_loss(Result result) {
  constexpr Result kLosses[] = {4, 46, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
  return std::find(std::begin(kLosses), std::end(kLosses), result) != std::end(kLosses);
}

}  // namespace

vireo_status Api::status_of(Result result) {
  if (result == kSuccess) return VIREO_OK;
  if (result == kNotReady) return VIREO_BUSY;
  if (is_loss(result)) return VIREO_DEVICE_LOST;
  return result == kOutOfMemory || result == kOutOfResources ? VIREO_OUT_OF_ARENA : VIREO_UNSUPPORTED;
}

Result Api::open(const Driver& driver, const Card& card, Context* out) {
  const Result result = driver.call().context_create(out, 0, card.number);
  Context made = nullptr;
  if (result == kSuccess) (void)driver.call().context_pop(&made);  // it was made the thread's
  return result;
}

// Loading a module compiles its text as well, but the driver loads one at a time. Links run side by side.
bool Api::make_code(const Driver& driver, const Card&, const gpu::Kernel& kernel, std::vector<uint8_t>* out,
                    std::string*) {
  return driver.link(reinterpret_cast<const char*>(kernel.words.data()), out) == kSuccess;
}

Result Api::load(const Driver& driver, const gpu::Kernel& kernel, const void* image, Module* module, Function* function,
                 std::string* log) {
  char text[kLogBytes] = "";
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {text, reinterpret_cast<void*>(static_cast<uintptr_t>(kLogBytes))};
  Result result = driver.call().module_load(module, image, 2, options, values);
  if (result != kSuccess) {
    *module = nullptr;
    *log = text;
    return result;
  }
  result = driver.call().module_function(function, *module, "kernel");
  if (result == kSuccess && kernel.shared_bytes != 0)
    result = driver.call().function_set(*function, kMostLaunchShared, static_cast<int>(kernel.shared_bytes));
  return result;
}

Result Api::follow(const Driver& driver, Graph graph, const Step& step, const std::vector<GraphNode>& before,
                   gpu::Start start, GraphNode* out) {
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
  const bool waits = start == gpu::Start::kDone;
  Result result = driver.call().graph_add_kernel(out, graph, before.data(), waits ? before.size() : 0, &node);
  const EdgeData& edge = start == gpu::Start::kBegun ? kLaunched : kProgrammatic;
  if (result == kSuccess && !waits) result = driver.call().graph_add_edges(graph, before.data(), out, &edge, 1);
  return result;
}

}  // namespace vireo::cuda
