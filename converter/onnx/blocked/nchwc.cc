// NCHWc forms mapped back: weights out of their blocks and without padding, Reorder nodes gone, everything else the
// plain operator it was. A Conv becomes com.microsoft's FusedConv, which has the same optional sum and activation.
//   Conv           [N, C, H, W] in blocks, a plain input of fewer channels than a block, filters OIHWBiBo or OIHWBo
//   pools          ONNX's
//   Upsample       Resize by whole factors; nearest repeats elements
//   ReorderInput   nothing, or Transpose where channels are last; ReorderOutput the same, and it drops channels
#include "converter/onnx/blocked/nchwc.h"

#include <cstring>
#include <utility>

#include "converter/onnx/importer.h"

namespace vireo::importer {
namespace {

constexpr int kPlainOpset = 22;  // whose attributes the domain's pools have
constexpr char kSaveAgain[] =
    "save the model again with ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL, or convert the original";

bool flag(const ::onnx::NodeProto& node, const Scope& scope, const char* name) {
  const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
  return a != nullptr && a->i() != 0;
}

}  // namespace

// A name for a constant in place of the one that the file calls `name`.
std::string Importer::stand_in(Scope& scope, const std::string& name, const ir::ConstantPtr& constant) {
  std::string own = name + "/plain";
  while (scope.names.count(own) != 0) own += "_";
  scope.names[own] = scope.graph->add_constant(name, constant);
  return own;
}

// Of the domain, and no function that the model calls so.
bool Importer::is_blocked(const ::onnx::NodeProto& node) const {
  return is_blocked_operator(node.domain(), node.op_type()) && functions_.count({node.domain(), node.op_type()}) == 0;
}

bool Importer::import_blocked(Scope& scope, ::onnx::NodeProto& node) {
  if (scope.blocked == nullptr) return false;
  BlockedPlan& plan = *scope.blocked;
  const auto refused = plan.refused.find(&node);
  if (refused != plan.refused.end()) {
    record(&node, &scope, Code::kUnsupportedNode, refused->second.first, refused->second.second);
  } else if (plan.passed_over.count(&node) != 0) {
    ++nodes_passed_over_;
  } else if (plan.reshapes.count(&node) != 0) {
    bind(scope, node, node.output(0), lookup(scope, node.input(0)));
    return true;
  } else if (!is_blocked(node)) {
    if (same_places(scope, node)) return false;
    record(&node, &scope, Code::kUnsupportedNode,
           "what it reads is in blocks of channels, and differs in height or width: elements would not be where its "
           "operator looks for them",
           kSaveAgain);
  } else {
    const std::string& op = node.op_type();
    if (op == "Conv") {
      import_blocked_conv(scope, node);
    } else if (op == "ReorderInput" || op == "ReorderOutput") {
      ir::Value* y = op == "ReorderInput" ? reorder_input(scope, node) : reorder_output(scope, node);
      if (y == nullptr) {
        bind_failed(scope, node);
      } else {
        bind(scope, node, node.output(0), y);
      }
    } else if (op == "Upsample") {
      import_blocked_upsample(scope, node);
    } else {
      ::onnx::NodeProto plain = node;
      plain.clear_domain();
      import_operator(scope, plain, "", kPlainOpset);
    }
    return true;
  }
  bind_failed(scope, node);
  return true;
}

// Whether operands in blocks have one height and width; what broadcasts is elsewhere in memory than its shape says.
bool Importer::same_places(Scope& scope, const ::onnx::NodeProto& node) {
  if (node.op_type() == "Concat") return true;  // its own shape function compares them
  const ir::Value* first = nullptr;
  for (const std::string& name : node.input()) {
    if (name.empty() || scope.blocked->find(name) == nullptr || scope.blocked->split.count(name) != 0) continue;
    const ir::Value* v = lookup(scope, name);
    if (first == nullptr) first = v;
    if (v->type.shape.rank != 4 || first->type.shape.rank != 4) return false;
    for (const int axis : {2, 3}) {
      const Dim a = first->type.shape[axis], b = v->type.shape[axis];
      if (a != b && (!is_symbolic(a) || !is_symbolic(b))) return false;
    }
  }
  return true;
}

ir::Value* Importer::reorder_input(Scope& scope, ::onnx::NodeProto& node) {
  ir::Value* x = lookup(scope, node.input(0));
  const bool last = flag(node, scope, "channels_last");
  const auto refuse = [&](Code code, const std::string& what, const std::string& help) {
    record(&node, &scope, code, what, help);
    return nullptr;
  };
  if (bundle(x) != nullptr || x->type.shape.rank != 4)
    return refuse(Code::kBadNode, "its input is not of rank 4", kSaveAgain);
  const Dim c = x->type.shape[last ? 3 : 1];
  if (is_symbolic(c))
    return refuse(Code::kUnsupportedNode, "how many channels its input has is not known",
                  "give the inputs' shapes (--shape), or " + std::string(kSaveAgain));
  const int64_t block = scope.blocked->block;
  BlockedPlan::Set& s = *scope.blocked->find(node.output(0));
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
  return first_channels(scope, node, last ? move_axis(scope, node, x, 3, 1) : x, s.channels);
}

ir::Value* Importer::reorder_output(Scope& scope, ::onnx::NodeProto& node) {
  ir::Value* x = lookup(scope, node.input(0));
  BlockedPlan::Set& s = *scope.blocked->find(node.input(0));
  const int64_t channels = find_attribute(node, scope, "channels")->i();
  if (channels > s.channels) {
    record(&node, &scope, Code::kBadNode,
           "channels is " + std::to_string(channels) + ", and its input has " + std::to_string(s.channels), kSaveAgain);
    return nullptr;
  }
  x = first_channels(scope, node, x, channels);
  return x != nullptr && flag(node, scope, "channels_last") ? move_axis(scope, node, x, 1, 3) : x;
}

// The first `channels` of them.
ir::Value* Importer::first_channels(Scope& scope, const ::onnx::NodeProto& node, ir::Value* x, int64_t channels) {
  if (x == nullptr || x->type.shape[1] == channels) return x;
  ir::Value* start = constant_i64(scope, std::vector<int64_t>{0});
  return slice(scope, node, x, 1, start, constant_i64(scope, std::vector<int64_t>{channels}), true);
}

void Importer::import_blocked_conv(Scope& scope, ::onnx::NodeProto& node) {
  BlockedPlan& plan = *scope.blocked;
  const BlockedPlan::Conv& conv = plan.convs.at(&node);
  const BlockedFilter& f = conv.filter;
  BlockedPlan::Set& made = *plan.find(node.output(0));
  made.decided = true;
  const int64_t out = made.channels;
  const int64_t in = f.in_blocks && conv.group == 1 ? plan.find(node.input(0))->channels : f.in;
  const auto* from = conv.weights->tensor.as<float>();
  std::vector<float> filter;
  filter.reserve(static_cast<size_t>(out * in * f.taps));
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t tap = 0; tap < f.taps; ++tap) filter.push_back(from[f.at(plan.block, o, i, tap)]);
    }
  }
  Shape shape = conv.weights->tensor.type.shape;
  shape[0] = out;
  shape[1] = in;
  ::onnx::NodeProto plain = node;
  plain.set_domain("com.microsoft");
  plain.set_op_type("FusedConv");
  plain.set_input(1, stand_in(scope, node.input(1), ir::make_constant_of<float>(DType::kF32, shape, filter)));
  if (conv.depthwise) set_attribute(&plain, "group", ::onnx::AttributeProto::INT)->set_i(out);
  if (node.input_size() > 2 && !node.input(2).empty() && out != f.out) {
    const ir::Value* v = lookup(scope, node.input(2));
    const ir::ConstantPtr bias = bundle(v) != nullptr ? nullptr : finder_.find(v);
    if (bias == nullptr || bias->tensor.type.dtype != DType::kF32 || bias->tensor.count() != f.out) {
      record(&node, &scope, Code::kUnsupportedNode,
             "its bias is not a constant of " + std::to_string(f.out) + " float32 numbers", kSaveAgain);
      return bind_failed(scope, node);
    }
    const auto* b = bias->tensor.as<float>();
    Shape vector;
    vector.rank = 1;
    vector[0] = out;
    plain.set_input(2, stand_in(scope, node.input(2),
                                ir::make_constant_of<float>(DType::kF32, vector, std::vector<float>(b, b + out))));
  }
  import_operator(scope, plain, "com.microsoft", 1);
}

