#include "converter/onnx/import.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "converter/onnx/context.h"
#include "converter/onnx/importer.h"

namespace vireo::importer {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kNamesPerNode = 16;  // a node of more names or numbers counts as several in the budget

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

std::string list(const std::vector<std::string>& names, size_t most) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
  return out;
}

bool is_constant(const ::onnx::NodeProto& node) {
  return node.op_type() == "Constant" && plain_domain(node.domain()).empty();
}

// Counts names, numbers and text.
size_t size_of(const ::onnx::AttributeProto& a) {
  return 1 + static_cast<size_t>(a.ints_size() + a.floats_size() + a.strings_size()) + a.s().size() / kNamesPerNode;
}

bool is_control(const std::string& domain, const std::string& op) {
  return domain.empty() && (op == "If" || op == "Loop" || op == "Scan");
}

// Operators that can do without the elements of a sequence (Bundle::open).
bool reads_open_sequences(const std::string& op) {
  return op == "ConcatFromSequence" || op == "SequenceAt" || op == "SequenceLength" || op == "Identity";
}

// Leaves out `absent` wherever the nodes, and bodies that do not make something of that name, read it. `cleared`: where
// it stood.
void clear_names(Nodes* nodes, const std::set<std::string>& absent, int depth,
                 std::vector<std::pair<std::string*, std::string>>* cleared) {
  if (depth > kMaxDepth) return;
  for (auto& n : *nodes) {
    for (auto& name : *n.mutable_input()) {
      if (absent.count(name) != 0) cleared->emplace_back(&name, std::exchange(name, std::string()));
    }
    for (auto& a : *n.mutable_attribute()) {
      if (!a.has_g()) continue;
      std::set<std::string> inside = absent;
      for (const auto& i : a.g().input()) inside.erase(i.name());
      for (const auto& t : a.g().initializer()) inside.erase(t.name());
      for (const auto& t : a.g().sparse_initializer()) inside.erase(t.values().name());
      for (const auto& body_node : a.g().node()) {
        for (const std::string& name : body_node.output()) inside.erase(name);
      }
      if (!inside.empty()) clear_names(a.mutable_g()->mutable_node(), inside, depth + 1, cleared);
    }
  }
}

}  // namespace

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string node_name(const ::onnx::NodeProto& node, const Scope* scope) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i) name = node.output(i);
  return scope == nullptr ? name : scope->prefix + name;
}

::onnx::AttributeProto* set_attribute(::onnx::NodeProto* node, const char* name,
                                      ::onnx::AttributeProto::AttributeType type) {
  for (int i = node->attribute_size(); i-- > 0;) {
    if (node->attribute(i).name() == name) node->mutable_attribute()->DeleteSubrange(i, 1);
  }
  ::onnx::AttributeProto* a = node->add_attribute();
  a->set_name(name);
  a->set_type(type);
  return a;
}

const ::onnx::AttributeProto* find_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name) {
  for (const auto& a : node.attribute()) {
    if (a.name() != name) continue;
    if (a.ref_attr_name().empty()) return &a;
    if (scope.arguments == nullptr) return nullptr;
    const auto it = scope.arguments->find(a.ref_attr_name());
    return it == scope.arguments->end() ? nullptr : it->second;
  }
  return nullptr;
}

Importer::Importer(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options, Guess guess,
                   Diagnostics* diagnostics)
    : model_(model),
      options_(options),
      guess_(guess),
      block_(options.nchwc_block),
      diagnostics_(diagnostics),
      tensors_(model_path, diagnostics, &dims_->budget()) {
  for (const OnnxImport* row : onnx_imports()) importers_[{row->domain, row->op_type}] = row;
  for (auto& f : *model.mutable_functions()) {
    const auto key =
        std::make_pair(plain_domain(f.domain()), f.name() + (f.overload().empty() ? "" : ":" + f.overload()));
    if (!functions_.emplace(key, &f).second) {
      diagnostics->error(Code::kBadFunction,
                         "function " + key.second + " of " + domain_text(key.first) + " is there twice",
                         "keep one of them: nothing says which is meant");
    }
  }
}

