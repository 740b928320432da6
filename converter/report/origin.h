// What exporters write beside their nodes, as far as it says where a node comes from: PyTorch's exporter the lines of
// source and the module, onnxscript the rule that rewrote it, older exporters the lines in "doc_string".
#ifndef VIREO_CONVERTER_REPORT_ORIGIN_H_
#define VIREO_CONVERTER_REPORT_ORIGIN_H_

#include <string>
#include <utility>
#include <vector>

#include "converter/convert.h"

namespace vireo::report {

struct Origin {
  std::string module;  // "encoder/layer.0"; "": not said
  // "trace" (lines of source, the innermost call last), "namespace", and other short ones by their own keys.
  std::vector<std::pair<std::string, std::string>> told;
};

// Safe to show: see text.h.
Origin origin_of(const NodeNotes& notes);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_ORIGIN_H_
