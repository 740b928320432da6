// Before   x -> Gemm | MatMul (weights, bias) -> y, float32
// After    x -> the same (DequantizeLinear of weights in codes, bias) -> y
// Before   indices -> Gather(table) -> y, float32
// After    indices -> Gather of the codes, Gather of their scales -> DequantizeLinear -> y
// Fires    the weights are one constant, finite matrix; Gemm with x as it lies and a bias of one value a column. A
//          table is a matrix whose rows are taken by numbers that the caller gives, or one that a product multiplies as
//          well: then both read the same codes, the product through a Transpose where it has the matrix turned.
//          Idempotent: what has its DequantizeLinear is left.
// Numerics x, sums, bias and what follows are float32 as before; each weight is off by at most half a step of its
//          scale, or by what was cut off. int8-weights: steps of a 127th of the column's largest weight. int4: codes of
//          -8..7 for 32 weights of a column each, whose scale makes the sum of squared errors small: the largest weight
//          over 7 .. 10.3, each corrected to the best scale for its codes (least squares). Scales of int4 are float16
//          behind a Cast, where none is below 2^-20. A table's row is a column here. What that costs is measured: the
//          signal to noise of each tensor, 10 log10(sum w^2 / sum (w - w')^2), stands in the report.
// Source   Frantar et al. 2022, arXiv:2210.17323, section 4 (blocks of weights); the search is plain.
//
// Spelled in standard operators, the file means the same to a runtime that knows nothing of this; the converter's
// fuse_epilogue makes one node of the codes, the product and what follows it.
#include "quant/schemes/weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "converter/ir/infer.h"
#include "quant/schemes/fold_gains.h"
#include "quant/schemes/products16.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/traits.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace vireo::quant {
namespace {

// A product of the kinds above; `reason` says why it is left.
bool is_product(const ir::Node& n, std::string* reason) {
  if (n.op == Op::kConv || n.op == Op::kConvTranspose) {
    const ir::Value* w = n.in(1);
    if (w != nullptr && w->constant != nullptr && w->type.dtype == DType::kF32)
      *reason = "weights of a convolution stay float32";
    return false;
  }
  if ((n.op != Op::kGemm && n.op != Op::kMatMul) || n.outputs.size() != 1) return false;
  const ir::Value *x = n.in(0), *w = n.in(1);
  if (x == nullptr || w == nullptr || n.out()->type.dtype != DType::kF32 || w->type.dtype != DType::kF32) return false;
  if (w->producer != nullptr && (w->producer->op == Op::kDequantizeLinear || w->producer->op == Op::kTranspose)) {
    const ir::Value* const codes = w->producer->op == Op::kTranspose ? w->producer->in(0) : w;
    if (codes->producer != nullptr && codes->producer->op == Op::kDequantizeLinear) return false;  // has its codes
  }
  if (w->constant == nullptr) {
    *reason = "weights that are computed stay float32";
    return false;
  }
  if (w->type.shape.rank != 2 || x->type.shape.rank < 2 || element_count(w->constant->tensor.type.shape) == 0) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  return n.op == Op::kMatMul || is_gemm_by_rows(n, reason);
}

// Rows of a constant matrix.
bool is_lookup(const ir::Node& n) {
  if (n.op != Op::kGather || n.attributes<attrs::Gather>().axis() != 0 || n.out() == nullptr) return false;
  for (const ir::Use& use : n.out()->uses) {
    if (use.node->op == Op::kDequantizeLinear) return false;  // has its codes: these are their scales
  }
  const ir::Value *table = n.in(0), *rows = n.in(1);
  return table->constant != nullptr && table->type.dtype == DType::kF32 && table->type.shape.rank == 2 &&
         element_count(table->constant->tensor.type.shape) > 0 && rows->constant == nullptr;
}

// Whether the rows are numbers that the caller gives, and not places that are counted.
bool are_given(const ir::Value* rows) {
  while (rows->producer != nullptr) {
    const ir::Node& n = *rows->producer;
    if (n.op != Op::kCast && n.op != Op::kIdentity && !(moves_elements(n.op) && n.op != Op::kGather)) return false;
    rows = n.in(0);
  }
  return rows->constant == nullptr;
}

// Tables of angles are multiplied with what is computed, and rounding would turn them.
bool meets_factors(const ir::Value& y) {
  for (const ir::Use& use : y.uses) {
    const ir::Node& n = *use.node;
    if (n.op == Op::kRotaryEmbedding) return true;
    if (n.op == Op::kMul) {
      const ir::Value* const other = n.in(use.input == 0 ? 1 : 0);
      if (other->constant == nullptr) return true;
    } else if (moves_elements(n.op) && n.out() != nullptr && meets_factors(*n.out())) {
      return true;
    }
  }
  return false;
}

// Whether `a` [K, N] is `b` [N, K] turned.
bool is_turned(const ir::Constant& a, const ir::Constant& b) {
  const Shape &s = a.tensor.type.shape, &t = b.tensor.type.shape;
  if (s[0] != t[1] || s[1] != t[0]) return false;
  const auto word = [](const ir::Constant& c, int64_t i) {
    uint32_t out = 0;
    std::memcpy(&out, c.tensor.bytes.data() + static_cast<size_t>(i) * sizeof(out), sizeof(out));
    return out;
  };
  for (int64_t row = 0; row < s[0]; ++row) {
    for (int64_t column = 0; column < s[1]; ++column) {
      if (word(a, row * s[1] + column) != word(b, column * s[0] + row)) return false;
    }
  }
  return true;
}

// One graph's products and tables, and the codes that they share.
class Coder {
 public:
  Coder(ir::Graph& g, const CodedNodes& nodes, int bits, KnownCodes known, PassLog& log)
      : g_(g), nodes_(nodes), bits_(bits), known_(std::move(known)), log_(log) {}

