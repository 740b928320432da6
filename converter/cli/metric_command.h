// A metric of one's own: a command that reads what a model made of all samples.
#ifndef VIREO_CONVERTER_CLI_METRIC_COMMAND_H_
#define VIREO_CONVERTER_CLI_METRIC_COMMAND_H_

#include <string>
#include <utility>
#include <vector>

#include "c_api/cli/array.h"
#include "sdk/json/json.h"

namespace vireo::cli {

// All outputs of a model, and what the data know of the samples, as the command reads them.
class KeptOutputs {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;

  // Puts one sample behind the others. Throws Failure where its shape differs from theirs, or all takes more than
  // kMostBytes.
  void add(const std::string& name, const Array& value);
  // (samples, ...) for each name; a first dimension of 1 is the batch and is left out.
  std::vector<std::pair<std::string, Array>> all() const;

 private:
  struct Column {
    std::string name;
    std::vector<int64_t> dims;  // of a sample
    int64_t rows = 0;
    Array values;
  };
  std::vector<Column> columns_;
  uint64_t bytes_ = 0;
};

// Runs `command` in a shell with `outputs` as an .npz on its standard input, and returns the JSON object of numbers
// that it prints. Its standard error is this program's. Throws Failure when it fails, prints something else, or takes
// longer than `seconds`: then it is killed with all that it started.
Json run_metric_command(const std::string& command, double seconds, const KeptOutputs& outputs);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_METRIC_COMMAND_H_
