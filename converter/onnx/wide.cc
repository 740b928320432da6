#include "converter/onnx/wide.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "converter/onnx/builder.h"
#include "converter/onnx/names.h"
#include "converter/onnx/report.h"
#include "converter/onnx/state.h"
#include "sdk/ops/reshape/reshape_generated.h"

namespace vireo::importer {
namespace {

using Dims = std::vector<Dim>;
using Axes = std::vector<int>;

std::string limit() { return "at most " + std::to_string(kMaxRank); }
constexpr char kHelp[] = "merge neighbouring dimensions before this operator, or compute with fewer of them";

// Operators that give each element of the result from the elements at its place, with broadcasting. A quantizing one is
// among them while its scale has one element.
bool is_elementwise(const std::string& op) {
  static const std::set<std::string> kAll = {"Abs",
                                             "Acos",
                                             "Acosh",
                                             "Add",
                                             "And",
                                             "Asin",
                                             "Asinh",
                                             "Atan",
                                             "Atanh",
                                             "BitShift",
                                             "BitwiseAnd",
                                             "BitwiseNot",
                                             "BitwiseOr",
                                             "BitwiseXor",
                                             "Cast",
                                             "CastLike",
                                             "Ceil",
                                             "Celu",
                                             "Clip",
                                             "Cos",
                                             "Cosh",
                                             "Div",
                                             "DequantizeLinear",
                                             "Elu",
                                             "Equal",
                                             "Erf",
                                             "Exp",
                                             "Floor",
                                             "Gelu",
                                             "Greater",
                                             "GreaterOrEqual",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "IsInf",
                                             "IsNaN",
                                             "LeakyRelu",
                                             "Less",
                                             "LessOrEqual",
                                             "Log",
                                             "Max",
                                             "Mean",
                                             "Min",
                                             "Mish",
                                             "Mod",
                                             "Mul",
                                             "Neg",
                                             "Not",
                                             "Or",
                                             "PRelu",
                                             "Pow",
                                             "QuantizeLinear",
                                             "Reciprocal",
                                             "Relu",
                                             "Round",
                                             "Selu",
                                             "Shrink",
                                             "Sigmoid",
                                             "Sign",
                                             "Sin",
                                             "Sinh",
                                             "Softplus",
                                             "Softsign",
                                             "Sqrt",
                                             "Sub",
                                             "Sum",
                                             "Tan",
                                             "Tanh",
                                             "ThresholdedRelu",
                                             "Where",
                                             "Xor"};
  return kAll.count(op) != 0;
}

bool is_reduction(const std::string& op) {
  static const std::set<std::string> kAll = {"ReduceL1",  "ReduceL2",       "ReduceLogSum", "ReduceLogSumExp",
                                             "ReduceMax", "ReduceMean",     "ReduceMin",    "ReduceProd",
                                             "ReduceSum", "ReduceSumSquare"};
  return kAll.count(op) != 0;
}

bool is_one(Dim d) { return !is_symbolic(d) && d == 1; }

// Neighbouring axes of the same kind become one. Axes of kind -1 have an extent of 1 and go.
std::vector<Axes> grouped(const std::vector<int>& kinds) {
  std::vector<Axes> groups;
  int last = -1;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] < 0) continue;
    if (groups.empty() || kinds[i] != last) groups.emplace_back();
    groups.back().push_back(static_cast<int>(i));
    last = kinds[i];
  }
  return groups;
}

// One node that reads or makes a wide tensor.
class WideNode : private NodeBuilder {
 public:
  WideNode(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, int opset)
      : NodeBuilder(tools, scope, node), opset_(opset) {}

  // False: it was refused, with a diagnostic.
  bool import() {
    const std::string& op = node_.op_type();
    if (op == "Identity") return give(0, operand(0).flat, operand(0).dims);
    if (op == "Reshape" || op == "Unsqueeze" || op == "Squeeze" || op == "Flatten") {
      Dims dims;
      return (viewed(&dims) || refuse("the shape is not known or does not fit")) &&
             give(0, operand(0).flat, std::move(dims));
    }
    if (op == "Shape") return shape();
    if (op == "Transpose") return transpose();
    if (op == "Expand") return expand();
    if (op == "Concat" || op == "Split" || op == "Softmax" || op == "LogSoftmax") return along_axis();
    if (op == "MatMul") return mat_mul();
    if (is_reduction(op)) return reduce();
    if (is_elementwise(op)) return elementwise();
    return refuse("the operator is not known for so large a rank");
  }

