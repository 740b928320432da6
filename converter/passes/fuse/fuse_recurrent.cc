// Before   x -> Cast to bfloat16 -> Cast to float32 -> LSTM (Casts of constant bfloat16 W and R to float32, ...) -> y,
//          y_h, y_c, of which any may be missing
// After    one composite with these as its body, "lstm_bf16"
// Before   LSTM | GRU with a state_scale (DequantizeLinear of x, of constant int8 W and R, ...) -> y, y_h, y_c
// After    one composite, "lstm_codes" | "gru_codes"
// Fires    what makes W and R is the cell's alone, and so are the Casts; another reader of x's codes has its own
//          DequantizeLinear. Idempotent: bodies are not entered.
// Numerics none: the body is the meaning.
//
// A kernel reads the weights as they are stored, once a step; nodes of their own would widen them to float32 for each
// run.
#include "converter/passes/fuse/fuse_recurrent.h"

#include "converter/passes/shared/composite.h"
#include "converter/passes/shared/match.h"
#include "sdk/ops/recurrent/recurrent_generated.h"

namespace vireo::passes {
namespace {

// The Cast that makes input `i` for `n` alone from a value of this type; null: there is none.
ir::Node* cast_into(const ir::Node& n, size_t i, DType from) {
  ir::Node* cast = maker(n.in(i), Op::kCast);
  return cast != nullptr && cast->in(0)->type.dtype == from && only_user(cast->out()) == &n ? cast : nullptr;
}

std::vector<ir::Node*> chain_of(ir::Node& n) {
  ir::Node *wide = cast_into(n, 0, DType::kBF16), *w = cast_into(n, 1, DType::kBF16),
           *r = cast_into(n, 2, DType::kBF16);
  ir::Node* narrow = wide == nullptr ? nullptr : cast_into(*wide, 0, DType::kF32);
  if (narrow == nullptr || w == nullptr || r == nullptr) return {};
  if (w->in(0)->constant == nullptr || r->in(0)->constant == nullptr) return {};
  return {narrow, wide, w, r, &n};
}

bool through_codes(const ir::Node& n) {
  return (n.op == Op::kLSTM || n.op == Op::kGRU) && n.attributes<attrs::Recurrent>().state_scale() != 0;
}

// The DequantizeLinear that makes input `i`, read by `n` only: a copy where others read it. Null where another node
// makes the input.
ir::Node* codes_into(ir::Graph& g, ir::Node& n, size_t i) {
  ir::Node* from = maker(n.in(i), Op::kDequantizeLinear);
  if (from == nullptr || only_user(from->out()) == &n) return from;
  ir::Node* own = add_node(g, from->op, from->attrs, from->inputs, *from, &n);
  if (own != nullptr) g.set_input(&n, i, own->out());
  return own;
}

std::vector<ir::Node*> codes_chain_of(ir::Graph& g, ir::Node& n) {
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const ir::Node* from = maker(n.in(i), Op::kDequantizeLinear);
    if (from == nullptr || from->in(0)->constant == nullptr || from->in(0)->type.dtype != DType::kI8) return {};
  }
  if (maker(n.in(0), Op::kDequantizeLinear) == nullptr) return {};
  ir::Node *w = codes_into(g, n, 1), *r = codes_into(g, n, 2), *x = codes_into(g, n, 0);
  return w == nullptr || r == nullptr || x == nullptr ? std::vector<ir::Node*>{} : std::vector<ir::Node*>{w, r, x, &n};
}

// The composite has the cell's name. Inside, names would repeat those of the operands: a kilobyte for two cells.
void make_cell_on_codes(ir::Graph& g, const std::vector<ir::Node*>& chain) {
  const ir::Node& cell = *chain.back();
  const std::string name = cell.name;
  ir::Node* composite = make_composite(g, chain, cell.op == Op::kLSTM ? composites::kLstmCodes : composites::kGruCodes);
  composite->name = name;
  composite->bodies[0]->name.clear();
  for (ir::Node& n : composite->bodies[0]->nodes()) {
    n.name.clear();
    for (ir::Value* v : n.inputs) {
      if (v != nullptr) v->name.clear();
    }
    for (ir::Value* v : n.outputs) {
      if (v != nullptr) v->name.clear();
    }
  }
}

void run_fuse_recurrent(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> found;
  for (ir::Node& n : g.nodes()) {
    if (through_codes(n) || (n.op == Op::kLSTM && n.in(0)->type.dtype == DType::kF32)) found.push_back(&n);
  }
  for (ir::Node* n : found) {
    const bool codes = through_codes(*n);
    const std::vector<ir::Node*> chain = codes ? codes_chain_of(g, *n) : chain_of(*n);
    if (chain.empty()) continue;
    if (codes) {
      make_cell_on_codes(g, chain);
    } else {
      make_composite(g, chain, composites::kLstmBf16);
    }
    log.changed();
  }
}

}  // namespace

const Pass kFuseRecurrent = {"fuse_recurrent", run_fuse_recurrent};

}  // namespace vireo::passes
