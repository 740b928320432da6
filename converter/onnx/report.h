// What an import says about a node. Private to this folder.
//
// Owns whether anything was assumed. Made behind the Reproducer, which completes what is recorded; every part that can
// refuse a node comes later.
#ifndef VIREO_CONVERTER_ONNX_REPORT_H_
#define VIREO_CONVERTER_ONNX_REPORT_H_

#include <string>
#include <vector>

#include "converter/diag/diagnostics.h"
#include "onnx/onnx-ml.pb.h"
#include "sdk/base/shape.h"

namespace vireo::importer {

struct ImportState;
class Reproducer;
struct Scope;

class Report {
 public:
  Report(ImportState& state, Reproducer& reproducer) : state_(state), reproducer_(reproducer) {}

  // An error, with what the node reads and a model of that node by itself. Without a scope neither is added.
  void record(const ::onnx::NodeProto& node, const Scope* scope, Code code, std::string what, std::string help = "");
  void warn(const ::onnx::NodeProto& node, const Scope& scope, Code code, std::string what, std::string help);
  // A warning of what is taken for granted.
  void assume(const ::onnx::NodeProto& node, const Scope& scope, std::string what, std::string help);
  // The same of extents: that all are 1 (`one`), or that all are larger. Sessions refuse inputs that make them
  // otherwise where the inputs' extents decide them.
  void assume_extents(const ::onnx::NodeProto& node, const Scope& scope, const std::vector<Dim>& extents, bool one,
                      const std::string& what, const std::string& help);
  bool assumed() const { return assumed_; }

 private:
  ImportState& state_;
  Reproducer& reproducer_;
  bool assumed_ = false;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_REPORT_H_
