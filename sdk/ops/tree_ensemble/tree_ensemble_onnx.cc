// ai.onnx.ml 1 and 3 list nodes by (tree, node) ids with leaves among them, 5 keeps nodes and leaves apart by index.
// Both become one table in which nodes stand before their children and leaves carry a list of votes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/tree_ensemble/tree_ensemble.h"
#include "sdk/ops/tree_ensemble/tree_ensemble_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

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
};
struct Vote {
  uint32_t leaf, target;
  double weight;
};
struct Forest {
  std::vector<Node> nodes;
  uint32_t leaves = 0;
  std::vector<Vote> votes;  // those of a leaf in their order
  std::vector<uint32_t> roots;
  std::map<uint32_t, std::vector<double>> members;  // of nodes that ask for one of a set
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

Status build_table(ImportContext& ctx, Forest f, Table* t) {
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
      const auto of = f.members.find(i);
      if (of != f.members.end()) t->members.insert(t->members.end(), of->second.begin(), of->second.end());
    }
  }
  if (any_member) t->member_begin.push_back(static_cast<uint32_t>(t->members.size()));
  t->leaf_begin.assign(size_t{f.leaves} + 1, 0);
  for (const Vote& v : f.votes) {
    if (v.target >= t->targets) {
      return bad(ctx, "a leaf votes for target " + std::to_string(v.target) + " of " + std::to_string(t->targets));
    }
    ++t->leaf_begin[v.leaf + 1];
  }
  for (uint32_t i = 0; i < f.leaves; ++i) t->leaf_begin[i + 1] += t->leaf_begin[i];
  t->vote_targets.resize(f.votes.size());
  weights.resize(f.votes.size());
  std::vector<uint32_t> next(t->leaf_begin.begin(), t->leaf_begin.end() - 1);
  for (const Vote& v : f.votes) {
    t->vote_targets[next[v.leaf]] = v.target;
    weights[next[v.leaf]++] = v.weight;
  }
  for (uint32_t r : f.roots) t->roots.push_back(reference(r));
  store(thresholds, &t->thresholds, &t->thresholds_f64);
  store(weights, &t->vote_weights, &t->vote_weights_f64);
  return Status::kOk;
}

