// Operators over sequences and optionals (ONNX opsets 11, 15, 16, 17, 18). A device has tensors alone: a sequence is
// the list of its elements, known here one by one, each with its own type; an optional that is there is what it holds.
// Where only a run knows how many elements there are, there are as many as can be, and a length; where it knows which
// one is meant, that one is chosen among all.
#include <algorithm>
#include <utility>

#include "converter/onnx/importer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::importer {
namespace {

constexpr size_t kMostElements = 4096;

std::string above_most(int64_t parts) {
  return std::to_string(parts) + " parts, and a tensor is split into at most " + std::to_string(kMostElements);
}

int64_t int_attribute(const ::onnx::NodeProto& node, const Scope& scope, const char* name, int64_t otherwise) {
  const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
  return a == nullptr ? otherwise : a->i();
}

bool known_number(ir::ConstantFinder& finder, const ir::Value* v, int64_t* out) {
  std::vector<Dim> elements;
  if (!ir::known_elements(v, &finder, &elements) || elements.size() != 1 || is_symbolic(elements[0])) return false;
  *out = elements[0];
  return true;
}

}  // namespace

bool is_sequence_operator(const std::string& domain, const std::string& op) {
  static const char* const kOperators[] = {"SequenceEmpty",   "SequenceConstruct",  "SequenceInsert",
                                           "SequenceErase",   "SequenceAt",         "SequenceLength",
                                           "SplitToSequence", "SequenceMap",        "ConcatFromSequence",
                                           "Optional",        "OptionalHasElement", "OptionalGetElement"};
  return domain.empty() && std::find(std::begin(kOperators), std::end(kOperators), op) != std::end(kOperators);
}

void Importer::import_sequence(Scope& scope, ::onnx::NodeProto& node) {
  const size_t errors = diagnostics_->error_count();
  const std::vector<ir::Value*> results = sequence_results(scope, node);
  const bool made = results.size() >= static_cast<size_t>(node.output_size()) &&
                    std::find(results.begin(), results.end(), nullptr) == results.end();
  if (!made) {
    if (diagnostics_->error_count() == errors) record(&node, &scope, Code::kBadNode, "has too few or wrong inputs");
    return bind_failed(scope, node);
  }
  for (int i = 0; i < node.output_size(); ++i) bind(scope, node, node.output(i), results[static_cast<size_t>(i)]);
}

std::vector<ir::Value*> Importer::sequence_results(Scope& scope, ::onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  std::vector<ir::Value*> in;
  for (const std::string& name : node.input()) in.push_back(name.empty() ? nullptr : lookup(scope, name));
  const auto first = [&]() -> ir::Value* { return in.empty() ? nullptr : in[0]; };

  if (op == "Identity") return {first()};
  for (const ir::Value* v : in) {
    const Bundle* b = v == nullptr ? nullptr : bundle(v);
    if (b == nullptr || !b->map) continue;
    record(&node, &scope, Code::kBadNode, std::string("one of its inputs is ") + kind(*b),
           "CastMap and DictVectorizer make tensors of a map");
    return {};
  }
  if (op == "SequenceEmpty") return {add_bundle({})};
  if (op == "Optional") {
    if (first() != nullptr) return {first()};
    Bundle none;
    none.optional = true;
    return {add_bundle(std::move(none))};
  }
  if (op == "OptionalHasElement") return {first() == nullptr ? constant_bool(scope, false) : presence(scope, first())};
  if (op == "OptionalGetElement") return {first() == nullptr ? nullptr : held(first(), node)};
  if (op == "SplitToSequence")
    return {first() == nullptr || bundle(first()) ? nullptr : split_to_sequence(scope, node)};
  if (op == "SequenceConstruct") {
    Bundle made;
    for (ir::Value* v : in) {
      if (v == nullptr || bundle(v) != nullptr || v->type.dtype != in[0]->type.dtype) return {};
      made.elements.push_back(v);
    }
    return {add_bundle(std::move(made))};
  }
  const Bundle* sequence = bundle(first());
  if (sequence == nullptr || sequence->optional) {
    record(&node, &scope, Code::kBadNode, "its first input is not a sequence");
    return {};
  }
  if (op == "SequenceLength") return {length_of(scope, *sequence)};
  if (op == "SequenceInsert") return {sequence_insert(scope, node)};
  if (op == "SequenceErase") return {sequence_erase(scope, node)};
  if (op == "SequenceAt") return {sequence_at(scope, node)};
  if (op == "ConcatFromSequence") return {concat_from_sequence(scope, node)};
  return sequence_map(scope, node);
}

