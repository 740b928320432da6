#include "converter/report/side.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "converter/ir/graph.h"
#include "converter/passes/pipeline.h"
#include "converter/report/attributes.h"
#include "converter/report/layout.h"
#include "converter/report/modules.h"
#include "converter/report/text.h"
#include "sdk/base/checked.h"
#include "sdk/format/model_generated.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::report {
namespace {

constexpr int64_t kShownElements = 6;

bool readable(DType t) {
  return dtype_bits(t) >= 8 && (t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16 ||
                                t == DType::kBool || dtype_is_integer(t));
}

// The first elements of a constant: what scales, zero points, axes and shapes are. Of large ones nothing, so that pages
// of mapped weights stay where they are.
std::string contents_of(DType dtype, const uint8_t* bytes, int64_t count) {
  if (bytes == nullptr || count > 4096 || count == 0 || !readable(dtype)) return "";
  std::string out;
  for (int64_t i = 0; i < std::min(count, kShownElements); ++i) {
    char text[32];
    if (dtype_is_integer(dtype) || dtype == DType::kBool) {
      snprintf(text, sizeof(text), "%lld", static_cast<long long>(read_integer(dtype, bytes, i)));
    } else {
      snprintf(text, sizeof(text), "%.6g", read_real(dtype, bytes, i));
    }
    out += (i == 0 ? "" : ", ") + std::string(text);
  }
  return count > kShownElements ? out + ", ..." : out;
}

template <class Text>
std::string type_text(DType dtype, size_t rank, const Text& dim) {
  std::string out = std::string(dtype_name(dtype)) + "[";
  for (size_t i = 0; i < rank; ++i) out += (i == 0 ? "" : ",") + dim(i);
  return safe_text(out + "]");
}

template <class Most>
int64_t bytes_at_most(DType dtype, size_t rank, const Most& most) {
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    const Interval range = most(i);
    if (range.open() || !checked_mul(count, range.hi, &count)) return -1;
  }
  return dtype_bytes(dtype, count);
}

class FromIr {
 public:
  explicit FromIr(Side* side) : side_(*side) {}

  int32_t graph(const ir::Graph& g, int32_t owner, const std::string& role) {
    const auto index = static_cast<int32_t>(side_.graphs.size());
    side_.graphs.push_back({safe_text(g.name), owner, role, {}, {}, {}});
    std::map<const ir::Value*, int32_t> ids;
    const auto value = [&](const ir::Value* v) -> int32_t {
      if (v == nullptr) return -1;
      const auto [at, fresh] = ids.emplace(v, static_cast<int32_t>(side_.values.size()));
      if (fresh) {
        side_.values.push_back(value_of(g, *v));
        add_bounds(g, *v);
      }
      return at->second;
    };
    SideGraph made = side_.graphs.back();
    for (const ir::Value* v : g.inputs()) made.inputs.push_back(value(v));
    for (const ir::Node& n : g.nodes()) {
      const auto id = static_cast<int32_t>(side_.nodes.size());
      made.nodes.push_back(id);
      SideNode node;
      node.graph = index;
      node.number = n.op;
      node.op = op_name(n.op);
      node.kind = safe_text(passes::kind_of(n));
      node.name = safe_text(n.name);
      node.module = module_of(node.name);
      if (n.op != Op::kComposite) node.attributes = attributes_of(n.op, {n.attrs.data(), n.attrs.size()});
      for (const ir::Value* v : n.inputs) node.inputs.push_back(value(v));
      for (const ir::Value* v : n.outputs) node.outputs.push_back(v == nullptr || v->unused() ? -1 : value(v));
      side_.nodes.push_back(std::move(node));
      for (size_t b = 0; b < n.bodies.size(); ++b) {
        const int32_t body = graph(*n.bodies[b], id, role_of(n.op, b));
        side_.nodes[static_cast<size_t>(id)].bodies.push_back(body);
      }
    }
    for (const ir::Value* v : g.outputs()) made.outputs.push_back(value(v));
    side_.graphs[static_cast<size_t>(index)] = std::move(made);
    return index;
  }

 private:
  void add_bounds(const ir::Graph& g, const ir::Value& v) {
    for (int i = 0; i < v.type.shape.rank; ++i) {
      const Dim d = v.type.shape[i];
      const Interval range = g.dims().interval(d);
      uint32_t atom = 0;
      if (g.dims().is_symbol(d, &atom) && !range.open()) side_.bounds.emplace(safe_text(g.dims().text(d)), range);
    }
  }

