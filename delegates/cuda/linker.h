// nvJitLink, which comes with CUDA's toolkit and with packages that bring parts of it: it makes machine code of PTX on
// as many threads as call it. The driver does that too, one kernel after another.
//
// Weighed: nvPTXCompiler (a static library of 40 MB), NVRTC (wants CUDA C++, and calls the same assembler), and ptxas
// as a process for each kernel (it starts in 60 ms, and a device in the field has no such program).
#ifndef VIREO_DELEGATES_CUDA_LINKER_H_
#define VIREO_DELEGATES_CUDA_LINKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegates/cuda/functions.h"

namespace vireo::cuda {

class Linker {
 public:
  // Opens VIREO_NVJITLINK_LIBRARY of the environment; else the newest that the loader finds. NULL: there is none.
  static std::unique_ptr<Linker> open();

  const std::string& name() const { return name_; }  // "nvJitLink 13.0"
  // Machine code of a PTX text for a chip ("sm_86"). From several threads. False: it knows no such chip or text.
  bool compile(const char* text, const std::string& chip, std::vector<uint8_t>* out) const;

 private:
  Linker() = default;

  LinkerFunctions call_;
  std::string name_;
};

}  // namespace vireo::cuda

#endif  // VIREO_DELEGATES_CUDA_LINKER_H_
