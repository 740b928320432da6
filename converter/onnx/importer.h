// The import under way. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_IMPORTER_H_
#define VIREO_CONVERTER_ONNX_IMPORTER_H_

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "converter/ir/infer.h"
#include "converter/onnx/import.h"
#include "converter/onnx/blocked/nchwc.h"
#include "converter/onnx/tensors.h"
#include "converter/onnx/wide.h"
#include "sdk/ops/view.h"

namespace vireo::importer {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

// Where names mean something: the model's graph, a function's body, the body of a control-flow node.
struct Scope {
  ir::Graph* graph = nullptr;
  Scope* outer = nullptr;  // where unknown names are looked up; null: nowhere (the model, functions)
  std::map<std::string, ir::Value*> names;
  std::map<std::string, int> opsets;                                                // by domain, "" for ai.onnx
  const std::map<std::string, const ::onnx::AttributeProto*>* arguments = nullptr;  // of the function being inlined
  std::string prefix;  // of node names: the function call's
  int depth = 0;
  std::shared_ptr<BlockedPlan> blocked;  // where NCHWc forms are among the nodes
  // Outer values that were handed in as further inputs of `graph`, in that order.
  std::vector<std::pair<ir::Value*, ir::Value*>> captured;
};

// A sequence, an optional or a map: there is none in a graph, it is made of tensors here (sequences.cc, maps.cc). Its
// `marker` is what names mean, and stands in no graph.
struct Bundle {
  ir::Value marker;
  bool optional = false;
  bool map = false;
  // A sequence: its elements, each with a type of its own. An optional: what it holds (a value or a marker), or nothing
  // when it is empty. A map: its keys [E] and its values [E]; a sequence of maps of the same keys: keys [E], values [N,
  // E].
  std::vector<ir::Value*> elements;
  ir::Value* length = nullptr;   // of a sequence, an i64 scalar, where only the data tell how many elements it has
  ir::Value* present = nullptr;  // of an optional, a bool scalar, where only the data tell
  // Of a sequence that SplitToSequence made: what it split, and how.
  ir::Value* whole = nullptr;
  int axis = 0;             // of `whole`
  bool keeps_axis = false;  // in the elements
  bool single = false;      // one element of the axis each
  // Nothing bounds how many elements there are, or they are too many, and none are listed: `whole` stands for them. The
  // name of the sequence.
  std::string open;
};

class Importer {
 public:
  Importer(::onnx::ModelProto& model, const std::string& model_path, const ConvertOptions& options, Guess guess,
           Diagnostics* diagnostics);

  ImportedModel run();

  // The value `name` means in `scope`: null when nothing makes it, poison() when what makes it failed.
  ir::Value* lookup(Scope& scope, const std::string& name);
  // Stands for the outputs of nodes that failed, so that their followers are left in peace.
  ir::Value* poison() { return &poison_; }

  // `results`: names that leave what the nodes are of.
  void import_nodes(Scope& scope, Nodes& nodes, const std::set<std::string>& results);
  void import_node(Scope& scope, ::onnx::NodeProto& node);

  // Reads a graph's initialisers into the scope, without those in `left`.
  void add_initializers(Scope& scope, ::onnx::GraphProto& graph, const std::set<std::string>& left = {});

  void assume(const ::onnx::NodeProto& node, const Scope& scope, std::string what, std::string help);
  void assume_extents(const ::onnx::NodeProto& node, const Scope& scope, const std::vector<Dim>& extents, bool one,
                      const std::string& what, const std::string& help);
  void warn(const ::onnx::NodeProto& node, const Scope& scope, Code code, std::string what, std::string help);
  void record(const ::onnx::NodeProto* node, const Scope* scope, Code code, std::string what, std::string help = "");
  // reproduce.cc: says of a node's refusal the opset, what the node reads, and how to have it alone.
  void describe(const ::onnx::NodeProto& node, const Scope& scope, Diagnostic* d);

  Diagnostics* diagnostics() { return diagnostics_; }
  ir::ConstantFinder& finder() { return finder_; }
  // What a name means, without handing anything in; null: not known here.
  const ir::Value* meaning(const Scope& scope, const std::string& name) const;
  TensorReader& tensors() { return tensors_; }

 private:
  friend class NodeContext;
  friend class BlockPlanner;
  friend class WideNode;
  friend class WideTensors;