  static SideValue value_of(const ir::Graph& g, const ir::Value& v) {
    SideValue out;
    const Shape& s = v.type.shape;
    const auto rank = static_cast<size_t>(s.rank);
    out.name = safe_text(v.name);
    out.dtype = dtype_name(v.type.dtype);
    out.type = type_text(v.type.dtype, rank, [&](size_t i) { return g.dims().text(s.dims[i]); });
    out.bytes = bytes_at_most(v.type.dtype, rank, [&](size_t i) { return g.dims().interval(s.dims[i]); });
    out.constant = v.constant != nullptr;
    if (v.constant != nullptr) {
      out.bytes = v.constant->size_bytes();
      if (v.type.dtype != DType::kString)
        out.contents = contents_of(v.type.dtype, v.constant->tensor.bytes.data(), element_count(s));
    }
    return out;
  }

  Side& side_;
};

class FromFile {
 public:
  FromFile(const fb::Model& model, const uint8_t* file, Side* side) : model_(model), file_(file), side_(*side) {
    for (flatbuffers::uoffset_t i = 0; model.exprs() != nullptr && i < model.exprs()->size(); ++i)
      add_expr(*model.exprs()->Get(i));
  }

  int32_t graph(uint32_t subgraph, int32_t owner, const std::string& role) {
    const fb::Subgraph& g = *model_.subgraphs()->Get(subgraph);
    const auto index = static_cast<int32_t>(side_.graphs.size());
    side_.graphs.push_back({text_of(g.name()), owner, role, {}, {}, {}});
    SideGraph made = side_.graphs.back();
    const auto first = static_cast<int32_t>(side_.values.size());
    for (const fb::Tensor* t : *g.tensors()) side_.values.push_back(value_of(*t));
    for (const uint32_t t : *g.inputs()) made.inputs.push_back(first + static_cast<int32_t>(t));
    for (const fb::Node* n : *g.nodes()) {
      const auto id = static_cast<int32_t>(side_.nodes.size());
      made.nodes.push_back(id);
      SideNode node;
      node.graph = index;
      const Op op = static_cast<Op>(n->op());
      node.number = op;
      node.op = node.kind = op_name(op);
      node.name = text_of(n->name());
      node.module = module_of(node.name);
      const Span<const uint8_t> table(n->attrs()->data(), n->attrs()->size());
      if (op == Op::kComposite) {
        node.kind = text_of(flatbuffers::GetRoot<attrs::Composite>(n->attrs()->data())->hint());
      } else {
        node.attributes = attributes_of(op, table);
      }
      for (const int32_t t : *n->inputs()) node.inputs.push_back(t < 0 ? -1 : first + t);
      for (const int32_t t : *n->outputs()) node.outputs.push_back(t < 0 ? -1 : first + t);
      side_.nodes.push_back(std::move(node));
      for (flatbuffers::uoffset_t b = 0; n->subgraphs() != nullptr && b < n->subgraphs()->size(); ++b) {
        const int32_t body = graph(n->subgraphs()->Get(b), id, role_of(op, b));
        side_.nodes[static_cast<size_t>(id)].bodies.push_back(body);
      }
    }
    for (const uint32_t t : *g.outputs()) made.outputs.push_back(first + static_cast<int32_t>(t));
    side_.graphs[static_cast<size_t>(index)] = std::move(made);
    return index;
  }

 private:
  static std::string text_of(const flatbuffers::String* s) { return s == nullptr ? "" : safe_text(s->str()); }