void Importer::assume(const ::onnx::NodeProto& node, const Scope& scope, std::string what, std::string help) {
  assumed_ = true;
  warn(node, scope, Code::kAssumedShape, std::move(what), std::move(help));
}

void Importer::assume_extents(const ::onnx::NodeProto& node, const Scope& scope, const std::vector<Dim>& extents,
                              bool one, const std::string& what, const std::string& help) {
  std::string held, open;
  for (const Dim d : extents) {
    std::string& names = dims_->narrow(d, one ? 1 : 2, one ? 1 : INT64_MAX, input_atoms_) ? held : open;
    names += (names.empty() ? "" : ", ") + dims_->text(d);
  }
  if (!held.empty()) held = "; sessions refuse inputs that make " + held + (one ? " other than 1" : " 1 or less");
  if (!open.empty()) open = one ? "; a run fails unless " + open + " is 1" : "; nothing checks this of " + open;
  assume(node, scope, what + held + open, help);
}

void Importer::warn(const ::onnx::NodeProto& node, const Scope& scope, Code code, std::string what, std::string help) {
  Diagnostic d;
  d.severity = Severity::kWarning;
  d.code = code;
  d.op = node.op_type();
  d.node = node_name(node, &scope);
  d.what = std::move(what);
  d.help = std::move(help);
  diagnostics_->add(std::move(d));
}

void Importer::record(const ::onnx::NodeProto* node, const Scope* scope, Code code, std::string what,
                      std::string help) {
  Diagnostic d;
  d.code = code;
  if (node != nullptr) {
    d.op = node->op_type();
    d.node = node_name(*node, scope);
  }
  d.what = std::move(what);
  d.help = std::move(help);
  if (node != nullptr && scope != nullptr) describe(*node, *scope, &d);
  diagnostics_->add(std::move(d));
}

// ---- the whole model ----

ImportedModel Importer::run() {
  ImportedModel out;
  out.producer = model_.producer_name() + (model_.producer_version().empty() ? "" : " " + model_.producer_version());
  if (model_.ir_version() > kNewestIr) {
    diagnostics_->warning(Code::kVersionTooNew, "the file has IR version " + std::to_string(model_.ir_version()) +
                                                    ", newer than " + std::to_string(kNewestIr) +
                                                    ": what is new in it is not seen");
  }
  Scope scope;
  if (!read_opsets(model_.opset_import(), &scope.opsets)) return out;
  for (const auto& [domain, version] : scope.opsets)
    out.opsets.push_back(domain_text(domain) + " " + std::to_string(version));
  if (model_.graph().output_size() == 0) {
    diagnostics_->error(Code::kNoGraph, "the model has no outputs");
    return out;
  }
  survey();

  auto graph = std::make_unique<ir::Graph>(dims_);
  graph->name = model_.graph().name();
  scope.graph = graph.get();
  main_ = graph.get();
  add_initializers(scope, *model_.mutable_graph(), kept_inputs());
  if (!add_inputs(scope)) return out;
  input_atoms_ = dims_->atoms().size();
  if (options_.shapes.empty()) read_declared();
  read_needed_ranks();
  import_nodes(scope, *model_.mutable_graph()->mutable_node(), result_names(model_.graph()));
  add_outputs(scope);
  check_lifted(*graph);
  for (const ElementsOption& option : options_.elements) {
    if (elements_asked_.count(option.name) != 0) continue;
    diagnostics_->warning(Code::kBadShapeOption, "nothing asked for the elements of \"" + option.name + "\"",
                          "--elements names an input or output that is a sequence, an optional or a map");
  }
  out.nodes_passed_over = nodes_passed_over_;
  if (assumed_) {
    out.assumption_failed = diagnostics_->failed();
    for (size_t i = 0; i < graph->outputs().size() && options_.shapes.empty(); ++i) {
      const auto declared = declared_.find(graph->output_names()[i]);
      if (declared == declared_.end()) continue;
      if (declared->second->dim_size() != graph->outputs()[i]->type.shape.rank) out.assumption_failed = true;
    }
  }
  if (!diagnostics_->failed()) out.graph = std::move(graph);
  return out;
}

