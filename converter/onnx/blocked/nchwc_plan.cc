// Which tensors are in blocks, how large the block is, and how many channels each tensor has without the padding.
//
// Block. A filter's extents are multiples of it, a ReorderOutput's channels rounded up to it are what it reads, and a
// convolution that reads plain channels has fewer inputs than it. Where this leaves two: seen in the right blocks,
// channels that only pad are zero in all of a filter, and they are the last; in the wrong ones they are scattered.
// Channels. A ReorderInput and a ReorderOutput say them. Elsewhere those that no reader multiplies with anything but
// zero are left out, fewer than a block: whatever they were, nobody sees them.
#include "converter/onnx/blocked/nchwc_plan.h"

#include <algorithm>

#include "converter/onnx/blocked/nchwc.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"

namespace vireo::importer {
namespace {

// What each element of the result is follows from the same element of each operand: the order in memory is no matter.
bool is_elementwise(const std::string& domain, const std::string& op) {
  static const char* const kPlain[] = {
      "Abs",     "Add",      "Ceil",        "Celu",      "Clip",     "Div",       "Elu",   "Erf",   "Exp",
      "Floor",   "Gelu",     "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log",   "Max",   "Mean",
      "Min",     "Mish",     "Mul",         "Neg",       "Pow",      "PRelu",     "Relu",  "Round", "Selu",
      "Sigmoid", "Softplus", "Softsign",    "Sqrt",      "Sub",      "Sum",       "Swish", "Tanh",  "ThresholdedRelu"};
  static const char* const kMicrosoft[] = {"FastGelu", "Gelu", "QuickGelu"};
  const auto is = [&](const char* name) { return op == name; };
  if (domain.empty()) return std::any_of(std::begin(kPlain), std::end(kPlain), is);
  return domain == "com.microsoft" && std::any_of(std::begin(kMicrosoft), std::end(kMicrosoft), is);
}

std::string dims_text(const Shape& s) {
  std::string out = "[";
  for (int i = 0; i < s.rank; ++i) out += (i == 0 ? "" : ",") + std::to_string(s[i]);
  return out + "]";
}

// Channels at a filter's end that are zero throughout, at most `most`.
int64_t zeros_at_end(const BlockedPlan::Conv& c, int64_t block, bool outputs, int64_t most) {
  const auto* w = c.weights->tensor.as<float>();
  const BlockedFilter& f = c.filter;
  const int64_t count = outputs ? f.out : f.in, others = outputs ? f.in : f.out;
  for (int64_t n = 0; n < std::min(most, count); ++n) {
    const int64_t channel = count - 1 - n;
    for (int64_t other = 0; other < others; ++other) {
      for (int64_t tap = 0; tap < f.taps; ++tap) {
        if (w[f.at(block, outputs ? channel : other, outputs ? other : channel, tap)] != 0) return n;
      }
    }
  }
  return std::min(most, count);
}

class BlockPlanner {
 public:
  // `block`: what is known of it (0: nothing).
  BlockPlanner(ImportState& state, const Scope& scope, int64_t block) : state_(state), scope_(scope), block_(block) {}

  std::shared_ptr<BlockedPlan> plan(const Nodes& nodes, const std::vector<int>& order,
                                    const std::set<std::string>& results) {
    for (const int i : order) {
      const ::onnx::NodeProto& node = nodes[i];
      std::string what;
      for (const std::string& name : node.output()) {
        if (plan_->find(name) != nullptr) what = "its output \"" + name + "\" is made by another node, too";
      }
      if (what.empty()) what = read(node);
      if (!what.empty()) {
        refuse(node, what);
        continue;
      }
      for (const std::string& name : node.output()) {
        if (results.count(name) == 0 || plan_->find(name) == nullptr) continue;
        refuse(node, "its output \"" + name + "\" is in blocks of channels, and is a result of the graph");
      }
    }
    solve_concats();
    find_block();
    find_channels();
    return plan_;
  }

