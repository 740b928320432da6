#include "converter/onnx/import.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "converter/onnx/advice.h"
#include "converter/onnx/attributes.h"
#include "converter/onnx/blocked/nchwc.h"
#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/bundles/maps.h"
#include "converter/onnx/bundles/refuse.h"
#include "converter/onnx/bundles/sequences.h"
#include "converter/onnx/context.h"
#include "converter/onnx/control/control.h"
#include "converter/onnx/declared.h"
#include "converter/onnx/indices.h"
#include "converter/onnx/inputs.h"
#include "converter/onnx/names.h"
#include "converter/onnx/order.h"
#include "converter/onnx/outputs.h"
#include "converter/onnx/report.h"
#include "converter/onnx/reproduce.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"
#include "converter/onnx/survey.h"
#include "converter/onnx/wide.h"

namespace vireo::importer {
namespace {

constexpr int kNamesPerNode = 16;  // a node of more names or numbers counts as several in the budget

// Counts names, numbers and text.
size_t size_of(const ::onnx::AttributeProto& a) {
  return 1 + static_cast<size_t>(a.ints_size() + a.floats_size() + a.strings_size()) + a.s().size() / kNamesPerNode;
}

// Leaves out `absent` wherever the nodes, and bodies that do not make something of that name, read it. `cleared`: where
// it stood.
void clear_names(Nodes* nodes, const std::set<std::string>& absent, int depth,
                 std::vector<std::pair<std::string*, std::string>>* cleared) {
  if (depth > kMostNested) return;
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

// The coordinator: it orders nodes, and shows each to the part that serves it. Owns all parts, and what is left: which
// nodes and functions were met before.
class Importer final : public NodeImporter {
 public:
  Importer(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options, Guess guess,
           const std::map<std::string, int64_t>& known, Diagnostics* diagnostics)
      : state_(model, model_path, options, guess, known, diagnostics) {
    for (const OnnxImport* row : onnx_imports()) importers_[{row->domain, row->op_type}] = row;
  }

  ImportedModel run();

  void import_nodes(Scope& scope, Nodes& nodes, const std::set<std::string>& results) override;
  void import_operator(Scope& scope, ::onnx::NodeProto& node, const std::string& domain, int opset) override;

 private:
  bool read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                   std::map<std::string, int>* out);
  bool serves(const std::string& domain, const std::string& op) const;
  bool has_declared_ranks(const ir::Graph& graph) const;
  // Whether `node` may be imported: the first time surely, and then as long as the budget lasts.
  bool admit(const Scope& scope, const ::onnx::NodeProto& node);
  void tell_notes(const Scope& scope, const ::onnx::NodeProto& node) const;
  void import_node(Scope& scope, ::onnx::NodeProto& node);
  bool import_constant(Scope& scope, ::onnx::NodeProto& node);
  void call_function(Scope& scope, ::onnx::NodeProto& node, ::onnx::FunctionProto& function);

  // In this order each part knows those above it (DESIGN.md).
  ImportState state_;
  Bundles bundles_{state_};
  WideTensors wides_{*state_.dims};
  Reproducer reproducer_{state_, bundles_, wides_};
  Report report_{state_, reproducer_};
  Declared declared_{state_, reproducer_};
  Names names_{state_, bundles_, wides_, report_, declared_};
  const Tools tools_{state_, bundles_, wides_, reproducer_, report_, declared_, names_, *this};
  Survey survey_{state_, reproducer_};
  Control control_{tools_};
  Blocked blocked_{tools_, state_.options.nchwc_block};

  std::map<std::pair<std::string, std::string>, const OnnxImport*> importers_;  // (domain, operator)
  std::set<const ::onnx::FunctionProto*> active_, called_;
  std::unordered_set<const ::onnx::NodeProto*> imported_;
  size_t passed_over_ = 0;  // nodes behind one that failed
};

// ---- the whole model ----

ImportedModel Importer::run() {
  ImportedModel out;
  out.producer = state_.model.producer_name() +
                 (state_.model.producer_version().empty() ? "" : " " + state_.model.producer_version());
  if (state_.model.ir_version() > kNewestIr) {
    state_.diagnostics.warning(Code::kVersionTooNew, "the file has IR version " +
                                                         std::to_string(state_.model.ir_version()) + ", newer than " +
                                                         std::to_string(kNewestIr) + ": what is new in it is not seen");
  }
  Scope scope;
  if (!read_opsets(state_.model.opset_import(), &scope.opsets)) return out;
  for (const auto& [domain, version] : scope.opsets)
    out.opsets.push_back(domain_text(domain) + " " + std::to_string(version));
  if (state_.model.graph().output_size() == 0) {
    state_.diagnostics.error(Code::kNoGraph, "the model has no outputs");
    return out;
  }
  survey_.take([this](const std::string& domain, const std::string& op) { return serves(domain, op); });

  auto graph = std::make_unique<ir::Graph>(state_.dims);
  graph->name = state_.model.graph().name();
  scope.graph = graph.get();
  state_.main = graph.get();
  names_.add_initializers(scope, *state_.model.mutable_graph(), kept_inputs(state_));
  add_inputs(tools_, scope);
  state_.input_atoms = state_.dims->atoms().size();
  declared_.read();
  import_nodes(scope, *state_.model.mutable_graph()->mutable_node(), result_names(state_.model.graph()));
  add_outputs(tools_, scope);
  control_.check_ranks(*graph);
  bundles_.warn_of_unasked();
  out.nodes_passed_over = passed_over_ + blocked_.passed_over();
  out.assumption_failed = report_.assumed() && (state_.diagnostics.failed() || !has_declared_ranks(*graph));
  if (state_.diagnostics.failed()) return out;
  out.held = held_extents(*graph, state_.input_atoms);
  out.graph = std::move(graph);
  return out;
}

bool Importer::serves(const std::string& domain, const std::string& op) const {
  return importers_.count({domain, op}) != 0 || (domain.empty() && op == "Constant") ||
         is_control_operator(domain, op) || is_sequence_operator(domain, op) || is_map_operator(domain, op) ||
         is_blocked_operator(domain, op);
}

// Whether the outputs are of the ranks that the file declares, as far as it does.
bool Importer::has_declared_ranks(const ir::Graph& graph) const {
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ::onnx::TensorShapeProto* shape = declared_.shape(graph.output_names()[i]);
    if (shape != nullptr && shape->dim_size() != graph.outputs()[i]->type.shape.rank) return false;
  }
  return true;
}

bool Importer::read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                           std::map<std::string, int>* out) {
  for (const auto& row : imports) {
    const auto [at, fresh] = out->emplace(plain_domain(row.domain()), static_cast<int>(row.version()));
    if (fresh || at->second == row.version()) continue;
    state_.diagnostics.error(Code::kUnknownDomain,
                             "version " + std::to_string(at->second) + " and version " + std::to_string(row.version()) +
                                 " of " + domain_text(at->first) + " are imported together",
                             "keep the row of opset_import that the nodes were written for");
    return false;
  }
  // Files of IR version 1 and 2 have no list: they mean the first opset.
  if (imports.empty()) (*out)[""] = 1;
  const auto it = out->find("");
  if (it != out->end() && (it->second > kNewestOpset || it->second < 1)) {
    state_.diagnostics.error(Code::kVersionTooNew,
                             "the model uses opset " + std::to_string(it->second) + " of ai.onnx; known are 1 to " +
                                 std::to_string(kNewestOpset),
                             "export the model with opset " + std::to_string(kNewestOpset) + " or older");
    return false;
  }
  return true;
}