bool Importer::read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                           std::map<std::string, int>* out) {
  for (const auto& row : imports) {
    const auto [at, fresh] = out->emplace(plain_domain(row.domain()), static_cast<int>(row.version()));
    if (fresh || at->second == row.version()) continue;
    diagnostics_->error(Code::kUnknownDomain,
                        "version " + std::to_string(at->second) + " and version " + std::to_string(row.version()) +
                            " of " + domain_text(at->first) + " are imported together",
                        "keep the row of opset_import that the nodes were written for");
    return false;
  }
  // Files of IR version 1 and 2 have no list: they mean the first opset.
  if (imports.empty()) (*out)[""] = 1;
  const auto it = out->find("");
  if (it != out->end() && (it->second > kNewestOpset || it->second < 1)) {
    diagnostics_->error(Code::kVersionTooNew,
                        "the model uses opset " + std::to_string(it->second) + " of ai.onnx; known are 1 to " +
                            std::to_string(kNewestOpset),
                        "export the model with opset " + std::to_string(kNewestOpset) + " or older");
    return false;
  }
  return true;
}

void Importer::survey_nodes(const Nodes& nodes, const std::map<std::string, int>& opsets, int depth) {
  if (depth > kMaxDepth) return;
  for (const auto& node : nodes) {
    const std::string domain = plain_domain(node.domain());
    const std::string& op = node.op_type();
    for (const auto& a : node.attribute()) {
      if (a.has_g()) survey_nodes(a.g().node(), opsets, depth + 1);
    }
    const auto f = functions_.find({domain, op + (node.overload().empty() ? "" : ":" + node.overload())});
    if (f != functions_.end()) {
      // One that is met too deep is looked at where it is met again.
      if (depth == kMaxDepth || !surveyed_.insert(f->second).second) continue;
      std::map<std::string, int> inner;
      for (const auto& row : f->second->opset_import())
        inner[plain_domain(row.domain())] = static_cast<int>(row.version());
      survey_nodes(f->second->node(), inner, depth + 1);
      continue;
    }
    if (is_control(domain, op) || is_sequence_operator(domain, op) || is_map_operator(domain, op) ||
        is_constant(node) || is_blocked_operator(domain, op))
      continue;
    if (importers_.count({domain, op}) == 0) unknown_[{domain, op}].nodes.push_back(node_name(node, nullptr));
  }
}

void Importer::survey() {
  std::map<std::string, int> opsets;
  survey_nodes(model_.graph().node(), opsets, 0);
  for (auto& [key, unknown] : unknown_) {
    const std::vector<std::string>& nodes = unknown.nodes;
    Diagnostic d;
    d.code = Code::kUnknownOperator;
    d.what = "operator " + key.second + " of " + domain_text(key.first) + " is not known, used by " +
             std::to_string(nodes.size()) + (nodes.size() == 1 ? " node: " : " nodes: ") + list(nodes, 3);
    d.help = unknown_operator_advice(key.first, key.second);
    unknown.diagnostic = diagnostics_->all().size();
    diagnostics_->add(std::move(d));
  }
}

// ---- names ----

ir::Value* Importer::lookup(Scope& scope, const std::string& name) {
  const auto it = scope.names.find(name);
  if (it != scope.names.end()) return it->second;
  if (scope.outer == nullptr) return nullptr;
  ir::Value* outer = lookup(*scope.outer, name);
  if (outer == nullptr || outer == &poison_ || scope.graph == scope.outer->graph) return outer;
  return scope.names[name] = hand_in(scope, outer);
}

ir::Value* Importer::hand_in(Scope& scope, ir::Value* outer) {
  if (outer == nullptr) return nullptr;
  if (const Bundle* b = bundle(outer)) {
    Bundle inside;
    inside.optional = b->optional;
    inside.map = b->map;
    for (ir::Value* v : b->elements) inside.elements.push_back(hand_in(scope, v));
    inside.length = hand_in(scope, b->length);
    inside.present = hand_in(scope, b->present);
    if (!b->open.empty()) {
      inside.whole = hand_in(scope, b->whole);
      inside.axis = b->axis;
      inside.keeps_axis = b->keeps_axis;
      inside.single = b->single;
      inside.open = b->open;
    }
    return add_bundle(std::move(inside));
  }
  if (const WideTensor* w = wides_.find(outer)) return wides_.add(hand_in(scope, w->flat), w->dims);
  const ir::ConstantPtr constant = finder_.find(outer);
  if (constant != nullptr) return scope.graph->add_constant(outer->name, constant);
  for (const auto& [from, inner] : scope.captured) {
    if (from == outer) return inner;
  }
  ir::Value* inner = scope.graph->add_input(outer->name, outer->type);
  inner->contents = outer->contents;
  scope.captured.push_back({outer, inner});
  return inner;
}

