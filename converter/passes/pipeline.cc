#include "converter/passes/pipeline.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>

#include "converter/passes/fuse/fuse_activation.h"
#include "converter/passes/fuse/fuse_attention.h"
#include "converter/passes/fuse/fuse_attention_codes.h"
#include "converter/passes/fuse/fuse_chain.h"
#include "converter/passes/fuse/fuse_codes.h"
#include "converter/passes/fuse/fuse_epilogue.h"
#include "converter/passes/fuse/fuse_norm.h"
#include "converter/passes/fuse/fuse_recurrent.h"
#include "converter/passes/layout/choose_layout.h"
#include "converter/passes/layout/sink_transposes.h"
#include "converter/passes/quantized/fold_quantization.h"
#include "converter/passes/quantized/fuse_dynamic_quantization.h"
#include "converter/passes/quantized/merge_tables.h"
#include "converter/passes/quantized/sink_dequantize.h"
#include "converter/passes/recognise/join_cache.h"
#include "converter/passes/recognise/pack_attention.h"
#include "converter/passes/recognise/recognise_attention.h"
#include "converter/passes/recognise/recognise_causal.h"
#include "converter/passes/recognise/recognise_dequantize.h"
#include "converter/passes/recognise/recognise_norm.h"
#include "converter/passes/recognise/recognise_recurrent.h"
#include "converter/passes/recognise/recognise_rotary.h"
#include "converter/passes/recognise/recognise_shuffle.h"
#include "converter/passes/shared/measure.h"
#include "converter/passes/simplify/crop_filters.h"
#include "converter/passes/simplify/dead_code.h"
#include "converter/passes/simplify/eliminate_no_ops.h"
#include "converter/passes/simplify/flush_subnormals.h"
#include "converter/passes/simplify/fold_batch_norm.h"
#include "converter/passes/simplify/fold_constants.h"
#include "converter/passes/simplify/inline_branches.h"
#include "converter/passes/simplify/lift_vectors.h"
#include "converter/passes/simplify/merge_equal.h"
#include "converter/passes/simplify/merge_pad.h"
#include "converter/passes/simplify/merge_shared_gemm.h"
#include "converter/passes/simplify/simplify_shapes.h"
#include "converter/passes/simplify/turn_transposed.h"
#include "converter/passes/simplify/unflatten_gemm.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::passes {
namespace {

// The order, and why.

// Again and again until a round changes nothing: what one pass leaves may be what an earlier one waits for. Each change
// lowers measure.h's measure, so the rounds end; the passes' own tests hold them to it.
const Pass* const kRepeated[] = {
    // What nothing uses costs every later pass time: importers leave the shape arithmetic behind whose result they
    // know.
    &kDeadCode,
    // Weights that are computed (transposed, cast, reshaped) become plain constants, which all patterns below ask for.
    &kFoldConstants,
    // Identity and no-op views stand between nodes that belong together.
    &kEliminateNoOps,
    // Conditions that folding made known. What a branch brings is folded in the next round, and may decide the next
    // branch.
    &kInlineBranches,
    // After folding, because equal constants make equal nodes; before patterns, which count consumers.
    &kMergeEqual,
    // Shapes that are computed keep nodes alive that have no other purpose.
    &kSimplifyShapes,
    // Spelled-out operators become themselves, so that all that follows meets one form of each. Activations first: the
    // smallest patterns, and parts of others.
    &kFuseActivation,
    // Codes too large to be folded; small ones became floats above.
    &kRecogniseDequantize,
    &kRecogniseNorm,
    // Before products that share an operand are merged: a cell's gates may each have one of their own.
    &kRecogniseRecurrent,
    &kRecogniseShuffle,
    // Before Transposes move: their patterns have them where exporters put them.
    &kRecogniseRotary,
    &kRecogniseAttention,
    // What is joined with a cache stands between the operator and the Transposes that the next pass looks for.
    &kJoinCache,
    // When the operator has its cached keys: they move the positions that its causal form counts.
    &kRecogniseCausal,
    &kPackAttention,
    &kSinkTransposes,
    // Before fusion: a normalisation or a pad would end or hide the chain around its convolution.
    &kFoldBatchNorm,
    &kMergePad,
    // Last, when products that compute the same are one already.
    &kMergeSharedGemm,
};

// Once, and the repeated passes again if it did something. Not among them: a Gemm with views measures less than the
// MatMul and Add that it is, and a product with a vector less than one with views.
const Pass* const kBetween[] = {
    // Kernels and all that follows know products of matrices.
    &kLiftVectors,
    // When pads are what they will be; before the layout is weighed. A node stays one, so it measures as before.
    &kTurnTransposed,
    &kCropFilters,
    // Files that another optimiser saved have views around their products, which would hide what stands behind them.
    &kUnflattenGemm,
};

// Quantized regions; then the repeated passes again, because what moves data stands side by side now. What these merge
// may leave one user where a quantized pass saw two, so all of it goes on until the quantized passes find nothing.
const Pass* const kQuantized[] = {
    // What only moves data leaves the way between two computations, so that the next pass sees them side by side.
    &kSinkDequantize,
    // Before the epilogue, which would close a float product that is to become an integer one.
    &kFoldQuantization,
    // What became several operators of codes may be a function of one.
    &kMergeTables,
    &kFuseDynamicQuantization,
};

// When no Transpose moves on its own account any more and quantized regions are integer ones, whose operators move too;
// before the epilogue, whose composites have theirs. Then all of the above again: what stands at a border may be
// absorbed by its neighbour, or meet another one.
const Pass* const kLayout[] = {&kChooseLayout};

// Each further round needs two values that the one before made equal. Nothing seen needs three; a graph that would go
// on for longer is left as it is then, with a warning: it is right and only not the best.
constexpr int kMostRounds = 8;

// Once, on what is left. Composites end the recognition of what they hold, so nothing of the above comes behind them.
const Pass* const kOnce[] = {
    // Weights are what they will be, and their products still operators.
    &kFlushSubnormals,
    // Before Casts are taken for parts of chains.
    &kFuseAttention,
    &kFuseRecurrent,
    // The epilogue knows operators and not their spelled-out forms.
    &kFuseEpilogue,
    // Its products end in a softmax, and take no other tail.
    &kFuseAttentionCodes,
    // The same for products of codes, which have other tails.
    &kFuseCodes,
    // Sums that no product took, before a chain does.
    &kFuseNorm,
    // What no product took.
    &kFuseChain,
    // Constants that were replaced, and nodes that lost their users to a pattern.
    &kDeadCode,
};

using Change = std::function<void(ir::Graph&, PassLog&)>;

// Bodies first. A composite's body is finished when it is made.
void run_everywhere(ir::Graph& g, const Change& change, PassLog& log) {
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kComposite) continue;
    for (auto& body : n.bodies) run_everywhere(*body, change, log);
  }
  change(g, log);
}

