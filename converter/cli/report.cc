// The report of a conversion as JSON.
#include <algorithm>
#include <cmath>
#include <map>

#include "converter/cli/verbs.h"

namespace vireo::cli {
namespace {

// Reasons with how often each was given, the commonest first.
std::vector<std::pair<std::string, size_t>> reasons_of(const PassLog& pass) {
  std::map<std::string, size_t> counts;
  for (const auto& [node, reason] : pass.declined) ++counts[reason];
  std::vector<std::pair<std::string, size_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

size_t count_of(const ConvertReport& report, const char* op) {
  for (const auto& [name, count] : report.ops) {
    if (name == op) return count;
  }
  return 0;
}

}  // namespace

std::string code_text(Code code) { return formatted("VC%04d", static_cast<int>(code)); }

Json diagnostics_json(const Diagnostics& diagnostics) {
  Json out = Json::array();
  for (const Diagnostic& d : diagnostics.all()) {
    Json entry = {{"severity", d.severity == Severity::kError ? "error" : "warning"},
                  {"code", code_text(d.code)},
                  {"what", d.what}};
    if (!d.op.empty()) entry["op"] = d.op;
    if (!d.node.empty()) entry["node"] = d.node;
    if (!d.tensor.empty()) entry["tensor"] = d.tensor;
    if (!d.notes.empty()) entry["notes"] = d.notes;
    if (!d.help.empty()) entry["help"] = d.help;
    if (!d.domain.empty()) {
      entry["domain"] = d.domain;
      entry["opset"] = d.opset;
    }
    out.push_back(entry);
  }
  return out;
}

Json gaps_json(const Diagnostics& diagnostics) {
  Json out = Json::array();
  for (const Gap& gap : gaps(diagnostics.all())) {
    const Diagnostic& d = *gap.first;
    if (d.severity != Severity::kError) continue;
    Json entry = {{"code", code_text(d.code)}, {"what", d.what}, {"nodes", gap.nodes.size()}};
    if (!d.op.empty()) {
      entry["op"] = d.op;
      entry["names"] = gap.nodes;
    }
    if (!d.domain.empty()) {
      entry["domain"] = d.domain;
      entry["opset"] = d.opset;
    }
    if (!d.help.empty()) entry["help"] = d.help;
    out.push_back(entry);
  }
  return out;
}

Json report_json(const ConvertReport& report) {
  Json out;
  for (const auto& [key, list] :
       {std::make_pair("inputs", &report.inputs), std::make_pair("outputs", &report.outputs)}) {
    out[key] = Json::array();
    for (const ValueReport& v : *list) out[key].push_back({{"name", v.name}, {"type", v.type}});
  }
  out["nodes_imported"] = report.nodes_imported;
  out["nodes"] = report.nodes;
  out["ops"] = Json::object();
  for (const auto& [op, count] : report.ops) out["ops"][op] = count;
  out["transposes"] = count_of(report, "Transpose");
  out["passes"] = Json::array();
  for (const PassLog& pass : report.passes) {
    Json entry = {{"name", pass.name}, {"changes", pass.changes}};
    if (pass.checked) entry["max_difference"] = pass.max_difference;
    if (!pass.declined.empty()) {
      for (const auto& [node, reason] : pass.declined)
        entry["declined"].push_back({{"node", node}, {"reason", reason}});
      for (const auto& [reason, count] : reasons_of(pass))
        entry["reasons"].push_back({{"reason", reason}, {"count", count}});
    }
    for (const WeightError& e : pass.errors)  // JSON has no infinity
      entry["weights"].push_back(
          {{"tensor", e.tensor}, {"sqnr_db", std::isfinite(e.sqnr_db) ? Json(e.sqnr_db) : Json()}});
    out["passes"].push_back(entry);
  }
  out["constant_bytes"] = report.constant_bytes;
  out["file_bytes"] = report.file_bytes;
  out["planned"] = report.planned;
  out["arena_bytes"] = report.arena_bytes;
  out["arena_lower_bound_bytes"] = report.arena_lower_bound;
  out["copies"] = {{"saved", report.copies_saved},
                   {"saved_bytes", report.copies_saved_bytes},
                   {"left_bytes", report.copies_left_bytes},
                   {"left", Json::array()}};
  for (const auto& [reason, count] : report.copies_left)
    out["copies"]["left"].push_back({{"reason", reason}, {"count", count}});
  out["open_dimensions"] = report.open_dimensions;
  for (const LayerReport& l : report.layers) {
    out["layers"].push_back(
        {{"value", l.value},
         {"max_abs", std::isfinite(l.max_abs) ? Json(l.max_abs) : Json()},
         {"max_value", l.max_value},
         {"sqnr_db", std::isfinite(l.sqnr_db) || l.sqnr_db < 0 ? Json(std::max(l.sqnr_db, -300.0)) : Json()}});
  }
  if (!report.layers_failed.empty()) out["layers_error"] = report.layers_failed;
  out["seconds"] = report.seconds;
  return out;
}

}  // namespace vireo::cli