void Importer::add_initializers(Scope& scope, ::onnx::GraphProto& graph, const std::set<std::string>& left) {
  const auto add = [&](const std::string& name, const ir::ConstantPtr& c) {
    if (left.count(name) != 0) return;
    if (scope.names.count(name) != 0) {
      diagnostics_->error(Code::kDuplicateName, "two initialisers are named " + in_quotes(name));
    }
    scope.names[name] = c == nullptr ? &poison_ : scope.graph->add_constant(name, c);
  };
  const auto again = [&](const void* tensor) {
    return tensors_.known(tensor) == nullptr || spend(ir::Budget::kNodes, 1);
  };
  for (auto& t : *graph.mutable_initializer()) {
    if (left.count(t.name()) != 0) continue;
    add(t.name(), again(&t) ? tensors_.read(t, t.name()) : nullptr);
    ir::Value*& v = scope.names[t.name()];
    if (t.dims_size() > kMaxRank && v != nullptr && v != &poison_)
      v = wides_.add(v, {t.dims().begin(), t.dims().end()});
  }
  for (auto& t : *graph.mutable_sparse_initializer())
    add(t.values().name(), again(&t) ? tensors_.read(t, t.values().name()) : nullptr);
}

void Importer::add_outputs(Scope& scope) {
  std::set<std::string> names;
  for (const auto& info : model_.graph().output()) names.insert(info.name());
  std::map<std::string, int> met;  // the number that the last listing got
  for (const auto& info : model_.graph().output()) {
    // A value may be listed again. Outputs are found by their names, so each listing gets its own.
    std::string name = info.name();
    int& last = met[name];
    if (++last > 1) {
      while (!names.insert(name).second) name = info.name() + "." + std::to_string(last++);
      --last;
      diagnostics_->warning(
          Code::kDeclaredOtherwise,
          "output " + in_quotes(info.name()) + " is listed more than once: this one becomes " + in_quotes(name));
    }
    ir::Value* v = lookup(scope, info.name());
    if (v == nullptr) {
      diagnostics_->error(Code::kMissingValue, "nothing makes the model's output " + in_quotes(info.name()));
    } else if (Bundle* b = bundle(v)) {
      add_bundle_output(scope, name, *b);
    } else if (const WideTensor* w = wides_.find(v)) {
      diagnostics_->error(Code::kUnsupportedNode,
                          "the model's output " + in_quotes(name) + " is " + wides_.text(*w) + ", at most " +
                              std::to_string(kMaxRank) + " dimensions are supported",
                          "end the model with a Reshape to fewer dimensions");
    } else if (v != &poison_) {
      check_declared(info, v);
      scope.graph->add_output(v, name);
    }
  }
}

void Importer::bind(Scope& scope, const ::onnx::NodeProto& node, const std::string& name, ir::Value* value) {
  if (name.empty()) return;
  if (const auto [at, fresh] = scope.names.emplace(name, value); !fresh) {
    std::string first = "something else";
    if (at->second != &poison_ && bundle(at->second) == nullptr && at->second->producer != nullptr &&
        !at->second->producer->name.empty())
      first = "node " + in_quotes(at->second->producer->name);
    record(&node, &scope, Code::kDuplicateName, "makes " + in_quotes(name) + ", which " + first + " makes as well",
           "each name has one maker: rename one of the two outputs, or export the model again");
    return;
  }
  if (value == &poison_ || bundle(value) != nullptr || wides_.find(value) != nullptr) return;
  if (value->name.empty()) value->name = scope.prefix + name;
  if (scope.outer == nullptr && scope.prefix.empty()) adopt_declared(name, value);
}

