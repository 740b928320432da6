// Operators over sequences and optionals (ONNX opsets 11, 15, 16, 17, 18). A device has tensors alone: a sequence is
// the list of its elements, known here one by one, each with its own type; an optional that is there is what it holds.
// Where only a run knows how many elements there are, there are as many as can be, and a length; where it knows which
// one is meant, that one is chosen among all.
#include "converter/onnx/bundles/sequences.h"

#include <algorithm>
#include <utility>

#include "converter/onnx/bundles/choose.h"
#include "converter/onnx/bundles/refuse.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/names.h"
#include "converter/onnx/report.h"
#include "converter/onnx/state.h"
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

std::vector<uint8_t> no_attributes() { return pack<attrs::Binary>(attrs::BinaryT{}); }

bool known_number(ir::ConstantFinder& finder, const ir::Value* v, int64_t* out) {
  std::vector<Dim> elements;
  if (!ir::known_elements(v, &finder, &elements) || elements.size() != 1 || is_symbolic(elements[0])) return false;
  *out = elements[0];
  return true;
}

// One node.
class SequenceNode : private BundleBuilder {
 public:
  using BundleBuilder::BundleBuilder;

  // One for each output. Fewer, or null among them: it is refused, which need not be recorded.
  std::vector<ir::Value*> results() {
    const std::string& op = node_.op_type();
    std::vector<ir::Value*> in;
    for (const std::string& name : node_.input()) in.push_back(name.empty() ? nullptr : lookup(name));
    const auto first = [&]() -> ir::Value* { return in.empty() ? nullptr : in[0]; };

    if (op == "Identity") return {first()};
    for (const ir::Value* v : in) {
      const Bundle* b = v == nullptr ? nullptr : bundle(v);
      if (b == nullptr || !b->map) continue;
      record(Code::kBadNode, std::string("one of its inputs is ") + kind(*b),
             "CastMap and DictVectorizer make tensors of a map");
      return {};
    }
    if (op == "SequenceEmpty") return {tools_.bundles.add({})};
    if (op == "Optional") {
      if (first() != nullptr) return {first()};
      Bundle none;
      none.optional = true;
      return {tools_.bundles.add(std::move(none))};
    }
    if (op == "OptionalHasElement") return {first() == nullptr ? constant_bool(false) : presence(first())};
    if (op == "OptionalGetElement") return {first() == nullptr ? nullptr : held(first())};
    if (op == "SplitToSequence") return {first() == nullptr || bundle(first()) ? nullptr : split_to_sequence()};
    if (op == "SequenceConstruct") {
      Bundle made;
      for (ir::Value* v : in) {
        if (v == nullptr || bundle(v) != nullptr || v->type.dtype != in[0]->type.dtype) return {};
        made.elements.push_back(v);
      }
      return {tools_.bundles.add(std::move(made))};
    }
    const Bundle* sequence = bundle(first());
    if (sequence == nullptr || sequence->optional) {
      record(Code::kBadNode, "its first input is not a sequence");
      return {};
    }
    if (op == "SequenceLength") return {length_of(*sequence)};
    if (op == "SequenceInsert") return {sequence_insert()};
    if (op == "SequenceErase") return {sequence_erase()};
    if (op == "SequenceAt") return {sequence_at()};
    if (op == "ConcatFromSequence") return {concat_from_sequence()};
    return sequence_map();
  }

 private:
  // `index` counted from the front. It may be negative, and as large as the length where something is inserted.
  ir::Value* position(ir::Value* index, const Bundle& sequence, bool insert) {
    int64_t i = 0;
    const auto n = static_cast<int64_t>(sequence.elements.size());
    if (n == 0 && !insert) {
      record(Code::kBadNode, "takes an element of a sequence that has none");
      return nullptr;
    }
    if (sequence.length == nullptr && known_number(tools_.state.finder, index, &i)) {
      const int64_t at = i < 0 ? i + n : i;
      if (at >= 0 && at < n + (insert ? 1 : 0)) return constant_i64(at);
      record(Code::kBadNode,
             "its position is " + std::to_string(i) + ", and the sequence has " + std::to_string(n) + " elements");
      return nullptr;
    }
    ir::Value* at = as_scalar(index, DType::kI64);
    ir::Value* length = length_of(sequence);
    if (at == nullptr) return nullptr;
    ir::Value* behind = emit(Op::kAdd, no_attributes(), {at, length});
    ir::Value* front = compare(Op::kLessOrEqual, 0, at);
    at = front == nullptr || behind == nullptr ? nullptr : choose(front, at, behind);
    if (at == nullptr) return nullptr;
    ir::Value* low = compare(Op::kLessOrEqual, 0, at);
    ir::Value* high = emit(insert ? Op::kLessOrEqual : Op::kLess, no_attributes(), {at, length});
    if (low == nullptr || high == nullptr) return nullptr;
    return checked(at, both(low, high));
  }

