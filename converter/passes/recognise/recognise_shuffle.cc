// Pixel shuffles that exporters spell out.
// Before   [N, C b b, H, W] -> Reshape [N, b, b, C, H, W] -> Transpose 0 3 4 1 5 2 -> Reshape [N, C, H b, W b]
// After    DepthToSpace (dcr);  from [N, C, b, b, H, W] by 0 1 4 2 5 3: DepthToSpace (crd)
// Before   [N, C, H b, W b] -> Reshape [N, C, H, b, W, b] -> Transpose 0 3 5 1 2 4 -> Reshape [N, b b C, H, W]
// After    SpaceToDepth
// Fires    the values between are used here alone; block sizes are numbers and equal.
// Numerics none.
// Bound    three nodes become one.        Idempotent.
// Source   Shi et al. 2016, arXiv:1609.05158, section 3.2; ONNX "DepthToSpace", "SpaceToDepth".
#include "converter/passes/recognise/recognise_shuffle.h"

#include "converter/passes/shared/match.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"

namespace vireo::passes {
namespace {

struct Form {
  Op op;
  attrs::DepthToSpaceMode mode;
  std::vector<int> perm;
  int row, column;  // where the block's two extents stand
};

const Form kForms[] = {
    {Op::kDepthToSpace, attrs::DepthToSpaceMode::dcr, {0, 3, 4, 1, 5, 2}, 1, 2},
    {Op::kDepthToSpace, attrs::DepthToSpaceMode::crd, {0, 1, 4, 2, 5, 3}, 2, 3},
    {Op::kSpaceToDepth, attrs::DepthToSpaceMode::dcr, {0, 3, 5, 1, 2, 4}, 3, 5},
};

bool rewrite_recognise_shuffle(ir::Graph& g, ir::Node& n, PassLog& log) {
  const Shape& six = n.in(0)->type.shape;
  if (six.rank != 6) return false;
  const ir::Node* parted = maker(n.in(0), Op::kReshape);
  ir::Node* joined = only_user(n.out());
  const std::vector<int> perm = permutation(n);
  for (const Form& f : kForms) {
    if (perm != f.perm) continue;
    if (parted == nullptr || joined == nullptr || joined->op != Op::kReshape) {
      log.reject(n, "no Reshape in front parts it, or none alone joins it behind");
      return false;
    }
    ir::Value* x = parted->in(0);
    if (x->type.shape.rank != 4 || joined->out()->type.shape.rank != 4) {
      log.reject(n, "its Reshapes are not from and to four dimensions");
      return false;
    }
    const Dim b = six[f.row];
    if (is_symbolic(b) || six[f.column] != b) {
      log.reject(n, "a block is not square, or not a number");
      return false;
    }
    if (!n.in(0)->one_use()) {
      log.reject(n, "an inner value is used elsewhere");
      return false;
    }
    // The Reshape in front parts channels or space, and nothing else.
    const Shape& s = x->type.shape;
    const bool depth = f.op == Op::kDepthToSpace;
    const int first = f.mode == attrs::DepthToSpaceMode::dcr ? 3 : 1;
    const auto parts = [&](Dim blocks, Dim whole) {  // an open extent that Reshape divides is divisible in every run
      return g.dims().mul(blocks, b) == whole || (is_symbolic(whole) && g.dims().floor_div(whole, b) == blocks);
    };
    const bool fits = depth ? six[0] == s[0] && six[4] == s[2] && six[5] == s[3] && !is_symbolic(six[first])
                            : six[0] == s[0] && six[1] == s[1] && parts(six[2], s[2]) && parts(six[4], s[3]);
    std::vector<uint8_t> a;
    if (depth) {
      attrs::DepthToSpaceT t;
      t.blocksize = static_cast<int32_t>(b);
      t.mode = f.mode;
      a = pack<attrs::DepthToSpace>(t);
    } else {
      attrs::SpaceToDepthT t;
      t.blocksize = static_cast<int32_t>(b);
      a = pack<attrs::SpaceToDepth>(t);
    }
    ir::Node* one = fits ? add_node(g, f.op, std::move(a), {x}, *joined, joined) : nullptr;
    if (one != nullptr && one->out()->type != joined->out()->type) {
      g.remove(one);
      one = nullptr;
    }
    if (one == nullptr) {
      log.reject(n, "its Reshapes part or join other extents");
      return false;
    }
    one->out()->name = joined->out()->name;
    g.replace_uses(joined->out(), one->out());
    remove_unused(g, joined);
    return true;
  }
  return false;
}

void run_recognise_shuffle(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> turns;
  for (ir::Node& n : g.nodes()) {
    if (n.op == Op::kTranspose) turns.push_back(&n);
  }
  for (ir::Node* n : turns) {
    if (rewrite_recognise_shuffle(g, *n, log)) log.changed();
  }
}

}  // namespace

const Pass kRecogniseShuffle = {"recognise_shuffle", run_recognise_shuffle};

}  // namespace vireo::passes
