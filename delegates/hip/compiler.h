// hiprtc, which makes machine code of kernels for one chip.
#ifndef VIREO_DELEGATES_HIP_COMPILER_H_
#define VIREO_DELEGATES_HIP_COMPILER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegates/hip/functions.h"

namespace vireo::hip {

class Compiler {
 public:
  // Opens VIREO_HIPRTC_LIBRARY of the environment; else takes it from `driver`, which has it up to version 6, or opens
  // libhiprtc.so with `suffix` (".7"), also in /opt/rocm. Returns NULL where it is nowhere; *why then says so.
  static std::unique_ptr<Compiler> open(void* driver, const std::string& suffix, std::string* why);

  // "hiprtc 6.2".
  const std::string& name() const { return name_; }
  // The code object of a text for a chip ("gfx90a:sramecc+:xnack-"). From several threads. False: *log says why.
  bool compile(const std::string& text, const std::string& chip, std::vector<uint8_t>* out, std::string* log) const;

 private:
  Compiler() = default;

  CompilerFunctions call_;
  std::string name_;
};

}  // namespace vireo::hip

#endif  // VIREO_DELEGATES_HIP_COMPILER_H_
