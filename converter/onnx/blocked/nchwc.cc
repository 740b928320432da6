// NCHWc forms mapped back: weights out of their blocks and without padding, Reorder nodes gone, everything else the
// plain operator it was. A Conv becomes com.microsoft's FusedConv, which has the same optional sum and activation.
//   Conv           [N, C, H, W] in blocks, a plain input of fewer channels than a block, filters OIHWBiBo or OIHWBo
//   pools          ONNX's
//   Upsample       Resize by whole factors; nearest repeats elements
//   ReorderInput   nothing, or Transpose where channels are last; ReorderOutput the same, and it drops channels
#include "converter/onnx/blocked/nchwc.h"

#include <algorithm>
#include <utility>

#include "converter/onnx/blocked/nchwc_plan.h"
#include "converter/onnx/builder.h"
#include "converter/onnx/declared.h"
#include "converter/onnx/state.h"

namespace vireo::importer {
namespace {

constexpr int kPlainOpset = 22;  // whose attributes the domain's pools have

class BlockedNode : private NodeBuilder {
 public:
  BlockedNode(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, size_t* passed_over)
      : NodeBuilder(tools, scope, node), plan_(*scope.blocked), passed_over_(passed_over) {}

  // False: a node like any other.
  bool import() {
    const auto refused = plan_.refused.find(&node_);
    if (refused != plan_.refused.end()) {
      record(Code::kUnsupportedNode, refused->second.first, refused->second.second);
    } else if (plan_.passed_over.count(&node_) != 0) {
      ++*passed_over_;
    } else if (plan_.reshapes.count(&node_) != 0) {
      bind(0, lookup(node_.input(0)));
      return true;
    } else if (!is_blocked(tools_.state, node_)) {
      if (same_places()) return false;
      record(Code::kUnsupportedNode,
             "what it reads is in blocks of channels, and differs in height or width: elements would not be where its "
             "operator looks for them",
             kSaveAgain);
    } else {
      const std::string& op = node_.op_type();
      if (op == "Conv") {
        conv();
      } else if (op == "ReorderInput" || op == "ReorderOutput") {
        ir::Value* y = op == "ReorderInput" ? reorder_input() : reorder_output();
        if (y == nullptr) {
          bind_failed();
        } else {
          bind(0, y);
        }
      } else if (op == "Upsample") {
        upsample();
      } else {
        ::onnx::NodeProto plain = node_;
        plain.clear_domain();
        tools_.nodes.import_operator(scope_, plain, "", kPlainOpset);
      }
      return true;
    }
    bind_failed();
    return true;
  }

 private:
  bool flag(const char* name) const { return int_attribute(node_, scope_, name, 0) != 0; }

  // A name for a constant in place of the one that the file calls `name`.
  std::string stand_in(const std::string& name, const ir::ConstantPtr& constant) {
    std::string own = name + "/plain";
    while (scope_.names.count(own) != 0) own += "_";
    scope_.names[own] = scope_.graph->add_constant(name, constant);
    return own;
  }

  // Whether operands in blocks have one height and width; what broadcasts is elsewhere in memory than its shape says.
  bool same_places() {
    if (node_.op_type() == "Concat") return true;  // its own shape function compares them
    const ir::Value* first = nullptr;
    for (const std::string& name : node_.input()) {
      if (name.empty() || plan_.find(name) == nullptr || plan_.split.count(name) != 0) continue;
      const ir::Value* v = lookup(name);
      if (first == nullptr) first = v;
      if (v->type.shape.rank != 4 || first->type.shape.rank != 4) return false;
      for (const int axis : {2, 3}) {
        const Dim a = first->type.shape[axis], b = v->type.shape[axis];
        if (a != b && (!is_symbolic(a) || !is_symbolic(b))) return false;
      }
    }
    return true;
  }

