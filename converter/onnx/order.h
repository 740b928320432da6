// Files may list nodes in any order. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_ORDER_H_
#define VIREO_CONVERTER_ONNX_ORDER_H_

#include <vector>

#include "converter/diag/diagnostics.h"
#include "converter/onnx/protos.h"

namespace vireo::importer {

struct Scope;

// Indices of `nodes`: the earliest node that is ready comes next. Those on a cycle, or behind one, are left
// out, and the cycle is recorded.
std::vector<int> order_nodes(const Nodes& nodes, const Scope& scope, Diagnostics* diagnostics);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_ORDER_H_