void Importer::bind_failed(Scope& scope, const ::onnx::NodeProto& node) {
  for (const std::string& name : node.output()) {
    if (name.empty()) continue;
    // Where the file says what the value would have been, its followers are looked at all the same. Only real numbers:
    // integers may be extents or axes, which must be known as more than a type.
    const auto at = stand_ins_.find(name);
    if (scope.outer == nullptr && scope.prefix.empty() && at != stand_ins_.end() && scope.names.count(name) == 0) {
      scope.names[name] = scope.graph->add_input(name, at->second);
    } else {
      scope.names.emplace(name, &poison_);
    }
  }
}

// ---- nodes ----

std::set<std::string> result_names(const ::onnx::GraphProto& g) {
  std::set<std::string> out;
  for (const auto& info : g.output()) out.insert(info.name());
  return out;
}

void free_names(const ::onnx::GraphProto& g, int depth, std::set<std::string>* out) {
  if (depth > kMaxDepth) return;
  std::set<std::string> used, made;
  for (const auto& i : g.input()) made.insert(i.name());
  for (const auto& t : g.initializer()) made.insert(t.name());
  for (const auto& t : g.sparse_initializer()) made.insert(t.values().name());
  for (const auto& n : g.node()) {
    used.insert(n.input().begin(), n.input().end());
    made.insert(n.output().begin(), n.output().end());
    for (const auto& a : n.attribute()) {
      if (a.has_g()) free_names(a.g(), depth + 1, &used);
    }
  }
  for (const auto& o : g.output()) used.insert(o.name());
  for (const std::string& name : used) {
    if (!name.empty() && made.count(name) == 0) out->insert(name);
  }
}

// Files may list nodes in any order: the earliest node that is ready comes next.
std::vector<int> Importer::order(const Nodes& nodes, const Scope& scope) {
  std::map<std::string, int> maker;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (!name.empty()) maker.emplace(name, i);
    }
  }
  const size_t n = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> followers(n);
  std::vector<int> waits(n, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    std::set<std::string> needs(nodes[i].input().begin(), nodes[i].input().end());
    for (const auto& a : nodes[i].attribute()) {
      if (a.has_g()) free_names(a.g(), 0, &needs);
    }
    std::set<int> before;
    for (const std::string& name : needs) {
      const auto it = maker.find(name);
      if (it != maker.end()) before.insert(it->second);
    }
    for (const int j : before) followers[static_cast<size_t>(j)].push_back(i);
    waits[static_cast<size_t>(i)] = static_cast<int>(before.size());
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waits[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> out;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    out.push_back(i);
    for (const int j : followers[static_cast<size_t>(i)]) {
      if (--waits[static_cast<size_t>(j)] == 0) ready.push(j);
    }
  }
  if (out.size() == n) return out;
  // What is left lies on a cycle or behind one. Walking back from any of it, always to a maker that is left too, must
  // come round.
  std::vector<int> path;
  std::map<int, size_t> at;
  int i = 0;
  while (waits[static_cast<size_t>(i)] == 0) ++i;
  while (at.count(i) == 0) {
    at[i] = path.size();
    path.push_back(i);
    std::set<std::string> needs(nodes[i].input().begin(), nodes[i].input().end());
    for (const auto& a : nodes[i].attribute()) {
      if (a.has_g()) free_names(a.g(), 0, &needs);
    }
    for (const std::string& name : needs) {
      const auto it = maker.find(name);
      if (it != maker.end() && waits[static_cast<size_t>(it->second)] > 0) {
        i = it->second;
        break;
      }
    }
  }
  std::vector<std::string> names;
  for (size_t k = path.size(); k-- > at[i];) names.push_back(node_name(nodes[path[k]], &scope));
  diagnostics_->error(Code::kCycle, "the graph has a cycle: " + list(names, 6) + " feed each other in a ring",
                      "a graph must not depend on its own results: use Loop or Scan, or carried state between runs");
  return out;
}

