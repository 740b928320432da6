#include "converter/diag/diagnostics.h"

#include <cstdio>
#include <utility>

namespace vireo {

std::string to_text(const Diagnostic& d) {
  char head[32];
  std::snprintf(head, sizeof(head), "%s VC%04d: ", d.severity == Severity::kError ? "error" : "warning",
                static_cast<int>(d.code));
  std::string out = head;
  if (!d.op.empty()) {
    out += d.op + " node";
    if (!d.node.empty()) out += " \"" + d.node + "\"";
    out += ": ";
  }
  if (!d.tensor.empty()) out += "tensor \"" + d.tensor + "\": ";
  out += d.what;
  for (const std::string& note : d.notes) out += "\n  note: " + note;
  if (!d.help.empty()) out += "\n  help: " + d.help;
  return out;
}

void Diagnostics::add(Diagnostic d) {
  const std::string told = to_text(d);
  for (const Diagnostic& other : all_) {
    if (other.code == d.code && to_text(other) == told) return;
  }
  if (d.severity == Severity::kError) ++errors_;
  all_.push_back(std::move(d));
}

Diagnostic& Diagnostics::error(Code code, std::string what, std::string help) {
  Diagnostic d;
  d.code = code;
  d.what = std::move(what);
  d.help = std::move(help);
  ++errors_;
  all_.push_back(std::move(d));
  return all_.back();
}

Diagnostic& Diagnostics::warning(Code code, std::string what, std::string help) {
  Diagnostic d;
  d.severity = Severity::kWarning;
  d.code = code;
  d.what = std::move(what);
  d.help = std::move(help);
  all_.push_back(std::move(d));
  return all_.back();
}

std::string Diagnostics::text() const {
  std::string out;
  for (const Diagnostic& d : all_) out += to_text(d) + "\n";
  return out;
}

}  // namespace vireo
