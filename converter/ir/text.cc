#include "converter/ir/text.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <utility>

#include "converter/ir/infer.h"
#include "sdk/base/half.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::ir {
namespace {

struct ShortName {
  DType dtype;
  const char* name;
};
constexpr ShortName kShort[] = {
    {DType::kF32, "f32"},   {DType::kF64, "f64"}, {DType::kF16, "f16"}, {DType::kBF16, "bf16"},
    {DType::kI8, "i8"},     {DType::kU8, "u8"},   {DType::kI16, "i16"}, {DType::kU16, "u16"},
    {DType::kI32, "i32"},   {DType::kU32, "u32"}, {DType::kI64, "i64"}, {DType::kU64, "u64"},
    {DType::kBool, "bool"}, {DType::kI4, "i4"},   {DType::kU4, "u4"},   {DType::kString, "string"}};

std::string trim(const std::string& s) {
  size_t a = 0, b = s.size();
  while (a < b && std::isspace(static_cast<unsigned char>(s[a])) != 0) ++a;
  while (b > a && std::isspace(static_cast<unsigned char>(s[b - 1])) != 0) --b;
  return s.substr(a, b - a);
}

// Splits at commas outside brackets.
std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> out;
  int depth = 0;
  std::string part;
  for (const char c : s) {
    depth += c == '[' || c == '{' || c == '(';
    depth -= c == ']' || c == '}' || c == ')';
    if (c == ',' && depth == 0) {
      out.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty() || !out.empty()) out.push_back(trim(part));
  return out;
}

void put(std::vector<uint8_t>* bytes, DType t, double v) {
  const auto raw = [&](auto x) {
    const auto* p = reinterpret_cast<const uint8_t*>(&x);
    bytes->insert(bytes->end(), p, p + sizeof(x));
  };
  switch (t) {
    case DType::kF32:
      raw(static_cast<float>(v));
      return;
    case DType::kF64:
      raw(v);
      return;
    case DType::kF16:
      raw(f32_to_f16(static_cast<float>(v)));
      return;
    case DType::kBF16:
      raw(f32_to_bf16(static_cast<float>(v)));
      return;
    case DType::kI64:
    case DType::kU64:
      raw(static_cast<int64_t>(v));
      return;
    case DType::kI32:
    case DType::kU32:
      raw(static_cast<int32_t>(v));
      return;
    case DType::kI16:
    case DType::kU16:
      raw(static_cast<int16_t>(v));
      return;
    default:
      raw(static_cast<int8_t>(v));
      return;
  }
}

bool parse_dims(DimTable* table, const std::string& text, Shape* out) {
  const std::vector<std::string> parts = text.empty() ? std::vector<std::string>{} : split(text);
  if (parts.size() > static_cast<size_t>(kMaxRank)) return false;
  out->rank = static_cast<int32_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!table->parse(parts[i], &out->dims[i])) return false;
  }
  return true;
}

std::string print_constant(const Value& v) {
  const ConstTensor& t = v.constant->tensor;
  const int64_t n = t.count();
  std::string dims;
  for (int i = 0; i < t.type.shape.rank; ++i) dims += (i == 0 ? "" : ",") + std::to_string(t.type.shape[i]);
  const bool readable = t.type.dtype != DType::kString && dtype_bits(t.type.dtype) >= 8;
  if (!readable || n > 8) {
    const std::string name = v.name.empty() ? "c" : v.name;
    return name + (t.type.dtype == DType::kF32 ? "" : std::string(":") + short_dtype(t.type.dtype)) + "[" + dims + "]";
  }
  std::ostringstream out;
  out << short_dtype(t.type.dtype) << "[" << dims << "]{";
  for (int64_t i = 0; i < n; ++i) out << (i == 0 ? "" : ",") << read_real(t.type.dtype, t.bytes.data(), i);
  out << "}";
  return out.str();
}

}  // namespace

const char* short_dtype(DType t) {
  for (const ShortName& row : kShort) {
    if (row.dtype == t) return row.name;
  }
  return dtype_name(t);
}

DType dtype_of(const std::string& name) {
  for (const ShortName& row : kShort) {
    if (name == row.name) return row.dtype;
  }
  return DType::kNone;
}

Op op_of(const std::string& name) {
  for (const OpRow& row : op_rows()) {
    if (name == row.def->name) return row.op;
  }
  return Op::kNone;
}