// ---- nodes ----

void Importer::import_nodes(Scope& scope, Nodes& nodes, const std::set<std::string>& results) {
  std::vector<int> sorted = order_nodes(nodes, scope, &state_.diagnostics);
  const auto blocked = [](const ::onnx::NodeProto& n) { return n.domain() == kBlockedDomain; };
  if (std::any_of(nodes.begin(), nodes.end(), blocked)) {
    // Filters may be among the constants: those come first.
    const auto rest = std::stable_partition(sorted.begin(), sorted.end(), [&](int i) { return is_constant(nodes[i]); });
    for (auto i = sorted.begin(); i != rest; ++i) import_node(scope, *nodes.Mutable(*i));
    sorted.erase(sorted.begin(), rest);
    blocked_.plan(scope, nodes, sorted, results);
  }
  for (const int i : sorted) import_node(scope, *nodes.Mutable(i));
}

void Importer::tell_notes(const Scope& scope, const ::onnx::NodeProto& node) const {
  NodeNotes notes;
  for (const auto& row : node.metadata_props()) notes.emplace_back(row.key(), row.value());
  if (!node.doc_string().empty()) notes.emplace_back("doc_string", node.doc_string());
  if (!notes.empty()) state_.options.notes(node_name(node, &scope), notes);
}