  void run() {
    for (const ir::Node* n : nodes_.products) all_ += bytes_of(*n->in(1));
    for (ir::Node* n : nodes_.products) code_product(*n);
    for (ir::Node* n : nodes_.lookups) code_lookup(*n);
    g_.drop_unused_values();
  }

 private:
  static double bytes_of(const ir::Value& w) { return static_cast<double>(w.constant->tensor.bytes.size()); }

  const MatrixCodes& codes_of(const ir::Value& w, bool by_rows) {
    const MatrixKey key = {w.constant.get(), by_rows};
    const auto done = done_.find(key);
    if (done != done_.end()) return done->second;
    if (log_.progress) log_.progress(w.name, all_ > 0 ? behind_ / all_ : 0);
    behind_ += bytes_of(w);
    const auto known = known_.find(key);
    return done_[key] = known != known_.end() ? add_codes(g_, w.name, std::move(known->second), log_)
                                              : add_codes(g_, w.name, code_matrix(*w.constant, by_rows, bits_), log_);
  }

  ir::Node* add(Op op, std::vector<uint8_t> attributes, std::vector<ir::Value*> inputs, const std::string& name,
                ir::Node* before) {
    ir::Node* n = g_.add_node(op, std::move(attributes), std::move(inputs), 1, before);
    n->name = before->name;
    n->out()->name = name;
    std::string message;
    (void)ir::infer_node(g_, n, nullptr, &message);
    return n;
  }

  // As float32.
  ir::Value* wide_scales(ir::Value* scales, ir::Node* before) {
    if (scales->type.dtype == DType::kF32) return scales;
    attrs::CastT a;
    a.to = static_cast<uint8_t>(DType::kF32);
    return add(Op::kCast, pack<attrs::Cast>(a), {scales}, scales->name + "_wide", before)->out();
  }

  void code_product(ir::Node& n) {
    const auto turned = nodes_.turned.find(n.in(1)->constant.get());
    const bool is_turned = turned != nodes_.turned.end();
    const bool by_rows = is_turned || has_columns_in_rows(n);
    const ir::Value& w = *n.in(1);
    const MatrixCodes& c = codes_of(is_turned ? *turned->second : w, by_rows);
    if (!c.finite) {
      log_.reject(n, "a weight is not finite: stays float32");
      return;
    }
    attrs::DequantizeLinearT a;
    const int32_t k_axis = by_rows ? 1 : 0;
    ir::Value* scales = c.scales;
    if (c.bits == 4) {
      a.axis = k_axis;
      a.block_size = c.block;
      scales = wide_scales(scales, &n);
    } else {
      a.axis = 1 - k_axis;
      scales = one_each(scales);
    }
    ir::Value* wide =
        add(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {c.codes, scales}, w.name + "_wide", &n)->out();
    if (is_turned) {
      attrs::TransposeT t;
      t.perm = {1, 0};
      wide = add(Op::kTranspose, pack<attrs::Transpose>(t), {wide}, w.name + "_turned", &n)->out();
    }
    g_.set_input(&n, 1, wide);
    ++log_.changes;
  }

  // A list of scales, of those that are a matrix of one row or column.
  ir::Value* one_each(ir::Value* scales) {
    ir::Value*& list = lists_[scales];
    if (list == nullptr) {
      Shape s;
      s.rank = 1;
      s[0] = element_count(scales->type.shape);
      list = g_.add_constant(scales->name, ir::with_shape(scales->constant, s));
    }
    return list;
  }

  void code_lookup(ir::Node& n) {
    const ir::Value& table = *n.in(0);
    ir::Value* const rows = n.in(1);
    const MatrixCodes& c = codes_of(table, true);
    if (!c.finite) return log_.reject(n, "a weight is not finite: stays float32");
    const auto gather = [&](ir::Value* from) {
      return add(Op::kGather, pack<attrs::Gather>(attrs::GatherT{}), {from, rows}, from->name + "_rows", &n)->out();
    };
    attrs::DequantizeLinearT a;
    a.axis = rows->type.shape.rank;  // the rows' own, behind those of the indices
    a.block_size = c.block;
    ir::Value* const codes = gather(c.codes);
    ir::Value* const wide = add(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a),
                                {codes, wide_scales(gather(c.scales), &n)}, n.out()->name, &n)
                                ->out();
    g_.replace_uses(n.out(), wide);
    g_.remove(&n);
    ++log_.changes;
  }

