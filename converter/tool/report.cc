// The report of a conversion as JSON and as a page.
#include <stdio.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "converter/tool/verbs.h"

namespace vireo::tool {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += std::string("<") + tag + ">" + escaped(cell) + "</" + tag + ">";
  return out + "</tr>\n";
}

// Reasons with how often each was given, the commonest first.
std::vector<std::pair<std::string, size_t>> reasons_of(const PassReport& pass) {
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

std::string code_text(Code code) {
  char text[16];
  snprintf(text, sizeof(text), "VC%04d", static_cast<int>(code));
  return text;
}

}  // namespace

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
  for (const PassReport& pass : report.passes) {
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
  out["seconds"] = report.seconds;
  return out;
}

std::string report_html(const std::string& title, const ConvertReport& report, const Diagnostics& diagnostics) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
      "</title>\n<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
      "table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{border-bottom:1px solid #ddd;padding:.2em .9em .2em "
      "0;text-align:left;"
      "vertical-align:top}pre{background:#f5f5f5;padding:.8em;white-space:pre-wrap}</style></head><body>\n<h1>" +
      escaped(title) + "</h1>\n";
  page += "<table>\n" +
          row({"nodes", std::to_string(report.nodes_imported) + " in the model, " + std::to_string(report.nodes) +
                            " in the file"}) +
          row({"transposes left", std::to_string(count_of(report, "Transpose"))}) +
          row({"file", bytes_text(report.file_bytes)}) + row({"constants", bytes_text(report.constant_bytes)}) +
          row({"arena", report.planned ? bytes_text(report.arena_bytes) + " (lower bound " +
                                             bytes_text(report.arena_lower_bound) + ")"
                                       : "planned by the session: a dimension is open"}) +
          row({"copies of parts",
               bytes_text(report.copies_left_bytes) + " a run, " + bytes_text(report.copies_saved_bytes) + " spared"}) +
          "</table>\n";
  for (const auto& [heading, list] :
       {std::make_pair("Inputs", &report.inputs), std::make_pair("Outputs", &report.outputs)}) {
    page += std::string("<h2>") + heading + "</h2>\n<table>\n";
    for (const ValueReport& v : *list) page += row({v.name, v.type});
    page += "</table>\n";
  }
  page += "<h2>Operators</h2>\n<table>\n";
  for (const auto& [op, count] : report.ops) page += row({op, std::to_string(count)});
  page += "</table>\n<h2>Passes</h2>\n<table>\n" + row({"pass", "changes", "largest difference", "declined"}, "th");
  for (const PassReport& pass : report.passes) {
    char difference[32] = "not checked";
    if (pass.checked) snprintf(difference, sizeof(difference), "%.3g", pass.max_difference);
    std::string declined;
    for (const auto& [reason, count] : reasons_of(pass))
      declined += (declined.empty() ? "" : "; ") + std::to_string(count) + " times: " + reason;
    page += row({pass.name, std::to_string(pass.changes), difference, declined});
  }
  page += "</table>\n";
  for (const PassReport& pass : report.passes) {
    if (pass.errors.empty()) continue;
    page +=
        "<h2>Weights after " + escaped(pass.name) + "</h2>\n<table>\n" + row({"weights", "signal to noise, dB"}, "th");
    for (const WeightError& e : pass.errors) {
      char text[32] = "exact";
      if (std::isfinite(e.sqnr_db)) snprintf(text, sizeof(text), "%.1f", e.sqnr_db);
      page += row({e.tensor, text});
    }
    page += "</table>\n";
  }
  if (!diagnostics.all().empty()) page += "<h2>Diagnostics</h2>\n<pre>" + escaped(diagnostics.text()) + "</pre>\n";
  return page + "</body></html>\n";
}

}  // namespace vireo::tool
