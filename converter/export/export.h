// The graph as a standard ONNX file, so that any other tool can check what the passes made of a model.
//
// Names, types and symbolic dimensions of the model's inputs and outputs stay. A composite becomes a model-local
// function with its body; so does an operator that ONNX does not have (240 to 259 of ops.def), with its formula, in the
// domain "vireo". Bodies of If, Loop and Scan become subgraphs again, and what was handed into them is captured by
// name.
#ifndef VIREO_CONVERTER_EXPORT_EXPORT_H_
#define VIREO_CONVERTER_EXPORT_EXPORT_H_

#include <cstdint>
#include <string>

#include "converter/diag/diagnostics.h"
#include "converter/ir/graph.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::exporter {

// Fills `model`, but for the contents of constants, which `constants` gets in the order of the graph's initializers.
// False with diagnostics, which name the node, when a node has no spelling in ONNX.
bool build_model(const ir::Graph& graph, ::onnx::ModelProto* model, std::vector<ir::ConstantPtr>* constants,
                 Diagnostics* diagnostics);

// A protobuf ends at 2 GiB: from this many bytes of constants on they go into a file of their own.
constexpr int64_t kInlineBytes = int64_t{1} << 30;

// Writes `graph` to `path`, which appears whole or not at all; with constants of more than `inline_bytes` also to
// `path` + ".data", first.
bool export_onnx(const ir::Graph& graph, const std::string& path, Diagnostics* diagnostics,
                 int64_t inline_bytes = kInlineBytes);

}  // namespace vireo::exporter

#endif  // VIREO_CONVERTER_EXPORT_EXPORT_H_
