// Runs programs on the host, for tests: their text is compiled into a library of this process, once for all of them.
#ifndef VIREO_DELEGATES_GPU_HOST_LANES_H_
#define VIREO_DELEGATES_GPU_HOST_LANES_H_

#include <stdint.h>

#include <array>
#include <string>
#include <vector>

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

using Bytes = std::vector<uint8_t>;

class HostLanes {
 public:
  HostLanes() = default;
  // Of HIP's texts, for that target; null: of those that print_host() makes.
  explicit HostLanes(const Target* hip) : hip_(hip) {}
  HostLanes(const HostLanes&) = delete;
  HostLanes& operator=(const HostLanes&) = delete;
  ~HostLanes();

  size_t add(const Program& program);
  // Compiles all that was added. "" or what the compiler said.
  std::string build();
  // Runs program `at` on copies of the bindings, with lanes in both orders. "" or what was wrong: memory outside a
  // binding, a barrier that lanes come to by different ways, results that depend on the order.
  std::string run(size_t at, const std::vector<uint32_t>& push, const std::array<uint32_t, 3>& groups,
                  std::vector<Bytes>* bindings) const;

 private:
  using Entry = int (*)(void* const*, const uint64_t*, const uint32_t*, const uint32_t*, int);
  const Target* const hip_ = nullptr;
  std::string text_;
  size_t count_ = 0;
  void* library_ = nullptr;
  std::vector<Entry> entries_;
};

// What spirv-val says of a module: "" where it is valid, or where there is no spirv-val (*found is then false).
std::string validate_spirv(const std::vector<uint32_t>& words, bool* found);
// Whether that spirv-val knows cooperative matrices; tells it once where it does not.
bool validates_matrices();

// What ptxas says of a text for cards of capability `level`, "75" or "90a": "" where it assembles without spills, or
// where there is no ptxas (*found is then false).
std::string assemble_ptx(const std::string& text, const std::string& level, bool* found);

// What a kernel takes of one of AMD's chips.
struct HipUse {
  std::string entry;
  uint32_t scalars = 0, vectors = 0, accumulators = 0;  // registers
  uint32_t scratch_bytes = 0;                           // of a lane: arrays, and what is spilled
  uint32_t spilled = 0;                                 // registers
  uint32_t shared_bytes = 0;
  uint32_t waves = 0;  // of a SIMD at once
};
// Compiles a text of HIP for a family with clang 19: "" or what it said. *uses has the text's kernels in their order.
// Where there is no clang 19 with its linker, *found is false.
std::string compile_hip(const std::string& text, const std::string& family, bool* found, std::vector<HipUse>* uses);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_HOST_LANES_H_