  // From the conversion's budget. False: nothing is left, which is recorded once.
  bool spend(ir::Budget::Kind kind, int64_t amount, const ::onnx::NodeProto* node = nullptr,
             const Scope* scope = nullptr);
  // Whether `node` may be imported: the first time surely, and then as long as the budget lasts.
  bool admit(const Scope& scope, const ::onnx::NodeProto& node);

  // What `outer`, a value of the graph around, is inside.
  ir::Value* hand_in(Scope& scope, ir::Value* outer);

  // inputs.cc
  bool add_inputs(Scope& scope);
  // Initialisers that are listed as inputs and stay inputs (--keep-input); those that do not are named in a warning.
  std::set<std::string> kept_inputs();
  void add_outputs(Scope& scope);
  // declared.cc. Not used when --shape changed what the declarations were made for.
  void read_declared();
  void read_needed_ranks();
  void adopt_declared(const std::string& name, ir::Value* value);
  bool read_opsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports,
                   std::map<std::string, int>* out);
  // Lists what no importer serves, everywhere in the model, each operator once.
  void survey();
  void survey_nodes(const Nodes& nodes, const std::map<std::string, int>& opsets, int depth);
  std::vector<int> order(const Nodes& nodes, const Scope& scope);

  // attributes.cc: whether the operator, or the function that is called, has all of the node's attributes. Says which
  // it does not have, or which are there twice.
  bool check_attributes(const Scope& scope, const ::onnx::NodeProto& node, const ::onnx::FunctionProto* function);
  // indices.cc: false, and recorded, where the node reads or writes an element beyond its data in every run.
  bool check_indices(Scope& scope, const ::onnx::NodeProto& node);
  void check_declared(const ::onnx::ValueInfoProto& output, const ir::Value* value);  // declared.cc; warns
  void check_declared_open(const std::string& output, int axis, const std::string& name, Dim made);
  void tell_notes(const Scope& scope, const ::onnx::NodeProto& node) const;
  void bind_failed(Scope& scope, const ::onnx::NodeProto& node);
  void bind(Scope& scope, const ::onnx::NodeProto& node, const std::string& name, ir::Value* value);
  bool import_constant(Scope& scope, ::onnx::NodeProto& node);
  // A node of tensors alone, by its operator's folder.
  void import_operator(Scope& scope, ::onnx::NodeProto& node, const std::string& domain, int opset);
  void call_function(Scope& scope, ::onnx::NodeProto& node, ::onnx::FunctionProto& function);
  // advice.cc: how to settle an If's condition that is not known, for the help line.
  std::string shape_advice(const Scope& scope, const ir::Value* condition) const;
  // control.cc
  void import_if(Scope& scope, ::onnx::NodeProto& node);
  void import_loop(Scope& scope, ::onnx::NodeProto& node);
  void import_scan(Scope& scope, ::onnx::NodeProto& node);
  bool without_batch_axis(Scope& scope, ::onnx::NodeProto& node);  // old_scan.cc
  ir::Value* move_axis(Scope& scope, const ::onnx::NodeProto& node, ir::Value* v, int from, int to);
  struct Body;
  bool import_body(Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& proto,
                   const std::vector<TensorType>& inputs, Body* body);
  int squeezing_branch(const ir::Value& cond, Scope& scope, ::onnx::GraphProto* const branches[2], Dim* squeezed);
  // unit_extents.cc: outputs of an If's branches whose ranks differ by leading extents of 1
  bool lift_rank(ir::Graph* one, ir::Graph* other, size_t output);
  void check_lifted(const ir::Graph& graph);
  void forget_lifted(const ir::Graph& graph);  // before it goes
  bool inline_branch(Scope& scope, ::onnx::NodeProto& node, ::onnx::GraphProto& branch);
  // The nodes of `body` among those of the scope's graph, its inputs standing for `inputs`.
  bool inline_graph(Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& body, const std::string& prefix,
                    const std::vector<ir::Value*>& inputs, std::vector<ir::Value*>* outputs);
  // reproduce.cc
  ::onnx::TensorProto filled(const ::onnx::TensorProto& tensor) const;
  void fill_attributes(const ::onnx::NodeProto& from, const Scope& scope, int depth, ::onnx::NodeProto* to) const;
  void fill_graph(const ::onnx::GraphProto& from, const Scope& scope, int depth, ::onnx::GraphProto* to) const;
  void declare_type(const ir::Value* v, const std::string& name, ::onnx::TypeProto* out,
                    std::vector<std::string>* options);
  std::string type_text(const ir::Value* v);
  std::string alone(const ::onnx::NodeProto& node, const Scope& scope, std::vector<std::string>* options);
  // bundle.cc
  Bundle* bundle(const ir::Value* v);                                                       // null: a tensor
  bool refuse_open(const Scope* scope, const ::onnx::NodeProto* node, const ir::Value* v);  // false: it is not open
  void refuse_bundle(const Scope& scope, const ::onnx::NodeProto& node, const std::string& what, const Bundle& b);
  ir::Value* add_bundle(Bundle b);
  ir::Value* emit(Scope& scope, const ::onnx::NodeProto& node, Op op, std::vector<uint8_t> attrs,
                  std::vector<ir::Value*> inputs);
  ir::Value* constant_i64(Scope& scope, const std::vector<int64_t>& values);  // 1-D
  ir::Value* constant_i64(Scope& scope, int64_t value);                       // a scalar
  ir::Value* constant_bool(Scope& scope, bool value);
  ir::Value* both(Scope& scope, const ::onnx::NodeProto& node, ir::Value* a, ir::Value* b);  // a and b; null: true
  ir::Value* compare(Scope& scope, const ::onnx::NodeProto& node, Op op, int64_t a, ir::Value* b);
  ir::Value* as_scalar(Scope& scope, const ::onnx::NodeProto& node, ir::Value* v, DType dtype);
  ir::Value* length_of(Scope& scope, const Bundle& sequence);
  ir::Value* held(ir::Value* v, const ::onnx::NodeProto& node);  // in an optional; `v` itself when it is none
  ir::Value* presence(Scope& scope, ir::Value* v);
  // `index`, in a run that fails unless `condition` holds.
  ir::Value* checked(Scope& scope, const ::onnx::NodeProto& node, ir::Value* index, ir::Value* condition);
  ir::Value* choose(Scope& scope, const ::onnx::NodeProto& node, ir::Value* condition, ir::Value* a, ir::Value* b);
  ir::Value* choose_tensor(Scope& scope, const ::onnx::NodeProto& node, ir::Value* condition, ir::Value* a,
                           ir::Value* b);
  void add_bundle_output(Scope& scope, const std::string& name, Bundle& b);
  const ElementsOption* elements_option(const std::string& name) const;  // null: not given
  // sequences.cc
  void import_sequence(Scope& scope, ::onnx::NodeProto& node);
  std::vector<ir::Value*> sequence_results(Scope& scope, ::onnx::NodeProto& node);
  ir::Value* position(Scope& scope, const ::onnx::NodeProto& node, ir::Value* index, const Bundle& sequence,
                      bool insert);
  ir::Value* slice(Scope& scope, const ::onnx::NodeProto& node, ir::Value* x, int axis, ir::Value* start,
                   ir::Value* end, bool keep);
  ir::Value* sequence_insert(Scope& scope, const ::onnx::NodeProto& node);
  ir::Value* sequence_erase(Scope& scope, const ::onnx::NodeProto& node);
  ir::Value* sequence_at(Scope& scope, const ::onnx::NodeProto& node);
  ir::Value* split_to_sequence(Scope& scope, const ::onnx::NodeProto& node);
  ir::Value* concat_from_sequence(Scope& scope, const ::onnx::NodeProto& node);
  ir::Value* part_of(Scope& scope, const ::onnx::NodeProto& node, const Bundle& parts, ir::Value* index);
  ir::Value* first_parts(Scope& scope, const ::onnx::NodeProto& node, ir::Value* joined, int axis, const Bundle& parts,
                         bool fresh);
  std::vector<ir::Value*> sequence_map(Scope& scope, ::onnx::NodeProto& node);
  // maps.cc
  void import_map(Scope& scope, ::onnx::NodeProto& node, int opset);
  // nchwc_plan.cc
  void plan_blocks(Scope& scope, const Nodes& nodes, const std::vector<int>& order,
                   const std::set<std::string>& results);
  // nchwc.cc. False: a node like any other.
  bool import_blocked(Scope& scope, ::onnx::NodeProto& node);
  bool is_blocked(const ::onnx::NodeProto& node) const;
  bool same_places(Scope& scope, const ::onnx::NodeProto& node);
  ir::Value* reorder_input(Scope& scope, ::onnx::NodeProto& node);
  ir::Value* reorder_output(Scope& scope, ::onnx::NodeProto& node);
  ir::Value* first_channels(Scope& scope, const ::onnx::NodeProto& node, ir::Value* x, int64_t channels);
  void import_blocked_conv(Scope& scope, ::onnx::NodeProto& node);
  void import_blocked_upsample(Scope& scope, ::onnx::NodeProto& node);
  std::string stand_in(Scope& scope, const std::string& name, const ir::ConstantPtr& constant);
  // unroll.cc: control flow over sequences and optionals
  void choose_branch(Scope& scope, ::onnx::NodeProto& node, ir::Value* cond, ::onnx::GraphProto* const branches[2]);
  void unroll_loop(Scope& scope, ::onnx::NodeProto& node, ::onnx::GraphProto& body);