  // Whether a node that reads no wide tensor makes one. Few do: only how many dimensions there are is looked at.
  bool makes_wide() {
    const std::string& op = node_.op_type();
    Dims list;
    if (operand(0).flat == nullptr) return false;
    if (op == "Reshape") return listed(1, "shape", &list) && list.size() > kMaxRank;
    return op == "Unsqueeze" && listed(1, "axes", &list) && operand(0).dims.size() + list.size() > kMaxRank;
  }

  // The dimensions of what a Reshape or Unsqueeze gives; false where they are not known here.
  bool viewed(Dims* out) {
    const std::string& op = node_.op_type();
    const Dims x = operand(0).dims;
    Dims list;
    if (op == "Reshape") return listed(1, "shape", &list) && reshaped(x, list, out);
    if (op == "Flatten") {
      const int64_t axis = number("axis", 1);
      const auto middle = x.begin() + (axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
      *out = {product(Dims(x.begin(), middle)), product(Dims(middle, x.end()))};
      return true;
    }
    const bool adds = op == "Unsqueeze";
    const bool given = listed(1, "axes", &list);
    if (!given && adds) return false;
    std::set<int64_t> axes;
    const auto rank = static_cast<int64_t>(adds ? x.size() + list.size() : x.size());
    for (const Dim a : list) {
      if (is_symbolic(a) || a < -rank || a >= rank || !axes.insert(a < 0 ? a + rank : a).second) return false;
    }
    size_t from = 0;
    out->clear();
    for (int64_t i = 0; i < rank; ++i) {
      const bool named = axes.count(i) != 0;
      if (adds && named) {
        out->push_back(1);
      } else {
        const Dim d = x[from++];
        if (adds || !(given ? named : is_one(d))) out->push_back(d);
      }
    }
    return true;
  }

 private:
  struct Operand {
    ir::Value* flat = nullptr;  // null: the input is left out
    Dims dims;
  };

  Operand operand(int i) {
    if (i >= node_.input_size() || node_.input(i).empty()) return {};
    ir::Value* v = lookup(node_.input(i));
    if (const WideTensor* wide = tools_.wides.find(v)) return {wide->flat, wide->dims};
    return {v, Dims(v->type.shape.dims, v->type.shape.dims + v->type.shape.rank)};
  }

  bool refuse(const std::string& why) {
    std::string of;
    for (const std::string& name : node_.input()) {
      const WideTensor* wide = name.empty() ? nullptr : tools_.wides.find(lookup(name));
      if (wide != nullptr && of.empty()) of = "its input \"" + name + "\" is " + tools_.wides.text(*wide) + ", ";
    }
    record(Code::kUnsupportedNode, of + limit() + " dimensions are supported, and " + why, kHelp);
    return false;
  }

  int64_t number(const char* name, int64_t otherwise) const { return int_attribute(node_, scope_, name, otherwise); }

  // A list that is an input, or an attribute in older opsets. False: it is left out, or not known.
  bool listed(int input, const char* attribute, Dims* out) {
    if (const ::onnx::AttributeProto* a = find_attribute(node_, scope_, attribute)) {
      out->assign(a->ints().begin(), a->ints().end());
      return true;
    }
    const Operand list = operand(input);
    return list.flat != nullptr && list.dims.size() == 1 && ir::known_elements(list.flat, &tools_.state.finder, out);
  }

  Dim product(const Dims& dims) {
    Dim n = 1;
    for (const Dim d : dims) n = tools_.state.dims->mul(n, d);
    return n;
  }

  bool reshaped(const Dims& x, const Dims& list, Dims* out) {
    *out = list;
    Dim rest = product(x);
    size_t open = list.size();
    for (size_t i = 0; i < list.size(); ++i) {
      Dim& d = (*out)[i];
      if (is_symbolic(d) || d > 0) {
        rest = tools_.state.dims->floor_div(rest, d);
      } else if (d == 0 && number("allowzero", 0) == 0 && i < x.size()) {
        d = x[i];
        rest = tools_.state.dims->floor_div(rest, d);
      } else if (d == -1 && open == list.size()) {
        open = i;
      } else {
        return false;
      }
    }
    if (open < list.size()) (*out)[open] = rest;
    return product(*out) == product(x);
  }

  // `v` with these dimensions, at most kMaxRank of them. Null: refused.
  ir::Value* reshape(ir::Value* v, const Dims& dims) {
    const Shape& s = v->type.shape;
    if (static_cast<size_t>(s.rank) == dims.size() && std::equal(dims.begin(), dims.end(), s.dims)) return v;
    std::vector<int64_t> list(dims.begin(), dims.end());
    const auto open = std::count_if(dims.begin(), dims.end(), is_symbolic);
    const auto empty = std::count(dims.begin(), dims.end(), 0);
    if (open + (empty > 0 && open > 0 ? 1 : 0) > 1) {
      static_cast<void>(refuse("more than one of its merged dimensions is only known in a run (--shape fixes them)"));
      return nullptr;
    }
    for (int64_t& d : list) d = is_symbolic(d) ? -1 : d;
    attrs::ReshapeT a;
    a.allowzero = empty > 0;
    return emit(Op::kReshape, pack<attrs::Reshape>(a), {v, constant_i64(list)});
  }

  // Output `i`: these elements with these dimensions.
  bool give(int i, ir::Value* flat, Dims dims) {
    if (i >= node_.output_size() || node_.output(i).empty()) return true;
    if (flat == nullptr) return false;
    ir::Value* result = dims.size() > kMaxRank ? tools_.wides.add(flat, std::move(dims)) : reshape(flat, dims);
    if (result != nullptr) tools_.names.bind(scope_, node_, node_.output(i), result);
    return result != nullptr;
  }

  std::string free_name(const std::string& stem) {
    std::string name = stem + "/merged";
    while (scope_.names.count(name) != 0) name += "_";
    return name;
  }

  // The node itself with other inputs (null: left out) and the attributes of `plain`. Empty: refused.
  std::vector<ir::Value*> run(::onnx::NodeProto plain, const std::vector<ir::Value*>& inputs) {
    plain.clear_input();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool named = static_cast<int>(i) < node_.input_size();
      const std::string name =
          inputs[i] == nullptr ? "" : free_name(named ? node_.input(static_cast<int>(i)) : node_.output(0));
      if (inputs[i] != nullptr) scope_.names[name] = inputs[i];
      plain.add_input(name);
    }
    for (std::string& name : *plain.mutable_output()) name = name.empty() ? "" : free_name(name);
    tools_.nodes.import_operator(scope_, plain, "", opset_);
    std::vector<ir::Value*> results;
    for (const std::string& name : plain.output()) {
      ir::Value* v = name.empty() ? nullptr : lookup(name);
      if (v == &tools_.state.poison) return {};
      if (v != nullptr && v->name == scope_.prefix + name) v->name.clear();  // give() names it
      results.push_back(v);
    }
    return results;
  }