template <class E, size_t N>
bool parse_name(std::string_view text, const char* const (&names)[N], E* out) {
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

// Where the node (tree, node) of the file is: an index, or kTreeLeaf plus one.
struct Place {
  int64_t tree, node;
  uint32_t at;
  bool operator<(const Place& o) const { return std::tie(tree, node) < std::tie(o.tree, o.node); }
};
const uint32_t* find_place(const std::vector<Place>& places, int64_t tree, int64_t node) {
  const auto found = std::lower_bound(places.begin(), places.end(), Place{tree, node, 0});
  return found != places.end() && found->tree == tree && found->node == node ? &found->at : nullptr;
}

// The list `name`, which is not asked for again.
std::vector<int64_t> take_ints(ImportContext& ctx, const std::string& name) {
  std::vector<int64_t> out = ctx.attr_ints(name);
  ctx.forget_attr(name);
  return out;
}
std::vector<double> take_reals(ImportContext& ctx, const std::string& name) {
  std::vector<double> out = reals(ctx, name);
  ctx.forget_attr(name);
  return out;
}

constexpr uint8_t kLeafMode = 0xFF;
// The mode of each node, kLeafMode for leaves. `unknown`: the first that is neither, "" where all are known.
std::vector<uint8_t> take_modes(ImportContext& ctx, std::string* unknown) {
  std::vector<uint8_t> out;
  ctx.each_attr_string("nodes_modes", [&](std::string_view text) {
    auto mode = attrs::TreeMode::Leq;
    const bool leaf = text == "LEAF";
    if (!leaf && !parse_name(text, kModes, &mode) && unknown->empty())
      *unknown = "nodes_modes has '" + std::string(text) + "'";
    out.push_back(leaf ? kLeafMode : static_cast<uint8_t>(mode));
  });
  ctx.forget_attr("nodes_modes");
  return out;
}

// Versions 1 and 3. `votes`: "class" or "target". A model may be all but one such node: lists are read one by one and
// left again, the largest first.
Status read_listed(ImportContext& ctx, const std::string& votes, Forest* f) {
  std::string unknown;
  const std::vector<uint8_t> modes = take_modes(ctx, &unknown);
  if (!unknown.empty()) return bad(ctx, unknown);
  ctx.forget_attr("nodes_hitrates");
  const std::vector<int64_t> trees = take_ints(ctx, "nodes_treeids");
  const size_t n = trees.size();
  const auto unequal = [&] { return bad(ctx, "the attributes nodes_* do not have one length"); };
  std::vector<Place> places(n);
  std::vector<uint32_t> inner;  // nodes that are no leaves
  {
    const std::vector<int64_t> ids = take_ints(ctx, "nodes_nodeids");
    if (modes.size() != n || ids.size() != n) return unequal();
    const auto leaves = static_cast<size_t>(std::count(modes.begin(), modes.end(), kLeafMode));
    f->nodes.reserve(n - leaves);
    inner.reserve(n - leaves);
    std::set<int64_t> seen;  // trees
    for (size_t i = 0; i < n; ++i) {
      places[i] = {trees[i], ids[i], 0};
      if (modes[i] == kLeafMode) {
        places[i].at = kTreeLeaf | f->leaves++;
      } else {
        places[i].at = static_cast<uint32_t>(f->nodes.size());
        f->nodes.emplace_back();
        inner.push_back(static_cast<uint32_t>(i));
        f->nodes.back().mode = static_cast<attrs::TreeMode>(modes[i]);
      }
      // A tree's root is the first node that names the tree.
      if (seen.insert(trees[i]).second) f->roots.push_back(places[i].at);
    }
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < n; ++i) {
    if (!(places[i - 1] < places[i]))
      return bad(ctx, "tree " + std::to_string(places[i].tree) + " has two nodes " + std::to_string(places[i].node));
  }
  {
    const std::vector<int64_t> features = take_ints(ctx, "nodes_featureids");
    if (features.size() != n) return unequal();
    for (size_t k = 0; k < inner.size(); ++k) {
      const int64_t feature = features[inner[k]];
      if (feature < 0 || feature > INT32_MAX) return bad(ctx, "nodes_featureids has " + std::to_string(feature));
      f->nodes[k].feature = static_cast<uint32_t>(feature);
    }
  }
  {
    const std::vector<double> values = take_reals(ctx, "nodes_values");
    if (values.size() != n) return unequal();
    for (size_t k = 0; k < inner.size(); ++k) f->nodes[k].threshold = values[inner[k]];
  }
  {
    const std::vector<int64_t> missing = take_ints(ctx, "nodes_missing_value_tracks_true");
    if (!missing.empty() && missing.size() != n) return unequal();
    for (size_t k = 0; !missing.empty() && k < inner.size(); ++k) f->nodes[k].missing_true = missing[inner[k]] != 0;
  }
  for (int side = 0; side < 2; ++side) {
    const std::vector<int64_t> children = take_ints(ctx, side == 1 ? "nodes_truenodeids" : "nodes_falsenodeids");
    if (children.size() != n) return unequal();
    for (size_t k = 0; k < inner.size(); ++k) {
      const int64_t tree = trees[inner[k]], child = children[inner[k]];
      const uint32_t* const found = find_place(places, tree, child);
      if (found == nullptr) return bad(ctx, "tree " + std::to_string(tree) + " has no node " + std::to_string(child));
      f->nodes[k].child[side] = *found;
    }
  }
  const std::vector<int64_t> vote_trees = take_ints(ctx, votes + "_treeids"),
                             vote_nodes = take_ints(ctx, votes + "_nodeids"), targets = take_ints(ctx, votes + "_ids");
  const std::vector<double> weights = take_reals(ctx, votes + "_weights");
  if (vote_nodes.size() != vote_trees.size() || targets.size() != vote_trees.size() ||
      weights.size() != vote_trees.size()) {
    return bad(ctx, "the attributes " + votes + "_* do not have one length");
  }
  f->votes.reserve(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    const uint32_t* const found = find_place(places, vote_trees[i], vote_nodes[i]);
    if (found == nullptr) {
      return bad(ctx, "a vote is for node " + std::to_string(vote_nodes[i]) + " of tree " +
                          std::to_string(vote_trees[i]) + ", which is not there");
    }
    if ((*found & kTreeLeaf) == 0) continue;  // inner nodes are never the end of a walk
    if (targets[i] < 0 || targets[i] > INT32_MAX) return bad(ctx, votes + "_ids has " + std::to_string(targets[i]));
    f->votes.push_back({*found & ~kTreeLeaf, static_cast<uint32_t>(targets[i]), weights[i]});
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
  VIREO_TRY(build_table(ctx, std::move(f), &t));
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
  if (labels == 2) {
    const std::vector<int64_t> ids = ctx.attr_ints("class_ids");
    if (std::adjacent_find(ids.begin(), ids.end(), std::not_equal_to<>()) == ids.end()) {
      const std::vector<double> weights = reals(ctx, "class_weights");
      const bool negative = std::any_of(weights.begin(), weights.end(), [](double w) { return w < 0; });
      t.binary = negative ? attrs::TreeBinary::Negation : attrs::TreeBinary::Complement;
    }
  }
  VIREO_TRY(read_base_values(ctx, &t));
  VIREO_TRY(read_listed(ctx, "class", &f));
  VIREO_TRY(build_table(ctx, std::move(f), &t));
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
    f.votes.push_back({f.leaves++, static_cast<uint32_t>(leaf_targets[i]), weights[i]});
  }
  for (int64_t r : roots) {
    if (r < 0 || static_cast<size_t>(r) >= n) return bad(ctx, "tree_roots has " + std::to_string(r));
    f.roots.push_back(static_cast<uint32_t>(r));
  }
  // Sets in the order of the nodes that test them, each ended by a NaN.
  size_t next = 0;
  for (uint32_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].mode != attrs::TreeMode::Member) continue;
    std::vector<double>& set = f.members[i];
    while (next < members.size() && !std::isnan(members[next])) set.push_back(members[next++]);
    if (next == members.size()) return bad(ctx, "membership_values has fewer sets than there are BRANCH_MEMBER nodes");
    ++next;
  }
  VIREO_TRY(build_table(ctx, std::move(f), &t));
  return import_direct(ctx, Op::kTreeEnsemble, pack<attrs::TreeEnsemble>(t));
}