  ::onnx::ModelProto& model_;
  const ConvertOptions& options_;
  mutable std::set<std::string> elements_asked_;  // names of those that something wanted
  const Guess guess_;
  int64_t block_ = 0;  // --nchwc-block, or what nodes so far were seen to be in; 0: neither
  bool assumed_ = false;
  Diagnostics* diagnostics_;
  std::shared_ptr<ir::DimTable> dims_ = std::make_shared<ir::DimTable>();
  TensorReader tensors_;
  ir::ConstantFinder finder_{&dims_->budget()};
  std::map<std::pair<std::string, std::string>, const OnnxImport*> importers_;  // (domain, operator)
  std::map<std::pair<std::string, std::string>, ::onnx::FunctionProto*> functions_;
  std::set<const ::onnx::FunctionProto*> active_, surveyed_, called_;
  struct Unknown {
    std::vector<std::string> nodes;  // names
    size_t diagnostic = 0;
    bool described = false;
  };
  std::map<std::pair<std::string, std::string>, Unknown> unknown_;   // by domain and operator
  std::map<std::string, const ::onnx::TensorShapeProto*> declared_;  // of the main graph's values
  std::map<std::string, TensorType> stand_ins_;                      // for real values inside it whose makers fail
  std::map<std::string, int> needed_ranks_;                          // of the same, by a reader that says it
  // Outputs of an If that have the larger rank of both branches, with what is wrong if somebody minds.
  std::map<const ir::Value*, Diagnostic> lifted_;
  // Of inputs that a rewritten node no longer has: a function's call may be about to put one back (call_function).
  std::vector<std::unique_ptr<std::string>> dropped_names_;
  size_t input_atoms_ = 0;           // symbols the inputs brought
  const ir::Graph* main_ = nullptr;  // its nodes run in every run
  WideTensors wides_{this};
  ir::Value poison_;
  std::deque<Bundle> bundles_;
  std::map<const ir::Value*, Bundle*> markers_;
  std::unordered_set<const ::onnx::NodeProto*> imported_;
  size_t nodes_passed_over_ = 0;  // behind one that failed
  size_t reproducers_ = 0;
};

