// An ONNX file as a parsed message.
#ifndef VIREO_CONVERTER_ONNX_LOAD_H_
#define VIREO_CONVERTER_ONNX_LOAD_H_

#include <string>

#include "converter/diag/diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include "sdk/base/span.h"

namespace vireo::importer {

// Parses the file at `path`. False with a diagnostic when it cannot be read, is no ONNX model or is above protobuf's 2
// GiB. `sha256` gets the file's hash (32 bytes).
//
// Protocol Buffers' own parser, over the mapped file: it is the format's reference, keeps up with it, and bounds
// nesting. A wire reader of ours would save the one copy of raw_data (and 600 kB of program); large weights are
// external data anyway, which are mapped and not copied.
bool load_model(const std::string& path, ::onnx::ModelProto* model, std::string* sha256, Diagnostics* diagnostics);

// Git LFS leaves such a file in place of a large one that was not fetched.
bool is_lfs_pointer(Span<const uint8_t> bytes);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_LOAD_H_