  // Operands refer to earlier expressions alone, so one walk knows the text and the bounds of all.
  void add_expr(const fb::Expr& e) {
    static const char* const kSigns[] = {"", " + ", " - ", "*", " / ", "min", "max"};
    Interval range{e.lo(), e.hi() < 0 ? INT64_MAX : e.hi()};
    std::string text = text_of(e.name());
    const auto kind = static_cast<size_t>(e.kind());
    if (e.kind() == fb::ExprKind::Symbol) {
      if (e.data_dependent()) range = up_to(range_of(e.a()));
      if (!range.open()) side_.bounds.emplace(text, range);
    } else {
      range = bound_of(static_cast<ExprKind>(e.kind()), range_of(e.a()), range_of(e.b()));
      if (kind >= 5) {
        text = std::string(kSigns[kind]) + "(" + dim_text(e.a()) + ", " + dim_text(e.b()) + ")";
      } else {
        text = "(" + dim_text(e.a()) + kSigns[kind] + dim_text(e.b()) + ")";
      }
    }
    if (text.size() > kMostName) text = "(...)";
    texts_.push_back(text);
    ranges_.push_back(range);
    const auto closed = [&](int64_t d) { return is_symbolic(d) ? closed_[handle_id(d)] : Interval{d, d}; };
    if (!range.open()) {
      closed_.push_back(range);
    } else if (e.kind() == fb::ExprKind::Symbol) {
      closed_.push_back({1, std::max<int64_t>(1, e.lo())});
    } else {
      closed_.push_back(bound_of(static_cast<ExprKind>(e.kind()), closed(e.a()), closed(e.b())));
    }
  }
  Interval range_of(int64_t d) const {
    if (!is_symbolic(d)) return {d, d};
    return handle_id(d) < ranges_.size() ? ranges_[handle_id(d)] : Interval{};
  }
  std::string dim_text(int64_t d) const {
    if (!is_symbolic(d)) return std::to_string(d);
    return handle_id(d) < texts_.size() ? texts_[handle_id(d)] : "?";
  }

  SideValue value_of(const fb::Tensor& t) const {
    SideValue out;
    const size_t rank = t.dims() == nullptr ? 0 : t.dims()->size();
    const auto dim = [&](size_t i) { return t.dims()->Get(static_cast<flatbuffers::uoffset_t>(i)); };
    const auto dtype = static_cast<DType>(t.dtype());
    out.name = text_of(t.name());
    out.dtype = dtype_name(dtype);
    out.type = type_text(dtype, rank, [&](size_t i) { return dim_text(dim(i)); });
    out.bytes = bytes_at_most(dtype, rank, [&](size_t i) { return range_of(dim(i)); });
    if (out.bytes < 0) {
      out.open = true;
      out.bytes = bytes_at_most(
          dtype, rank, [&](size_t i) { return is_symbolic(dim(i)) ? closed_[handle_id(dim(i))] : range_of(dim(i)); });
    }
    out.constant = t.segment() >= 0;
    if (!out.constant) return out;
    out.bytes = static_cast<int64_t>(t.size());
    const fb::Segment* segment = model_.segments()->Get(static_cast<flatbuffers::uoffset_t>(t.segment()));
    int64_t count = 1;
    for (size_t i = 0; i < rank; ++i) count *= dim(i);
    if (dtype != DType::kString && segment->codec() == 0 && segment->cipher() == 0)
      out.contents = contents_of(dtype, file_ + segment->offset() + t.offset(), count);
    return out;
  }

  const fb::Model& model_;
  const uint8_t* file_;
  Side& side_;
  std::vector<std::string> texts_;
  std::vector<Interval> ranges_;
  std::vector<Interval> closed_;  // with open symbols as 1
};

// The operator in bold letters of some nine units, under it the end of the name in small ones.
int32_t width_of(const std::string& title, const std::string& name) {
  const size_t units = std::max(9 * title.size(), 6 * std::min<size_t>(name.size(), 26));
  return std::clamp(static_cast<int32_t>(units) + 22, 64, 200);
}

// A sign that opens the box stands beside its name.
int32_t width_of_box(const std::string& name) {
  return std::clamp(static_cast<int32_t>(9 * name.size()) + 46, 110, 280);
}

constexpr int32_t kPortWidth = 14;  // of what comes into a box or leaves it

