// What the compiler made of each part, in a file: VIREO_NPU_REPORT=FILE. A name that ends in .json gets the numbers for
// programs, .listing the commands, any other a table. Every part that is compiled is added; the file is whole after
// each.
#ifndef VIREO_DELEGATES_NPU_DRIVER_REPORTS_H_
#define VIREO_DELEGATES_NPU_DRIVER_REPORTS_H_

#include <string>

#include "delegates/npu/compiler/compiler.h"

namespace vireo::npu {

class Reports {
 public:
  // False where the file cannot be written.
  bool open(const char* path);
  bool add(const Graph& graph, const Compiled& compiled, const MachineConfig& config);

 private:
  bool write() const;

  std::string path_;  // empty: nobody wants any
  std::string text_;
};

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_DRIVER_REPORTS_H_
