// The blob of a part that a GPU runs: what compile() writes and load() reads (schedule.fbs), as plain structs.
//
// Weighed: the templates' parameters in place of kernels (a tenth of the bytes, and no code to trust; but then every
// change of a template is a change of the format, and the device needs the generator where all it runs was compiled
// before), and commands of the driver's own (a recording is of one process). Kernels with their launches serve every
// API that takes code, and a reader that knows nothing of operators.
//
// Numbers in it are final. Where extents change from run to run the schedule is for the bounds, and each new set of
// extents is lowered again when it is met (DESIGN.md).
#ifndef VIREO_DELEGATES_GPU_SCHEDULE_SCHEDULE_H_
#define VIREO_DELEGATES_GPU_SCHEDULE_SCHEDULE_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

constexpr uint32_t kScheduleVersion = 9;   // of what the bytes mean: also where a template's code changes
constexpr uint64_t kPlaceAlignment = 256;  // of every offset: VIREO_BUFFER_ALIGNMENT, and what Vulkan asks at most
constexpr uint64_t place_up(uint64_t bytes) {
  return (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
}

// An order of kernels' code that looks at lengths first: what it is asked most is whether two are equal.
struct ByWords {
  bool operator()(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) const {
    if (a.size() != b.size()) return a.size() < b.size();
    return !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(uint32_t)) < 0;
  }
};

struct Kernel {
  std::string name;                       // what it does, for reports
  std::vector<uint32_t> words;            // SPIR-V; empty in tests that run host lanes
  std::array<uint32_t, 3> size{1, 1, 1};  // of a workgroup
  uint32_t bindings = 0;
  uint32_t writes = 0;  // bit i: binding i
  uint32_t push_words = 0;
  uint32_t shared_bytes = 0;  // of a workgroup, to be given at the launch; 0: the code says it
  bool begins_early = false;  // it reads constants before it waits for the launches before it (Op::kAwait)

  auto fields() const { return std::tie(name, words, size, bindings, writes, push_words, shared_bytes, begins_early); }
  friend bool operator==(const Kernel& a, const Kernel& b) { return a.fields() == b.fields(); }
};

enum class Where : uint8_t { kInput, kOutput, kWeights, kInner, kData, kErrors };

// Memory that a kernel sees. `bytes` end with the last element: where elements are smaller than a word, a driver binds
// the whole words that they lie in.
struct Binding {
  Where where = Where::kInner;
  uint32_t index = 0;  // of an input or output of the part, or of a weight; else 0
  uint64_t offset = 0;
  uint64_t bytes = 0;

  auto fields() const { return std::tie(where, index, offset, bytes); }
  friend bool operator==(const Binding& a, const Binding& b) { return a.fields() == b.fields(); }
};

struct Launch {
  uint32_t kernel = 0;
  std::vector<Binding> bindings;
  std::vector<uint32_t> push;
  std::array<uint32_t, 3> groups{1, 1, 1};
  bool barrier = false;  // it reads or overwrites what a step since the last barrier wrote, or overwrites what one read
  uint32_t node = 0;     // of the part, counted from 0

  auto fields() const { return std::tie(kernel, bindings, push, groups, barrier, node); }
  friend bool operator==(const Launch& a, const Launch& b) { return a.fields() == b.fields(); }
};

// A constant of the model, in a buffer that the host makes once for all parts that read it in the same form.
struct Weight {
  uint64_t bytes = 0;  // as it is kept
  int32_t node = -1;   // of the part, counted from 0, in whose body the constant is; -1: of the graph
  int32_t value = 0;   // its number there
  // Where taps is not 0, each run of [channels, taps] elements of `element` bytes is kept as [taps, channels].
  uint32_t channels = 0, taps = 0, element = 0;
  bool halves = false;   // float32 numbers are kept as float16
  bool nibbles = false;  // elements have four bits, two to a byte, the first in its low half; `element` is 1

  uint64_t source_bytes() const { return halves ? 2 * bytes : bytes; }  // as the model has it
  auto fields() const { return std::tie(bytes, node, value, channels, taps, element, halves, nibbles); }
  friend bool operator==(const Weight& a, const Weight& b) { return a.fields() == b.fields(); }
};

// A weight is kept run by run: elements that change places among themselves only, or one element, or a byte.
uint64_t runs_of(const Weight& weight);
// Writes runs [first, end) of the constant at `from` as they are kept; `to` has weight.bytes. Threads may share one.
void keep_weight(const Weight& weight, const void* from, void* to, uint64_t first, uint64_t end);
inline void keep_weight(const Weight& weight, const void* from, void* to) {
  keep_weight(weight, from, to, 0, runs_of(weight));
}

struct Schedule {
  std::string target;
  std::vector<uint64_t> inputs, outputs;  // bytes
  uint64_t inner_bytes = 0;               // of the one block of values between nodes: a multiple of kPlaceAlignment
  std::vector<Weight> weights;
  std::vector<Kernel> kernels;
  std::vector<Launch> steps;
  std::vector<uint8_t> data;  // numbers that the lowering made, which kernels read
  uint32_t errors = 0;        // words, one a node of the part, in memory that the host sees; 0: no kernel reports any
  bool open = false;          // extents change from run to run: sizes and steps are for the bounds

  auto fields() const {
    return std::tie(target, inputs, outputs, inner_bytes, weights, kernels, steps, data, errors, open);
  }
  friend bool operator==(const Schedule& a, const Schedule& b) { return a.fields() == b.fields(); }
};

// The same bytes for the same schedule on every machine.
std::vector<uint8_t> write_schedule(const Schedule& schedule);

// "" or what is wrong with it: then *out is empty. `data` is aligned to 8. Behind "" each index has its list, no
// binding leaves its memory or writes to a constant or an input, no launch is above what `target` takes, and code is a
// SPIR-V module by its outer form, or absent. What the code does is not looked at: a driver binds the bytes that a step
// names and no more, with checked access where it has it.
const char* read_schedule(const void* data, size_t bytes, const Target& target, Schedule* out);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_SCHEDULE_SCHEDULE_H_
