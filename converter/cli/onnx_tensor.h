// Tensors of ONNX's protobuf files as the command line's arrays.
#ifndef VIREO_CONVERTER_CLI_ONNX_TENSOR_H_
#define VIREO_CONVERTER_CLI_ONNX_TENSOR_H_

#include <map>
#include <string>
#include <vector>

#include "c_api/cli/array.h"

namespace vireo::cli {

// A value of a test case: a tensor, a sequence, a map, a sequence of maps of the same keys, or an optional, which holds
// one or nothing.
struct CaseValue {
  bool present = true, sequence = false;
  // One, unless it is a sequence or empty. Of a map: its keys [E], rising, and its values [E]; of N maps: keys [E],
  // values [N, E].
  std::vector<Array> tensors;
};
struct CaseType {
  std::string name;
  bool optional = false, sequence = false, map = false;  // both of the last two: a sequence of maps
  vireo_dtype dtype = VIREO_NONE;                        // of a tensor
};
// What a model's graph declares, initialisers left out.
struct CaseTypes {
  std::vector<CaseType> inputs, outputs;
};
CaseTypes read_case_types(const std::string& model_path);
// Reads input_0.pb as what is declared. Throws Failure naming the file.
CaseValue read_case_value(const std::string& path, const CaseType& type);
// Puts keys [E] in rising order, and the last axis of values [.., E] with them. False where they do not belong
// together.
bool sort_by_key(Array* keys, Array* values);

// Writes the model `from` to `to` with its initialisers and its graph's Constant nodes as inputs; returns their values
// by name.
std::map<std::string, Array> constants_to_inputs(const std::string& from, const std::string& to);

// Reads a TensorProto from a file of its own (input_0.pb). Throws Failure naming the file.
Array read_tensor_file(const std::string& path);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_ONNX_TENSOR_H_