// `wide` where it is there, else `narrow`.
template <class Narrow, class Wide>
std::vector<double> stored(const Narrow* narrow, const Wide* wide) {
  if (wide != nullptr && wide->size() != 0) return {wide->begin(), wide->end()};
  return narrow == nullptr ? std::vector<double>{} : std::vector<double>(narrow->begin(), narrow->end());
}

// A list of numbers: floats where all are floats, else `name` as a tensor of doubles (opset 3; always in opset 5).
void export_reals(OnnxNode* n, const std::string& name, const std::vector<double>& v, bool as_tensor) {
  const bool narrow = std::all_of(
      v.begin(), v.end(), [](double d) { return std::isnan(d) || static_cast<double>(static_cast<float>(d)) == d; });
  if (narrow && !as_tensor) {
    n->set(name.c_str(), std::vector<float>(v.begin(), v.end()));
    return;
  }
  OnnxTensor t{{narrow ? DType::kF32 : DType::kF64, Shape{1, {static_cast<int64_t>(v.size())}}}, {}, {}};
  const auto put = [&](auto d) {
    const auto* p = reinterpret_cast<const uint8_t*>(&d);
    t.bytes.insert(t.bytes.end(), p, p + sizeof(d));
  };
  for (const double d : v) narrow ? put(static_cast<float>(d)) : put(d);
  n->set((as_tensor ? name : name + "_as_tensor").c_str(), std::move(t));
}