  ir::Value* reorder_input() {
    ir::Value* x = lookup(node_.input(0));
    const bool last = flag("channels_last");
    const auto refuse = [&](Code code, const std::string& what, const std::string& help) {
      record(code, what, help);
      return nullptr;
    };
    if (bundle(x) != nullptr || x->type.shape.rank != 4)
      return refuse(Code::kBadNode, "its input is not of rank 4", kSaveAgain);
    const Dim c = x->type.shape[last ? 3 : 1];
    if (is_symbolic(c))
      return refuse(Code::kUnsupportedNode, "how many channels its input has is not known",
                    "give the inputs' shapes (--shape), or " + std::string(kSaveAgain));
    const int64_t block = plan_.block;
    BlockedPlan::Set& s = *plan_.find(node_.output(0));
    if (s.padded != 0 && (c > s.padded || c < s.needed || (block != 0 && c <= s.padded - block)))
      return refuse(Code::kBadNode,
                    "its input has " + std::to_string(c) + " channels, and what reads its output wants " +
                        std::to_string(s.needed == 1 ? s.channels : s.needed) + " to " + std::to_string(s.padded),
                    kSaveAgain);
    if (!s.decided) s.channels = c;
    s.decided = true;
    if (c < s.channels)
      return refuse(Code::kBadNode,
                    "its input has " + std::to_string(c) + " channels, and a tensor that meets its output has " +
                        std::to_string(s.channels),
                    kSaveAgain);
    return first_channels(last ? move_axis(x, 3, 1) : x, s.channels);
  }

  ir::Value* reorder_output() {
    ir::Value* x = lookup(node_.input(0));
    BlockedPlan::Set& s = *plan_.find(node_.input(0));
    const int64_t channels = find_attribute(node_, scope_, "channels")->i();
    if (channels > s.channels) {
      record(Code::kBadNode,
             "channels is " + std::to_string(channels) + ", and its input has " + std::to_string(s.channels),
             kSaveAgain);
      return nullptr;
    }
    x = first_channels(x, channels);
    return x != nullptr && flag("channels_last") ? move_axis(x, 1, 3) : x;
  }

  // The first `channels` of them.
  ir::Value* first_channels(ir::Value* x, int64_t channels) {
    if (x == nullptr || x->type.shape[1] == channels) return x;
    ir::Value* start = constant_i64(std::vector<int64_t>{0});
    return slice(x, 1, start, constant_i64(std::vector<int64_t>{channels}), true);
  }

  void conv() {
    const BlockedPlan::Conv& form = plan_.convs.at(&node_);
    const BlockedFilter& f = form.filter;
    BlockedPlan::Set& made = *plan_.find(node_.output(0));
    made.decided = true;
    const int64_t out = made.channels;
    const int64_t in = f.in_blocks && form.group == 1 ? plan_.find(node_.input(0))->channels : f.in;
    const auto* from = form.weights->tensor.as<float>();
    std::vector<float> filter;
    filter.reserve(static_cast<size_t>(out * in * f.taps));
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        for (int64_t tap = 0; tap < f.taps; ++tap) filter.push_back(from[f.at(plan_.block, o, i, tap)]);
      }
    }
    Shape shape = form.weights->tensor.type.shape;
    shape[0] = out;
    shape[1] = in;
    ::onnx::NodeProto plain = node_;
    plain.set_domain("com.microsoft");
    plain.set_op_type("FusedConv");
    plain.set_input(1, stand_in(node_.input(1), ir::make_constant_of<float>(DType::kF32, shape, filter)));
    if (form.depthwise) set_attribute(&plain, "group", ::onnx::AttributeProto::INT)->set_i(out);
    if (node_.input_size() > 2 && !node_.input(2).empty() && out != f.out) {
      const ir::Value* v = lookup(node_.input(2));
      const ir::ConstantPtr bias = bundle(v) != nullptr ? nullptr : tools_.state.finder.find(v);
      if (bias == nullptr || bias->tensor.type.dtype != DType::kF32 || bias->tensor.count() != f.out) {
        return refuse(Code::kUnsupportedNode,
                      "its bias is not a constant of " + std::to_string(f.out) + " float32 numbers", kSaveAgain);
      }
      const auto* b = bias->tensor.as<float>();
      Shape vector;
      vector.rank = 1;
      vector[0] = out;
      plain.set_input(2, stand_in(node_.input(2),
                                  ir::make_constant_of<float>(DType::kF32, vector, std::vector<float>(b, b + out))));
    }
    tools_.nodes.import_operator(scope_, plain, "com.microsoft", 1);
  }

