// ai.onnx.ml 1 and 3 list nodes by (tree, node) ids with leaves among them, 5 keeps nodes and leaves apart by index.
// Both become one table in which nodes stand before their children and leaves carry a list of votes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "sdk/ops/tree_ensemble/tree_ensemble.h"
#include "sdk/ops/tree_ensemble/tree_ensemble_generated.h"
#include "sdk/ops/value_reader.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

using Table = attrs::TreeEnsembleT;

// A graph in the file's order. A child is an index into `nodes`, or kTreeLeaf plus one into `leaves`.
struct Node {
  uint32_t feature = 0;
  attrs::TreeMode mode = attrs::TreeMode::Leq;
  double threshold = 0;
  bool missing_true = false;
  uint32_t child[2] = {0, 0};  // false, true
  std::vector<double> members;
};
struct Vote {
  uint32_t target;
  double weight;
};
struct Forest {
  std::vector<Node> nodes;
  std::vector<std::vector<Vote>> leaves;
  std::vector<uint32_t> roots;
};

Status bad(ImportContext& ctx, const std::string& what) { return ctx.fail(Status::kInvalidModel, what); }

// The list `name`, or where it is a tensor `name_as_tensor` (v3) or `name` (v5).
std::vector<double> reals(ImportContext& ctx, const std::string& name, bool is_tensor = false) {
  std::vector<double> out;
  const ConstTensor* t = ctx.attr_tensor(is_tensor ? name : name + "_as_tensor");
  if (t != nullptr) {
    for (int64_t i = 0; i < t->count(); ++i) out.push_back(read_real(t->type.dtype, t->bytes.data(), i));
  } else if (!is_tensor) {
    for (float v : ctx.attr_floats(name)) out.push_back(static_cast<double>(v));
  }
  return out;
}

// Numbers nodes so that parents stand first. False: some walk does not end.
bool topological(const Forest& f, std::vector<uint32_t>* order) {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(f.nodes.size(), kNew);
  std::vector<std::pair<uint32_t, int>> stack;
  for (uint32_t root : f.roots) {
    if ((root & kTreeLeaf) != 0 || state[root] == kDone) continue;
    stack.push_back({root, 0});
    state[root] = kOpen;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == 2) {
        state[node] = kDone;
        order->push_back(node);
        stack.pop_back();
        continue;
      }
      const uint32_t child = f.nodes[node].child[next++];
      if ((child & kTreeLeaf) != 0 || state[child] == kDone) continue;
      if (state[child] == kOpen) return false;
      state[child] = kOpen;
      stack.push_back({child, 0});
    }
  }
  std::reverse(order->begin(), order->end());
  return true;
}

// float32 where that holds every value.
void store(const std::vector<double>& from, std::vector<float>* narrow, std::vector<double>* wide) {
  const bool fits = std::all_of(from.begin(), from.end(), [](double v) {
    return std::isnan(v) || static_cast<double>(static_cast<float>(v)) == v;
  });
  if (!fits) {
    *wide = from;
  } else {
    for (double v : from) narrow->push_back(static_cast<float>(v));
  }
}

Status build_table(ImportContext& ctx, const Forest& f, Table* t) {
  std::vector<uint32_t> order;
  if (!topological(f, &order)) return bad(ctx, "a tree leads back to one of its own nodes");
  std::vector<uint32_t> place(f.nodes.size(), 0);
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto reference = [&](uint32_t r) { return (r & kTreeLeaf) != 0 ? r : place[r]; };
  std::vector<double> thresholds, weights;
  bool any_member = false, any_missing = false;
  for (uint32_t i : order) {
    any_member |= f.nodes[i].mode == attrs::TreeMode::Member;
    any_missing |= f.nodes[i].missing_true;
  }
  for (uint32_t i : order) {
    const Node& n = f.nodes[i];
    t->features.push_back(n.feature);
    t->modes.push_back(static_cast<uint8_t>(n.mode));
    thresholds.push_back(n.threshold);
    t->false_children.push_back(reference(n.child[0]));
    t->true_children.push_back(reference(n.child[1]));
    if (any_missing) t->missing_true.push_back(n.missing_true);
    if (any_member) {
      t->member_begin.push_back(static_cast<uint32_t>(t->members.size()));
      t->members.insert(t->members.end(), n.members.begin(), n.members.end());
    }
  }
  if (any_member) t->member_begin.push_back(static_cast<uint32_t>(t->members.size()));
  t->leaf_begin.push_back(0);
  for (const std::vector<Vote>& leaf : f.leaves) {
    for (const Vote& v : leaf) {
      if (v.target >= t->targets) {
        return bad(ctx, "a leaf votes for target " + std::to_string(v.target) + " of " + std::to_string(t->targets));
      }
      t->vote_targets.push_back(v.target);
      weights.push_back(v.weight);
    }
    t->leaf_begin.push_back(static_cast<uint32_t>(t->vote_targets.size()));
  }
  for (uint32_t r : f.roots) t->roots.push_back(reference(r));
  store(thresholds, &t->thresholds, &t->thresholds_f64);
  store(weights, &t->vote_weights, &t->vote_weights_f64);
  return Status::kOk;
}