// `index` counted from the front. It may be negative, and as large as the length where something is inserted.
ir::Value* Importer::position(Scope& scope, const ::onnx::NodeProto& node, ir::Value* index, const Bundle& sequence,
                              bool insert) {
  int64_t i = 0;
  const auto n = static_cast<int64_t>(sequence.elements.size());
  if (n == 0 && !insert) {
    record(&node, &scope, Code::kBadNode, "takes an element of a sequence that has none");
    return nullptr;
  }
  if (sequence.length == nullptr && known_number(finder_, index, &i)) {
    const int64_t at = i < 0 ? i + n : i;
    if (at >= 0 && at < n + (insert ? 1 : 0)) return constant_i64(scope, at);
    record(&node, &scope, Code::kBadNode,
           "its position is " + std::to_string(i) + ", and the sequence has " + std::to_string(n) + " elements");
    return nullptr;
  }
  ir::Value* at = as_scalar(scope, node, index, DType::kI64);
  ir::Value* length = length_of(scope, sequence);
  if (at == nullptr) return nullptr;
  ir::Value* behind = emit(scope, node, Op::kAdd, binary_attributes(), {at, length});
  ir::Value* front = compare(scope, node, Op::kLessOrEqual, 0, at);
  at = front == nullptr || behind == nullptr ? nullptr : choose(scope, node, front, at, behind);
  if (at == nullptr) return nullptr;
  ir::Value* low = compare(scope, node, Op::kLessOrEqual, 0, at);
  ir::Value* high = emit(scope, node, insert ? Op::kLessOrEqual : Op::kLess, binary_attributes(), {at, length});
  if (low == nullptr || high == nullptr) return nullptr;
  return checked(scope, node, at, both(scope, node, low, high));
}

ir::Value* Importer::sequence_insert(Scope& scope, const ::onnx::NodeProto& node) {
  const Bundle s = *bundle(lookup(scope, node.input(0)));
  ir::Value* t = node.input_size() > 1 && !node.input(1).empty() ? lookup(scope, node.input(1)) : nullptr;
  const bool given = node.input_size() > 2 && !node.input(2).empty();
  if (t == nullptr || bundle(t) != nullptr) return nullptr;
  ir::Value* at = given ? position(scope, node, lookup(scope, node.input(2)), s, true) : length_of(scope, s);
  if (at == nullptr) return nullptr;
  Bundle made;
  int64_t i = 0;
  if (known_number(finder_, at, &i)) {
    made.elements = s.elements;
    made.elements.insert(made.elements.begin() + i, t);
  } else {
    for (size_t k = 0; k <= s.elements.size(); ++k) {
      ir::Value* v = t;  // y[k] is s[k] before the position, t there, s[k - 1] behind
      const auto number = static_cast<int64_t>(k);
      if (k > 0 && given) v = choose(scope, node, compare(scope, node, Op::kEqual, number, at), t, s.elements[k - 1]);
      if (k < s.elements.size()) v = choose(scope, node, compare(scope, node, Op::kLess, number, at), s.elements[k], v);
      if (v == nullptr) return nullptr;
      made.elements.push_back(v);
    }
  }
  if (s.length != nullptr)
    made.length = emit(scope, node, Op::kAdd, binary_attributes(), {s.length, constant_i64(scope, 1)});
  return add_bundle(std::move(made));
}

ir::Value* Importer::sequence_erase(Scope& scope, const ::onnx::NodeProto& node) {
  const Bundle s = *bundle(lookup(scope, node.input(0)));
  const bool given = node.input_size() > 1 && !node.input(1).empty();
  ir::Value* at = position(scope, node, given ? lookup(scope, node.input(1)) : constant_i64(scope, -1), s, false);
  if (at == nullptr) return nullptr;
  Bundle made;
  made.elements = s.elements;
  int64_t i = 0;
  if (known_number(finder_, at, &i)) {
    made.elements.erase(made.elements.begin() + i);
  } else {
    for (size_t k = 0; given && k + 1 < s.elements.size(); ++k) {
      made.elements[k] = choose(scope, node, compare(scope, node, Op::kLess, static_cast<int64_t>(k), at),
                                s.elements[k], s.elements[k + 1]);
      if (made.elements[k] == nullptr) return nullptr;
    }
    if (s.length == nullptr) made.elements.pop_back();
  }
  // The position stands in for the length where it is the last one: it is checked.
  if (s.length != nullptr) {
    made.length = given ? emit(scope, node, Op::kAdd, binary_attributes(), {s.length, constant_i64(scope, -1)}) : at;
    if (made.length == nullptr) return nullptr;
  }
  return add_bundle(std::move(made));
}