// What a graph is to those who use it: no pass may change it.
class Interface {
 public:
  explicit Interface(const ir::Graph& g) : outputs_(g.output_names()) {
    for (const ir::Value* v : g.inputs()) inputs_.push_back(v->name);
    for (const ir::Value* v : g.outputs()) dtypes_.push_back(v->type.dtype);
  }

  // What `g` has otherwise; "" where all is as promised.
  std::string difference(const ir::Graph& g) const {
    const Interface now(g);
    if (now.inputs_ != inputs_) return "its inputs are " + list(now.inputs_) + ", they were " + list(inputs_);
    if (now.outputs_ != outputs_) return "its outputs are " + list(now.outputs_) + ", they were " + list(outputs_);
    for (size_t i = 0; i < dtypes_.size(); ++i) {
      if (now.dtypes_[i] == dtypes_[i]) continue;
      return "output \"" + outputs_[i] + "\" is " + dtype_name(now.dtypes_[i]) + ", it was " + dtype_name(dtypes_[i]);
    }
    return "";
  }

 private:
  static std::string list(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "\"" : ", \"") + n + "\"";
    return out.empty() ? "none" : out;
  }

  std::vector<std::string> inputs_, outputs_;
  std::vector<DType> dtypes_;
};

// Weights below a type's range: one warning for all tensors.
void warn_of_losses(const std::vector<WeightError>& errors, Diagnostics* diagnostics) {
  const auto count = std::count_if(errors.begin(), errors.end(), [](const WeightError& e) { return e.lost > 0; });
  if (count == 0) return;
  const WeightError& worst = *std::max_element(
      errors.begin(), errors.end(), [](const WeightError& a, const WeightError& b) { return a.lost < b.lost; });
  char percent[32];
  std::snprintf(percent, sizeof(percent), "%.2g", worst.lost * 100);
  diagnostics->warning(Code::kRoundedAway,
                       "weights below the type's range lose digits in " + std::to_string(count) +
                           (count == 1 ? " tensor" : " tensors") + ", at worst in \"" + worst.tensor +
                           "\": those of one of its outputs are " + percent + " % off",
                       "compare the outputs with stored ones (vireo verify); bf16 has the range of float32");
}

// One walk over passes that share a report.
class Walk {
 public:
  Walk(ir::Graph& graph, Observer* observer, Diagnostics* diagnostics, ConvertReport* report,
       const target::KernelCosts& costs = target::default_costs(), TellProgress progress = {})
      : graph_(graph),
        promised_(graph),
        observer_(observer),
        diagnostics_(diagnostics),
        report_(report),
        costs_(costs),
        progress_(std::move(progress)) {}

