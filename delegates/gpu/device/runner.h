// Runs one kernel or a schedule on a card, for tests of what makes them.
//
//   Runner runner(find);                 // on the first card
//   if (!runner.why().empty()) skip;      // there is no card, and why() says what is missing
//   std::string why = runner.run(kernel, groups, push, &bindings);
#ifndef VIREO_DELEGATES_GPU_DEVICE_RUNNER_H_
#define VIREO_DELEGATES_GPU_DEVICE_RUNNER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegates/gpu/device/table.h"

namespace vireo::gpu {

class Runner {
 public:
  explicit Runner(const Finder& find);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // "" where there is a device, else what is missing.
  const std::string& why() const { return why_; }
  const Facts& facts() const { return system_->facts(0); }
  const Target& target() const { return facts().target; }
  const std::shared_ptr<Device>& device() const { return device_; }

  uint64_t slice_ns = 0;  // the longest stretch of a run without a gap; 0: any
  int repeats = 1;        // how often run() runs what it is given

  using Bytes = std::vector<uint8_t>;
  // Runs a schedule once. `inputs` has the bytes of each input, `constants` those of each weight; *outputs gets those
  // of each output, where bytes that nobody wrote are 0xA5. "" or what failed.
  std::string run(const Schedule& schedule, const std::vector<Bytes>& inputs, const std::vector<Bytes>& constants,
                  std::vector<Bytes>* outputs);
  // Runs a kernel once: binding i is (*bindings)[i], and those that it writes (Kernel::writes) have its bytes
  // afterwards.
  std::string run(const Kernel& kernel, const std::array<uint32_t, 3>& groups, const std::vector<uint32_t>& push,
                  std::vector<Bytes>* bindings);
  // The least time from submit to the end of the wait, of `runs` runs. Constants hold anything.
  std::string time(const Schedule& schedule, const std::vector<Bytes>& inputs, int runs, double* seconds);
  // What the driver takes to compile a kernel, or to find it in its cache.
  std::string compile(const Kernel& kernel, double* seconds);

 private:
  // *values: inputs, then outputs, as they are before and after.
  std::string run_some(const Schedule& schedule, const std::vector<const void*>& constants, std::vector<Bytes>* values,
                       int runs, double* seconds);
  std::string run_once(const Schedule& schedule, const std::vector<const void*>& constants,
                       std::vector<Bytes>* values) {
    double seconds = 0;
    return run_some(schedule, constants, values, repeats, &seconds);
  }

  std::string why_;  // before system_, whose search writes it
  std::unique_ptr<System> system_;
  std::shared_ptr<Device> device_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_RUNNER_H_