 private:
  using Set = BlockedPlan::Set;
  struct Concat {
    const ::onnx::NodeProto* node;
    std::vector<std::string> inputs;
  };

  void refuse(const ::onnx::NodeProto& node, const std::string& what, const std::string& help = kSaveAgain) {
    plan_->refused.emplace(&node, std::make_pair(what, help));
  }

  ir::ConstantPtr constant(const std::string& name) const {
    const ir::Value* v = state_.meaning(scope_, name);
    return v == nullptr ? nullptr : state_.finder.find(v);
  }
  int64_t number(const ::onnx::NodeProto& node, const char* name, int64_t otherwise) const {
    return int_attribute(node, scope_, name, otherwise);
  }

  // ---- sets ----

  void join_new(const std::string& name, int64_t padded) {
    plan_->names[name] = plan_->sets.size();
    Set s;
    s.parent = plan_->sets.size();
    s.padded = padded;
    plan_->sets.push_back(s);
  }
  void join(const std::string& name, const std::string& other) { plan_->names[name] = plan_->names[other]; }
  static std::string pad(Set* s, int64_t padded) {
    if (s->padded == 0) s->padded = padded;
    if (s->padded == padded) return "";
    return "it reads " + std::to_string(padded) + " channels in blocks, and what it reads has " +
           std::to_string(s->padded);
  }
  std::string unite(const std::string& a, const std::string& b) {
    Set *x = plan_->find(a), *y = plan_->find(b);
    if (x == y) return "";
    if (y->padded != 0) {
      std::string what = pad(x, y->padded);
      if (!what.empty()) return what;
    }
    y->parent = x->parent;
    return "";
  }

  // ---- nodes: "" or what is wrong ----

  std::string read(const ::onnx::NodeProto& node) {
    if (!is_blocked(state_, node)) return read_plain(node);
    const std::string& op = node.op_type();
    const bool in = node.input_size() > 0 && plan_->find(node.input(0)) != nullptr;
    if (node.input_size() == 0 || node.input(0).empty() || node.output_size() != 1 || node.output(0).empty())
      return "wanted an input and one output";
    for (const std::string& name : node.input()) {
      if (plan_->split.count(name) != 0) return "it reads \"" + name + "\", which is of rank 5";
    }
    if (op == "Conv") return read_conv(node, in);
    if (op == "ReorderInput") {
      if (in) return "its input \"" + node.input(0) + "\" is in blocks of channels already";
      join_new(node.output(0), 0);
      return "";
    }
    if (!in) return "its input \"" + node.input(0) + "\" is not in blocks of channels: no ReorderInput or Conv made it";
    if (op != "ReorderOutput") {
      join(node.output(0), node.input(0));
      return "";
    }
    const int64_t channels = number(node, "channels", 0);
    if (channels < 1) return "channels is " + std::to_string(channels);
    reorders_.push_back(&node);
    return "";
  }

  std::string read_conv(const ::onnx::NodeProto& node, bool in) {
    BlockedPlan::Conv c;
    c.weights = node.input_size() < 2 ? nullptr : constant(node.input(1));
    if (c.weights == nullptr || c.weights->tensor.type.dtype != DType::kF32 || c.weights->tensor.type.shape.rank != 4)
      return "its filter is not a constant of float32 and rank 4";
    const Shape& s = c.weights->tensor.type.shape;
    c.group = number(node, "group", 1);
    c.filter = {s[0], s[1], s[2] * s[3], false};
    c.depthwise = in && c.group == s[0] && s[1] == 1;
    c.filter.in_blocks = in && !c.depthwise;
    if (c.weights->tensor.count() == 0 || c.group < 1 || c.group > s[0] || s[0] % c.group != 0)
      return "its filter is " + dims_text(s) + " for group " + std::to_string(c.group);
    if (!in && c.group != 1)
      return "it reads channels that are not in blocks, in " + std::to_string(c.group) + " groups";
    if (in) {
      std::string what = pad(plan_->find(node.input(0)), s[1] * c.group);
      if (!what.empty()) return what;
    }
    if (c.depthwise) {
      join(node.output(0), node.input(0));
    } else {
      join_new(node.output(0), s[0]);
    }
    if (node.input_size() > 3 && !node.input(3).empty()) {
      std::string what = plan_->find(node.input(3)) == nullptr
                             ? "its input \"" + node.input(3) + "\", which is added, is not in blocks of channels"
                             : unite(node.output(0), node.input(3));
      if (!what.empty()) {
        plan_->names.erase(node.output(0));
        return what;
      }
    }
    plan_->convs[&node] = std::move(c);
    order_.push_back(&node);
    return "";
  }

