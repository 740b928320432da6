// The Scan of opset 8. Private to this folder's parent.
//
// Owns the names of inputs that rewritten nodes no longer have: a function's call may be about to put one back.
#ifndef VIREO_CONVERTER_ONNX_CONTROL_OLD_SCAN_H_
#define VIREO_CONVERTER_ONNX_CONTROL_OLD_SCAN_H_

#include <memory>
#include <string>
#include <vector>

#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

class Report;
struct Scope;

// An attribute of the Scans that are written here. Like all names that begin so, no operator's own.
constexpr char kRewrittenScan[] = "__rewritten_scan";

class OldScans {
 public:
  explicit OldScans(Report& report) : report_(report) {}

  // Rewrites the node, where that was not done before. False: it cannot be, which is recorded.
  bool without_batch_axis(const Scope& scope, ::onnx::NodeProto& node);

 private:
  Report& report_;
  std::vector<std::unique_ptr<std::string>> dropped_names_;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_CONTROL_OLD_SCAN_H_
