#include "converter/cli/session_evaluator.h"

#include <exception>

#include "c_api/cli/growing.h"
#include "converter/cli/onnx_source.h"

namespace vireo::cli {

bool SessionEvaluator::run(Span<const uint8_t> vireo, const std::vector<HostTensor>& inputs,
                           std::vector<HostTensor>* outputs, std::string* error) try {
  ModelBytes bytes;
  bytes.data = vireo.data();
  bytes.size = vireo.size();
  const Model model(bytes, "the graph under check", 0);
  if (inputs.size() != model.inputs().size()) {
    *error = "the model takes " + std::to_string(model.inputs().size()) + " inputs, " + std::to_string(inputs.size()) +
             " are given";
    return false;
  }
  Bounds bounds;
  std::vector<Array> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arrays.push_back(to_array(inputs[i]));
    bounds.add(model.inputs()[i], arrays.back().dims, "the check's input");
  }
  GrowingSession session(model, {}, bounds);
  outputs->clear();
  for (const Array& array : session.run(arrays)) outputs->push_back(to_host(array));
  return true;
} catch (const std::exception& failure) {
  *error = failure.what();
  return false;
}

}  // namespace vireo::cli