// Opset 5: nodes and leaves apart. A root that is a leaf becomes a node whose children are both that leaf.
Status export_ensemble(ExportContext& ctx, const attrs::TreeEnsemble& a) {
  OnnxNode n = ctx.same();
  n.domain = "ai.onnx.ml";
  n.needs(5).number("n_targets", a.targets());
  n.number("aggregate_function", static_cast<int64_t>(a.aggregate()));
  n.number("post_transform", static_cast<int64_t>(a.transform()));
  std::vector<int64_t> features, child[2], leaf[2], roots, missing, targets;
  std::vector<double> splits = stored(a.thresholds(), a.thresholds_f64()), members;
  std::vector<uint8_t> modes;
  // A leaf of ours may have several votes, ONNX's has one: only this operator's own importer makes these tables.
  for (unsigned i = 0; a.leaf_begin() != nullptr && i + 1 < a.leaf_begin()->size(); ++i) {
    if (a.leaf_begin()->Get(i + 1) - a.leaf_begin()->Get(i) != 1)
      return ctx.fail(Status::kUnsupported, "a leaf with several votes or none");
    targets.push_back(a.vote_targets()->Get(a.leaf_begin()->Get(i)));
  }
  const auto link = [&](int side, uint32_t reference) {
    leaf[side].push_back((reference & kTreeLeaf) != 0);
    child[side].push_back(reference & ~kTreeLeaf);
  };
  const unsigned nodes = a.features() == nullptr ? 0 : a.features()->size();
  for (unsigned i = 0; i < nodes; ++i) {
    features.push_back(a.features()->Get(i));
    modes.push_back(a.modes()->Get(i));
    link(0, a.false_children()->Get(i));
    link(1, a.true_children()->Get(i));
    missing.push_back(a.missing_true() != nullptr && a.missing_true()->size() != 0 ? a.missing_true()->Get(i) : 0);
    if (static_cast<attrs::TreeMode>(modes.back()) != attrs::TreeMode::Member) continue;
    for (uint32_t k = a.member_begin()->Get(i); k < a.member_begin()->Get(i + 1); ++k)
      members.push_back(a.members()->Get(k));
    members.push_back(std::nan(""));
  }
  for (const uint32_t root : *a.roots()) {
    if ((root & kTreeLeaf) == 0) {
      roots.push_back(root);
      continue;
    }
    roots.push_back(static_cast<int64_t>(features.size()));
    features.push_back(0);
    modes.push_back(static_cast<uint8_t>(attrs::TreeMode::Leq));
    splits.push_back(0);
    missing.push_back(0);
    link(0, root);
    link(1, root);
  }
  const Shape length{1, {static_cast<int64_t>(modes.size())}};
  n.set("nodes_featureids", features).set("nodes_modes", OnnxTensor{{DType::kU8, length}, modes, {}});
  n.set("nodes_truenodeids", child[1]).set("nodes_falsenodeids", child[0]);
  n.set("nodes_trueleafs", leaf[1]).set("nodes_falseleafs", leaf[0]).set("tree_roots", roots);
  n.set("nodes_missing_value_tracks_true", missing).set("leaf_targetids", targets);
  export_reals(&n, "nodes_splits", splits, true);
  export_reals(&n, "leaf_weights", stored(a.vote_weights(), a.vote_weights_f64()), true);
  if (!members.empty()) export_reals(&n, "membership_values", members, true);
  return ctx.done(std::move(n));
}

// Opset 3: nodes and leaves of each tree in one list, a tree's root first.
struct Listed {
  const attrs::TreeEnsemble& a;
  std::vector<int64_t> trees, ids, features, yes, no, missing, vote_trees, vote_ids, vote_targets;
  std::vector<std::string> modes;
  std::vector<double> values, weights;
  std::vector<double> thresholds, vote_weights;

  // Lists what `root` leads to. Every path to a node is a node of its own: ONNX's trees share nothing. False: they are
  // too many, as sharing can double them at each level. A tree of n nodes without any is 2 n + 1 entries.
  bool tree(int64_t number, uint32_t root) {
    std::vector<std::pair<uint32_t, size_t>> open{{root, SIZE_MAX}};  // reference, twice the parent's place + side
    const size_t nodes = a.features() == nullptr ? 0 : a.features()->size();
    const size_t most = 65536 + 4 * (2 * nodes + a.roots()->size()), most_votes = 65536 + 4 * vote_weights.size();
    int64_t next = 0;
    while (!open.empty()) {
      const auto [reference, from] = open.back();
      open.pop_back();
      if (trees.size() >= most || weights.size() > most_votes) return false;
      const int64_t id = next++;
      if (from != SIZE_MAX) (from % 2 == 1 ? yes : no)[from / 2] = id;
      trees.push_back(number);
      ids.push_back(id);
      yes.push_back(0);
      no.push_back(0);
      if ((reference & kTreeLeaf) != 0) {
        leaf(number, id, reference & ~kTreeLeaf);
        continue;
      }
      features.push_back(a.features()->Get(reference));
      modes.emplace_back(kModes[a.modes()->Get(reference)]);
      values.push_back(thresholds[reference]);
      missing.push_back(a.missing_true() != nullptr && a.missing_true()->size() != 0 ? a.missing_true()->Get(reference)
                                                                                     : 0);
      const size_t place = trees.size() - 1;
      open.push_back({a.false_children()->Get(reference), 2 * place});
      open.push_back({a.true_children()->Get(reference), 2 * place + 1});
    }
    return true;
  }