bool Importer::admit(const Scope& scope, const ::onnx::NodeProto& node) {
  if (imported_.insert(&node).second) return true;
  size_t names = static_cast<size_t>(node.input_size()) + static_cast<size_t>(node.output_size());
  for (const auto& a : node.attribute()) {
    const ::onnx::AttributeProto* given = find_attribute(node, scope, a.name());
    names += given == nullptr ? 1 : size_of(*given);
  }
  return state_.spend(ir::Budget::kNodes, static_cast<int64_t>(1 + names / kNamesPerNode), &node, &scope);
}

void Importer::import_node(Scope& scope, ::onnx::NodeProto& node) {
  if (!admit(scope, node)) return names_.bind_failed(scope, node);
  if (state_.options.notes) tell_notes(scope, node);
  const std::string domain = plain_domain(node.domain());
  ::onnx::FunctionProto* function = state_.function(domain, node.op_type(), node.overload());
  const bool understood = check_attributes(report_, scope, node, function);
  if (is_constant(node)) {
    if (!understood || !import_constant(scope, node)) names_.bind_failed(scope, node);
    return;
  }
  bool poisoned = false;
  for (const std::string& name : node.input()) {
    if (name.empty()) continue;
    const ir::Value* v = names_.lookup(scope, name);
    if (v == nullptr) {
      report_.record(node, &scope, Code::kMissingValue, "nothing makes its input " + in_quotes(name),
                     "the file may be damaged, or was edited by a tool that lost a node or a weight");
      scope.names[name] = &state_.poison;
    }
    poisoned = poisoned || v == nullptr || v == &state_.poison;
  }
  const bool unknown = function == nullptr && survey_.lacks(node, scope);
  if (poisoned || unknown || !understood) {
    if (!unknown && understood) ++passed_over_;
    return names_.bind_failed(scope, node);
  }
  if (blocked_.import(scope, node)) return;
  if (function != nullptr) return call_function(scope, node, *function);
  if (node.output_size() == 0) {  // whatever it is: from here on output 0 is there
    report_.record(node, &scope, Code::kBadNode, "has no output", "the file may be damaged: export the model again");
    return;
  }
  if (!reads_open_sequences(domain, node.op_type())) {
    for (const std::string& name : node.input()) {
      if (!name.empty() && refuse_open(tools_, scope, node, names_.lookup(scope, name)))
        return names_.bind_failed(scope, node);
    }
  }
  if (import_wide(tools_, scope, node, domain)) return;
  if (is_control_operator(domain, node.op_type())) return control_.import(scope, node);

  const bool bundles = std::any_of(node.input().begin(), node.input().end(), [&](const std::string& name) {
    return !name.empty() && bundles_.find(names_.lookup(scope, name)) != nullptr;
  });
  if (is_sequence_operator(domain, node.op_type()) || (bundles && domain.empty() && node.op_type() == "Identity"))
    return import_sequence(tools_, scope, node);
  const bool maps = is_map_operator(domain, node.op_type());
  if (bundles && !maps) {
    const std::string* name = &node.input(0);
    for (const std::string& other : node.input()) {
      if (!other.empty() && bundles_.find(names_.lookup(scope, other)) != nullptr) name = &other;
    }
    refuse_bundle(report_, scope, node, "its input " + in_quotes(*name), *bundles_.find(names_.lookup(scope, *name)));
    return names_.bind_failed(scope, node);
  }

  const auto opset = scope.opsets.find(domain);
  if (opset == scope.opsets.end()) {
    report_.record(node, &scope, Code::kUnknownDomain,
                   "is of domain " + domain_text(domain) + ", which the model does not import",
                   "add the domain to the model's opset_import");
    names_.bind_failed(scope, node);
    return;
  }
  if (maps) return import_map(tools_, scope, node, opset->second);
  import_operator(scope, node, domain, opset->second);
}