void Importer::import_nodes(Scope& scope, Nodes& nodes, const std::set<std::string>& results) {
  std::vector<int> sorted = order(nodes, scope);
  const auto blocked = [](const ::onnx::NodeProto& n) { return n.domain() == kBlockedDomain; };
  if (std::any_of(nodes.begin(), nodes.end(), blocked)) {
    // Filters may be among the constants: those come first.
    const auto rest = std::stable_partition(sorted.begin(), sorted.end(), [&](int i) { return is_constant(nodes[i]); });
    for (auto i = sorted.begin(); i != rest; ++i) import_node(scope, *nodes.Mutable(*i));
    sorted.erase(sorted.begin(), rest);
    plan_blocks(scope, nodes, sorted, results);
  }
  for (const int i : sorted) import_node(scope, *nodes.Mutable(i));
}

void Importer::tell_notes(const Scope& scope, const ::onnx::NodeProto& node) const {
  NodeNotes notes;
  for (const auto& row : node.metadata_props()) notes.emplace_back(row.key(), row.value());
  if (!node.doc_string().empty()) notes.emplace_back("doc_string", node.doc_string());
  if (!notes.empty()) options_.notes(node_name(node, &scope), notes);
}

bool Importer::spend(ir::Budget::Kind kind, int64_t amount, const ::onnx::NodeProto* node, const Scope* scope) {
  ir::Budget& budget = dims_->budget();
  const bool known = budget.exceeded(kind);
  if (budget.spend(kind, amount)) return true;
  if (known) return false;
  Diagnostic d;
  d.code = Code::kAboveLimit;
  if (node != nullptr) {
    d.op = node->op_type();
    d.node = node_name(*node, scope);
  }
  d.what = "the model is above the limit of " + budget.limit(kind);
  d.help = kind == ir::Budget::kNodes
               ? "call functions and unroll loops less often; a Loop that carries tensors and no sequence stays a loop"
               : "make tensors of the elements earlier: Concat and Split need no sequence";
  diagnostics_->add(std::move(d));
  return false;
}

bool Importer::admit(const Scope& scope, const ::onnx::NodeProto& node) {
  if (imported_.insert(&node).second) return true;
  size_t names = static_cast<size_t>(node.input_size() + node.output_size());
  for (const auto& a : node.attribute()) {
    const ::onnx::AttributeProto* given = find_attribute(node, scope, a.name());
    names += given == nullptr ? 1 : size_of(*given);
  }
  return spend(ir::Budget::kNodes, static_cast<int64_t>(1 + names / kNamesPerNode), &node, &scope);
}

void Importer::import_node(Scope& scope, ::onnx::NodeProto& node) {
  if (!admit(scope, node)) return bind_failed(scope, node);
  if (options_.notes) tell_notes(scope, node);
  const std::string domain = plain_domain(node.domain());
  const auto f = functions_.find({domain, node.op_type() + (node.overload().empty() ? "" : ":" + node.overload())});
  const bool understood = check_attributes(scope, node, f == functions_.end() ? nullptr : f->second);
  if (is_constant(node)) {
    if (!understood || !import_constant(scope, node)) bind_failed(scope, node);
    return;
  }
  bool poisoned = false;
  for (const std::string& name : node.input()) {
    if (name.empty()) continue;
    const ir::Value* v = lookup(scope, name);
    if (v == nullptr) {
      record(&node, &scope, Code::kMissingValue, "nothing makes its input " + in_quotes(name),
             "the file may be damaged, or was edited by a tool that lost a node or a weight");
      scope.names[name] = &poison_;
    }
    poisoned = poisoned || v == nullptr || v == &poison_;
  }
  const auto unknown = f == functions_.end() ? unknown_.find({domain, node.op_type()}) : unknown_.end();
  if (unknown != unknown_.end() && !unknown->second.described) {
    unknown->second.described = true;  // its first node stands for all
    describe(node, scope, &diagnostics_->at(unknown->second.diagnostic));
  }
  if (poisoned || unknown != unknown_.end() || !understood) {
    if (unknown == unknown_.end() && understood) ++nodes_passed_over_;
    bind_failed(scope, node);
    return;
  }
  if (import_blocked(scope, node)) return;
  if (f != functions_.end()) {
    call_function(scope, node, *f->second);
    return;
  }
  if (node.output_size() == 0) {  // whatever it is: from here on output 0 is there
    record(&node, &scope, Code::kBadNode, "has no output", "the file may be damaged: export the model again");
    return;
  }
  if (!(domain.empty() && reads_open_sequences(node.op_type()))) {
    for (const std::string& name : node.input()) {
      if (!name.empty() && refuse_open(&scope, &node, lookup(scope, name))) return bind_failed(scope, node);
    }
  }
  if (wides_.import(scope, node, domain)) return;
  if (domain.empty() && node.op_type() == "If") return import_if(scope, node);
  if (domain.empty() && node.op_type() == "Loop") return import_loop(scope, node);
  if (domain.empty() && node.op_type() == "Scan") return import_scan(scope, node);

  const bool bundles = std::any_of(node.input().begin(), node.input().end(), [&](const std::string& name) {
    return !name.empty() && bundle(lookup(scope, name)) != nullptr;
  });
  if (is_sequence_operator(domain, node.op_type()) || (bundles && domain.empty() && node.op_type() == "Identity"))
    return import_sequence(scope, node);
  const bool maps = is_map_operator(domain, node.op_type());
  if (bundles && !maps) {
    const std::string* name = &node.input(0);
    for (const std::string& other : node.input()) {
      if (!other.empty() && bundle(lookup(scope, other)) != nullptr) name = &other;
    }
    refuse_bundle(scope, node, "its input " + in_quotes(*name), *bundle(lookup(scope, *name)));
    return bind_failed(scope, node);
  }

  const auto opset = scope.opsets.find(domain);
  if (opset == scope.opsets.end()) {
    record(&node, &scope, Code::kUnknownDomain,
           "is of domain " + domain_text(domain) + ", which the model does not import",
           "add the domain to the model's opset_import");
    bind_failed(scope, node);
    return;
  }
  if (maps) return import_map(scope, node, opset->second);
  import_operator(scope, node, domain, opset->second);
}