  ir::Value* sequence_insert() {
    const Bundle s = *bundle(lookup(node_.input(0)));
    ir::Value* t = node_.input_size() > 1 && !node_.input(1).empty() ? lookup(node_.input(1)) : nullptr;
    const bool given = node_.input_size() > 2 && !node_.input(2).empty();
    if (t == nullptr || bundle(t) != nullptr) return nullptr;
    ir::Value* at = given ? position(lookup(node_.input(2)), s, true) : length_of(s);
    if (at == nullptr) return nullptr;
    Bundle made;
    int64_t i = 0;
    if (known_number(tools_.state.finder, at, &i)) {
      made.elements = s.elements;
      made.elements.insert(made.elements.begin() + i, t);
    } else {
      for (size_t k = 0; k <= s.elements.size(); ++k) {
        ir::Value* v = t;  // y[k] is s[k] before the position, t there, s[k - 1] behind
        const auto number = static_cast<int64_t>(k);
        if (k > 0 && given) v = choose(compare(Op::kEqual, number, at), t, s.elements[k - 1]);
        if (k < s.elements.size()) v = choose(compare(Op::kLess, number, at), s.elements[k], v);
        if (v == nullptr) return nullptr;
        made.elements.push_back(v);
      }
    }
    if (s.length != nullptr) made.length = emit(Op::kAdd, no_attributes(), {s.length, constant_i64(1)});
    return tools_.bundles.add(std::move(made));
  }

  ir::Value* sequence_erase() {
    const Bundle s = *bundle(lookup(node_.input(0)));
    const bool given = node_.input_size() > 1 && !node_.input(1).empty();
    ir::Value* at = position(given ? lookup(node_.input(1)) : constant_i64(-1), s, false);
    if (at == nullptr) return nullptr;
    Bundle made;
    made.elements = s.elements;
    int64_t i = 0;
    if (known_number(tools_.state.finder, at, &i)) {
      made.elements.erase(made.elements.begin() + i);
    } else {
      for (size_t k = 0; given && k + 1 < s.elements.size(); ++k) {
        made.elements[k] = choose(compare(Op::kLess, static_cast<int64_t>(k), at), s.elements[k], s.elements[k + 1]);
        if (made.elements[k] == nullptr) return nullptr;
      }
      if (s.length == nullptr) made.elements.pop_back();
    }
    // The position stands in for the length where it is the last one: it is checked.
    if (s.length != nullptr) {
      made.length = given ? emit(Op::kAdd, no_attributes(), {s.length, constant_i64(-1)}) : at;
      if (made.length == nullptr) return nullptr;
    }
    return tools_.bundles.add(std::move(made));
  }

  // Element `index` of a sequence that is open.
  ir::Value* part_of(const Bundle& parts, ir::Value* index) {
    if (!parts.single || bundle(index) != nullptr) {
      refuse_open(tools_, scope_, node_, lookup(node_.input(0)));
      return nullptr;
    }
    ir::Value* at = as_scalar(index, DType::kI64);
    if (parts.keeps_axis && at != nullptr) {
      at = emit(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {at, constant_i64(std::vector<int64_t>{1})});
    }
    attrs::GatherT a;
    a.axis = parts.axis;
    return emit(Op::kGather, pack<attrs::Gather>(a), {parts.whole, at});
  }

  ir::Value* sequence_at() {
    const Bundle s = *bundle(lookup(node_.input(0)));
    if (node_.input_size() != 2) return nullptr;
    if (!s.open.empty()) return part_of(s, lookup(node_.input(1)));
    ir::Value* at = position(lookup(node_.input(1)), s, false);
    int64_t i = 0;
    if (at == nullptr) return nullptr;
    if (known_number(tools_.state.finder, at, &i)) return s.elements[static_cast<size_t>(i)];
    // One element has no other to be told from; the position's check must stay in the graph all the same.
    ir::Value* v = s.elements.back();
    if (s.elements.size() == 1) {
      ir::Value* row =
          emit(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {v, constant_i64(std::vector<int64_t>{0})});
      return emit(Op::kGather, pack<attrs::Gather>(attrs::GatherT{}), {row, at});
    }
    for (size_t k = s.elements.size() - 1; k-- > 0;) {
      v = choose(compare(Op::kEqual, static_cast<int64_t>(k), at), s.elements[k], v);
      if (v == nullptr) return nullptr;
    }
    return v;
  }

