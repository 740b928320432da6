#include "converter/diag/diagnostics.h"

#include <cstdio>
#include <map>
#include <tuple>
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

namespace {

// All that to_text prints, what differs most often first.
auto printed(const Diagnostic& d) {
  return std::tie(d.node, d.what, d.tensor, d.code, d.severity, d.op, d.notes, d.help);
}

}  // namespace

void Diagnostics::add(Diagnostic d) {
  for (const Diagnostic& other : all_) {
    if (printed(other) == printed(d)) return;
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
  const auto alike = [](const Diagnostic& d) {
    return std::tie(d.what, d.severity, d.code, d.op, d.domain, d.help, d.tensor);
  };
  const auto before = [&](const Diagnostic* a, const Diagnostic* b) { return alike(*a) < alike(*b); };
  std::map<const Diagnostic*, size_t, decltype(before)> places(before);  // in `out`
  for (const Diagnostic& d : all) {
    const auto [place, fresh] = d.op.empty() ? std::pair(places.end(), true) : places.emplace(&d, out.size());
    const size_t at = fresh ? out.size() : place->second;
    if (fresh) out.push_back({&d, {}});
    out[at].nodes.push_back(d.node);
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
