// Runs works on host lanes, for the tests of what changes them.
#ifndef VIREO_DELEGATES_GPU_LOWER_LANES_TESTING_H_
#define VIREO_DELEGATES_GPU_LOWER_LANES_TESTING_H_

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "delegates/gpu/host/lanes.h"
#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// A card with a matrix unit.
inline Target with_unit() {
  Target t;
  t.bindings = 16;
  t.subgroup = 32;
  t.workgroup = t.workgroup_x = 1024;
  t.shared_bytes = 49152;
  t.float16 = t.storage16 = true;
  t.units = {{16, 16, 16}};
  t.half_products = true;
  return t;
}

// What works compute on host lanes: memories before, and after.
inline std::vector<Bytes> run_works(const Lowering& l, std::vector<Bytes> memories) {
  for (size_t m = memories.size(); m < l.memories.size(); ++m) memories.emplace_back(l.memories[m].bytes, 0xA5);
  HostLanes lanes;
  std::vector<Dispatch> dispatches;
  for (const Work& w : l.works) {
    dispatches.push_back(dispatch_of(w.problem, l.target()));
    EXPECT_EQ(dispatches.back().refusal, "");
    lanes.add(dispatches.back().program);
  }
  EXPECT_EQ(lanes.build(), "");
  for (size_t k = 0; k < l.works.size(); ++k) {
    std::vector<int> uses = l.works[k].operands;
    uses.insert(uses.end(), l.works[k].reads.begin(), l.works[k].reads.end());
    uses.insert(uses.end(), l.works[k].writes.begin(), l.works[k].writes.end());
    std::vector<Bytes> bindings;
    for (const int m : uses) bindings.push_back(memories[static_cast<size_t>(m)]);
    EXPECT_EQ(lanes.run(k, dispatches[k].push, dispatches[k].groups, &bindings), "");
    for (size_t b = 0; b < uses.size(); ++b) memories[static_cast<size_t>(uses[b])] = bindings[b];
  }
  return memories;
}

// Floats between -1 and 1.
inline Bytes random_numbers(int64_t count, uint32_t seed) {
  std::mt19937 g(seed);
  Bytes out(static_cast<size_t>(count) * sizeof(float));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const float v = static_cast<float>(g() >> 8) / 8388608.0f - 1.0f;
    std::memcpy(out.data() + i * sizeof(v), &v, sizeof(v));
  }
  return out;
}

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_LANES_TESTING_H_