  // What SplitToSequence is asked for.
  struct Splitting {
    ir::Value* x;
    ir::Value* split;   // null: parts of one element each
    bool listed;        // it says the extent of each part; else one number says all
    bool sized = true;  // `each` is known
    int64_t each = 1;   // elements of a part, but the last
    Bundle made = {};
    Dim extent() const { return x->type.shape[made.axis]; }
  };

  ir::Value* refuse_split(Code code, const std::string& what, const std::string& help = "") {
    record(code, what, help);
    return nullptr;
  }

  ir::Value* split_to_sequence() {
    Splitting s;
    s.x = lookup(node_.input(0));
    s.split = node_.input_size() > 1 && !node_.input(1).empty() ? lookup(node_.input(1)) : nullptr;
    s.listed = s.split != nullptr && s.split->type.shape.rank == 1;
    const int axis = normalize_axis(int_attribute(node_, scope_, "axis", 0), s.x->type.shape.rank);
    if (axis < 0 || (s.split != nullptr && (bundle(s.split) != nullptr || s.split->type.shape.rank > 1)))
      return refuse_split(Code::kBadNode, "its axis or split is wrong");
    s.made.whole = s.x;
    s.made.axis = axis;
    s.made.keeps_axis = s.split != nullptr || int_attribute(node_, scope_, "keepdims", 1) != 0;
    s.made.single = s.split == nullptr;
    std::vector<Dim> parts;
    const bool known = s.split == nullptr || ir::known_elements(s.split, &tools_.state.finder, &parts);
    if (s.listed) return !known || is_symbolic(s.extent()) ? split_at_run(s) : split_into(s, parts);
    s.sized = s.split == nullptr || known_number(tools_.state.finder, s.split, &s.each);
    if (s.sized && s.each < 1) return refuse_split(Code::kBadNode, "its split is not a positive number");
    return !s.sized || is_symbolic(s.extent()) ? split_evenly_at_run(s) : split_evenly(s);
  }

  // Parts whose extents only a run knows, but not their number.
  ir::Value* split_at_run(Splitting& s) {
    const Dim count = s.split->type.shape[0];
    if (is_symbolic(count) || count < 1 || count > 255)
      return refuse_split(Code::kUnsupportedNode, "the number of its parts is not known", "make split a constant");
    attrs::SplitT a;
    a.axis = s.made.axis;
    ir::Node* n = scope_.graph->add_node(Op::kSplit, pack<attrs::Split>(a), {s.x, s.split}, static_cast<size_t>(count));
    n->name = node_name(node_, &scope_);
    std::string message;
    if (!ok(ir::infer_node(*scope_.graph, n, &tools_.state.finder, &message)))
      return refuse_split(Code::kBadNode, message);
    s.made.elements = n->outputs;
    return tools_.bundles.add(std::move(s.made));
  }

  ir::Value* split_evenly(Splitting& s) {
    const int64_t count = s.extent() / s.each + (s.extent() % s.each != 0);
    if (s.extent() / s.each > static_cast<int64_t>(kMostElements)) {
      s.made.open = node_.output(0);
      s.made.length = constant_i64(count);
      return tools_.bundles.add(std::move(s.made));
    }
    std::vector<Dim> parts;
    for (Dim left = s.extent(); left > 0; left -= s.each) parts.push_back(std::min(left, s.each));
    return split_into(s, parts);
  }

  ir::Value* split_into(Splitting& s, const std::vector<Dim>& parts) {
    const Dim extent = s.extent();
    const std::string wrong = "its parts do not add up to the " + std::to_string(extent) + " elements";
    Dim at = 0;
    for (const Dim part : parts) {
      if (is_symbolic(part) || part < 0 || part > extent - at) return refuse_split(Code::kBadNode, wrong);
      ir::Value* start = constant_i64(std::vector<int64_t>{at});
      ir::Value* end = constant_i64(std::vector<int64_t>{at + part});
      s.made.elements.push_back(slice(s.x, s.made.axis, start, end, s.made.keeps_axis));
      if (s.made.elements.back() == nullptr) return nullptr;
      at += part;
    }
    if (at != extent) return refuse_split(Code::kBadNode, wrong);
    return tools_.bundles.add(std::move(s.made));
  }