  std::string read_plain(const ::onnx::NodeProto& node) {
    const std::string domain = plain_domain(node.domain());
    std::string first;
    for (const std::string& name : node.input()) {
      if (first.empty() && plan_->find(name) != nullptr) first = name;
    }
    std::set<std::string> inside;
    for (const auto& a : node.attribute()) {
      if (a.has_g()) free_names(a.g(), 0, &inside);
    }
    for (const std::string& name : inside) {
      if (plan_->find(name) != nullptr) return "its body reads \"" + name + "\", which is in blocks of channels";
    }
    if (first.empty()) return "";
    std::string reads = "it reads \"" + first + "\", which is in blocks of channels";
    const bool concat = domain.empty() && node.op_type() == "Concat";
    const bool function = state_.function(domain, node.op_type()) != nullptr;
    if (domain.empty() && node.op_type() == "Reshape" && !function && read_reshape(node)) return "";
    if (node.output_size() != 1 || function || (!concat && !is_elementwise(domain, node.op_type()))) return reads;
    const bool split = plan_->split.count(first) != 0;
    if (split && concat) return reads;
    if (concat) {
      const int64_t axis = number(node, "axis", 1);
      if (axis != 1 && axis != -3) return reads + ", and joins along axis " + std::to_string(axis);
    }
    for (const std::string& name : node.input()) {
      if (!name.empty() && plan_->find(name) != nullptr && (plan_->split.count(name) != 0) != split)
        return reads + ", and \"" + name + "\" under a shape of another rank";
      if (name.empty() || plan_->find(name) != nullptr) continue;
      const ir::ConstantPtr c = constant(name);
      if (concat || c == nullptr || c->tensor.count() != 1) return reads + ", and \"" + name + "\", which is not";
    }
    if (concat) {
      join_new(node.output(0), 0);
      concats_.push_back({&node, {node.input().begin(), node.input().end()}});
      return "";
    }
    for (const std::string& name : node.input()) {
      std::string what = plan_->find(name) == nullptr ? "" : unite(first, name);
      if (!what.empty()) return what;
    }
    join(node.output(0), first);
    if (split) plan_->split.insert(node.output(0));
    return "";
  }

  // To [0, C/b, 0, 0, b], or from it to [0, C, 0, 0].
  bool read_reshape(const ::onnx::NodeProto& node) {
    const ir::ConstantPtr c = node.input_size() != 2 || node.output_size() != 1 ? nullptr : constant(node.input(1));
    const bool split = plan_->split.count(node.input(0)) != 0;
    if (c == nullptr || c->tensor.type.dtype != DType::kI64 || c->tensor.count() != (split ? 4 : 5) ||
        number(node, "allowzero", 0) != 0)
      return false;
    const auto* s = c->tensor.as<int64_t>();
    if (s[0] != 0 || s[2] != 0 || s[3] != 0 || s[1] < 1) return false;
    Set* set = plan_->find(node.input(0));
    if (!split && (s[4] < 1 || s[4] > 16 || s[1] > (int64_t{1} << 40))) return false;
    if (!pad(set, split ? s[1] : s[1] * s[4]).empty()) return false;
    join(node.output(0), node.input(0));
    if (!split) {
      plan_->split.insert(node.output(0));
      splits_.emplace_back(&node, s[4]);
    }
    plan_->reshapes.insert(&node);
    return true;
  }