void Importer::import_operator(Scope& scope, ::onnx::NodeProto& node, const std::string& domain, int opset) {
  const auto importer = importers_.find({domain, node.op_type()});
  if (importer == importers_.end()) {  // the survey ends at some depth
    record(&node, &scope, Code::kUnknownOperator,
           "operator " + node.op_type() + " of " + domain_text(domain) + " is not known",
           unknown_operator_advice(domain, node.op_type()));
    return bind_failed(scope, node);
  }
  NodeContext context(*this, scope, node, domain, opset);
  const Status status = importer->second->import(context);
  if (!ok(status) && !context.failed()) {
    static_cast<void>(context.fail(status, "is not understood", ""));
  }
  for (int i = 0; i < node.output_size() && !context.failed(); ++i) {
    if (context.wants_output(i) && context.results()[static_cast<size_t>(i)] == nullptr) {
      static_cast<void>(context.fail(
          Status::kUnsupported, "its output " + std::to_string(i) + " (" + in_quotes(node.output(i)) + ") is not made",
          "export the model without using this output"));
    }
  }
  if (context.failed() || !check_indices(scope, node)) {
    bind_failed(scope, node);
    return;
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) bind(scope, node, node.output(i), context.results()[static_cast<size_t>(i)]);
  }
}

bool Importer::import_constant(Scope& scope, ::onnx::NodeProto& node) {
  if (node.output_size() != 1) {
    record(&node, &scope, Code::kBadNode, "has " + std::to_string(node.output_size()) + " outputs, wanted 1");
    return false;
  }
  ir::ConstantPtr c;
  std::vector<Dim> wide;
  for (const char* name : {"value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints",
                           "value_string", "value_strings"}) {
    const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
    if (a == nullptr) continue;
    auto* mutable_a = const_cast<::onnx::AttributeProto*>(a);
    Shape vector;
    vector.rank = 1;
    const std::string kind = name;
    if (kind == "value") {
      c = tensors_.read(*mutable_a->mutable_t(), node.output(0));
      if (a->t().dims_size() > kMaxRank) wide.assign(a->t().dims().begin(), a->t().dims().end());
    } else if (kind == "sparse_value") {
      c = tensors_.read(*mutable_a->mutable_sparse_tensor(), node.output(0));
    } else if (kind == "value_float") {
      c = ir::make_constant_of<float>(DType::kF32, {}, {a->f()});
    } else if (kind == "value_int") {
      c = ir::make_constant_of<int64_t>(DType::kI64, {}, {a->i()});
    } else if (kind == "value_string") {
      c = ir::make_strings({}, {a->s()});
    } else if (kind == "value_floats") {
      vector[0] = a->floats_size();
      c = ir::make_constant_of<float>(DType::kF32, vector, {a->floats().begin(), a->floats().end()});
    } else if (kind == "value_ints") {
      vector[0] = a->ints_size();
      c = ir::make_constant_of<int64_t>(DType::kI64, vector, {a->ints().begin(), a->ints().end()});
    } else {
      vector[0] = a->strings_size();
      c = ir::make_strings(vector, {a->strings().begin(), a->strings().end()});
    }
    if (c == nullptr) return false;  // the reader has told why
    break;
  }
  if (c == nullptr) {
    record(&node, &scope, Code::kBadAttribute, "has no value");
    return false;
  }
  ir::Value* v = scope.graph->add_constant("", c);
  bind(scope, node, node.output(0), wide.empty() ? v : wides_.add(v, std::move(wide)));
  return true;
}

