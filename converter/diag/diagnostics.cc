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

std::vector<Gap> gaps(const std::vector<Diagnostic>& all) {
  std::vector<Gap> out;
  for (const Diagnostic& d : all) {
    Gap* same = nullptr;
    for (Gap& gap : out) {
      const Diagnostic& f = *gap.first;
      const bool alike = f.severity == d.severity && f.code == d.code && f.op == d.op && f.domain == d.domain &&
                         f.what == d.what && f.help == d.help && f.tensor == d.tensor;
      if (alike && !d.op.empty()) same = &gap;
    }
    if (same == nullptr) {
      out.push_back({&d, {}});
      same = &out.back();
    }
    same->nodes.push_back(d.node);
  }
  return out;
}

std::string Diagnostics::summary() const {
  constexpr size_t kNamed = 8;
  std::string out;
  for (const Gap& gap : gaps(all_)) {
    out += to_text(*gap.first) + "\n";
    const size_t more = gap.nodes.size() - 1;
    if (more == 0) continue;
    out += "  so are " + std::to_string(more) + " more:";
    for (size_t i = 1; i <= more && i <= kNamed; ++i) out += (i == 1 ? " \"" : ", \"") + gap.nodes[i] + "\"";
    out += more > kNamed ? "...\n" : "\n";
  }
  return out;
}

}  // namespace vireo
