// Which nodes run image by image: stretches of neighbours whose values would leave the caches between two nodes.
//
// A batch of B images of V bytes each is written and read again between two nodes. What is larger than the caches near
// a core comes from those shared by all, or from memory. A stretch runs all its nodes on one image before the next, so
// that its inner values have room for one image only and are read where they were written. What it costs: the weights
// are read B times, and each node is called B times.
#ifndef VIREO_DELEGATES_CPU_DEPTH_FIRST_BY_IMAGE_H_
#define VIREO_DELEGATES_CPU_DEPTH_FIRST_BY_IMAGE_H_

#include "delegates/cpu/cpu_op.h"

namespace vireo::cpu {

// Whether output b of the node, along the first axis, depends on the inputs' b alone, with all that is not constant of
// one extent > 1 there. That is *batch, at the upper bounds. A kernel that takes the node then takes one image of it.
bool runs_by_image(const CpuQuery& query, int64_t* batch);

// Weights, and what else of the node is constant.
double constant_bytes(const CpuQuery& query);

// The stretches of a graph that pay for themselves. Between two of them stands a node that is in none.
class Stretches {
 public:
  // Whether a node of the graph has a tuned kernel: others are in none.
  using IsTuned = bool (*)(const vireo_host& host, const vireo_graph* graph, uint32_t node);
  // Without memory from the host there are none.
  Stretches(const vireo_host& host, const vireo_graph* graph, IsTuned is_tuned);
  ~Stretches();
  Stretches(const Stretches&) = delete;
  Stretches& operator=(const Stretches&) = delete;

  bool has(uint32_t node) const { return inside_ != nullptr && inside_[node] != 0; }

 private:
  const vireo_host& host_;
  uint8_t* inside_ = nullptr;  // by node
  size_t bytes_ = 0;
};

// The time in ns that a stretch saves by an inner value, and that a node costs it. Rates of one thread, the same on
// every machine, because the arena's size depends on what they decide.
double saved_ns(int64_t batch, double image_bytes);
double traffic_ns(double bytes);  // of a value that is written and read again
double added_ns(int64_t batch, double constant_bytes);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_DEPTH_FIRST_BY_IMAGE_H_
