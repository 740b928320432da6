// From a parsed ONNX model to the graph IR: names to values, each node through its operator's folder, types inferred on
// the way, functions inlined, control flow lifted into bodies. Every opset comes out as the newest form of each
// operator.
#ifndef VIREO_CONVERTER_ONNX_IMPORT_H_
#define VIREO_CONVERTER_ONNX_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/diag/diagnostics.h"
#include "converter/ir/graph.h"
#include "converter/onnx/held.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

constexpr int kNewestOpset = 28;  // of ai.onnx
constexpr int kNewestIr = 14;

// Where a rank depends on whether an extent is 1 that only a run knows: what to take it for, the likeliest first.
enum class Guess {
  kUsual,     // Squeeze without axes leaves it; Squeeze(x) if it is 1, else x: it is 1
  kAllOnes,   // it is 1
  kNoneOnes,  // it is not
};
constexpr Guess kGuesses[] = {Guess::kUsual, Guess::kAllOnes, Guess::kNoneOnes};

struct ImportedModel {
  std::unique_ptr<ir::Graph> graph;
  std::string producer;             // that wrote the ONNX file
  std::vector<std::string> opsets;  // "ai.onnx 17"
  size_t nodes_passed_over = 0;     // because they read what failed nodes make
  // What was assumed about a rank (ImportContext::assume) makes the model fail, or its outputs not what they are
  // declared to be.
  bool assumption_failed = false;
  std::vector<HeldExtent> held;
};

// Null graph when an error was found; all that could be found are in `diagnostics`. Takes weights out of `model`.
// `model_path`: where external data are looked for. `options`: what they say of the model (shapes, elements...).
// `known`: extents of the inputs' dimensions, by name.
ImportedModel import_model(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options,
                           Guess guess, Diagnostics* diagnostics, const std::map<std::string, int64_t>& known = {});

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_IMPORT_H_