  void leaf(int64_t tree, int64_t id, uint32_t place) {
    features.push_back(0);
    modes.emplace_back("LEAF");
    values.push_back(0);
    missing.push_back(0);
    for (uint32_t k = a.leaf_begin()->Get(place); k < a.leaf_begin()->Get(place + 1); ++k) {
      vote_trees.push_back(tree);
      vote_ids.push_back(id);
      vote_targets.push_back(a.vote_targets()->Get(k));
      weights.push_back(vote_weights[k]);
    }
  }
};

}  // namespace

extern const OnnxImport kTreeEnsembleOnnx;
const OnnxImport kTreeEnsembleOnnx = {"ai.onnx.ml", "TreeEnsemble", import_ensemble};
extern const OnnxImport kTreeEnsembleRegressorOnnx;
const OnnxImport kTreeEnsembleRegressorOnnx = {"ai.onnx.ml", "TreeEnsembleRegressor", import_regressor};
extern const OnnxImport kTreeEnsembleClassifierOnnx;
const OnnxImport kTreeEnsembleClassifierOnnx = {"ai.onnx.ml", "TreeEnsembleClassifier", import_classifier};

Status export_tree_ensemble(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::TreeEnsemble>();
  if (ctx.op() == Op::kTreeEnsemble) return export_ensemble(ctx, a);
  Listed l{a, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  l.thresholds = stored(a.thresholds(), a.thresholds_f64());
  l.vote_weights = stored(a.vote_weights(), a.vote_weights_f64());
  for (unsigned i = 0; i < a.roots()->size(); ++i) {
    if (!l.tree(i, a.roots()->Get(i)))
      return ctx.fail(Status::kUnsupported, "trees that share so many nodes that they cannot be listed apart");
  }
  OnnxNode n = ctx.same();
  n.domain = "ai.onnx.ml";
  const bool classifier = ctx.op() == Op::kTreeEnsembleClassifier;
  const std::string votes = classifier ? "class" : "target";
  if (classifier) {
    n.numbers("classlabels_int64s", a.labels_integers()).texts("classlabels_strings", a.labels_strings());
  } else {
    n.number("n_targets", a.targets()).text("aggregate_function", kAggregates[static_cast<size_t>(a.aggregate())]);
  }
  n.text("post_transform", kTransforms[static_cast<size_t>(a.transform())]);
  std::vector<double> base;
  if (a.base_values() != nullptr) base.assign(a.base_values()->begin(), a.base_values()->end());
  // One value for the class that has the votes, as it came.
  if (a.binary() != attrs::TreeBinary::No && base.size() == 2 && base[0] == base[1]) base.resize(1);
  if (!base.empty()) export_reals(&n, "base_values", base, false);
  n.set("nodes_treeids", l.trees).set("nodes_nodeids", l.ids).set("nodes_featureids", l.features);
  n.set("nodes_modes", l.modes).set("nodes_truenodeids", l.yes).set("nodes_falsenodeids", l.no);
  n.set("nodes_missing_value_tracks_true", l.missing);
  export_reals(&n, "nodes_values", l.values, false);
  n.set((votes + "_treeids").c_str(), l.vote_trees).set((votes + "_nodeids").c_str(), l.vote_ids);
  n.set((votes + "_ids").c_str(), l.vote_targets);
  export_reals(&n, votes + "_weights", l.weights, false);
  return ctx.done(std::move(n));
}

}  // namespace vireo
