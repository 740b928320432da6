// What a user says of an ONNX model that its file does not: the same options in every verb that takes one.
#ifndef VIREO_CONVERTER_CLI_IMPORT_OPTIONS_H_
#define VIREO_CONVERTER_CLI_IMPORT_OPTIONS_H_

#include <string>
#include <vector>

#include "c_api/cli/command.h"
#include "converter/convert.h"

namespace vireo::cli {

struct ImportOptions {
  std::vector<std::string> elements, keep_inputs;
  uint32_t string_bytes = kStringBytes;
  int nchwc_block = 0;
};

// `options` outlives the parsing of the line.
void add_import_options(Command verb, ImportOptions* options);
// Throws Failure where an option does not read.
void fill_import(const ImportOptions& options, ConvertOptions* convert);
// Those that were given, as they were typed, for the file's provenance.
void add_texts(const ImportOptions& options, std::vector<std::string>* texts);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_IMPORT_OPTIONS_H_