  ::onnx::NodeProto with_int(const char* attribute, int64_t value) const {
    ::onnx::NodeProto plain = node_;
    set_attribute(&plain, attribute, ::onnx::AttributeProto::INT)->set_i(value);
    return plain;
  }

  Dims merged(const Dims& dims, const std::vector<Axes>& groups) {
    Dims out;
    for (const Axes& group : groups) {
      Dims parts;
      for (const int axis : group) parts.push_back(dims[static_cast<size_t>(axis)]);
      out.push_back(product(parts));
    }
    return out;
  }

  bool too_many(size_t groups) {
    return groups > kMaxRank && !refuse(std::to_string(groups) + " are left where those that can be merged are one");
  }

  bool shape() {
    const Dims dims = operand(0).dims;
    const auto rank = static_cast<int64_t>(dims.size());
    const auto clamp = [rank](int64_t i) { return std::min(std::max<int64_t>(i < 0 ? i + rank : i, 0), rank); };
    const int64_t begin = clamp(number("start", 0)), end = std::max(begin, clamp(number("end", rank)));
    if (std::any_of(dims.begin() + begin, dims.begin() + end, is_symbolic))
      return refuse("one of them is only known in a run (--shape fixes it)");
    return give(0, constant_i64(std::vector<int64_t>(dims.begin() + begin, dims.begin() + end)), {end - begin});
  }