  // Only a run knows how many parts there are: as many as can be are made, and a length.
  ir::Value* split_evenly_at_run(Splitting& s) {
    const ElementsOption* given = tools_.bundles.elements_option(node_.output(0));
    const Interval range = tools_.state.dims->interval(s.extent());
    const bool told = given != nullptr && given->count >= 0;
    const int64_t whole = range.open() ? 0 : range.hi / s.each + (range.hi % s.each != 0);
    const int64_t most = told ? given->count : whole;
    const bool open = !told && (range.open() || most > static_cast<int64_t>(kMostElements));
    if (open) s.made.open = node_.output(0);
    if (!open && most > static_cast<int64_t>(kMostElements))
      return refuse_split(Code::kUnsupportedNode, "may have " + above_most(most),
                          "say how many there are at most with --elements " + node_.output(0) + "=8");
    ir::Value* size = s.sized ? constant_i64(s.each) : as_scalar(s.split, DType::kI64);
    if (size == nullptr) return nullptr;
    if (!s.sized) size = checked(size, compare(Op::kLess, 0, size));
    attrs::ShapeT only;
    only.start = s.made.axis;
    only.end = s.made.axis + 1;
    ir::Value* last = is_symbolic(s.extent()) ? emit(Op::kShape, pack<attrs::Shape>(only), {s.x})
                                              : constant_i64(std::vector<int64_t>{s.extent()});
    if (!open && !slice_evenly(s, most, size, last)) return nullptr;
    s.made.length = parts_of(last, size);
    if (s.made.length != nullptr && !open && (range.open() || most < whole)) {
      ir::Value* fits = emit(Op::kLessOrEqual, no_attributes(), {s.made.length, constant_i64(most)});
      s.made.length = checked(s.made.length, fits);
    }
    return s.made.length == nullptr ? nullptr : tools_.bundles.add(std::move(s.made));
  }

  // The parts that there may be. `last`: the whole extent, which is where they end.
  bool slice_evenly(Splitting& s, int64_t most, ir::Value* size, ir::Value* last) {
    const bool keep = s.made.keeps_axis;
    ir::Value* start = constant_i64(std::vector<int64_t>{0});
    for (int64_t k = 0; k < most && start != nullptr && size != nullptr; ++k) {
      ir::Value* end = emit(Op::kAdd, no_attributes(), {start, size});
      end = emit(Op::kMin, no_attributes(), {end, last});
      if (end == nullptr) return false;
      // An axis that is not kept has one element. Beyond the end it is the last one again: a shape has no half.
      ir::Value* from = keep ? start : emit(Op::kSub, no_attributes(), {end, constant_i64(std::vector<int64_t>{1})});
      s.made.elements.push_back(slice(s.x, s.made.axis, from, end, keep));
      start = end;
    }
    return true;
  }

  // How many parts of `size` the extent has, the last of which may be smaller.
  ir::Value* parts_of(ir::Value* extent, ir::Value* size) {
    ir::Value* total = as_scalar(extent, DType::kI64);
    ir::Value* up = emit(Op::kAdd, no_attributes(), {size, total});
    up = emit(Op::kSub, no_attributes(), {up, constant_i64(1)});
    return emit(Op::kDiv, no_attributes(), {up, size});
  }