template <class E, size_t N>
bool parse_name(const std::string& text, const char* const (&names)[N], E* out) {
  for (size_t i = 0; i < N; ++i) {
    if (text == names[i]) {
      *out = static_cast<E>(i);
      return true;
    }
  }
  return false;
}
constexpr const char* kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};

// Versions 1 and 3. `votes`: "class" or "target".
Status read_listed(ImportContext& ctx, const std::string& votes, Forest* f) {
  const std::vector<int64_t> trees = ctx.attr_ints("nodes_treeids"), ids = ctx.attr_ints("nodes_nodeids"),
                             features = ctx.attr_ints("nodes_featureids"), yes = ctx.attr_ints("nodes_truenodeids"),
                             no = ctx.attr_ints("nodes_falsenodeids"),
                             missing = ctx.attr_ints("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = ctx.attr_strings("nodes_modes");
  const std::vector<double> values = reals(ctx, "nodes_values");
  const size_t n = trees.size();
  if (ids.size() != n || features.size() != n || yes.size() != n || no.size() != n || modes.size() != n ||
      values.size() != n || (!missing.empty() && missing.size() != n)) {
    return bad(ctx, "the attributes nodes_* do not have one length");
  }
  std::map<std::pair<int64_t, int64_t>, uint32_t> reference;  // (tree, node) -> node, or leaf
  std::set<int64_t> seen;                                     // trees
  for (size_t i = 0; i < n; ++i) {
    uint32_t r = 0;
    if (modes[i] == "LEAF") {
      r = kTreeLeaf | static_cast<uint32_t>(f->leaves.size());
      f->leaves.emplace_back();
    } else {
      r = static_cast<uint32_t>(f->nodes.size());
      f->nodes.emplace_back();
    }
    if (!reference.emplace(std::make_pair(trees[i], ids[i]), r).second) {
      return bad(ctx, "tree " + std::to_string(trees[i]) + " has two nodes " + std::to_string(ids[i]));
    }
    // A tree's root is the first node that names the tree.
    if (seen.insert(trees[i]).second) f->roots.push_back(r);
  }
  for (size_t i = 0, node = 0; i < n; ++i) {
    if (modes[i] == "LEAF") continue;
    Node& out = f->nodes[node++];
    if (!parse_name(modes[i], kModes, &out.mode)) return bad(ctx, "nodes_modes has '" + modes[i] + "'");
    if (features[i] < 0 || features[i] > INT32_MAX)
      return bad(ctx, "nodes_featureids has " + std::to_string(features[i]));
    out.feature = static_cast<uint32_t>(features[i]);
    out.threshold = values[i];
    out.missing_true = !missing.empty() && missing[i] != 0;
    for (int side = 0; side < 2; ++side) {
      const int64_t child = side == 1 ? yes[i] : no[i];
      const auto found = reference.find({trees[i], child});
      if (found == reference.end()) {
        return bad(ctx, "tree " + std::to_string(trees[i]) + " has no node " + std::to_string(child));
      }
      out.child[side] = found->second;
    }
  }
  const std::vector<int64_t> vote_trees = ctx.attr_ints(votes + "_treeids"),
                             vote_nodes = ctx.attr_ints(votes + "_nodeids"), targets = ctx.attr_ints(votes + "_ids");
  const std::vector<double> weights = reals(ctx, votes + "_weights");
  if (vote_nodes.size() != vote_trees.size() || targets.size() != vote_trees.size() ||
      weights.size() != vote_trees.size()) {
    return bad(ctx, "the attributes " + votes + "_* do not have one length");
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto found = reference.find({vote_trees[i], vote_nodes[i]});
    if (found == reference.end()) {
      return bad(ctx, "a vote is for node " + std::to_string(vote_nodes[i]) + " of tree " +
                          std::to_string(vote_trees[i]) + ", which is not there");
    }
    if ((found->second & kTreeLeaf) == 0) continue;  // inner nodes are never the end of a walk
    if (targets[i] < 0 || targets[i] > INT32_MAX) return bad(ctx, votes + "_ids has " + std::to_string(targets[i]));
    f->leaves[found->second & ~kTreeLeaf].push_back({static_cast<uint32_t>(targets[i]), weights[i]});
  }
  return Status::kOk;
}

Status read_transform(ImportContext& ctx, Table* t) {
  const std::string name = ctx.attr_string("post_transform", "NONE");
  if (parse_name(name, kTransforms, &t->transform)) return Status::kOk;
  return bad(ctx, "post_transform is '" + name + "'");
}

Status read_base_values(ImportContext& ctx, Table* t) {
  t->base_values = reals(ctx, "base_values");
  // One value for two classes: exporters mean the class that has the votes, which is scored alone.
  if (t->base_values.size() == 1 && t->binary != attrs::TreeBinary::No) t->base_values.resize(2, t->base_values[0]);
  if (t->base_values.empty() || t->base_values.size() == t->targets) return Status::kOk;
  return bad(ctx,
             std::to_string(t->base_values.size()) + " base_values for " + std::to_string(t->targets) + " targets");
}

Status read_targets(ImportContext& ctx, int64_t n, Table* t) {
  if (n < 1 || n > INT32_MAX) return bad(ctx, "the number of targets is " + std::to_string(n));
  t->targets = static_cast<uint32_t>(n);
  return Status::kOk;
}

Status import_regressor(ImportContext& ctx) {
  Table t;
  Forest f;
  VIREO_TRY(read_targets(ctx, ctx.attr_int("n_targets", 1), &t));
  VIREO_TRY(read_transform(ctx, &t));
  const std::string aggregate = ctx.attr_string("aggregate_function", "SUM");
  if (!parse_name(aggregate, kAggregates, &t.aggregate)) return bad(ctx, "aggregate_function is '" + aggregate + "'");
  VIREO_TRY(read_base_values(ctx, &t));
  VIREO_TRY(read_listed(ctx, "target", &f));
  VIREO_TRY(build_table(ctx, f, &t));
  return import_direct(ctx, Op::kTreeEnsembleRegressor, pack<attrs::TreeEnsemble>(t));
}

Status import_classifier(ImportContext& ctx) {
  Table t;
  Forest f;
  t.labels_integers = ctx.attr_ints("classlabels_int64s");
  t.labels_strings = ctx.attr_strings("classlabels_strings");
  if (t.labels_integers.empty() == t.labels_strings.empty()) {
    return bad(ctx, "one of classlabels_int64s and classlabels_strings must be given");
  }
  const size_t labels = t.labels_integers.size() + t.labels_strings.size();
  if (labels == 1) {
    return ctx.fail(Status::kUnsupported, "a classifier with a single class label",
                    "export it with both labels, or as a TreeEnsembleRegressor");
  }
  VIREO_TRY(read_targets(ctx, static_cast<int64_t>(labels), &t));
  VIREO_TRY(read_transform(ctx, &t));
  const std::vector<int64_t> ids = ctx.attr_ints("class_ids");
  const bool one_class = std::adjacent_find(ids.begin(), ids.end(), std::not_equal_to<>()) == ids.end();
  if (labels == 2 && one_class) {
    const std::vector<double> weights = reals(ctx, "class_weights");
    const bool negative = std::any_of(weights.begin(), weights.end(), [](double w) { return w < 0; });
    t.binary = negative ? attrs::TreeBinary::Negation : attrs::TreeBinary::Complement;
  }
  VIREO_TRY(read_base_values(ctx, &t));
  VIREO_TRY(read_listed(ctx, "class", &f));
  VIREO_TRY(build_table(ctx, f, &t));
  return import_direct(ctx, Op::kTreeEnsembleClassifier, pack<attrs::TreeEnsemble>(t));
}

Status import_ensemble(ImportContext& ctx) {
  Table t;
  Forest f;
  const int64_t transform = ctx.attr_int("post_transform", 0), aggregate = ctx.attr_int("aggregate_function", 1);
  if (transform < 0 || transform > 4) return bad(ctx, "post_transform is " + std::to_string(transform));
  if (aggregate < 0 || aggregate > 3) return bad(ctx, "aggregate_function is " + std::to_string(aggregate));
  t.transform = static_cast<attrs::TreeTransform>(transform);
  t.aggregate = static_cast<attrs::TreeAggregate>(aggregate);
  VIREO_TRY(read_targets(ctx, ctx.attr_int("n_targets", 1), &t));

  const std::vector<int64_t> features = ctx.attr_ints("nodes_featureids"), yes = ctx.attr_ints("nodes_truenodeids"),
                             no = ctx.attr_ints("nodes_falsenodeids"), yes_leaf = ctx.attr_ints("nodes_trueleafs"),
                             no_leaf = ctx.attr_ints("nodes_falseleafs"), roots = ctx.attr_ints("tree_roots"),
                             missing = ctx.attr_ints("nodes_missing_value_tracks_true"),
                             leaf_targets = ctx.attr_ints("leaf_targetids");
  const std::vector<double> splits = reals(ctx, "nodes_splits", true), weights = reals(ctx, "leaf_weights", true),
                            members = reals(ctx, "membership_values", true);
  const ConstTensor* modes = ctx.attr_tensor("nodes_modes");
  const size_t n = features.size();
  if (modes == nullptr || modes->type.dtype != DType::kU8 || static_cast<size_t>(modes->count()) != n ||
      yes.size() != n || no.size() != n || yes_leaf.size() != n || no_leaf.size() != n || splits.size() != n ||
      (!missing.empty() && missing.size() != n) || leaf_targets.size() != weights.size()) {
    return bad(ctx, "the attributes nodes_*, or leaf_*, do not have one length");
  }
  f.nodes.resize(n);
  for (size_t i = 0; i < n; ++i) {
    Node& node = f.nodes[i];
    if (features[i] < 0 || features[i] > INT32_MAX)
      return bad(ctx, "nodes_featureids has " + std::to_string(features[i]));
    const uint8_t mode = modes->as<uint8_t>()[i];
    if (mode > static_cast<uint8_t>(attrs::TreeMode::MAX)) return bad(ctx, "nodes_modes has " + std::to_string(mode));
    node.feature = static_cast<uint32_t>(features[i]);
    node.mode = static_cast<attrs::TreeMode>(mode);
    node.threshold = splits[i];
    node.missing_true = !missing.empty() && missing[i] != 0;
    for (int side = 0; side < 2; ++side) {
      const int64_t child = side == 1 ? yes[i] : no[i];
      const bool leaf = (side == 1 ? yes_leaf[i] : no_leaf[i]) != 0;
      if (child < 0 || static_cast<size_t>(child) >= (leaf ? weights.size() : n)) {
        return bad(ctx, "node " + std::to_string(i) + " leads to " + (leaf ? "leaf " : "node ") +
                            std::to_string(child) + ", which is not there");
      }
      node.child[side] = static_cast<uint32_t>(child) | (leaf ? kTreeLeaf : 0);
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (leaf_targets[i] < 0 || leaf_targets[i] > INT32_MAX)
      return bad(ctx, "leaf_targetids has " + std::to_string(leaf_targets[i]));
    f.leaves.push_back({{static_cast<uint32_t>(leaf_targets[i]), weights[i]}});
  }
  for (int64_t r : roots) {
    if (r < 0 || static_cast<size_t>(r) >= n) return bad(ctx, "tree_roots has " + std::to_string(r));
    f.roots.push_back(static_cast<uint32_t>(r));
  }
  // Sets in the order of the nodes that test them, each ended by a NaN.
  size_t next = 0;
  for (Node& node : f.nodes) {
    if (node.mode != attrs::TreeMode::Member) continue;
    while (next < members.size() && !std::isnan(members[next])) node.members.push_back(members[next++]);
    if (next == members.size()) return bad(ctx, "membership_values has fewer sets than there are BRANCH_MEMBER nodes");
    ++next;
  }
  VIREO_TRY(build_table(ctx, f, &t));
  return import_direct(ctx, Op::kTreeEnsemble, pack<attrs::TreeEnsemble>(t));
}

}  // namespace

extern const OnnxImport kTreeEnsembleOnnx;
const OnnxImport kTreeEnsembleOnnx = {"ai.onnx.ml", "TreeEnsemble", import_ensemble};
extern const OnnxImport kTreeEnsembleRegressorOnnx;
const OnnxImport kTreeEnsembleRegressorOnnx = {"ai.onnx.ml", "TreeEnsembleRegressor", import_regressor};
extern const OnnxImport kTreeEnsembleClassifierOnnx;
const OnnxImport kTreeEnsembleClassifierOnnx = {"ai.onnx.ml", "TreeEnsembleClassifier", import_classifier};

}  // namespace vireo
