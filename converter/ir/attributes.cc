// Attributes as text, by FlatBuffers' own parser over the operators' schemas, which are built in as text. An operator's
// table has its name; where a family shares one, it is the first of the schema.
#include <map>

#include "converter/ir/schema_texts.h"
#include "converter/ir/text.h"
#include "flatbuffers/idl.h"

namespace vireo::ir {

namespace {

// A parser that has read the operator's schema and knows its table; null when there is none.
std::unique_ptr<::flatbuffers::Parser> parser_for(Op op) {
  for (const SchemaText& row : schema_texts()) {
    if (op_of(row.op) != op) continue;
    ::flatbuffers::IDLOptions options;
    options.strict_json = false;
    options.indent_step = -1;
    auto parser = std::make_unique<::flatbuffers::Parser>(options);
    if (!parser->Parse(row.text) || parser->structs_.vec.empty()) return nullptr;
    const std::string own = std::string("vireo.attrs.") + row.op;
    if (!parser->SetRootType(own.c_str())) {
      const ::flatbuffers::StructDef& first = *parser->structs_.vec[0];
      parser->SetRootType(first.defined_namespace->GetFullyQualifiedName(first.name).c_str());
    }
    return parser;
  }
  return nullptr;
}

}  // namespace

std::string print_attributes(Op op, const std::vector<uint8_t>& bytes) {
  const auto parser = parser_for(op);
  std::string out;
  if (parser == nullptr || !::flatbuffers::GenerateText(*parser, bytes.data(), &out)) return "{?}";
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

bool parse_attributes(Op op, const std::string& text, std::vector<uint8_t>* bytes, std::string* error) {
  const auto parser = parser_for(op);
  if (parser == nullptr) {
    *error = std::string("no schema for ") + op_name(op);
    return false;
  }
  if (!parser->Parse(text.empty() ? "{}" : text.c_str())) {
    *error = std::string(op_name(op)) + " " + text + ": " + parser->error_;
    return false;
  }
  bytes->assign(parser->builder_.GetBufferPointer(), parser->builder_.GetBufferPointer() + parser->builder_.GetSize());
  return true;
}

}  // namespace vireo::ir
