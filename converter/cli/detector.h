// --decode: how the outputs of a detector are boxes.
#ifndef VIREO_CONVERTER_CLI_DETECTOR_H_
#define VIREO_CONVERTER_CLI_DETECTOR_H_

#include <string>

#include "quant/metrics/decode.h"

namespace vireo::cli {

// The names of the decodings that are built in: "yolo8", "final".
std::vector<std::string> decoding_names();

// One of them, or a JSON file. Throws Failure that names the file and the key.
quant::Decoding read_decoding(const std::string& text);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_DETECTOR_H_