  ir::Graph& g_;
  const CodedNodes& nodes_;
  const int bits_;
  KnownCodes known_;
  PassLog& log_;
  double all_ = 0, behind_ = 0;            // bytes of weights
  std::map<MatrixKey, MatrixCodes> done_;  // weights that several nodes share stay shared
  std::map<const ir::Value*, ir::Value*> lists_;
};

// The table that the product multiplies turned, if there is one.
void find_turned(const ir::Node& product, CodedNodes* nodes) {
  const ir::Constant* const w = product.in(1)->constant.get();
  if (nodes->turned.find(w) != nodes->turned.end() || has_columns_in_rows(product)) return;
  for (const ir::Node* n : nodes->lookups) {
    if (is_turned(*w, *n->in(0)->constant)) nodes->turned[w] = n->in(0);
  }
}

// Whether a lookup is in a table of tokens; the log gets the reason why not.
bool is_table(const ir::Node& lookup, PassLog& log) {
  const char* why = !are_given(lookup.in(1))       ? "a table of places, not of what the caller names: float32"
                    : meets_factors(*lookup.out()) ? "a table of factors: stays float32"
                                                   : nullptr;
  if (why != nullptr) log.reject(lookup, why);
  return why == nullptr;
}

// Whether a product reads the table's codes.
bool is_multiplied(const CodedNodes& nodes, const ir::Constant& table) {
  return std::any_of(nodes.products.begin(), nodes.products.end(), [&](const ir::Node* n) {
    const auto turned = nodes.turned.find(n->in(1)->constant.get());
    return turned != nodes.turned.end() ? turned->second->constant.get() == &table
                                        : has_columns_in_rows(*n) && n->in(1)->constant.get() == &table;
  });
}

void run_scheme(ir::Graph& g, int bits, PassLog& log) {
  const CodedNodes nodes = find_coded_nodes(g, {}, log);
  if (bits == 4) {
    (void)fold_gains(g, nodes.products, [&](const ir::Node& n) {
      return nodes.turned.count(n.in(1)->constant.get()) == 0 && n.in(1)->one_use();
    });
  }
  code_nodes(g, nodes, bits, {}, log);
}

void run_int4(ir::Graph& g, PassLog& log) { run_scheme(g, 4, log); }
void run_int8(ir::Graph& g, PassLog& log) { run_scheme(g, 8, log); }

}  // namespace

bool has_columns_in_rows(const ir::Node& product) {
  return product.op == Op::kGemm && product.attributes<attrs::Gemm>().trans_b();
}

std::vector<ir::Node*> find_tables(ir::Graph& g, PassLog& log) {
  std::vector<ir::Node*> out;
  for (ir::Node& n : g.nodes()) {
    if (is_lookup(n) && is_table(n, log)) out.push_back(&n);
  }
  return out;
}

ir::Value* table_of(const ir::Node& product, const std::vector<ir::Node*>& lookups) {
  const ir::ConstantPtr& w = product.in(1)->constant;
  if (w->tensor.type.shape.rank != 2) return nullptr;
  const bool by_rows = has_columns_in_rows(product);
  for (const ir::Node* n : lookups) {
    if (by_rows ? n->in(0)->constant == w : is_turned(*w, *n->in(0)->constant)) return n->in(0);
  }
  return nullptr;
}

CodedNodes find_coded_nodes(ir::Graph& g, const std::function<bool(const ir::Node&)>& keep, PassLog& log) {
  CodedNodes out;
  for (ir::Node& n : g.nodes()) {
    std::string reason;
    const bool product = is_product(n, &reason), lookup = !product && is_lookup(n);
    if ((product || lookup) && keep && keep(n)) {
      log.reject(n, "the recipe keeps it in float");
    } else if (product) {
      out.products.push_back(&n);
    } else if (lookup) {
      out.lookups.push_back(&n);
    } else if (!reason.empty()) {
      log.reject(n, reason);
    }
  }
  for (const ir::Node* n : out.products) find_turned(*n, &out);
  const auto is_left = [&](const ir::Node* n) {
    return !is_multiplied(out, *n->in(0)->constant) && !is_table(*n, log);
  };
  out.lookups.erase(std::remove_if(out.lookups.begin(), out.lookups.end(), is_left), out.lookups.end());
  return out;
}

void code_nodes(ir::Graph& g, const CodedNodes& nodes, int bits, KnownCodes known, PassLog& log) {
  Coder(g, nodes, bits, std::move(known), log).run();
}

const Scheme kInt4 = {
    "int4", "weights of Gemm, MatMul and token tables in 4 bits, a scale for each block of 32: a seventh of the size",
    run_int4, 0.5};
const Scheme kInt8Weights = {
    "int8-weights",
    "weights of Gemm, MatMul and token tables in 8 bits, a scale for each channel: a quarter of the size", run_int8,
    0.05};

}  // namespace vireo::quant