Json box_json(const Side& side, const Box& box, const std::vector<Box>& boxes, bool whole) {
  std::vector<int32_t> widths;  // ins, items, outs
  const auto add_ports = [&](const std::vector<int32_t>& values) {
    for (const int32_t v : values)
      widths.push_back(whole ? width_of("output", side.values[static_cast<size_t>(v)].name) : kPortWidth);
  };
  add_ports(box.ins);
  for (const int32_t item : box.items) {
    if (item < 0) {
      widths.push_back(width_of_box(boxes[static_cast<size_t>(-item)].name));
      continue;
    }
    const SideNode& n = side.nodes[static_cast<size_t>(item)];
    widths.push_back(width_of(n.kind, name_within(n.name, box.path)));
  }
  add_ports(box.outs);
  std::vector<LayoutEdge> edges;
  for (const BoxLine& line : box.lines) edges.push_back({line.from, line.to, {}, false});
  const Layout layout = lay_out(widths, &edges);
  Json places = Json::array(), lines = Json::array();
  for (size_t i = 0; i < widths.size(); ++i) {
    for (const int32_t n : {layout.at[i].x, layout.at[i].y / kRowHeight, widths[i]}) places.push_back(n);
  }
  for (size_t e = 0; e < edges.size(); ++e) {
    Json line = {edges[e].from, edges[e].to, {}, edges[e].cut ? 1 : 0};
    const std::vector<int32_t>& values = box.lines[e].values;
    line[2] = values.size() == 1 ? Json(values[0]) : Json(values);
    for (const Point& p : edges[e].by) line.push_back(p.x), line.push_back(p.y / kRowHeight);
    lines.push_back(std::move(line));
  }
  Json out = {{"items", box.items}, {"places", std::move(places)}, {"lines", std::move(lines)}};
  if (whole) return out;
  out["name"] = box.name;
  out["parent"] = box.parent;
  out["nodes"] = box.nodes;
  out["ins"] = box.ins;
  out["outs"] = box.outs;
  return out;
}

Json graph_json(const Side& side, const SideGraph& g) {
  Json out = {{"name", g.name}};
  if (g.owner >= 0) out["owner"] = g.owner, out["role"] = g.role;
  out["inputs"] = g.inputs;
  out["outputs"] = g.outputs;
  out["nodes"] = g.nodes;
  const std::vector<Box> boxes = boxes_of(side, g);
  for (const Box& box : boxes) {
    out["boxes"].push_back(box_json(side, box, boxes, &box == boxes.data()));
    if (!box.path.empty()) out["boxes"].back()["path"] = box.path;
  }
  return out;
}

// Texts that many nodes share, each once.
class Texts {
 public:
  size_t place_of(const std::string& text) {
    const auto [at, fresh] = places_.emplace(text, places_.size());
    if (fresh) list_.push_back(text);
    return at->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, size_t> places_;
  Json list_ = Json::array();
};

}  // namespace

std::string role_of(Op op, size_t body) {
  if (op == Op::kIf) return body == 0 ? "then" : "else";
  return "body";
}

Side side_of(const ir::Graph& graph) {
  Side side;
  FromIr(&side).graph(graph, -1, "");
  return side;
}

Side side_of(const fb::Model& model, const uint8_t* file) {
  Side side;
  FromFile(model, file, &side).graph(0, -1, "");
  return side;
}

Json side_json(const Side& side) {
  Json graphs = Json::array(), nodes = Json::array(), values = Json::array();
  Texts texts;
  for (const SideGraph& g : side.graphs) graphs.push_back(graph_json(side, g));
  for (const SideNode& n : side.nodes) {
    Json node = {{"graph", n.graph}, {"op", n.op}};
    if (n.kind != n.op) node["kind"] = n.kind;
    if (!n.name.empty()) node["name"] = n.name;
    for (const auto& [key, value] : n.attributes) node["attributes"][key] = value;
    node["inputs"] = n.inputs;
    node["outputs"] = n.outputs;
    if (!n.bodies.empty()) node["bodies"] = n.bodies;
    if (!n.kin.empty()) node["kin"] = n.kin;
    if (!n.passes.empty()) node["passes"] = n.passes;
    if (!n.fate.empty()) node["fate"] = n.fate;
    for (const auto& [key, value] : n.origin) node["origin"][key] = texts.place_of(value);
    nodes.push_back(std::move(node));
  }
  for (const SideValue& v : side.values) {
    Json value = {{"name", v.name}, {"type", v.type}};
    if (v.bytes >= 0) value["bytes"] = v.bytes;
    if (v.open) value["open"] = true;
    if (v.constant) value["constant"] = true;
    if (!v.contents.empty()) value["contents"] = v.contents;
    values.push_back(std::move(value));
  }
  Json out = {{"graphs", std::move(graphs)}, {"nodes", std::move(nodes)}, {"values", std::move(values)}};
  for (const auto& [name, range] : side.bounds) {
    Json bounds = Json::array();
    bounds.push_back(range.lo);
    bounds.push_back(range.hi);
    out["bounds"][name] = std::move(bounds);
  }
  if (Json list = texts.take(); !list.empty()) out["texts"] = std::move(list);
  return out;
}

}  // namespace vireo::report