// Element `index` of a sequence that is open.
ir::Value* Importer::part_of(Scope& scope, const ::onnx::NodeProto& node, const Bundle& parts, ir::Value* index) {
  if (!parts.single || bundle(index) != nullptr) {
    refuse_open(&scope, &node, lookup(scope, node.input(0)));
    return nullptr;
  }
  ir::Value* at = as_scalar(scope, node, index, DType::kI64);
  if (parts.keeps_axis && at != nullptr) {
    at = emit(scope, node, Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}),
              {at, constant_i64(scope, std::vector<int64_t>{1})});
  }
  attrs::GatherT a;
  a.axis = parts.axis;
  return emit(scope, node, Op::kGather, pack<attrs::Gather>(a), {parts.whole, at});
}

ir::Value* Importer::sequence_at(Scope& scope, const ::onnx::NodeProto& node) {
  const Bundle s = *bundle(lookup(scope, node.input(0)));
  if (node.input_size() != 2) return nullptr;
  if (!s.open.empty()) return part_of(scope, node, s, lookup(scope, node.input(1)));
  ir::Value* at = position(scope, node, lookup(scope, node.input(1)), s, false);
  int64_t i = 0;
  if (at == nullptr) return nullptr;
  if (known_number(finder_, at, &i)) return s.elements[static_cast<size_t>(i)];
  // One element has no other to be told from; the position's check must stay in the graph all the same.
  ir::Value* v = s.elements.back();
  if (s.elements.size() == 1) {
    ir::Value* row = emit(scope, node, Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}),
                          {v, constant_i64(scope, std::vector<int64_t>{0})});
    return emit(scope, node, Op::kGather, pack<attrs::Gather>(attrs::GatherT{}), {row, at});
  }
  for (size_t k = s.elements.size() - 1; k-- > 0;) {
    v = choose(scope, node, compare(scope, node, Op::kEqual, static_cast<int64_t>(k), at), s.elements[k], v);
    if (v == nullptr) return nullptr;
  }
  return v;
}

// x[start : end] along `axis`; `keep`: with the axis, which otherwise has one element and goes.
ir::Value* Importer::slice(Scope& scope, const ::onnx::NodeProto& node, ir::Value* x, int axis, ir::Value* start,
                           ir::Value* end, bool keep) {
  ir::Value* axes = constant_i64(scope, std::vector<int64_t>{axis});
  ir::Value* y = emit(scope, node, Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}), {x, start, end, axes});
  return keep ? y : emit(scope, node, Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {y, axes});
}