bool parse_statement(const std::string& line, Statement* out, std::string* error) {
  *out = {};
  *error = "cannot read \"" + line + "\"";
  const size_t eq = line.find('=');
  const size_t open = eq == std::string::npos ? eq : line.find('(', eq);
  if (open == std::string::npos) return false;
  for (const std::string& r : split(line.substr(0, eq))) {
    if (r.size() < 2 || r[0] != '%') return false;
    out->results.push_back(r.substr(1));
  }
  out->op = trim(line.substr(eq + 1, open - eq - 1));
  int depth = 0;
  size_t close = open;
  for (; close < line.size(); ++close) {
    depth += line[close] == '(';
    depth -= line[close] == ')';
    if (depth == 0) break;
  }
  if (close == line.size() || out->results.empty() || out->op.empty()) return false;
  out->arguments = split(line.substr(open + 1, close - open - 1));
  out->attributes = trim(line.substr(close + 1));
  error->clear();
  return true;
}

ConstantPtr parse_constant(const std::string& text, std::string* error) {
  *error = "cannot read constant \"" + text + "\"";
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return nullptr;
  std::string name = text.substr(0, open);
  TensorType type{DType::kF32, {}};
  DimTable scratch;
  if (!parse_dims(&scratch, text.substr(open + 1, close - open - 1), &type.shape) || !type.shape.is_static())
    return nullptr;
  const int64_t n = element_count(type.shape);
  std::vector<uint8_t> bytes;
  if (close + 1 < text.size() && text[close + 1] == '{' && text.back() == '}') {
    type.dtype = dtype_of(name);
    const std::vector<std::string> parts = split(text.substr(close + 2, text.size() - close - 3));
    if (type.dtype == DType::kNone || static_cast<int64_t>(parts.size()) != n) return nullptr;
    for (const std::string& p : parts) {
      char* end = nullptr;
      const int64_t whole = std::strtoll(p.c_str(), &end, 10);  // a double does not hold all of them
      if ((type.dtype == DType::kI64 || type.dtype == DType::kU64) && *end == 0) {
        const auto* raw = reinterpret_cast<const uint8_t*>(&whole);
        bytes.insert(bytes.end(), raw, raw + sizeof(whole));
      } else {
        put(&bytes, type.dtype, std::strtod(p.c_str(), nullptr));
      }
    }
    return make_constant(type, std::move(bytes));
  }
  const size_t colon = name.find(':');
  if (colon != std::string::npos) {
    type.dtype = dtype_of(name.substr(colon + 1));
    name.resize(colon);
  }
  if (type.dtype == DType::kNone || type.dtype == DType::kString || dtype_bits(type.dtype) < 8 || name.empty())
    return nullptr;
  // Positive, so that it can serve as a variance too; small steps, so that float arithmetic on it is nearly exact.
  uint32_t seed = 2166136261u;
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 16777619u;
  std::mt19937 rng(seed);
  const bool real = dtype_is_float(type.dtype);
  for (int64_t i = 0; i < n; ++i)
    put(&bytes, type.dtype, real ? static_cast<double>(1 + rng() % 64) / 64 : static_cast<double>(rng() % 3));
  return make_constant(type, std::move(bytes));
}