void Importer::import_blocked_upsample(Scope& scope, ::onnx::NodeProto& node) {
  const auto refuse = [&](const std::string& what) {
    record(&node, &scope, Code::kUnsupportedNode, what, kSaveAgain);
    bind_failed(scope, node);
  };
  const auto text = [&](const char* name, const char* otherwise) {
    const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
    return a == nullptr ? std::string(otherwise) : a->s();
  };
  const ::onnx::AttributeProto* scales = find_attribute(node, scope, "scales");
  std::vector<float> factors;
  bool good = scales != nullptr && scales->ints_size() == 4;
  for (int i = 0; good && i < 4; ++i) {
    good = i < 2 ? scales->ints(i) == 1 : scales->ints(i) >= 1 && scales->ints(i) < (1 << 20);
    factors.push_back(static_cast<float>(scales->ints(i)));
  }
  if (!good) return refuse("scales is not 1, 1 and two whole numbers");
  const std::string mode = text("mode", "nearest"), coordinate = text("coordinate_transformation_mode", "asymmetric");
  const bool nearest = mode == "nearest";
  if (!nearest && mode != "linear") return refuse("mode is \"" + mode + "\"");
  if (coordinate != "asymmetric" && (nearest || (coordinate != "align_corners" && coordinate != "half_pixel")))
    return refuse("mode is \"" + mode + "\" with coordinate_transformation_mode \"" + coordinate + "\"");
  Shape vector;
  vector.rank = 1;
  vector[0] = 4;
  ::onnx::NodeProto plain = node;
  plain.clear_domain();
  plain.set_op_type("Resize");
  plain.clear_attribute();
  plain.add_input("");
  plain.add_input(
      stand_in(scope, node_name(node, nullptr) + "/scales", ir::make_constant_of<float>(DType::kF32, vector, factors)));
  set_attribute(&plain, "mode", ::onnx::AttributeProto::STRING)->set_s(mode);
  set_attribute(&plain, "coordinate_transformation_mode", ::onnx::AttributeProto::STRING)->set_s(coordinate);
  if (nearest) set_attribute(&plain, "nearest_mode", ::onnx::AttributeProto::STRING)->set_s("floor");
  import_operator(scope, plain, "", kPlainOpset);
}

}  // namespace vireo::importer
