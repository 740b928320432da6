// Before   y = f(c...), all inputs constant; or y's elements are known numbers
// After    y is a constant
// Fires    f is deterministic and has a reference kernel; the result takes at most kSmallBytes, or twice the constants
//          it is made from, so that the file does not grow by what a ConstantOfShape, Expand or Tile makes cheaply at
//          run time; the conversion's budget (ir/budget.h) has room for it. QuantizeLinear and DequantizeLinear stay:
//          they say how a value is quantized, which the integer rewrite needs. A Cast of float16 scales that only
//          weights in blocks have stays as well: kernels read scales as they are stored. Idempotent.
// Numerics none: the very kernel that a session would run.
#include "converter/passes/simplify/fold_constants.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo::passes {
namespace {

constexpr int64_t kSmallBytes = 4096;

ir::ConstantPtr from_contents(const ir::Value& v) {
  if (!v.contents || !v.type.shape.is_static()) return nullptr;
  for (const Dim d : *v.contents) {
    // One above the handles is also what stands for a number among them (ir/infer.cc): enough for extents, not for
    // data.
    if (d <= kLastHandle + 1) return nullptr;
  }
  const auto narrow = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> out;
    for (const Dim d : *v.contents) out.push_back(static_cast<T>(d));
    return ir::make_constant_of<T>(v.type.dtype, v.type.shape, out);
  };
  switch (v.type.dtype) {
    case DType::kI64:
      return narrow(int64_t{});
    case DType::kI32:
      return narrow(int32_t{});
    case DType::kBool:
      return narrow(uint8_t{});
    default:
      return nullptr;
  }
}

// float16 numbers that are nothing but the scales of blocks of constant codes.
bool widens_scales_of_blocks(const ir::Node& n) {
  if (n.op != Op::kCast || n.in(0)->type.dtype != DType::kF16 || n.out()->type.dtype != DType::kF32) return false;
  if (n.out()->uses.empty() || n.out()->output_uses != 0) return false;
  return std::all_of(n.out()->uses.begin(), n.out()->uses.end(), [](const ir::Use& use) {
    return use.node->op == Op::kDequantizeLinear && use.input == 1 && use.node->in(0)->constant != nullptr &&
           use.node->attributes<attrs::DequantizeLinear>().block_size() > 0;
  });
}

void run_fold_constants(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (!n.bodies.empty() || (n.def().flags & OpDef::kRandom) != 0) continue;
    std::vector<ir::ConstantPtr> results;
    if (n.outputs.size() == 1 && n.outputs[0] != nullptr) {
      const ir::ConstantPtr c = from_contents(*n.outputs[0]);
      if (c != nullptr) results.push_back(c);
    }
    if (results.empty()) {
      std::vector<ir::ConstantPtr> inputs;
      bool constant = true;
      int64_t bytes = 0;
      for (const ir::Value* v : n.inputs) {
        constant = constant && (v == nullptr || v->constant != nullptr);
        inputs.push_back(v == nullptr ? nullptr : v->constant);
        if (constant && v != nullptr) bytes += v->constant->size_bytes();
      }
      if (!constant) continue;
      if (n.op == Op::kQuantizeLinear || n.op == Op::kDequantizeLinear || widens_scales_of_blocks(n)) continue;
      std::string message;
      const int64_t limit = bytes * 2 > kSmallBytes ? bytes * 2 : kSmallBytes;
      if (!ir::evaluate_node(n, inputs, limit, &results, &message, &g.dims().budget())) {
        log.reject(n, message);
        continue;
      }
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      ir::Value* v = n.outputs[i];
      if (v == nullptr || v->unused() || results[i] == nullptr) continue;
      g.replace_uses(v, g.add_constant(v->name, results[i]));
    }
    bool used = false;
    for (const ir::Value* v : n.outputs) used = used || (v != nullptr && !v->unused());
    if (used) continue;
    const std::vector<ir::Value*> read = n.inputs;
    g.remove(&n);
    // What it was made from need not wait beside it for the pass that removes dead code.
    for (ir::Value* v : read) {
      if (v != nullptr && v->unused() && v->producer == nullptr && !v->is_input) v->constant.reset();
    }
    log.changed();
  }
}

}  // namespace

const Pass kFoldConstants = {"fold_constants", run_fold_constants};

}  // namespace vireo::passes
