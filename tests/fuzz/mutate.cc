#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace vireo::fuzz {
namespace {

std::string trim(const std::string& s) {
  const size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t\r");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::vector<std::string> split(const std::string& s) {
  std::vector<std::string> out;
  int depth = 0;
  std::string part;
  for (const char c : s) {
    depth += c == '[' || c == '{';
    depth -= c == ']' || c == '}';
    if (c == ',' && depth == 0) {
      out.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) out.push_back(trim(part));
  return out;
}

bool read_line(const std::string& line, Draft* d) {
  if (line.rfind("graph ", 0) == 0) return true;
  if (line.rfind("input %", 0) == 0) {
    const size_t space = line.find(' ', 7);
    if (space == std::string::npos) return false;
    d->inputs.emplace_back(line.substr(7, space - 7), trim(line.substr(space)));
    return true;
  }
  if (line.rfind("output ", 0) == 0) {
    for (const std::string& name : split(line.substr(7))) d->outputs.push_back(name.substr(1));
    return true;
  }
  ir::Statement s;
  std::string error;
  if (!ir::parse_statement(line, &s, &error)) return false;
  d->nodes.push_back(std::move(s));
  return true;
}

// Operators that take each other's place.
const std::vector<std::vector<std::string>> kKin = {{"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "Erf", "Sqrt",
                                                     "Identity", "HardSwish", "Floor", "Softplus", "Mish"},
                                                    {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"},
                                                    {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"},
                                                    {"MaxPool", "AveragePool"},
                                                    {"GlobalAveragePool", "GlobalMaxPool"},
                                                    {"Softmax", "LogSoftmax"},
                                                    {"Squeeze", "Unsqueeze"}};

}  // namespace

std::string Draft::text() const {
  std::set<std::string> used;
  for (const ir::Statement& s : nodes) used.insert(s.arguments.begin(), s.arguments.end());
  std::string out;
  for (const auto& [name, type] : inputs) out += "input %" + name + " " + type + "\n";
  std::set<std::string> results, named;
  for (const ir::Statement& s : nodes) {
    for (size_t i = 0; i < s.results.size(); ++i) {
      out += (i == 0 ? "%" : ", %") + s.results[i];
      results.insert(s.results[i]);
    }
    out += " = " + s.op + "(";
    for (size_t i = 0; i < s.arguments.size(); ++i) out += (i == 0 ? "" : ", ") + s.arguments[i];
    out += ")" + (s.attributes.empty() ? "" : " " + s.attributes) + "\n";
  }
  for (const ir::Statement& s : nodes) {
    for (const std::string& r : s.results) {
      if (used.count("%" + r) == 0 && named.insert(r).second) out += "output %" + r + "\n";
    }
  }
  for (const std::string& r : outputs) {
    if (results.count(r) != 0 && named.insert(r).second) out += "output %" + r + "\n";
  }
  return out;
}

std::vector<Draft> read_seeds(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > 8 && name.substr(name.size() - 8) == ".test.ir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Draft> out;
  for (const auto& path : files) {
    std::ifstream in(path);
    std::string line;
    bool reading = false;
    while (std::getline(in, line)) {
      line = trim(line.substr(0, line.find('#')));
      if (line.rfind("case ", 0) == 0) {
        out.emplace_back();
        reading = true;
      } else if (line.rfind("expect", 0) == 0) {
        reading = false;
      } else if (reading && !line.empty() && !read_line(line, &out.back())) {
        out.pop_back();
        reading = false;
      }
    }
  }
  return out;
}

std::string Mutator::fresh() { return "f" + std::to_string(count_++); }

// A value that is there before node `before`: "%name"; "" where there is none.
std::string Mutator::any_value(const Draft& d, size_t before) {
  std::vector<std::string> all;
  for (const auto& input : d.inputs) all.push_back("%" + input.first);
  for (size_t i = 0; i < before && i < d.nodes.size(); ++i) {
    for (const std::string& r : d.nodes[i].results) all.push_back("%" + r);
  }
  return all.empty() ? "" : pick(all);
}

std::string Mutator::number(bool real) {
  static const std::vector<std::string> reals = {"0", "1",     "-1",   "2",    "0.5",  "nan", "inf", "-inf", "3",
                                                 "6", "1e-30", "1e30", "-2.5", "0.25", "-3",  "0.1", "1e-5"};
  static const std::vector<std::string> integers = {"0", "1", "-1", "2", "-2", "3", "4", "127", "-128"};
  return pick(real ? reals : integers);
}

// `seed`'s values get names of their own; inputs of it become values of `d` where those have the same type.
void Mutator::append(Draft* d, Draft seed, int number) {
  const std::string prefix(1, static_cast<char>('a' + number));
  std::string error;
  std::vector<std::pair<std::string, std::string>> there;  // name, type
  if (!d->nodes.empty()) {
    const auto g = ir::parse_graph(d->text(), &error);
    if (g != nullptr) {
      for (const ir::Value& v : g->values()) {
        if (v.constant == nullptr && !v.name.empty())
          there.emplace_back(v.name, std::string(ir::short_dtype(v.type.dtype)) + g->dims().text(v.type.shape));
      }
    }
  }
  std::vector<std::pair<std::string, std::string>> renamed;  // "%x" -> "%ax"
  for (const auto& [name, type] : seed.inputs) {
    std::vector<std::string> fits;
    for (const auto& [other, other_type] : there) {
      if (other_type == type) fits.push_back(other);
    }
    // Else anything of that rank: the seed may hold for other extents as well.
    if (fits.empty() && chance(40)) {
      for (const auto& [other, other_type] : there) {
        if (std::count(type.begin(), type.end(), ',') == std::count(other_type.begin(), other_type.end(), ',') &&
            other_type.substr(0, other_type.find('[')) == type.substr(0, type.find('[')))
          fits.push_back(other);
      }
    }
    if (!fits.empty() && chance(70)) {
      renamed.emplace_back("%" + name, "%" + pick(fits));
    } else {
      renamed.emplace_back("%" + name, "%" + prefix + name);
      d->inputs.emplace_back(prefix + name, type);
    }
  }
  for (ir::Statement& s : seed.nodes) {
    for (std::string& a : s.arguments) {
      for (const auto& [from, to] : renamed) {
        if (a == from) {
          a = to;
          break;
        }
      }
    }
    for (std::string& r : s.results) {
      renamed.insert(renamed.begin(), {"%" + r, "%" + prefix + r});
      r = prefix + r;
    }
    d->nodes.push_back(std::move(s));
  }
  for (const std::string& r : seed.outputs) d->outputs.push_back(prefix + r);
}

// "f32[2]{1,2}": a number, the shape. "w[8,3]": an extent, becomes another constant, an input or a literal.
void Mutator::change_constant(ir::Statement* s, Draft* d, size_t at) {
  std::string& a = s->arguments[at];
  const size_t open = a.find('['), close = a.find(']'), brace = a.find('{');
  if (open == std::string::npos || close == std::string::npos) return;
  const std::vector<std::string> dims = split(a.substr(open + 1, close - open - 1));
  const auto join = [](const std::vector<std::string>& parts) {
    std::string out;
    for (size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : ",") + parts[i];
    return out;
  };
  if (brace != std::string::npos) {
    const std::string dtype = a.substr(0, open);
    if (chance(30)) {  // another rank with as many elements
      std::vector<std::string> changed = dims;
      if (chance(70)) {
        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(below(changed.size() + 1)), "1");
      } else {
        changed.erase(std::remove(changed.begin(), changed.end(), "1"), changed.end());
      }
      a = dtype + "[" + join(changed) + "]" + a.substr(brace);
      return;
    }
    std::vector<std::string> values = split(a.substr(brace + 1, a.size() - brace - 2));
    if (values.empty()) return;
    values[below(values.size())] = number(dtype[0] == 'f' || dtype[0] == 'b');
    a = dtype + "[" + join(dims) + "]{" + join(values) + "}";
    return;
  }
  const size_t colon = a.find(':');
  const std::string dtype = colon < open ? a.substr(colon + 1, open - colon - 1) : "f32";
  int64_t count = 1;
  for (const std::string& e : dims) count *= std::atoll(e.c_str());
  const size_t how = below(4);
  if (how == 0) {
    const std::string name = fresh();
    d->inputs.emplace_back(name, dtype + a.substr(open));
    a = "%" + name;
  } else if (how == 1 && count <= 64) {
    const bool real = dtype[0] == 'f' || dtype[0] == 'b';
    std::vector<std::string> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(std::to_string(static_cast<int>(rng_() % 17) - 8) + (real ? ".125" : ""));
    if (chance(30) && count > 0) values[below(values.size())] = number(real);
    a = dtype + a.substr(open) + "{" + join(values) + "}";
  } else if (how == 2) {
    std::vector<std::string> changed = dims;
    if (!changed.empty()) changed[below(changed.size())] = std::to_string(1 + below(4));
    a = a.substr(0, open) + "[" + join(changed) + "]";
  } else {  // shared with another of these dimensions
    a = (colon < open ? "w:" + dtype : std::string("w")) + a.substr(open);
  }
}

void Mutator::change_attributes(ir::Statement* s) {
  std::vector<size_t> digits;
  for (size_t i = 0; i < s->attributes.size(); ++i) {
    if (s->attributes[i] >= '0' && s->attributes[i] <= '9') digits.push_back(i);
  }
  if (digits.empty() || chance(15)) {
    s->attributes.clear();
    return;
  }
  const size_t at = pick(digits);
  s->attributes[at] = static_cast<char>('0' + below(chance(80) ? 4 : 10));
  if (chance(10)) s->attributes.insert(at, "-");
}

// A number becomes another or a name, a name a number.
void Mutator::change_extent(std::string* type) {
  const size_t open = type->find('[');
  std::vector<std::string> dims = split(type->substr(open + 1, type->size() - open - 2));
  if (dims.empty()) return;
  std::string& d = dims[below(dims.size())];
  const bool named = d[0] < '0' || d[0] > '9';
  d = !named && chance(60) ? (chance(70) ? "N" : "T") : std::to_string(1 + below(5));
  std::string joined;
  for (size_t i = 0; i < dims.size(); ++i) joined += (i == 0 ? "" : ",") + dims[i];
  *type = type->substr(0, open) + "[" + joined + "]";
}

// Something that stands between two nodes that belong together.
void Mutator::insert_on_edge(Draft* d, size_t node) {
  ir::Statement& s = d->nodes[node];
  std::vector<size_t> edges;
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    if (s.arguments[i][0] == '%') edges.push_back(i);
  }
  if (edges.empty()) return;
  const size_t at = pick(edges);
  const std::string from = s.arguments[at];
  const auto make = [&](const std::string& op, std::vector<std::string> arguments, const std::string& attributes) {
    ir::Statement n;
    n.op = op;
    n.arguments = std::move(arguments);
    n.attributes = attributes;
    n.results = {fresh()};
    return n;
  };
  std::vector<ir::Statement> made;
  const auto then = [&](const std::string& op, std::vector<std::string> more, const std::string& attributes = "") {
    more.insert(more.begin(), made.empty() ? from : "%" + made.back().results[0]);
    made.push_back(make(op, std::move(more), attributes));
  };
  switch (below(9)) {
    case 0:
      then("Identity", {});
      break;
    case 1:
      then(pick(kKin[0]), {});
      break;
    case 2:
      then("Transpose", {}, "{perm:[0,2,1]}");
      if (chance(50)) then("Transpose", {}, "{perm:[0,2,1]}");
      break;
    case 3:
      then("Transpose", {}, "{perm:[0,2,3,1]}");
      if (chance(80)) then("Transpose", {}, "{perm:[0,3,1,2]}");
      break;
    case 4:
      then("Unsqueeze", {"i64[1]{0}"});
      if (chance(70)) then("Squeeze", {"i64[1]{0}"});
      break;
    case 5: {
      const std::string zero = chance(50) ? "u8[]{128}" : "i8[]{3}",
                        scale = "f32[]{" + pick(std::vector<std::string>{"0.0625", "0.1", "0.03", "0"}) + "}";
      then("QuantizeLinear", {scale, zero});
      then("DequantizeLinear", {scale, zero});
      break;
    }
    case 6:
      then(pick(kKin[1]), {"f32[]{" + number(true) + "}"});
      break;
    case 7:
      then("Reshape", {chance(50) ? "i64[2]{0,-1}" : "i64[3]{0,0,-1}"});
      break;
    default:
      then("Cast", {}, chance(50) ? "{to:1}" : "{to:10}");
      break;
  }
  s.arguments[at] = "%" + made.back().results[0];
  d->nodes.insert(d->nodes.begin() + static_cast<std::ptrdiff_t>(node), made.begin(), made.end());
}

void Mutator::mutate(Draft* d) {
  if (d->nodes.empty()) return;
  const size_t at = below(d->nodes.size());
  ir::Statement& s = d->nodes[at];
  switch (below(13)) {
    case 0:  // an output in the middle
      d->outputs.push_back(pick(s.results));
      return;
    case 1: {  // a further consumer
      ir::Statement n;
      n.op = pick(kKin[0]);
      n.arguments = {"%" + pick(s.results)};
      n.results = {fresh()};
      d->nodes.push_back(std::move(n));
      return;
    }
    case 2:
    case 3:
    case 4: {
      std::vector<size_t> constants;
      for (size_t i = 0; i < s.arguments.size(); ++i) {
        if (s.arguments[i][0] != '%' && s.arguments[i] != "_") constants.push_back(i);
      }
      if (!constants.empty()) change_constant(&s, d, pick(constants));
      return;
    }
    case 5:
      return change_attributes(&s);
    case 6:
      if (!d->inputs.empty()) change_extent(&d->inputs[below(d->inputs.size())].second);
      return;
    case 7:
      if (s.arguments.size() >= 2) std::swap(s.arguments[0], s.arguments[1]);
      return;
    case 8:
      for (const auto& kin : kKin) {
        if (std::find(kin.begin(), kin.end(), s.op) != kin.end()) s.op = pick(kin);
      }
      return;
    case 9: {  // the same again, for some of its users
      ir::Statement n = s;
      std::vector<std::pair<std::string, std::string>> renamed;
      for (std::string& r : n.results) {
        renamed.emplace_back("%" + r, fresh());
        r = renamed.back().second;
      }
      for (size_t i = at + 1; i < d->nodes.size(); ++i) {
        for (std::string& a : d->nodes[i].arguments) {
          for (const auto& [from, to] : renamed) {
            if (a == from && chance(50)) {
              a = "%" + to;
              break;
            }
          }
        }
      }
      d->nodes.insert(d->nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(n));
      return;
    }
    case 10: {  // another operand
      const std::string other = any_value(*d, at);
      if (!s.arguments.empty() && !other.empty()) s.arguments[below(s.arguments.size())] = other;
      return;
    }
    case 11: {  // a node goes
      if (s.arguments.empty() || s.arguments[0][0] != '%') return;
      const std::string from = "%" + s.results[0], to = s.arguments[0];
      d->nodes.erase(d->nodes.begin() + static_cast<std::ptrdiff_t>(at));
      for (ir::Statement& n : d->nodes) std::replace(n.arguments.begin(), n.arguments.end(), from, to);
      return;
    }
    default:
      return insert_on_edge(d, at);
  }
}

Draft Mutator::next() {
  Draft d;
  const int parts = chance(40) ? 1 : chance(70) ? 2 : 3;
  for (int i = 0; i < parts; ++i) append(&d, pick(seeds_), i);
  // Most mutations leave no graph: each is kept only where it does.
  std::string error;
  const size_t wanted = below(7);
  size_t kept = 0;
  for (int tries = 0; kept < wanted && tries < 20; ++tries) {
    Draft changed = d;
    mutate(&changed);
    if (ir::parse_graph(changed.text(), &error) == nullptr) continue;
    d = std::move(changed);
    ++kept;
  }
  return d;
}

}  // namespace vireo::fuzz
