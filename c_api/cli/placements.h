// A model with its nodes placed at random: wherever a session is cut, its answers stay the same.
#ifndef VIREO_C_API_CLI_PLACEMENTS_H_
#define VIREO_C_API_CLI_PLACEMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "c_api/cli/compare.h"
#include "c_api/cli/handles.h"
#include "sdk/json/json.h"

namespace vireo::cli {

// Draws a device for each block of neighbouring nodes among those that take them. The same seed draws the same.
class RandomPlacement {
 public:
  explicit RandomPlacement(uint64_t seed) : seed_(seed) {}
  RandomPlacement(const RandomPlacement&) = delete;
  RandomPlacement& operator=(const RandomPlacement&) = delete;

  const vireo_preference* preference() const { return &preference_; }
  // Nodes of one block: 1, 2, 4, 8, 16 or 32, from the seed, so that both small and large parts come about.
  uint32_t block() const { return 1u << (seed_ % 6); }

 private:
  static int32_t rank(void* context, const vireo_candidate* candidate);

  uint64_t seed_;
  std::map<std::string, uint32_t> order_;  // of nodes by name, as they are first asked for
  vireo_preference preference_ = {sizeof(vireo_preference), this, rank, nullptr};
};

using Answers = std::vector<std::vector<Array>>;  // of each case, each output
Answers run_cases(const Model& model, vireo_session* session, const std::vector<std::vector<Array>>& cases);

// What the CPU gives without other devices, with the rest of `choice`. `bounds` grow to what the cases need. Throws
// ApiFailure.
Answers answers_of_cpu(const Model& model, const SessionChoice& choice, Bounds* bounds,
                       const std::vector<std::vector<Array>>& cases);

// Runs the cases under `count` placements, from `seed` on, and compares with `want`. A session or a run that fails
// fails its placement. With a choice that forbids failover nothing is compared or put right before, so that what a
// device computes is what is judged. Returns {"pass", "share": {device: of all nodes}, "placements": [{seed, block,
// nodes, cuts, failovers, identical, max_abs, pass, reason}], "suspects": [{node, device}]}: what all placements that
// fail have where none that passes has it; at first sight, for two faults may hide each other.
Json try_placements(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                    const std::vector<std::vector<Array>>& cases, const Answers& want, int count, uint64_t seed,
                    const Tolerance& tolerance);
// The same as a table.
std::string placements_text(const Json& tried);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PLACEMENTS_H_
