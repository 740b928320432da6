// Templates under test: each program is validated as SPIR-V and run by host lanes.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_TESTING_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_TESTING_H_

#include <stdint.h>
#include <string.h>

#include <functional>
#include <random>
#include <vector>

#include "delegates/gpu/host/lanes.h"
#include "delegates/gpu/schedule/schedule.h"
#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

Target plain_target();  // the least that Vulkan promises
Target rich_target();   // what a desktop has
Target unit_target();   // the same with a matrix unit, the card's own where tests run on one that has one

Target opened(Target target);  // for extents that change

Extents dense_strides(const Extents& shape);
View dense(const Extents& shape);

// Parts of expressions: an input that is given, a step, a float32 constant.
Input given(DType type = DType::kF32);
Step step(Function f, int a, int b = -1);
Step constant(float v);

template <class T>
Bytes bytes_of(const std::vector<T>& v) {
  Bytes out(v.size() * sizeof(T));
  if (!out.empty()) memcpy(out.data(), v.data(), out.size());
  return out;
}
template <class T>
std::vector<T> as(const Bytes& b) {
  std::vector<T> out(b.size() / sizeof(T));
  if (!out.empty()) memcpy(out.data(), b.data(), out.size() * sizeof(T));
  return out;
}

uint16_t half_of(float v);  // to nearest even
std::vector<float> random_floats(size_t count, uint32_t seed, float lo = -2, float hi = 2);
Bytes random_bytes(size_t count, uint32_t seed);

// delegates/vulkan builds these tests once more, to run on a card.
struct TrialCard {
  Target target;
  std::function<std::string(const Kernel&, const Dispatch&, std::vector<Bytes>*)>
      run;             // "" or why; empty: no card here
  bool lanes = false;  // it is host lanes that run HIP's texts for the target
  // ... and some of the texts are compiled for chips: compile(entries, whether they have matrices, names).
  std::function<void(const std::string&, bool, const std::vector<std::string>&)> compile;
};
const TrialCard* trial_card();  // null: trials run on the host

// Many launches whose programs are compiled at once. check(bindings after the run).
class Trials {
 public:
  void add(const std::string& name, const Dispatch& dispatch, const Target& target, std::vector<Bytes> bindings,
           std::function<void(const std::vector<Bytes>&)> check);
  ~Trials();  // runs all of them

 private:
  struct Trial {
    std::string name;
    Dispatch dispatch;
    std::vector<Bytes> bindings;
    std::function<void(const std::vector<Bytes>&)> check;
    std::vector<uint32_t> words;
    Target target;
  };
  static void run_on(const TrialCard& card, const Trial& trial);
  void run_on_host();
  void run_hip_on_host(const TrialCard& card);
  void assemble() const;
  std::vector<Trial> trials_;
};

// Of numbers of one sign: how many floats lie between.
double ulps_apart(float got, double wanted);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_TESTING_H_