  // False: stop. `changed` becomes true when the pass did something.
  bool pass(const Pass& pass, bool* changed) {
    PassLog log;
    log.name = pass.name;
    tell("optimise, " + log.name);
    return change(
        std::move(log), [&](ir::Graph& g, PassLog& said) { run_pass(g, pass, said, costs_); }, changed);
  }

  // Those at `place`, each once.
  bool stages(const Stages& all, StagePlace place, bool* changed) {
    return std::all_of(all.begin(), all.end(),
                       [&](const auto& s) { return s->place() != place || stage(*s, changed); });
  }

  bool stage(Stage& stage, bool* changed) {
    PassLog log;
    log.name = stage.name();
    log.unit = stage.unit();
    const Change one = [&](ir::Graph& g, PassLog& said) {
      if (said.failure.empty() && (&g == &graph_ || stage.visits_bodies())) stage.run(g, said);
    };
    return change(std::move(log), one, changed);
  }

  // `log`: who it is that changes something, and nothing else yet.
  bool change(PassLog log, const Change& one, bool* changed) {
    run_everywhere(graph_, one, log);
    if (!log.failure.empty()) {
      diagnostics_->error(Code::kCannotQuantize, log.failure, log.failure_help);
      return false;
    }
    std::string broken = graph_.validate();
    if (broken.empty()) broken = promised_.difference(graph_);
    if (!broken.empty()) {
      diagnostics_->error(Code::kCheckFailed, "after pass " + log.name + " the graph is broken: " + broken,
                          "convert without this pass, and report the model that shows it");
      return false;
    }
    const bool good = observer_ == nullptr || observer_->after(log.name.c_str(), graph_, &log);
    if (good) warn_of_losses(log.errors, diagnostics_);
    if (log.changes != 0) counted_.emplace_back(log.name, log.changes);
    *changed = *changed || log.changes != 0;
    add(std::move(log));
    return good;
  }

  // Rounds over `quantized`, each with `repeated` behind it, until one changes nothing; at most `most`.
  bool alternate(const std::vector<const Pass*>& quantized, const std::vector<const Pass*>& repeated, int most) {
    std::vector<std::pair<std::string, size_t>> last;
    for (int round = 0; round < most; ++round) {
      bool changed = false;
      counted_.clear();
      if (!each(quantized, &changed)) return false;
      if (!changed) return true;
      last = counted_;
      if (!repeat(repeated)) return false;
    }
    diagnostics_->warning(Code::kRoundsEnded,
                          "the optimiser stopped after " + std::to_string(most) +
                              " rounds over the quantized regions; changes of the last one: " + counts(last) +
                              "; the graph is right as it is, and may be slower than it could be",
                          "convert the optimised graph (--emit-onnx) once more, or report the model that shows it");
    return true;
  }

  bool each(const std::vector<const Pass*>& passes, bool* changed) {
    return std::all_of(passes.begin(), passes.end(), [&](const Pass* p) { return pass(*p, changed); });
  }

  // Rounds over `passes` until one changes nothing. They end: each round but the last has a smaller measure.
  bool repeat(const std::vector<const Pass*>& passes) {
    for (;;) {
      const Measure before = measure(graph_);
      bool changed = false;
      counted_.clear();
      if (!each(passes, &changed)) return false;
      if (!changed) return true;
      const Measure after = measure(graph_);
      if (after < before) continue;
      if (!(before < after)) {
        diagnostics_->warning(Code::kRoundsEnded,
                              "the optimiser stopped: a round of passes changed the graph and made it no simpler; "
                              "changes: " +
                                  counts(counted_) + "; the graph is right as it is",
                              "leave the pass out (--skip), or report the model that shows it");
        return true;
      }
      diagnostics_->error(Code::kCheckFailed, "a round of passes made the graph larger, so that rounds might not end",
                          "convert with --no-optimize, and report the model that shows it");
      return false;
    }
  }

 private:
  void tell(const std::string& what) {
    if (progress_) progress_(what, kUnknownShare);
  }

  // To the report: a row a pass, however often it runs.
  void add(PassLog log) {
    log.progress = {};  // it was for the run
    std::vector<PassLog>& rows = report_->passes;
    const auto all = std::find_if(rows.begin(), rows.end(), [&](const PassLog& r) { return r.name == log.name; });
    if (all == rows.end()) return rows.push_back(std::move(log));
    all->changes += log.changes;
    all->checked = all->checked || log.checked;
    all->max_difference = std::max(all->max_difference, log.max_difference);
    all->declined = std::move(log.declined);  // what the last round still declines
    all->errors.insert(all->errors.end(), log.errors.begin(), log.errors.end());
  }

  static std::string counts(const std::vector<std::pair<std::string, size_t>>& changes) {
    std::string out;
    for (const auto& [name, n] : changes) out += (out.empty() ? "" : ", ") + name + " " + std::to_string(n);
    return out;
  }