void Importer::import_operator(Scope& scope, ::onnx::NodeProto& node, const std::string& domain, int opset) {
  const auto importer = importers_.find({domain, node.op_type()});
  if (importer == importers_.end()) {  // the survey ends at some depth
    report_.record(node, &scope, Code::kUnknownOperator,
                   "operator " + node.op_type() + " of " + domain_text(domain) + " is not known",
                   unknown_operator_advice(domain, node.op_type()));
    return names_.bind_failed(scope, node);
  }
  NodeContext context(tools_, scope, node, domain, opset);
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
  if (context.failed() || !check_indices(tools_, scope, node)) {
    names_.bind_failed(scope, node);
    return;
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) names_.bind(scope, node, node.output(i), context.results()[static_cast<size_t>(i)]);
  }
}

bool Importer::import_constant(Scope& scope, ::onnx::NodeProto& node) {
  if (node.output_size() != 1) {
    report_.record(node, &scope, Code::kBadNode, "has " + std::to_string(node.output_size()) + " outputs, wanted 1");
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
      c = state_.tensors.read(*mutable_a->mutable_t(), node.output(0));
      if (a->t().dims_size() > kMaxRank) wide.assign(a->t().dims().begin(), a->t().dims().end());
    } else if (kind == "sparse_value") {
      c = state_.tensors.read(*mutable_a->mutable_sparse_tensor(), node.output(0));
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
    report_.record(node, &scope, Code::kBadAttribute, "has no value");
    return false;
  }
  ir::Value* v = scope.graph->add_constant("", c);
  names_.bind(scope, node, node.output(0), wide.empty() ? v : wides_.add(v, std::move(wide)));
  return true;
}

void Importer::call_function(Scope& scope, ::onnx::NodeProto& node, ::onnx::FunctionProto& function) {
  if (scope.depth >= kMostNested || active_.count(&function) != 0) {
    report_.record(node, &scope, Code::kBadFunction, "function " + function.name() + " calls itself");
    names_.bind_failed(scope, node);
    return;
  }
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    report_.record(node, &scope, Code::kBadFunction,
                   "is called with " + std::to_string(node.input_size()) + " inputs and " +
                       std::to_string(node.output_size()) + " outputs; function " + function.name() + " has " +
                       std::to_string(function.input_size()) + " and " + std::to_string(function.output_size()));
    names_.bind_failed(scope, node);
    return;
  }
  const int names = function.input_size() + function.output_size() + function.attribute_size() +
                    function.attribute_proto_size() + function.opset_import_size();
  if (!called_.insert(&function).second && !state_.spend(ir::Budget::kNodes, names / kNamesPerNode, &node, &scope))
    return names_.bind_failed(scope, node);
  Scope inner;
  inner.graph = scope.graph;
  inner.depth = scope.depth + 1;
  inner.prefix = node_name(node, &scope) + "/";
  if (!read_opsets(function.opset_import(), &inner.opsets)) {
    names_.bind_failed(scope, node);
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
      inner.names[function.input(i)] = names_.lookup(scope, node.input(i));
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
    ir::Value* v = names_.lookup(inner, function.output(i));
    if (v == nullptr) {
      report_.record(node, &scope, Code::kMissingValue,
                     "nothing in function " + function.name() + " makes its output " + in_quotes(function.output(i)));
      v = &state_.poison;
    }
    names_.bind(scope, node, node.output(i), v);
  }
}

}  // namespace

ImportedModel import_model(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options,
                           Guess guess, Diagnostics* diagnostics, const std::map<std::string, int64_t>& known) {
  return Importer(model, model_path, options, guess, known, diagnostics).run();
}

}  // namespace vireo::importer
