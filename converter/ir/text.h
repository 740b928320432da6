// Graphs as text, for tests, dumps and people.
//
//   graph name
//     input %x f32[N,3,8,8]
//     %a = Conv(%x, w[8,3,3,3], b[8]) {pads:[1,1,1,1]}
//     %y, %z = Split(%a, i64[2]{4,4}) {axis:1}
//     output %y
//
// A constant is `name[dims]` (float32 drawn from its name, so that two of one name are equal; `name:i8[dims]` for other
// types), or a literal `type[dims]{elements}`; `_` is an absent input. Attributes are FlatBuffers' own text form of the
// operator's table. Without `output` lines, values without users are the outputs. Types of nodes are inferred.
#ifndef VIREO_CONVERTER_IR_TEXT_H_
#define VIREO_CONVERTER_IR_TEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::ir {

// One line of a graph: "%y = Op(args) {attributes}".
struct Statement {
  std::vector<std::string> results;  // without '%'
  std::string op;
  std::vector<std::string> arguments;  // "%x", "w[8,3]", "_"
  std::string attributes;              // with braces; "" where none are given
};
bool parse_statement(const std::string& line, Statement* out, std::string* error);

// Null with `error` on a mistake.
std::unique_ptr<Graph> parse_graph(const std::string& text, std::string* error);
std::string print_graph(const Graph& g);

// Attribute tables as text and back. Reading fills in what `text` leaves out.
std::string print_attributes(Op op, const std::vector<uint8_t>& bytes);
bool parse_attributes(Op op, const std::string& text, std::vector<uint8_t>* bytes, std::string* error);

// The operator of this name; kNone: there is none.
Op op_of(const std::string& name);

// "f32", "i64", "bool"... and back.
const char* short_dtype(DType t);
DType dtype_of(const std::string& name);

// The constant that `name[dims]`, `name:type[dims]` or `type[dims]{...}` stands for; null on a mistake.
ConstantPtr parse_constant(const std::string& text, std::string* error);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_TEXT_H_
