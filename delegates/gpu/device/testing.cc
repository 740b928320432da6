#include "delegates/gpu/device/testing.h"

#include "delegates/gpu/emit/kernel.h"
#include "delegates/gpu/ir/builder.h"

namespace vireo::gpu::testing {

Kernel add_kernel(const Target& target) {
  constexpr uint32_t kLanes = 8;
  Builder b;
  const uint32_t x = b.buffer(0, Element::kWord, false), y = b.buffer(1, Element::kWord, true);
  const Value at = b.group(0) * kLanes + b.lane();
  b.when(at < b.push(0), [&] { b.store(y, at, b.load(Type::kU32, x, at) + b.push(1)); });
  Program& p = b.program();
  p.name = "add";
  p.size = {kLanes, 1, 1};
  p.bindings = 2;
  p.push_words = 2;
  return kernel_of(p, target);
}

Schedule add_schedule(const Target& target, uint32_t count, uint32_t depth) {
  Schedule s;
  s.target = text_of(target);
  const uint64_t bytes = uint64_t{count} * 4, room = place_up(bytes);
  s.inputs = {bytes};
  s.outputs = {bytes};
  s.inner_bytes = 2 * room;
  s.kernels = {add_kernel(target)};
  for (uint32_t d = 0; d < depth; ++d) {
    Launch launch;
    launch.groups = {(count + 7) / 8, 1, 1};
    launch.push = {count, 1};
    launch.barrier = d != 0;
    launch.bindings.push_back(d == 0 ? Binding{Where::kInput, 0, 0, bytes}
                                     : Binding{Where::kInner, 0, d % 2 * room, bytes});
    launch.bindings.push_back(d + 1 == depth ? Binding{Where::kOutput, 0, 0, bytes}
                                             : Binding{Where::kInner, 0, (d + 1) % 2 * room, bytes});
    s.steps.push_back(launch);
  }
  return s;
}

}  // namespace vireo::gpu::testing
