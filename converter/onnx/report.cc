#include "converter/onnx/report.h"

#include <utility>

#include "converter/onnx/reproduce.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"

namespace vireo::importer {
namespace {

Diagnostic about(const ::onnx::NodeProto& node, const Scope* scope, Code code, std::string what, std::string help) {
  Diagnostic d;
  d.code = code;
  d.op = node.op_type();
  d.node = node_name(node, scope);
  d.what = std::move(what);
  d.help = std::move(help);
  return d;
}

}  // namespace

void Report::record(const ::onnx::NodeProto& node, const Scope* scope, Code code, std::string what, std::string help) {
  Diagnostic d = about(node, scope, code, std::move(what), std::move(help));
  if (scope != nullptr) reproducer_.describe(node, *scope, &d);
  state_.diagnostics.add(std::move(d));
}

void Report::warn(const ::onnx::NodeProto& node, const Scope& scope, Code code, std::string what, std::string help) {
  Diagnostic d = about(node, &scope, code, std::move(what), std::move(help));
  d.severity = Severity::kWarning;
  state_.diagnostics.add(std::move(d));
}

void Report::assume(const ::onnx::NodeProto& node, const Scope& scope, std::string what, std::string help) {
  assumed_ = true;
  warn(node, scope, Code::kAssumedShape, std::move(what), std::move(help));
}

void Report::assume_extents(const ::onnx::NodeProto& node, const Scope& scope, const std::vector<Dim>& extents,
                            bool one, const std::string& what, const std::string& help) {
  std::string held, open;
  // A branch that is not taken asks nothing of a session's inputs; one that is taken fails where 1 is something else.
  const bool in_run = one && scope.may_not_run;
  for (const Dim d : extents) {
    const bool holds = !in_run && state_.dims->narrow(d, one ? 1 : 2, one ? 1 : INT64_MAX, state_.input_atoms);
    std::string& names = holds ? held : open;
    names += (names.empty() ? "" : ", ") + state_.dims->text(d);
  }
  if (!held.empty()) held = "; sessions refuse inputs that make " + held + (one ? " other than 1" : " 1 or less");
  if (!open.empty()) {
    open = in_run ? "; a run that takes this branch fails unless " + open + " is 1"
           : one  ? "; a run fails unless " + open + " is 1"
                  : "; nothing checks this of " + open;
  }
  assume(node, scope, what + held + open, help);
}

}  // namespace vireo::importer