  ir::Value* concat_from_sequence() {
    const Bundle s = *bundle(lookup(node_.input(0)));
    const bool fresh = int_attribute(node_, scope_, "new_axis", 0) != 0;
    if (s.open.empty() && s.elements.empty()) {
      record(Code::kUnsupportedNode, "its sequence has no elements", "");
      return nullptr;
    }
    const int part =
        s.open.empty() ? s.elements[0]->type.shape.rank : s.whole->type.shape.rank - (s.keeps_axis ? 0 : 1);
    const int rank = part + (fresh ? 1 : 0);
    attrs::ConcatT a;
    a.axis = normalize_axis(int_attribute(node_, scope_, "axis", 0), rank);
    if (a.axis < 0) {
      record(Code::kBadNode, "its axis is outside the rank " + std::to_string(rank));
      return nullptr;
    }
    // What was split and is joined again, with the axis of the parts at the same place or, where it is new, at another.
    if (s.whole != nullptr && fresh != s.keeps_axis && (fresh || a.axis == s.axis))
      return move_axis(s.whole, s.axis, a.axis);
    if (refuse_open(tools_, scope_, node_, lookup(node_.input(0)))) return nullptr;
    std::vector<ir::Value*> parts;
    for (ir::Value* v : s.elements) {
      parts.push_back(fresh ? emit(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}),
                                   {v, constant_i64(std::vector<int64_t>{a.axis})})
                            : v);
    }
    ir::Value* y = emit(Op::kConcat, pack<attrs::Concat>(a), std::move(parts));
    return s.length == nullptr ? y : first_parts(y, a.axis, s, fresh);
  }

  // The parts of `joined` that are there: as many as the sequence is long, of as many elements each.
  ir::Value* first_parts(ir::Value* joined, int axis, const Bundle& parts, bool fresh) {
    const Dim each = fresh ? 1 : parts.elements[0]->type.shape[axis];
    for (const ir::Value* v : parts.elements) {
      if (!is_symbolic(each) && v->type == parts.elements[0]->type) continue;
      record(Code::kUnsupportedNode,
             "only a run knows how many elements its sequence has, and they may be of different shapes",
             "give the inputs' shapes (--shape) so that the sizes are known");
      return nullptr;
    }
    ir::Value* end = emit(Op::kMul, no_attributes(), {parts.length, constant_i64(each)});
    if (end == nullptr) return nullptr;
    end = emit(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {end, constant_i64(std::vector<int64_t>{1})});
    return slice(joined, axis, constant_i64(std::vector<int64_t>{0}), end, true);
  }

  std::vector<ir::Value*> sequence_map() {
    ::onnx::GraphProto* body = graph_attribute(node_, "body");
    if (body == nullptr || body->input_size() != node_.input_size() || body->output_size() < node_.output_size())
      return {};
    const Bundle s = *bundle(lookup(node_.input(0)));
    std::vector<Bundle> made(static_cast<size_t>(body->output_size()));
    for (size_t k = 0; k < s.elements.size(); ++k) {
      std::vector<ir::Value*> inputs, outputs;
      for (const std::string& name : node_.input()) {
        ir::Value* v = lookup(name);
        if (const Bundle* b = bundle(v)) {
          if (b->elements.size() != s.elements.size()) {
            record(Code::kBadNode, "its sequences have different lengths");
            return {};
          }
          v = b->elements[k];
        }
        inputs.push_back(v);
      }
      const std::string prefix = node_name(node_, &scope_) + "/" + std::to_string(k) + "/";
      if (!inline_graph(tools_, scope_, node_, *body, prefix, inputs, &outputs)) return {};
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (outputs[o] == &tools_.state.poison) return {};
        made[o].elements.push_back(outputs[o]);
      }
    }
    std::vector<ir::Value*> results;
    for (Bundle& b : made) {
      b.length = s.length;
      results.push_back(tools_.bundles.add(std::move(b)));
    }
    return results;
  }
};

}  // namespace

bool is_sequence_operator(const std::string& domain, const std::string& op) {
  static const char* const kOperators[] = {"SequenceEmpty",   "SequenceConstruct",  "SequenceInsert",
                                           "SequenceErase",   "SequenceAt",         "SequenceLength",
                                           "SplitToSequence", "SequenceMap",        "ConcatFromSequence",
                                           "Optional",        "OptionalHasElement", "OptionalGetElement"};
  return domain.empty() && std::find(std::begin(kOperators), std::end(kOperators), op) != std::end(kOperators);
}

bool reads_open_sequences(const std::string& domain, const std::string& op) {
  return domain.empty() &&
         (op == "ConcatFromSequence" || op == "SequenceAt" || op == "SequenceLength" || op == "Identity");
}

void import_sequence(const Tools& tools, Scope& scope, ::onnx::NodeProto& node) {
  const Diagnostics& diagnostics = tools.state.diagnostics;
  const size_t errors = diagnostics.error_count();
  const std::vector<ir::Value*> results = SequenceNode(tools, scope, node).results();
  const bool made = results.size() >= static_cast<size_t>(node.output_size()) &&
                    std::find(results.begin(), results.end(), nullptr) == results.end();
  if (!made) {
    if (diagnostics.error_count() == errors)
      tools.report.record(node, &scope, Code::kBadNode, "has too few or wrong inputs");
    return tools.names.bind_failed(scope, node);
  }
  for (int i = 0; i < node.output_size(); ++i)
    tools.names.bind(scope, node, node.output(i), results[static_cast<size_t>(i)]);
}

}  // namespace vireo::importer