std::unique_ptr<Graph> parse_graph(const std::string& text, std::string* error) {
  auto g = std::make_unique<Graph>(std::make_shared<DimTable>());
  std::map<std::string, Value*> names;
  std::map<std::string, Value*> constants;
  ConstantFinder finder;
  bool outputs = false;
  std::istringstream lines(text);
  std::string raw;
  while (std::getline(lines, raw)) {
    const size_t comment = raw.find('#');
    const std::string line = trim(comment == std::string::npos ? raw : raw.substr(0, comment));
    if (line.empty()) continue;
    if (line.rfind("graph ", 0) == 0) {
      g->name = trim(line.substr(6));
      continue;
    }
    if (line.rfind("input ", 0) == 0) {
      const size_t percent = line.find('%'), space = line.find(' ', percent), open = line.find('[');
      TensorType type;
      if (percent == std::string::npos || space == std::string::npos || open == std::string::npos ||
          line.back() != ']') {
        *error = "cannot read \"" + line + "\"";
        return nullptr;
      }
      type.dtype = dtype_of(trim(line.substr(space, open - space)));
      if (type.dtype == DType::kNone ||
          !parse_dims(&g->dims(), line.substr(open + 1, line.size() - open - 2), &type.shape)) {
        *error = "cannot read the type in \"" + line + "\"";
        return nullptr;
      }
      const std::string name = line.substr(percent + 1, space - percent - 1);
      names[name] = g->add_input(name, type);
      continue;
    }
    if (line.rfind("output ", 0) == 0) {
      for (const std::string& name : split(line.substr(7))) {
        if (name.empty() || names.count(name.substr(1)) == 0) {
          *error = "nothing makes \"" + name + "\"";
          return nullptr;
        }
        g->add_output(names[name.substr(1)], name.substr(1));
      }
      outputs = true;
      continue;
    }
    Statement s;
    if (!parse_statement(line, &s, error)) return nullptr;
    const Op op = op_of(s.op);
    std::vector<uint8_t> attrs;
    if (op == Op::kNone) {
      *error = "there is no operator " + s.op;
      return nullptr;
    }
    if (!parse_attributes(op, s.attributes, &attrs, error)) return nullptr;
    std::vector<Value*> inputs;
    for (const std::string& a : s.arguments) {
      if (a == "_") {
        inputs.push_back(nullptr);
      } else if (!a.empty() && a[0] == '%') {
        if (names.count(a.substr(1)) == 0) {
          *error = "nothing makes \"" + a + "\"";
          return nullptr;
        }
        inputs.push_back(names[a.substr(1)]);
      } else {
        Value*& c = constants[a];
        if (c == nullptr) {
          const ConstantPtr k = parse_constant(a, error);
          if (k == nullptr) return nullptr;
          c = g->add_constant(a.substr(0, a.find_first_of("[:")), k);
        }
        inputs.push_back(c);
      }
    }
    Node* n = g->add_node(op, std::move(attrs), std::move(inputs), s.results.size());
    n->name = s.results[0];
    for (size_t i = 0; i < s.results.size(); ++i) {
      n->outputs[i]->name = s.results[i];
      names[s.results[i]] = n->outputs[i];
    }
    std::string message;
    if (!ok(infer_node(*g, n, &finder, &message))) {
      *error = "\"" + line + "\": " + message;
      return nullptr;
    }
  }
  if (!outputs) {
    for (Node& n : g->nodes()) {
      for (Value* v : n.outputs) {
        if (v->unused()) g->add_output(v, v->name);
      }
    }
  }
  *error = g->validate();
  return error->empty() ? std::move(g) : nullptr;
}

namespace {

void print(const Graph& g, const std::string& indent, std::string* out) {
  std::map<const Value*, std::string> names;
  std::map<std::string, int> taken;
  const auto name = [&](const Value* v) {
    const auto it = names.find(v);
    if (it != names.end()) return it->second;
    std::string plain;
    for (const char c : v->name)
      plain += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ? c : '_';
    if (plain.empty()) plain = std::to_string(v->id);
    if (taken[plain]++ > 0) plain += "." + std::to_string(v->id);
    return names[v] = plain;
  };
  const auto type = [&](const Value* v) {
    return std::string(short_dtype(v->type.dtype)) + g.dims().text(v->type.shape);
  };
  for (const Value* v : g.inputs()) *out += indent + "input %" + name(v) + " " + type(v) + "\n";
  for (const Node& n : g.nodes()) {
    *out += indent;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      *out += (i == 0 ? "%" : ", %") + (n.outputs[i] == nullptr ? std::string("_") : name(n.outputs[i]));
    }
    *out += std::string(" = ") + op_name(n.op) + "(";
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const Value* v = n.inputs[i];
      *out += i == 0 ? "" : ", ";
      *out += v == nullptr ? "_" : v->constant != nullptr ? print_constant(*v) : "%" + name(v);
    }
    *out += ")";
    const std::string attrs = print_attributes(n.op, n.attrs);
    if (attrs != "{}" && attrs != "{  }") *out += " " + attrs;
    if (n.out() != nullptr) *out += "  # " + type(n.out());
    *out += "\n";
    for (const auto& body : n.bodies) {
      *out += indent + "  body " + body->name + "\n";
      print(*body, indent + "    ", out);
    }
  }
  for (const Value* v : g.outputs())
    *out += indent + "output " + (v->constant != nullptr ? print_constant(*v) : "%" + name(v)) + "\n";
}

}  // namespace

std::string print_graph(const Graph& g) {
  std::string out = "graph " + (g.name.empty() ? std::string("main") : g.name) + "\n";
  print(g, "  ", &out);
  return out;
}

}  // namespace vireo::ir