// What a graph calls its outputs.
std::set<std::string> result_names(const ::onnx::GraphProto& g);
// Names that a graph takes from outside.
void free_names(const ::onnx::GraphProto& g, int depth, std::set<std::string>* out);
// advice.cc: what to do about an operator that no importer serves.
std::string unknown_operator_advice(const std::string& domain, const std::string& op);
// Operators over sequences and optionals, which sequences.cc serves.
bool is_sequence_operator(const std::string& domain, const std::string& op);
// Operators over maps, which maps.cc serves.
bool is_map_operator(const std::string& domain, const std::string& op);
// Attributes of Add, Less and the other operators of two operands.
std::vector<uint8_t> binary_attributes();
// "a sequence", "an optional", "a map"...
const char* kind(const Bundle& b);
// old_scan.cc: an attribute of the Scans that it writes. Like all names that begin so, no operator's own.
constexpr char kRewrittenScan[] = "__rewritten_scan";
// The graph that is a node's attribute; null: there is none.
::onnx::GraphProto* graph_attribute(::onnx::NodeProto& node, const char* name);
// True, false or not known here (-1).
int known_bool(ir::ConstantFinder& finder, const ir::Value* v);
// "" for ai.onnx, under whichever of its two names.
std::string plain_domain(const std::string& domain);
// An attribute of this name without a value yet, in place of any that the node has.
::onnx::AttributeProto* set_attribute(::onnx::NodeProto* node, const char* name,
                                      ::onnx::AttributeProto::AttributeType type);
inline std::string in_quotes(const std::string& name) { return "\"" + name + "\""; }
// What a node is called in messages and in the file.
std::string node_name(const ::onnx::NodeProto& node, const Scope* scope);
const ::onnx::AttributeProto* find_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_IMPORTER_H_