  // ---- what follows ----

  // Of the extents of a Concat's parts and its whole, one may be unknown.
  void solve_concats() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Concat& c : concats_) {
        Set *whole = plan_->find(c.node->output(0)), *unknown = nullptr;
        int64_t known = 0;
        size_t unknowns = 0;
        for (const std::string& name : c.inputs) {
          Set* s = plan_->find(name);
          if (s->padded == 0) unknown = s;
          unknowns += s->padded == 0 ? 1 : 0;
          known += s->padded;
        }
        if (unknowns == 0 && whole->padded == 0) {
          whole->padded = known;
          changed = true;
        } else if (unknowns == 1 && whole->padded > known) {
          unknown->padded = whole->padded - known;
          changed = true;
        }
      }
    }
    for (const Concat& c : concats_) {
      int64_t sum = 0;
      bool known = true;
      for (const std::string& name : c.inputs) {
        known = known && plan_->find(name)->padded != 0;
        sum += plan_->find(name)->padded;
      }
      if (!known || plan_->find(c.node->output(0))->padded != sum)
        refuse(*c.node, "how many channels it joins cannot be told");
    }
  }

  std::string candidates_text() const {
    std::string out;
    for (const int64_t b : candidates_) out += (out.empty() ? "" : " or ") + std::to_string(b);
    return out;
  }

  // Keeps the blocks that `fits` allows; none: the node is refused.
  template <class Fits>
  void narrow(const ::onnx::NodeProto& node, const std::string& what, const Fits& fits) {
    std::vector<int64_t> left;
    for (const int64_t b : candidates_) {
      if (fits(b)) left.push_back(b);
    }
    if (!left.empty()) {
      candidates_ = left;
    } else {
      refuse(node, what + ", which does not go with blocks of " + candidates_text() + " channels",
             state_.options.nchwc_block == 0
                 ? kSaveAgain
                 : "leave out --nchwc-block, or say the other; or " + std::string(kSaveAgain));
    }
  }

  void find_block() {
    if (block_ != 0) candidates_ = {block_};
    for (const ::onnx::NodeProto* node : order_) {
      const BlockedPlan::Conv& c = plan_->convs[node];
      const BlockedFilter& f = c.filter;
      const std::string what = "its filter is " + dims_text(c.weights->tensor.type.shape) +
                               (c.group == 1 ? "" : " in " + std::to_string(c.group) + " groups") +
                               (c.filter.in_blocks || c.depthwise ? "" : " of plain channels");
      narrow(*node, what, [&](int64_t b) {
        if (f.out % b != 0) return false;
        if (c.depthwise) return true;
        return f.in_blocks ? f.in % b == 0 && (f.out / c.group) % b == 0 : f.in < b;
      });
    }
    for (const ::onnx::NodeProto* node : reorders_) {
      const int64_t padded = plan_->find(node->input(0))->padded, channels = number(*node, "channels", 0);
      if (padded == 0) continue;
      narrow(*node, "it takes " + std::to_string(channels) + " of " + std::to_string(padded) + " channels",
             [&](int64_t b) { return channels <= padded && channels > padded - b; });
    }
    for (const auto& split : splits_) {
      narrow(*split.first, "it takes blocks of " + std::to_string(split.second) + " channels",
             [&](int64_t b) { return b == split.second; });
    }
    if (candidates_.size() > 1) look_for_padding();
    if (candidates_.size() == 1) {
      plan_->block = candidates_[0];
      return;
    }
    for (const ::onnx::NodeProto* node : order_) plan_->passed_over.insert(node);
    if (order_.empty()) return;
    refuse(*order_[0],
           "whether its filter is in blocks of 8 or of 16 channels cannot be told: the model's channels fill blocks of "
           "either",
           "convert with --nchwc-block 16 if it was saved on a machine with AVX-512, --nchwc-block 8 on any other x86; "
           "or " +
               std::string(kSaveAgain));
  }

  void look_for_padding() {
    std::set<int64_t> seen;
    for (const ::onnx::NodeProto* node : order_) {
      const BlockedPlan::Conv& c = plan_->convs[node];
      if (plan_->refused.count(node) != 0) continue;  // extents that no block divides
      for (const bool outputs : {true, false}) {
        if (!outputs && (!c.filter.in_blocks || c.group != 1)) continue;
        std::vector<int64_t> fit;
        for (const int64_t b : candidates_) {
          const int64_t zeros = zeros_at_end(c, b, outputs, b);
          if (zeros > 0 && zeros < b) fit.push_back(b);  // a whole block would not have been added
        }
        if (fit.size() == 1) seen.insert(fit[0]);
      }
    }
    if (seen.size() == 1) candidates_ = {*seen.begin()};
  }

  void find_channels() {
    const int64_t block = plan_->block;
    const auto need = [](Set* s, int64_t n) { s->needed = std::max(s->needed, n); };
    for (const ::onnx::NodeProto* node : reorders_) need(plan_->find(node->input(0)), number(*node, "channels", 0));
    for (const Concat& c : concats_) {
      need(plan_->find(c.node->output(0)), plan_->find(c.node->output(0))->padded);
      for (const std::string& name : c.inputs) need(plan_->find(name), plan_->find(name)->padded);
    }
    if (block == 0) return;
    for (const ::onnx::NodeProto* node : order_) {
      const BlockedPlan::Conv& c = plan_->convs[node];
      if (plan_->refused.count(node) != 0 || !c.filter.in_blocks) continue;
      Set *in = plan_->find(node->input(0)), *out = plan_->find(node->output(0));
      if (c.group == 1) {
        need(in, c.filter.in - zeros_at_end(c, block, false, block - 1));
      } else {
        need(in, in->padded);
        need(out, out->padded);
      }
    }
    for (Set& s : plan_->sets) {
      if (s.padded != 0) s.channels = std::min(s.padded, std::max(s.needed, s.padded - block + 1));
    }
  }

  ImportState& state_;
  const Scope& scope_;
  const int64_t block_;
  std::shared_ptr<BlockedPlan> plan_ = std::make_shared<BlockedPlan>();
  std::vector<int64_t> candidates_ = {8, 16};
  std::vector<const ::onnx::NodeProto*> order_;     // the convolutions
  std::vector<const ::onnx::NodeProto*> reorders_;  // ReorderOutput
  std::vector<Concat> concats_;
  std::vector<std::pair<const ::onnx::NodeProto*, int64_t>> splits_;  // Reshapes, and the block that each says
};

}  // namespace

BlockedPlan::Set* BlockedPlan::find(const std::string& name) {
  const auto it = names.find(name);
  if (it == names.end()) return nullptr;
  size_t i = it->second;
  while (sets[i].parent != i) i = sets[i].parent;
  return &sets[i];
}

bool is_blocked(const ImportState& state, const ::onnx::NodeProto& node) {
  return is_blocked_operator(node.domain(), node.op_type()) && state.function(node.domain(), node.op_type()) == nullptr;
}

std::shared_ptr<BlockedPlan> plan_blocks(const Tools& tools, const Scope& scope, const Nodes& nodes,
                                         const std::vector<int>& order, const std::set<std::string>& results,
                                         int64_t* block) {
  std::shared_ptr<BlockedPlan> plan = BlockPlanner(tools.state, scope, *block).plan(nodes, order, results);
  if (plan->block != 0) *block = plan->block;
  return plan;
}

}  // namespace vireo::importer
