// A reader of FlatBuffers tables by the schema's text. FlatBuffers' own parser does the same, and its library would be
// needed by every build for this alone; reflection data in the generated headers would be another copy of the schemas
// in all of them. The schemas are simple: tables of scalars, strings and vectors of these, enumerations.
#include "converter/report/attributes.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

#include "converter/ir/schema_texts.h"
#include "converter/report/text.h"
#include "sdk/base/dtype.h"

namespace vireo::report {
namespace {

struct Field {
  std::string name, type;
};
struct Schema {
  std::map<std::string, std::vector<Field>> tables;
  std::string first;                                            // its first table
  std::map<std::string, std::map<int64_t, std::string>> enums;  // number to name
  std::map<std::string, std::string> under;                     // an enumeration's type
};

std::string trimmed(const std::string& s) {
  const size_t begin = s.find_first_not_of(" \t\r\n"), end = s.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
}

Schema read_schema(const char* text) {
  std::string plain, line;  // without comments
  for (std::istringstream in(text); std::getline(in, line);) plain += line.substr(0, line.find("//")) + "\n";
  Schema schema;
  for (size_t at = 0; (at = plain.find('{', at)) != std::string::npos; ++at) {
    const size_t end = plain.find('}', at);
    if (end == std::string::npos) break;
    const size_t head_at = plain.find_last_of(";}", at);
    std::istringstream head(plain.substr(head_at == std::string::npos ? 0 : head_at + 1, at - head_at - 1));
    std::string word, name, colon, type;
    head >> word >> name >> colon >> type;
    if (!name.empty() && name.back() == ':') name.pop_back(), type = colon;
    const std::string body = plain.substr(at + 1, end - at - 1);
    if (word == "table") {
      if (schema.first.empty()) schema.first = name;
      std::istringstream rows(body);
      for (std::string row; std::getline(rows, row, ';');) {
        const size_t split = row.find(':');
        if (split == std::string::npos) continue;
        std::string of = trimmed(row.substr(split + 1));
        of = of.substr(0, of.find_first_of(" =("));
        schema.tables[name].push_back({trimmed(row.substr(0, split)), of});
      }
    } else if (word == "enum") {
      schema.under[name] = type;
      int64_t next = 0;
      std::istringstream rows(body);
      for (std::string row; std::getline(rows, row, ',');) {
        const size_t split = row.find('=');
        if (split != std::string::npos) next = std::strtoll(row.c_str() + split + 1, nullptr, 10);
        const std::string item = trimmed(row.substr(0, split));
        if (!item.empty()) schema.enums[name][next++] = item;
      }
    }
    at = end;
  }
  return schema;
}

const Schema* schema_of(Op op, std::string* table) {
  static std::map<std::string, Schema> read;  // by operator; a tool reports once
  const std::string name = op_name(op);
  for (const ir::SchemaText& row : ir::schema_texts()) {
    if (name != row.op) continue;
    const auto at = read.count(name) != 0 ? read.find(name) : read.emplace(name, read_schema(row.text)).first;
    *table = at->second.tables.count(name) != 0 ? name : at->second.first;
    return &at->second;
  }
  return nullptr;
}

// Little-endian numbers inside `bytes`; 0 and `good` false outside.
class Reader {
 public:
  explicit Reader(Span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T>
  T at(size_t offset) {
    T value{};
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      good = false;
      return value;
    }
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  std::string text(size_t offset) {
    const size_t size = at<uint32_t>(offset);
    if (!good || size > bytes_.size() - offset - 4) return good = false, "";
    return {reinterpret_cast<const char*>(bytes_.data()) + offset + 4, size};
  }
  bool good = true;

 private:
  Span<const uint8_t> bytes_;
};

std::string real_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

size_t size_of(const std::string& type) {
  static const std::map<std::string, size_t> kSizes = {{"bool", 1},   {"byte", 1},  {"ubyte", 1}, {"short", 2},
                                                       {"ushort", 2}, {"int", 4},   {"uint", 4},  {"float", 4},
                                                       {"long", 8},   {"ulong", 8}, {"double", 8}};
  const auto at = kSizes.find(type);
  return at == kSizes.end() ? 0 : at->second;
}

std::string scalar_text(Reader& r, const std::string& type, size_t at) {
  if (type == "bool") return r.at<uint8_t>(at) != 0 ? "true" : "false";
  if (type == "byte") return std::to_string(r.at<int8_t>(at));
  if (type == "ubyte") return std::to_string(r.at<uint8_t>(at));
  if (type == "short") return std::to_string(r.at<int16_t>(at));
  if (type == "ushort") return std::to_string(r.at<uint16_t>(at));
  if (type == "int") return std::to_string(r.at<int32_t>(at));
  if (type == "uint") return std::to_string(r.at<uint32_t>(at));
  if (type == "long") return std::to_string(r.at<int64_t>(at));
  if (type == "ulong") return std::to_string(r.at<uint64_t>(at));
  if (type == "float") return real_text(static_cast<double>(r.at<float>(at)));
  return real_text(r.at<double>(at));
}

// Numbers that have names elsewhere: sdk/base/dtype.h, sdk/ops/shared/window.h.
std::string named(const std::string& field, const std::string& type, const std::string& number) {
  if (type != "ubyte") return number;
  const int64_t n = std::strtoll(number.c_str(), nullptr, 10);
  const bool dtype =
      field == "to" || field == "dtype" || (field.size() > 6 && field.substr(field.size() - 6) == "_dtype");
  if (dtype && n < kDTypeCount) return dtype_name(static_cast<DType>(n));
  if (field == "layout" && n < 2) return n == 0 ? "NCHW" : "NHWC";
  static const char* const kPads[] = {"explicit", "same_upper", "same_lower", "valid"};
  if (field == "auto_pad" && n < 4) return kPads[n];
  return number;
}

constexpr size_t kMostElements = 32;

std::string value_text(Reader& r, const Schema& schema, const Field& field, size_t at) {
  std::string type = field.type;
  const bool list = type.front() == '[';
  if (list) type = type.substr(1, type.find(']') - 1);
  const std::map<int64_t, std::string>* names = nullptr;
  if (const auto e = schema.under.find(type); e != schema.under.end()) {
    names = &schema.enums.at(type);
    type = e->second;
  }
  const auto one = [&](size_t where) {
    if (type == "string") return "\"" + safe_text(r.text(where + r.at<uint32_t>(where))) + "\"";
    const std::string number = scalar_text(r, type, where);
    if (names == nullptr) return named(field.name, type, number);
    const auto name = names->find(std::strtoll(number.c_str(), nullptr, 10));
    return name == names->end() ? number : name->second;
  };
  if (size_of(type) == 0 && type != "string") return "(table)";
  if (!list) return one(at);
  const size_t begin = at + r.at<uint32_t>(at), count = r.at<uint32_t>(begin);
  std::string out;
  for (size_t i = 0; i < count && r.good; ++i) {
    if (i == kMostElements) return out + ", ... (" + std::to_string(count) + " in all)";
    out += (i == 0 ? "" : ", ") + one(begin + 4 + i * (type == "string" ? 4 : size_of(type)));
  }
  return out.empty() ? "(none)" : out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> attributes_of(Op op, Span<const uint8_t> bytes) {
  std::vector<std::pair<std::string, std::string>> out;
  std::string name;
  const Schema* schema = schema_of(op, &name);
  if (schema == nullptr || schema->tables.count(name) == 0) return out;
  Reader r(bytes);
  const size_t table = r.at<uint32_t>(0);
  // The vtable lies before or behind its table; its own size comes first, then the table's, then a field each.
  const int64_t vtable = static_cast<int64_t>(table) - r.at<int32_t>(table);
  if (!r.good || vtable < 0) return out;
  const size_t vsize = r.at<uint16_t>(static_cast<size_t>(vtable));
  const std::vector<Field>& fields = schema->tables.at(name);
  for (size_t i = 0; i < fields.size() && 4 + 2 * i + 2 <= vsize && r.good; ++i) {
    const size_t offset = r.at<uint16_t>(static_cast<size_t>(vtable) + 4 + 2 * i);
    if (offset == 0) continue;
    std::string text = value_text(r, *schema, fields[i], table + offset);
    if (r.good) out.emplace_back(fields[i].name, safe_text(text, kMostText));
  }
  return out;
}

}  // namespace vireo::report
