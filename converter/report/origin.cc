#include "converter/report/origin.h"

#include <algorithm>
#include <cstring>

#include "converter/report/text.h"

namespace vireo::report {
namespace {

constexpr size_t kMostKeys = 8;     // of a node
constexpr size_t kMostShort = 160;  // bytes of a note that is shown without being known

// The texts in "['', 'layers.0', 'layers.0.linear']".
std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; (at = text.find_first_of("'\"", at)) != std::string::npos;) {
    const size_t end = text.find(text[at], at + 1);
    if (end == std::string::npos) break;
    out.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return out;
}

// Scopes lead from the model to the node itself, each with all of its path; the last but one is the module.
std::string module_of_scopes(const std::string& scopes) {
  const std::vector<std::string> list = list_of(scopes);
  std::string module = list.size() < 2 ? "" : list[list.size() - 2];
  std::replace(module.begin(), module.end(), '.', '/');
  return module;
}

// ": Net/layers.0: Block/linear: aten.linear.default": the name of each scope stands before its class.
std::string module_of_namespace(const std::string& text) {
  std::vector<std::string> scopes;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('/', at), text.size());
    const std::string scope = text.substr(at, end - at);
    scopes.push_back(scope.substr(0, scope.find(": ")));
    at = end + 1;
  }
  if (scopes.size() < 2) return "";
  std::string module = scopes[scopes.size() - 2];  // with all of its path, as in scopes
  std::replace(module.begin(), module.end(), '.', '/');
  return module;
}

// Python prints the outermost call first; PyTorch's old exporter wrote the innermost first: "file.py(12): forward".
std::string innermost_last(const std::string& text) {
  if (text.find("): ") == std::string::npos || text.find("File \"") != std::string::npos) return text;
  std::string out;
  for (size_t end = text.size(); end > 0;) {
    const size_t begin = text.rfind('\n', end - 1) == std::string::npos ? 0 : text.rfind('\n', end - 1) + 1;
    if (end > begin) out += (out.empty() ? "" : "\n") + text.substr(begin, end - begin);
    end = begin == 0 ? 0 : begin - 1;
  }
  return out;
}

// Lines stay lines; what is long loses its beginning, for the innermost call says most.
std::string safe_lines(const std::string& text) {
  std::string out;
  const size_t cut = text.size() > kMostText ? text.find('\n', text.size() - kMostText) : 0;
  for (size_t at = cut == std::string::npos ? text.size() - kMostText : cut; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out += (out.empty() ? "" : "\n") + safe_text(text.substr(at, end - at), kMostText);
    at = end + 1;
  }
  return out;
}

bool ends_with(const std::string& text, const char* end) {
  const size_t size = strlen(end);
  return text.size() >= size && text.compare(text.size() - size, size, end) == 0;
}

}  // namespace

Origin origin_of(const NodeNotes& notes) {
  Origin out;
  std::string from_namespace;
  for (const auto& [key, value] : notes) {
    if (ends_with(key, "name_scopes")) {
      out.module = safe_text(module_of_scopes(value));
    } else if (ends_with(key, "stack_trace") || key == "doc_string") {
      const std::string lines = safe_lines(innermost_last(value));
      if (!lines.empty()) out.told.emplace_back(key == "doc_string" ? "doc" : "trace", lines);
    } else if (key == "namespace") {
      from_namespace = safe_text(module_of_namespace(value));
      out.told.emplace_back(key, safe_text(value, kMostText));
    } else if (value.size() <= kMostShort && out.told.size() < kMostKeys) {
      out.told.emplace_back(safe_text(key), safe_text(value));
    }
  }
  if (out.module.empty()) out.module = from_namespace;
  return out;
}

}  // namespace vireo::report