  std::vector<std::pair<std::string, size_t>> counted_;  // passes of this round, and how often each changed something
  ir::Graph& graph_;
  const Interface promised_;
  Observer* observer_;
  Diagnostics* diagnostics_;
  ConvertReport* report_;
  const target::KernelCosts& costs_;
  TellProgress progress_;
};

template <size_t kCount>
std::vector<const Pass*> wanted(const Pass* const (&passes)[kCount], const ConvertOptions& options) {
  std::vector<const Pass*> out;
  for (const Pass* p : passes) {
    const bool skipped = std::find(options.skip.begin(), options.skip.end(), p->name) != options.skip.end();
    if (!skipped && (options.optimize || p == &kDeadCode)) out.push_back(p);
  }
  return out;
}

}  // namespace

void run_pass(ir::Graph& g, const Pass& pass, PassLog& log, const target::KernelCosts& costs) {
  const uint32_t newest = g.values().empty() ? 0 : g.values().back().id;
  if (pass.run_for != nullptr) {
    pass.run_for(g, costs, log);
  } else {
    pass.run(g, log);
  }
  for (auto it = g.nodes().end(); it != g.nodes().begin();) {
    ir::Node& n = *std::prev(it);
    const bool attempted = std::all_of(n.outputs.begin(), n.outputs.end(), [&](const ir::Value* v) {
      return v == nullptr || (v->id > newest && v->unused());
    });
    if (attempted) {
      g.remove(&n);
    } else {
      --it;
    }
  }
}

bool is_repeated(const Pass& pass) {
  return std::find(std::begin(kRepeated), std::end(kRepeated), &pass) != std::end(kRepeated);
}

std::string kind_of(const ir::Node& node) {
  if (node.op == Op::kComposite) return node.attributes<attrs::Composite>().hint()->str();
  return op_name(node.op);
}

const Pass* find_pass(const std::string& name) {
  for (const Pass* p : kRepeated) {
    if (name == p->name) return p;
  }
  for (const Pass* p : kBetween) {
    if (name == p->name) return p;
  }
  for (const Pass* p : kQuantized) {
    if (name == p->name) return p;
  }
  for (const Pass* p : kLayout) {
    if (name == p->name) return p;
  }
  for (const Pass* p : kOnce) {
    if (name == p->name) return p;
  }
  return nullptr;
}

bool run_pipeline(ir::Graph& graph, const ConvertOptions& options, Observer* observer, Diagnostics* diagnostics,
                  ConvertReport* report) {
  for (const std::string& name : options.skip) {
    if (find_pass(name) == nullptr)
      diagnostics->warning(Code::kUnknownPass, "there is no pass named \"" + name + "\" to skip");
  }
  if (observer != nullptr && !observer->begin(graph)) return false;
  Walk walk(graph, observer, diagnostics, report, options.costs == nullptr ? target::default_costs() : *options.costs,
            options.progress);
  const std::vector<const Pass*> repeated = wanted(kRepeated, options);
  if (!walk.repeat(repeated)) return false;
  bool changed = false;
  if (!walk.each(wanted(kBetween, options), &changed)) return false;
  if (changed && !walk.repeat(repeated)) return false;
  // When patterns are recognised and regions are still float: what it marks, the next passes fold.
  if (!walk.stages(options.stages, StagePlace::kBeforeQuantized, &changed)) return false;
  const std::vector<const Pass*> quantized = wanted(kQuantized, options);
  if (!walk.alternate(quantized, repeated, kMostRounds)) return false;
  changed = false;
  if (!walk.each(wanted(kLayout, options), &changed)) return false;
  if (changed && (!walk.repeat(repeated) || !walk.alternate(quantized, repeated, kMostRounds))) return false;
  // What a caller hands in (a quantizer) when nothing repeated follows, which would fold what it spells; before the
  // epilogue, which makes one node of it.
  if (!walk.stages(options.stages, StagePlace::kBeforeFusion, &changed)) return false;
  return walk.each(wanted(kOnce, options), &changed) && walk.stages(options.stages, StagePlace::kAfterFusion, &changed);
}

bool run_rounds(ir::Graph& graph, const std::vector<const Pass*>& quantized, const std::vector<const Pass*>& repeated,
                int most, Diagnostics* diagnostics, ConvertReport* report) {
  return Walk(graph, nullptr, diagnostics, report).alternate(quantized, repeated, most);
}

bool run_passes(ir::Graph& graph, const std::vector<const Pass*>& passes, Observer* observer, Diagnostics* diagnostics,
                ConvertReport* report) {
  bool changed = false;
  return (observer == nullptr || observer->begin(graph)) &&
         Walk(graph, observer, diagnostics, report).each(passes, &changed);
}

}  // namespace vireo::passes