  bool transpose() {
    const Operand x = operand(0);
    Axes perm(x.dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::reverse(perm.begin(), perm.end());
    if (const ::onnx::AttributeProto* a = find_attribute(node_, scope_, "perm"))
      perm.assign(a->ints().begin(), a->ints().end());
    Axes sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted.size() != x.dims.size() || sorted[i] != static_cast<int>(i))
        return refuse("perm does not list every dimension once");
    }
    Dims result;
    for (const int axis : perm) result.push_back(x.dims[static_cast<size_t>(axis)]);
    // Runs of axes that follow each other before and after. Those of extent 1 change nothing.
    std::vector<Axes> runs;
    Axes place(x.dims.size());  // among the axes that count
    int count = 0;
    for (size_t i = 0; i < x.dims.size(); ++i) place[i] = is_one(x.dims[i]) ? -1 : count++;
    int last = -2;
    for (const int axis : perm) {
      const int at = place[static_cast<size_t>(axis)];
      if (at < 0) continue;
      if (at != last + 1) runs.emplace_back();
      runs.back().push_back(axis);
      last = at;
    }
    if (too_many(runs.size())) return false;
    Axes order(runs.size());  // of the runs in the input
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return runs[static_cast<size_t>(a)].front() < runs[static_cast<size_t>(b)].front();
    });
    if (std::is_sorted(order.begin(), order.end())) return give(0, x.flat, std::move(result));
    std::vector<Axes> before;
    for (const int run : order) before.push_back(runs[static_cast<size_t>(run)]);
    ::onnx::NodeProto plain = node_;
    auto* a = set_attribute(&plain, "perm", ::onnx::AttributeProto::INTS);
    for (size_t i = 0; i < runs.size(); ++i)
      a->add_ints(std::find(order.begin(), order.end(), static_cast<int>(i)) - order.begin());
    ir::Value* narrow = reshape(x.flat, merged(x.dims, before));
    if (narrow == nullptr) return false;
    const std::vector<ir::Value*> y = run(plain, {narrow});
    return !y.empty() && give(0, y[0], std::move(result));
  }

  // The dimensions that operands broadcast to. False: refused.
  bool broadcast(const std::vector<Operand>& operands, Dims* out) {
    size_t rank = 0;
    for (const Operand& o : operands) rank = std::max(rank, o.dims.size());
    out->assign(rank, 1);
    for (const Operand& o : operands) {
      for (size_t i = 0; i < o.dims.size(); ++i) {
        Dim& d = (*out)[rank - o.dims.size() + i];
        const Dim own = o.dims[i];
        if (is_one(own) || own == d) continue;
        if (!is_one(d)) return refuse("its operands differ in dimension " + std::to_string(i));
        d = own;
      }
    }
    return true;
  }

  // Axes of the result, merged where each operand has both or repeats over both.
  std::vector<Axes> groups_of(const std::vector<Operand>& operands, const Dims& result) {
    std::vector<int> kinds;
    std::map<std::vector<bool>, int> known;
    for (size_t i = 0; i < result.size(); ++i) {
      std::vector<bool> repeats;
      for (const Operand& o : operands) repeats.push_back(is_one(extent(o, i, result.size())));
      kinds.push_back(is_one(result[i]) ? -1 : known.emplace(repeats, static_cast<int>(known.size())).first->second);
    }
    return grouped(kinds);
  }

  static Dim extent(const Operand& o, size_t axis, size_t rank) {
    const size_t missing = rank - o.dims.size();
    return axis < missing ? 1 : o.dims[axis - missing];
  }

  // An operand with the groups as its dimensions; one of a single element stays a scalar.
  ir::Value* narrowed(const Operand& o, const std::vector<Axes>& groups, size_t rank) {
    Dims all;
    for (size_t i = 0; i < rank; ++i) all.push_back(extent(o, i, rank));
    if (std::all_of(all.begin(), all.end(), is_one)) return reshape(o.flat, {});
    return reshape(o.flat, merged(all, groups));
  }

  bool elementwise() {
    std::vector<Operand> operands, there;
    for (int i = 0; i < node_.input_size(); ++i) {
      operands.push_back(operand(i));
      if (operands.back().flat != nullptr) there.push_back(operands.back());
    }
    if (opset_ < 7 && there.size() > 1) return refuse("its broadcasting is that of an opset before 7");
    const bool quantizes = node_.op_type() == "QuantizeLinear" || node_.op_type() == "DequantizeLinear";
    for (size_t i = 1; quantizes && i < there.size(); ++i) {
      if (!is_one(product(there[i].dims))) return refuse("its scale is not one number");
    }
    Dims result;
    if (!broadcast(there, &result)) return false;
    const std::vector<Axes> groups = groups_of(there, result);
    if (too_many(groups.size())) return false;
    std::vector<ir::Value*> inputs;
    for (const Operand& o : operands) {
      inputs.push_back(o.flat == nullptr ? nullptr : narrowed(o, groups, result.size()));
      if (o.flat != nullptr && inputs.back() == nullptr) return false;
    }
    const std::vector<ir::Value*> y = run(node_, inputs);
    return !y.empty() && give(0, y[0], std::move(result));
  }

  bool expand() {
    const Operand x = operand(0);
    Dims list;
    if (!listed(1, "shape", &list)) return refuse("the shape is only known in a run (--shape fixes it)");
    Dims result;
    if (!broadcast({x, {nullptr, list}}, &result)) return false;
    const std::vector<Axes> groups = groups_of({x}, result);
    if (too_many(groups.size())) return false;
    const Dims to = merged(result, groups);
    if (std::any_of(to.begin(), to.end(), is_symbolic))
      return refuse("one of its dimensions is only known in a run (--shape fixes it)");
    ir::Value* narrow = narrowed(x, groups, result.size());
    if (narrow == nullptr) return false;
    const std::vector<ir::Value*> y = run(node_, {narrow, constant_i64({to.begin(), to.end()})});
    return !y.empty() && give(0, y[0], std::move(result));
  }

  bool reduce() {
    const Operand x = operand(0);
    Dims list;
    const bool given = listed(1, "axes", &list);
    if (!given && operand(1).flat != nullptr) return refuse("its axes are only known in a run");
    if (list.empty() && number("noop_with_empty_axes", 0) != 0) return refuse("it reduces nothing");
    const auto rank = static_cast<int64_t>(x.dims.size());
    std::vector<bool> reduced(x.dims.size(), list.empty());
    for (const Dim a : list) {
      if (is_symbolic(a) || a < -rank || a >= rank) return refuse("its axes are not those of its input");
      reduced[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
    }
    std::vector<int> kinds;
    Dims result;
    const bool keeps = number("keepdims", 1) != 0;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      kinds.push_back(reduced[i] ? 1 : is_one(x.dims[i]) ? -1 : 0);
      if (!reduced[i] || keeps) result.push_back(reduced[i] ? 1 : x.dims[i]);
    }
    const std::vector<Axes> groups = grouped(kinds);
    if (too_many(groups.size())) return false;
    ir::Value* narrow = reshape(x.flat, merged(x.dims, groups));
    if (narrow == nullptr) return false;
    std::vector<int64_t> axes;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (reduced[static_cast<size_t>(groups[g].front())]) axes.push_back(static_cast<int64_t>(g));
    }
    ::onnx::NodeProto plain = with_int("keepdims", 0);
    std::vector<ir::Value*> inputs = {narrow};
    if (find_attribute(node_, scope_, "axes") != nullptr) {
      for (auto& a : *plain.mutable_attribute()) {
        if (a.name() != "axes") continue;
        a.clear_ref_attr_name();
        a.clear_ints();
        for (const int64_t axis : axes) a.add_ints(axis);
      }
    } else if (given) {
      inputs.push_back(constant_i64(axes));
    }
    const std::vector<ir::Value*> y = run(plain, inputs);
    return !y.empty() && give(0, y[0], std::move(result));
  }

  // Concat, Split and Softmax: what is in front of the axis and what is behind it become one dimension each.
  bool along_axis() {
    const bool softmax = node_.op_type() == "Softmax" || node_.op_type() == "LogSoftmax";
    const Operand first = operand(0);
    const auto rank = static_cast<int64_t>(first.dims.size());
    int64_t axis = number("axis", softmax ? (opset_ < 13 ? 1 : -1) : 0);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return refuse("its axis is not one of its input's");
    const bool flattens = softmax && opset_ < 13;  // the axis and all behind it are one
    const int inputs = node_.op_type() == "Concat" ? node_.input_size() : 1;
    std::vector<ir::Value*> narrow;
    Dims result = first.dims;
    for (int i = 0; i < inputs; ++i) {
      const Operand x = operand(i);
      for (size_t d = 0; d < first.dims.size(); ++d) {
        if (x.dims.size() != first.dims.size() || (d != static_cast<size_t>(axis) && x.dims[d] != first.dims[d]))
          return refuse("its operands differ in their dimensions");
      }
      const auto at = x.dims.begin() + axis;
      Dims three = {product(Dims(x.dims.begin(), at)), *at, product(Dims(at + 1, x.dims.end()))};
      if (flattens) three = {three[0], product(Dims(at, x.dims.end()))};
      narrow.push_back(reshape(x.flat, three));
      if (narrow.back() == nullptr) return false;
      if (i > 0) result[static_cast<size_t>(axis)] = tools_.state.dims->add(result[static_cast<size_t>(axis)], *at);
    }
    for (int i = inputs; i < node_.input_size(); ++i) narrow.push_back(operand(i).flat);  // the sizes of a Split
    const std::vector<ir::Value*> y = run(with_int("axis", 1), narrow);
    for (size_t i = 0; i < y.size(); ++i) {
      if (y[i] == nullptr) continue;
      Dims dims = result;
      if (node_.op_type() == "Split") dims[static_cast<size_t>(axis)] = y[i]->type.shape[1];
      if (!give(static_cast<int>(i), y[i], std::move(dims))) return false;
    }
    return !y.empty();
  }

  bool mat_mul() {
    const Operand a = operand(0), b = operand(1);
    if (a.dims.size() < 2 || b.dims.size() < 2) return refuse("one of its operands is a vector");
    const Dims batch_a(a.dims.begin(), a.dims.end() - 2), batch_b(b.dims.begin(), b.dims.end() - 2);
    if (batch_a != batch_b && !batch_a.empty() && !batch_b.empty())
      return refuse("its operands differ in the dimensions of the batch");
    const Dims& batch = batch_a.empty() ? batch_b : batch_a;
    const auto narrow = [&](const Operand& o) {
      Dims dims(o.dims.end() - 2, o.dims.end());
      if (o.dims.size() > 2) dims.insert(dims.begin(), product(batch));
      return reshape(o.flat, dims);
    };
    ir::Value* x = narrow(a);
    ir::Value* w = x == nullptr ? nullptr : narrow(b);
    if (w == nullptr) return false;
    Dims result = batch;
    result.push_back(a.dims[a.dims.size() - 2]);
    result.push_back(b.dims.back());
    const std::vector<ir::Value*> y = run(node_, {x, w});
    return !y.empty() && give(0, y[0], std::move(result));
  }

  const int opset_;
};

}  // namespace