  void upsample() {
    const auto wrong = [&](const std::string& what) { refuse(Code::kUnsupportedNode, what, kSaveAgain); };
    const auto text = [&](const char* name, const char* otherwise) {
      const ::onnx::AttributeProto* a = find_attribute(node_, scope_, name);
      return a == nullptr ? std::string(otherwise) : a->s();
    };
    const ::onnx::AttributeProto* scales = find_attribute(node_, scope_, "scales");
    std::vector<float> factors;
    bool good = scales != nullptr && scales->ints_size() == 4;
    for (int i = 0; good && i < 4; ++i) {
      good = i < 2 ? scales->ints(i) == 1 : scales->ints(i) >= 1 && scales->ints(i) < (1 << 20);
      factors.push_back(static_cast<float>(scales->ints(i)));
    }
    if (!good) return wrong("scales is not 1, 1 and two whole numbers");
    const std::string mode = text("mode", "nearest"), coordinate = text("coordinate_transformation_mode", "asymmetric");
    const bool nearest = mode == "nearest";
    if (!nearest && mode != "linear") return wrong("mode is \"" + mode + "\"");
    if (coordinate != "asymmetric" && (nearest || (coordinate != "align_corners" && coordinate != "half_pixel")))
      return wrong("mode is \"" + mode + "\" with coordinate_transformation_mode \"" + coordinate + "\"");
    Shape vector;
    vector.rank = 1;
    vector[0] = 4;
    ::onnx::NodeProto plain = node_;
    plain.clear_domain();
    plain.set_op_type("Resize");
    plain.clear_attribute();
    plain.add_input("");
    plain.add_input(
        stand_in(node_name(node_, nullptr) + "/scales", ir::make_constant_of<float>(DType::kF32, vector, factors)));
    set_attribute(&plain, "mode", ::onnx::AttributeProto::STRING)->set_s(mode);
    set_attribute(&plain, "coordinate_transformation_mode", ::onnx::AttributeProto::STRING)->set_s(coordinate);
    if (nearest) set_attribute(&plain, "nearest_mode", ::onnx::AttributeProto::STRING)->set_s("floor");
    tools_.nodes.import_operator(scope_, plain, "", kPlainOpset);
  }

  BlockedPlan& plan_;
  size_t* passed_over_;  // counts nodes that are not imported for the reason that another is refused for
};

}  // namespace

bool is_blocked_operator(const std::string& domain, const std::string& op) {
  static const char* const kOperators[] = {"AveragePool", "Conv",         "GlobalAveragePool", "GlobalMaxPool",
                                           "MaxPool",     "ReorderInput", "ReorderOutput",     "Upsample"};
  return domain == kBlockedDomain &&
         std::any_of(std::begin(kOperators), std::end(kOperators), [&](const char* name) { return op == name; });
}

void Blocked::plan(Scope& scope, const Nodes& nodes, const std::vector<int>& order,
                   const std::set<std::string>& results) {
  scope.blocked = plan_blocks(tools_, scope, nodes, order, results, &block_);
  if (!scope.is_model()) return;
  // The file's declarations of these tensors count the padding.
  for (const auto& [name, set] : scope.blocked->names) tools_.declared.forget(name);
}

bool Blocked::import(Scope& scope, ::onnx::NodeProto& node) {
  return scope.blocked != nullptr && BlockedNode(tools_, scope, node, &passed_over_).import();
}

}  // namespace vireo::importer