void Importer::call_function(Scope& scope, ::onnx::NodeProto& node, ::onnx::FunctionProto& function) {
  if (scope.depth >= kMaxDepth || active_.count(&function) != 0) {
    record(&node, &scope, Code::kBadFunction, "function " + function.name() + " calls itself");
    bind_failed(scope, node);
    return;
  }
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    record(&node, &scope, Code::kBadFunction,
           "is called with " + std::to_string(node.input_size()) + " inputs and " + std::to_string(node.output_size()) +
               " outputs; function " + function.name() + " has " + std::to_string(function.input_size()) + " and " +
               std::to_string(function.output_size()));
    bind_failed(scope, node);
    return;
  }
  const int names = function.input_size() + function.output_size() + function.attribute_size() +
                    function.attribute_proto_size() + function.opset_import_size();
  if (!called_.insert(&function).second && !spend(ir::Budget::kNodes, names / kNamesPerNode, &node, &scope))
    return bind_failed(scope, node);
  Scope inner;
  inner.graph = scope.graph;
  inner.depth = scope.depth + 1;
  inner.prefix = node_name(node, &scope) + "/";
  if (!read_opsets(function.opset_import(), &inner.opsets)) {
    bind_failed(scope, node);
    return;
  }
  std::map<std::string, const ::onnx::AttributeProto*> arguments;
  for (const auto& a : function.attribute_proto()) arguments[a.name()] = &a;  // defaults
  for (const auto& a : node.attribute()) {
    const ::onnx::AttributeProto* given = find_attribute(node, scope, a.name());
    if (given != nullptr) arguments[a.name()] = given;
  }
  inner.arguments = &arguments;
  // An input that is left out means an absent input to whatever uses it.
  std::set<std::string> absent;
  for (int i = 0; i < function.input_size(); ++i) {
    if (i < node.input_size() && !node.input(i).empty()) {
      inner.names[function.input(i)] = lookup(scope, node.input(i));
    } else {
      absent.insert(function.input(i));
    }
  }
  active_.insert(&function);
  // Cleared in the function itself and put back behind the call: tensors are known by where they are (TensorReader),
  // and reading takes their data, so a copy of its nodes would find neither.
  std::vector<std::pair<std::string*, std::string>> cleared;
  if (!absent.empty()) clear_names(function.mutable_node(), absent, 0, &cleared);
  import_nodes(inner, *function.mutable_node(), {function.output().begin(), function.output().end()});
  for (auto& [name, was] : cleared) *name = std::move(was);
  active_.erase(&function);
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    ir::Value* v = lookup(inner, function.output(i));
    if (v == nullptr) {
      record(&node, &scope, Code::kMissingValue,
             "nothing in function " + function.name() + " makes its output " + in_quotes(function.output(i)));
      v = &poison_;
    }
    bind(scope, node, node.output(i), v);
  }
}

ImportedModel import_model(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options,
                           Guess guess, Diagnostics* diagnostics) {
  return Importer(model, model_path, options, guess, diagnostics).run();
}

}  // namespace vireo::importer