ir::Value* Importer::split_to_sequence(Scope& scope, const ::onnx::NodeProto& node) {
  ir::Value* x = lookup(scope, node.input(0));
  ir::Value* split = node.input_size() > 1 && !node.input(1).empty() ? lookup(scope, node.input(1)) : nullptr;
  const int axis = normalize_axis(int_attribute(node, scope, "axis", 0), x->type.shape.rank);
  const bool keep = split != nullptr || int_attribute(node, scope, "keepdims", 1) != 0;
  const auto refuse = [&](Code code, const std::string& what, const std::string& help) {
    record(&node, &scope, code, what, help);
    return nullptr;
  };
  if (axis < 0 || (split != nullptr && (bundle(split) != nullptr || split->type.shape.rank > 1)))
    return refuse(Code::kBadNode, "its axis or split is wrong", "");
  const Dim extent = x->type.shape[axis];
  Bundle made;
  made.whole = x;
  made.axis = axis;
  made.keeps_axis = keep;
  made.single = split == nullptr;
  std::vector<Dim> parts;
  const bool known = split == nullptr || ir::known_elements(split, &finder_, &parts);
  const bool listed = split != nullptr && split->type.shape.rank == 1;
  if (listed && (!known || is_symbolic(extent))) {
    const Dim count = split->type.shape[0];
    if (is_symbolic(count) || count < 1 || count > 255)
      return refuse(Code::kUnsupportedNode, "the number of its parts is not known", "make split a constant");
    attrs::SplitT a;
    a.axis = axis;
    ir::Node* n = scope.graph->add_node(Op::kSplit, pack<attrs::Split>(a), {x, split}, static_cast<size_t>(count));
    n->name = node_name(node, &scope);
    std::string message;
    if (!ok(ir::infer_node(*scope.graph, n, &finder_, &message))) return refuse(Code::kBadNode, message, "");
    made.elements = n->outputs;
    return add_bundle(std::move(made));
  }
  int64_t each = 1;  // elements of a part, where one number says them and it is known
  const bool sized = split == nullptr || listed || known_number(finder_, split, &each);
  if (sized && each < 1) return refuse(Code::kBadNode, "its split is not a positive number", "");
  if (!sized || is_symbolic(extent)) {  // only a run knows how many parts there are
    const ElementsOption* given = elements_option(node.output(0));
    const Interval range = dims_->interval(extent);
    const bool told = given != nullptr && given->count >= 0;
    const int64_t whole = range.open() ? 0 : range.hi / each + (range.hi % each != 0);
    const int64_t most = told ? given->count : whole;
    const bool open = !told && (range.open() || most > static_cast<int64_t>(kMostElements));
    if (open) made.open = node.output(0);
    if (!open && most > static_cast<int64_t>(kMostElements))
      return refuse(Code::kUnsupportedNode, "may have " + above_most(most),
                    "say how many there are at most with --elements " + node.output(0) + "=8");
    ir::Value* size = sized ? constant_i64(scope, each) : as_scalar(scope, node, split, DType::kI64);
    if (size == nullptr) return nullptr;
    if (!sized) size = checked(scope, node, size, compare(scope, node, Op::kLess, 0, size));
    attrs::ShapeT only;
    only.start = axis;
    only.end = axis + 1;
    ir::Value* last = is_symbolic(extent) ? emit(scope, node, Op::kShape, pack<attrs::Shape>(only), {x})
                                          : constant_i64(scope, std::vector<int64_t>{extent});
    ir::Value* start = constant_i64(scope, std::vector<int64_t>{0});
    for (int64_t k = 0; !open && k < most && start != nullptr && size != nullptr; ++k) {
      ir::Value* end = emit(scope, node, Op::kAdd, binary_attributes(), {start, size});
      end = emit(scope, node, Op::kMin, binary_attributes(), {end, last});
      if (end == nullptr) return nullptr;
      // What is not kept is one element: the last one again where there is none, because there is no half a shape.
      ir::Value* from =
          keep ? start
               : emit(scope, node, Op::kSub, binary_attributes(), {end, constant_i64(scope, std::vector<int64_t>{1})});
      made.elements.push_back(slice(scope, node, x, axis, from, end, keep));
      start = end;
    }
    ir::Value* total = as_scalar(scope, node, last, DType::kI64);
    ir::Value* up = emit(scope, node, Op::kAdd, binary_attributes(), {size, total});
    up = emit(scope, node, Op::kSub, binary_attributes(), {up, constant_i64(scope, 1)});
    made.length = emit(scope, node, Op::kDiv, binary_attributes(), {up, size});
    if (made.length != nullptr && !open && (range.open() || most < whole)) {
      ir::Value* fits =
          emit(scope, node, Op::kLessOrEqual, binary_attributes(), {made.length, constant_i64(scope, most)});
      made.length = checked(scope, node, made.length, fits);
    }
    return made.length == nullptr ? nullptr : add_bundle(std::move(made));
  }
  if (!listed) {
    if (extent / each > static_cast<int64_t>(kMostElements)) {
      made.open = node.output(0);
      made.length = constant_i64(scope, extent / each + (extent % each != 0));
      return add_bundle(std::move(made));
    }
    parts.clear();
    for (Dim left = extent; left > 0; left -= each) parts.push_back(std::min(left, each));
  }
  Dim at = 0;
  for (const Dim part : parts) {
    if (is_symbolic(part) || part < 0 || part > extent - at)
      return refuse(Code::kBadNode, "its parts do not add up to the " + std::to_string(extent) + " elements", "");
    ir::Value* start = constant_i64(scope, std::vector<int64_t>{at});
    made.elements.push_back(
        slice(scope, node, x, axis, start, constant_i64(scope, std::vector<int64_t>{at + part}), keep));
    if (made.elements.back() == nullptr) return nullptr;
    at += part;
  }
  if (at != extent)
    return refuse(Code::kBadNode, "its parts do not add up to the " + std::to_string(extent) + " elements", "");
  return add_bundle(std::move(made));
}