const WideTensor* WideTensors::find(const ir::Value* v) const {
  const auto it = markers_.find(v);
  return it == markers_.end() ? nullptr : it->second;
}

ir::Value* WideTensors::add(ir::Value* flat, std::vector<Dim> dims) {
  all_.emplace_back();
  WideTensor& made = all_.back();
  made.flat = flat;
  made.dims = std::move(dims);
  made.marker.type = flat->type;
  markers_[&made.marker] = &made;
  return &made.marker;
}

std::string WideTensors::text(const WideTensor& wide) const {
  std::string out = dtype_name(wide.flat->type.dtype);
  for (size_t i = 0; i < wide.dims.size(); ++i) out += (i == 0 ? "[" : ",") + dims_.text(wide.dims[i]);
  return out + "]";
}

void refuse_wide(const Tools& tools, const Scope& scope, const ::onnx::NodeProto& node, const std::string& what,
                 const WideTensor& wide) {
  tools.report.record(node, &scope, Code::kUnsupportedNode,
                      what + " is " + tools.wides.text(wide) + ", " + limit() + " dimensions are supported", kHelp);
}

bool import_wide(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, const std::string& domain) {
  bool reads = false;
  for (const std::string& name : node.input()) {
    const WideTensor* wide = name.empty() ? nullptr : tools.wides.find(tools.names.lookup(scope, name));
    if (wide == nullptr) continue;
    reads = true;
    if (domain.empty()) continue;
    refuse_wide(tools, scope, node, "its input \"" + name + "\"", *wide);
    tools.names.bind_failed(scope, node);
    return true;
  }
  const auto opset = scope.opsets.find(domain);
  if (opset == scope.opsets.end()) return false;
  WideNode wide(tools, scope, node, opset->second);
  if (!reads && !(domain.empty() && wide.makes_wide())) return false;
  if (!wide.import()) tools.names.bind_failed(scope, node);
  return true;
}

}  // namespace vireo::importer
