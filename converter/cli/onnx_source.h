// The converter as the command line uses it: models converted in memory, diagnostics as failures, tensors across.
#ifndef VIREO_CONVERTER_CLI_ONNX_SOURCE_H_
#define VIREO_CONVERTER_CLI_ONNX_SOURCE_H_

#include <string>

#include "c_api/cli/array.h"
#include "c_api/cli/handles.h"
#include "converter/cli/import_options.h"

namespace vireo::cli {

// The bytes of `converted`, owned by the result.
ModelBytes share(FileBytes converted);

// Converts an ONNX file for run, verify and bench. Warnings go to standard error; throws Failure with all diagnostics.
ModelBytes convert_in_memory(const std::string& path, const ImportOptions& import);

// A model that does not convert: all diagnostics for people, the first error that names a node for programs.
Failure refusal(const std::string& path, const Diagnostics& diagnostics);

HostTensor to_host(Array array);
Array to_array(HostTensor tensor);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_ONNX_SOURCE_H_