ir::Value* Importer::concat_from_sequence(Scope& scope, const ::onnx::NodeProto& node) {
  const Bundle s = *bundle(lookup(scope, node.input(0)));
  const bool fresh = int_attribute(node, scope, "new_axis", 0) != 0;
  if (s.open.empty() && s.elements.empty()) {
    record(&node, &scope, Code::kUnsupportedNode, "its sequence has no elements", "");
    return nullptr;
  }
  const int part = s.open.empty() ? s.elements[0]->type.shape.rank : s.whole->type.shape.rank - (s.keeps_axis ? 0 : 1);
  const int rank = part + (fresh ? 1 : 0);
  attrs::ConcatT a;
  a.axis = normalize_axis(int_attribute(node, scope, "axis", 0), rank);
  if (a.axis < 0) {
    record(&node, &scope, Code::kBadNode, "its axis is outside the rank " + std::to_string(rank));
    return nullptr;
  }
  // What was split and is joined again, with the axis of the parts at the same place or, where it is new, at another.
  if (s.whole != nullptr && fresh != s.keeps_axis && (fresh || a.axis == s.axis))
    return move_axis(scope, node, s.whole, s.axis, a.axis);
  if (refuse_open(&scope, &node, lookup(scope, node.input(0)))) return nullptr;
  std::vector<ir::Value*> parts;
  for (ir::Value* v : s.elements) {
    parts.push_back(fresh ? emit(scope, node, Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}),
                                 {v, constant_i64(scope, std::vector<int64_t>{a.axis})})
                          : v);
  }
  ir::Value* y = emit(scope, node, Op::kConcat, pack<attrs::Concat>(a), std::move(parts));
  return s.length == nullptr ? y : first_parts(scope, node, y, a.axis, s, fresh);
}

// The parts of `joined` that are there: as many as the sequence is long, of as many elements each.
ir::Value* Importer::first_parts(Scope& scope, const ::onnx::NodeProto& node, ir::Value* joined, int axis,
                                 const Bundle& parts, bool fresh) {
  const Dim each = fresh ? 1 : parts.elements[0]->type.shape[axis];
  for (const ir::Value* v : parts.elements) {
    if (!is_symbolic(each) && v->type == parts.elements[0]->type) continue;
    record(&node, &scope, Code::kUnsupportedNode,
           "only a run knows how many elements its sequence has, and they may be of different shapes",
           "give the inputs' shapes (--shape) so that the sizes are known");
    return nullptr;
  }
  ir::Value* end = emit(scope, node, Op::kMul, binary_attributes(), {parts.length, constant_i64(scope, each)});
  if (end == nullptr) return nullptr;
  end = emit(scope, node, Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}),
             {end, constant_i64(scope, std::vector<int64_t>{1})});
  return slice(scope, node, joined, axis, constant_i64(scope, std::vector<int64_t>{0}), end, true);
}

std::vector<ir::Value*> Importer::sequence_map(Scope& scope, ::onnx::NodeProto& node) {
  ::onnx::GraphProto* body = graph_attribute(node, "body");
  if (body == nullptr || body->input_size() != node.input_size() || body->output_size() < node.output_size()) return {};
  const Bundle s = *bundle(lookup(scope, node.input(0)));
  std::vector<Bundle> made(static_cast<size_t>(body->output_size()));
  for (size_t k = 0; k < s.elements.size(); ++k) {
    std::vector<ir::Value*> inputs, outputs;
    for (const std::string& name : node.input()) {
      ir::Value* v = lookup(scope, name);
      if (const Bundle* b = bundle(v)) {
        if (b->elements.size() != s.elements.size()) {
          record(&node, &scope, Code::kBadNode, "its sequences have different lengths");
          return {};
        }
        v = b->elements[k];
      }
      inputs.push_back(v);
    }
    const std::string prefix = node_name(node, &scope) + "/" + std::to_string(k) + "/";
    if (!inline_graph(scope, node, *body, prefix, inputs, &outputs)) return {};
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (outputs[o] == &poison_) return {};
      made[o].elements.push_back(outputs[o]);
    }
  }
  std::vector<ir::Value*> results;
  for (Bundle& b : made) {
    b.length = s.length;
    results.push_back(add_bundle(std::move(b)));
  }
  return results;
}

}  // namespace vireo::importer
