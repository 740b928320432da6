// Reference cases in an .npz: c<case>_in<i> and c<case>_out<j>, i and j in the order of the graph's inputs and outputs.
#ifndef VIREO_C_API_CLI_REFERENCE_H_
#define VIREO_C_API_CLI_REFERENCE_H_

#include <map>
#include <string>
#include <vector>

#include "c_api/cli/array.h"

namespace vireo::cli {

using Arrays = std::map<std::string, Array>;

// Throws Failure when the file cannot be read or holds no case.
Arrays read_reference(const std::string& path);
// NULL when there is no such key.
const Array* find(const Arrays& arrays, const std::string& key);
// The numbers of the cases, ascending.
std::vector<int> cases_of(const Arrays& arrays);

// One stored answer for an output: in full (step 0), or every step-th value of the flattened tensor of shape `dims`.
// values NULL: not stored.
struct Expected {
  const Array* values = nullptr;
  int64_t step = 0;
  std::vector<int64_t> dims;
};
// `key` is c<case>_out<j> or that with _noopt; a second answer may use the sampling (_step, _shape) of the first,
// `sampling`.
Expected stored(const Arrays& arrays, const std::string& key, const std::string& sampling);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_REFERENCE_H_
