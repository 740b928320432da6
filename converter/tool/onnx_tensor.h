// Tensors of ONNX's protobuf files as the command line's arrays.
#ifndef VIREO_CONVERTER_TOOL_ONNX_TENSOR_H_
#define VIREO_CONVERTER_TOOL_ONNX_TENSOR_H_

#include <string>

#include "c_api/tool/array.h"

namespace vireo::tool {

// Reads a TensorProto from a file of its own (input_0.pb). Throws Failure naming the file.
Array read_tensor_file(const std::string& path);

}  // namespace vireo::tool

#endif  // VIREO_CONVERTER_TOOL_ONNX_TENSOR_H_
