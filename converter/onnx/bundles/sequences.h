// Operators over sequences and optionals. Private to this folder's parent.
#ifndef VIREO_CONVERTER_ONNX_BUNDLES_SEQUENCES_H_
#define VIREO_CONVERTER_ONNX_BUNDLES_SEQUENCES_H_

#include <string>

#include "converter/onnx/tools.h"

namespace vireo::importer {

// ONNX's, without what is served for tensors as well (Identity, If, Loop).
bool is_sequence_operator(const std::string& domain, const std::string& op);
// Operators that can do without the elements of a sequence (Bundle::open).
bool reads_open_sequences(const std::string& domain, const std::string& op);
// One of the above, or an Identity of a bundle: its outputs are bound, or it is refused.
void import_sequence(const Tools& tools, Scope& scope, ::onnx::NodeProto& node);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BUNDLES_SEQUENCES_H_
