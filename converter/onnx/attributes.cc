#include "converter/onnx/attributes.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <set>
#include <tuple>
#include <vector>

#include "converter/onnx/control/old_scan.h"
#include "converter/onnx/protos.h"
#include "converter/onnx/report.h"
#include "converter/onnx/scope.h"

namespace vireo::importer {
namespace {

constexpr OperatorAttributes kRows[] = {
#define VIREO_ATTRIBUTES(domain, op, first, text) {domain, op, first, text},
#include "converter/onnx/attributes.def"
#undef VIREO_ATTRIBUTES
};

// A word of a row's text.
struct Attribute {
  std::string_view name;
  int first = 0, last = INT_MAX;  // versions that have it
  std::string_view input;         // what it became behind `last`; empty: none
};

Attribute parse(std::string_view word) {
  Attribute a;
  const size_t equals = word.find('=');
  if (equals != word.npos) a.input = word.substr(equals + 1);
  word = word.substr(0, equals);
  const size_t colon = word.find(':');
  a.name = word.substr(0, colon);
  if (colon == word.npos) return a;
  const std::string versions(word.substr(colon + 1));
  const size_t dash = versions.find('-');
  a.first = std::atoi(versions.c_str());
  if (dash == 0) a.first = 0;
  if (dash + 1 < versions.size()) a.last = std::atoi(versions.c_str() + dash + 1);
  return a;
}

// The next word of `text`, which loses it; empty at the end.
std::string_view next_word(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

// An operator is also met under a version older than its first: ONNX Runtime and exporters had some of them before the
// standard did, and they were the same.
int effective(const OperatorAttributes& row, int version) { return std::max(version, row.first); }

bool has(const Attribute& a, int version) { return version >= a.first && version <= a.last; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Letters to add, drop or change, upper and lower case being the same.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

std::string version_text(std::string_view domain, int version) {
  const std::string number = std::to_string(version);
  return domain.empty() ? "opset " + number : "version " + number + " of " + std::string(domain);
}

// ONNX's checker and ONNX Runtime leave these to whoever wrote them.
bool is_internal(const std::string& name) { return name.rfind("__", 0) == 0; }

bool declares(const ::onnx::FunctionProto& f, const std::string& name) {
  const auto of_default = [&](const ::onnx::AttributeProto& a) { return a.name() == name; };
  return std::find(f.attribute().begin(), f.attribute().end(), name) != f.attribute().end() ||
         std::any_of(f.attribute_proto().begin(), f.attribute_proto().end(), of_default);
}

}  // namespace

const OperatorAttributes* operator_attributes(std::string_view domain, std::string_view op) {
  const auto before = [](const OperatorAttributes& row, const std::pair<std::string_view, std::string_view>& key) {
    return std::tie(row.domain, row.op) < std::tie(key.first, key.second);
  };
  const OperatorAttributes* row =
      std::lower_bound(std::begin(kRows), std::end(kRows), std::make_pair(domain, op), before);
  return row != std::end(kRows) && row->domain == domain && row->op == op ? row : nullptr;
}

bool has_attribute(const OperatorAttributes& row, int version, std::string_view name) {
  std::string_view text = row.text;
  while (!text.empty()) {
    const Attribute a = parse(next_word(&text));
    if (a.name == name) return has(a, effective(row, version));
  }
  return false;
}

std::string attribute_advice(const OperatorAttributes& row, int version, std::string_view name) {
  const std::string model = row.domain.empty() ? "opset " : std::string(row.domain) + " ";
  std::string all;
  std::string_view near;
  size_t nearest = std::max<size_t>(2, name.size() / 3 + 1);  // one letter in three, at least one
  std::string_view text = row.text;
  while (!text.empty()) {
    const Attribute a = parse(next_word(&text));
    if (a.name == name) {
      if (a.first > version)
        return "it is there since " + model + std::to_string(a.first) + ": export the model with that or a newer one";
      if (!a.input.empty()) {
        return "since " + model + std::to_string(a.last + 1) + " it is the input " + std::string(a.input) +
               ": give it as one, or export the model with " + model + std::to_string(a.last) + " or older";
      }
      return model + std::to_string(a.last) + " was the last that had it: leave it out, or export the model with " +
             model + std::to_string(a.last) + " or older";
    }
    if (!has(a, effective(row, version))) continue;
    all += (all.empty() ? "" : ", ") + std::string(a.name);
    const size_t d = distance(a.name, name);
    if (d < nearest) {
      nearest = d;
      near = a.name;
    }
  }
  if (!near.empty()) return "write " + std::string(near) + ", if that is meant, or leave it out";
  return all.empty() ? "leave it out: the operator has no attributes" : "leave it out; the attributes are: " + all;
}

bool check_attributes(Report& report, const Scope& scope, const ::onnx::NodeProto& node,
                      const ::onnx::FunctionProto* function) {
  bool good = true;
  const auto wrong = [&](const std::string& what, const std::string& help) {
    report.record(node, &scope, Code::kBadAttribute, what, help);
    good = false;
  };
  const std::string domain = plain_domain(node.domain());
  const auto opset = scope.opsets.find(domain);
  const OperatorAttributes* row =
      function != nullptr || opset == scope.opsets.end() ? nullptr : operator_attributes(domain, node.op_type());
  const bool rewritten = row != nullptr && find_attribute(node, scope, kRewrittenScan) != nullptr;
  const int version = row == nullptr ? 0 : rewritten ? 9 : opset->second;
  std::set<std::string> seen, told;
  for (const auto& a : node.attribute()) {
    const std::string& name = a.name();
    if (!seen.insert(name).second) {
      if (told.insert(name).second)
        wrong("has the attribute " + name + " more than once", "keep one of them: nothing says which is meant");
      continue;
    }
    if (is_internal(name)) continue;
    if (function != nullptr && !declares(*function, name)) {
      wrong("has an attribute " + name + ", which function " + function->name() + " does not declare",
            "leave it out, or declare it in the function");
    }
    if (row == nullptr) continue;
    if (has_attribute(*row, version, name)) continue;
    wrong(
        "has an attribute " + name + ", which " + node.op_type() + " does not have in " + version_text(domain, version),
        attribute_advice(*row, version, name));
  }
  return good;
}

}  // namespace vireo::importer
