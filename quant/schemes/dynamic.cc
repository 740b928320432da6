// Before   x -> Gemm | MatMul | Conv (weights, bias) -> y, float32
// After    x -> DynamicQuantizeLinear -> MatMulInteger | ConvInteger (weights in int8) -> Cast to float32
//          -> Mul(x's scale times the weights') -> Add(bias) -> y
//          tables of tokens: as the scheme int8-weights has them; one that a product multiplies as well has its codes
//          in the product's order, and a lookup reads a column of them
// Fires    the weights are one constant, finite tensor (of a product: a matrix); Gemm with x as it lies, alpha 1 and a
//          bias of one value a column; sums stay in int32. What several products read is quantized once. Idempotent:
//          what it makes are other operators.
// Numerics codes of w: -127..127, a 127th of the output channel's largest; of x: uint8 from its least to its largest
//          value and 0, of the whole tensor in each run. |dy| <= sum |w| sx / 2 + sum (|x| + sx / 2) sw / 2.
// Source   ONNX opset 11 "DynamicQuantizeLinear"; Jacob et al. 2018, arXiv:1712.05877, section 2.
//
// fuse_dynamic_quantization makes one node of each product, as of strangers' files of this form.
#include "quant/schemes/dynamic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quant/schemes/products16.h"
#include "quant/schemes/weights.h"
#include "quant/shared/weights8.h"
#include "quant/shared/writer.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/view.h"

namespace vireo::quant {
namespace {

constexpr int64_t kLongestSum = 66311;  // 2^31 / (255 * 127)

const ir::Constant* weights_of(const ir::Node& n) {
  const ir::Value* w = n.in(1);
  return w == nullptr ? nullptr : w->constant.get();
}

// Whether it is a product that can be dynamic; `reason` says why one is left, and stays empty for other nodes.
bool is_dynamic(const ir::Node& n, std::string* reason) {
  const bool product = n.op == Op::kGemm || n.op == Op::kMatMul || n.op == Op::kConv;
  const bool other = n.op == Op::kConvTranspose || n.op == Op::kLSTM || n.op == Op::kGRU || n.op == Op::kRNN;
  if ((!product && !other) || n.in(0) == nullptr || n.in(0)->type.dtype != DType::kF32) return false;
  const ir::Constant* w = weights_of(n);
  if (other) {
    if (w != nullptr) *reason = "there is no integer form of it whose values are quantized in the run: stays float32";
    return false;
  }
  if (n.outputs.size() != 1 || n.in(1) == nullptr || n.in(1)->type.dtype != DType::kF32) return false;
  if (w == nullptr) {
    if (n.in(1)->producer == nullptr || n.in(1)->producer->op != Op::kDequantizeLinear)
      *reason = "weights that are computed stay float32";
    return false;
  }
  const Shape& shape = w->tensor.type.shape;
  if (w->tensor.count() == 0) {
    *reason = "empty weights stay float32";
    return false;
  }
  if (n.op == Op::kConv) {
    if (n.in(2) == nullptr || n.in(2)->constant != nullptr) return true;
    *reason = "a bias that is computed: stays float32";
    return false;
  }
  if (shape.rank != 2 || n.in(0)->type.shape.rank < 2) {
    *reason = "weights other than one matrix stay float32";
    return false;
  }
  if (n.op == Op::kMatMul) return true;
  if (!is_gemm_by_rows(n, reason)) return false;
  if (n.attributes<attrs::Gemm>().alpha() == 1) return true;
  *reason = "its alpha is not 1: stays float32";
  return false;
}

class Dynamic {
 public:
  // `lookups`: of tables of tokens. Those whose table a product multiplies are changed with it, and leave the list.
  Dynamic(ir::Graph& g, std::vector<ir::Node*>* lookups, PassLog& log) : g_(g), lookups_(*lookups), log_(log) {}

  void run() {
    std::vector<ir::Node*> products;
    for (ir::Node& n : g_.nodes()) {
      std::string reason;
      if (is_dynamic(n, &reason)) {
        products.push_back(&n);
      } else if (!reason.empty()) {
        log_.reject(n, reason);
      }
    }
    for (size_t i = 0; i < products.size(); ++i) {
      if (log_.progress)
        log_.progress(products[i]->in(1)->name, static_cast<double>(i) / static_cast<double>(products.size()));
      change(*products[i]);
    }
    g_.drop_unused_values();
  }

 private:
  // In front of the first product that reads `x`.
  ir::Node* quantized(Writer& w, ir::Value* x) {
    ir::Node*& known = quantized_[x];
    if (known == nullptr)
      known = w.node(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}),
                     {x}, x->name + "_codes", {"_scale", "_zero"});
    return known;
  }

  void change(ir::Node& n) {
    const bool conv = n.op == Op::kConv;
    const bool turned = n.op == Op::kGemm && n.attributes<attrs::Gemm>().trans_b();
    const ir::Constant& weights = *weights_of(n);
    const int axis = conv || turned ? 0 : 1;
    const WeightRows rows = rows_of(weights, axis);
    if (!std::all_of(rows.values.begin(), rows.values.end(), [](double v) { return std::isfinite(v); }))
      return log_.reject(n, "a weight is not finite: stays float32");
    if (rows.per_channel > kLongestSum)
      return log_.reject(n, "its sums are so long that they may leave int32: stays float32");
    const WeightCodes codes = nearest_codes(rows, full_scales(rows));
    Shape shape = weights.tensor.type.shape;
    if (turned) std::swap(shape[0], shape[1]);  // rows of the product's columns: [N, K] becomes [K, N]
    const std::string y = n.out()->name;
    const ir::Value* const table = conv ? nullptr : table_of(n, lookups_);
    Writer w(g_, &n, n.name);
    ir::Node* q = quantized(w, n.in(0));
    ir::Value* coded = g_.add_constant(n.in(1)->name, codes_of_shape(codes, shape, conv ? 0 : 1));
    ir::Value* sums = nullptr;
    if (conv) {
      const auto from = std::unique_ptr<attrs::ConvT>(n.attributes<attrs::Conv>().UnPack());
      attrs::ConvIntegerT a;
      a.strides = from->strides;
      a.dilations = from->dilations;
      a.pads = from->pads;
      a.auto_pad = from->auto_pad;
      a.layout = from->layout;
      a.group = from->group;
      sums = w.add(Op::kConvInteger, pack<attrs::ConvInteger>(a), {q->out(), coded, q->out(2)}, y + "_sums");
    } else {
      sums = w.add(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}),
                   {q->out(), coded, q->out(2)}, y + "_sums");
    }
    const int rank = conv ? n.out()->type.shape.rank : 1;
    ir::Value* scale =
        g_.add_constant(n.in(1)->name + "_scale",
                        ir::make_constant_of<float>(DType::kF32, channels(rows.channels, rank), codes.scales));
    ir::Value* const real = w.to_float(sums, y + "_real");
    ir::Value* const both = w.binary(Op::kMul, q->out(1), scale, y + "_scale");
    ir::Value* result = w.binary(Op::kMul, real, both, y + "_scaled");
    if (n.in(2) != nullptr) {
      ir::Value* bias = n.in(2);
      if (conv)
        bias = g_.add_constant(bias->name,
                               ir::with_shape(bias->constant, channels(element_count(bias->type.shape), rank)));
      result = w.binary(Op::kAdd, result, bias, y);
    }
    result->name = y;
    g_.replace_uses(n.out(), result);
    g_.remove(&n);
    log_.errors.push_back({coded->name, signal_to_noise_db(rows, codes)});
    log_.changed();
    if (table != nullptr) look_up_columns(table->constant, coded, codes.scales);
  }

  // Rows of `table` are columns of a product's codes [K, N].
  void look_up_columns(ir::ConstantPtr table, ir::Value* codes, const std::vector<float>& scales) {
    const int64_t k = codes->type.shape[0];
    Shape shape;
    shape.rank = 2;
    shape[0] = codes->type.shape[1];
    shape[1] = 1;
    ir::Value* const by_rows =
        g_.add_constant(codes->name + "_rows_scale", ir::make_constant_of<float>(DType::kF32, shape, scales));
    const auto change = [&](ir::Node* n) {
      if (n->in(0)->constant != table) return false;
      ir::Value* const rows = n->in(1);
      const int rank = rows->type.shape.rank;
      Writer w(g_, n, n->name);
      attrs::GatherT columns;
      columns.axis = 1;
      std::vector<int32_t> perm;  // [K, places...] becomes [places..., K]
      for (int i = 1; i <= rank; ++i) perm.push_back(i);
      perm.push_back(0);
      const std::string name = n->out()->name;
      ir::Value* const found = w.transpose(
          w.add(Op::kGather, pack<attrs::Gather>(columns), {codes, rows}, name + "_columns"), perm, name + "_codes");
      ir::Value* const scale =
          w.add(Op::kGather, pack<attrs::Gather>(attrs::GatherT{}), {by_rows, rows}, name + "_scale");
      attrs::DequantizeLinearT a;
      a.axis = rank;
      a.block_size = static_cast<int32_t>(k);
      ir::Value* const wide = w.add(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {found, scale}, name);
      g_.replace_uses(n->out(), wide);
      g_.remove(n);
      log_.changed();
      return true;
    };
    lookups_.erase(std::remove_if(lookups_.begin(), lookups_.end(), change), lookups_.end());
  }

  // [N], or [1, C, 1, ...] beside a result of `rank`.
  static Shape channels(int64_t count, int rank) {
    Shape s;
    s.rank = rank;
    for (int i = 0; i < rank; ++i) s[i] = 1;
    s[rank == 1 ? 0 : 1] = count;
    return s;
  }

  ir::Graph& g_;
  std::vector<ir::Node*>& lookups_;
  PassLog& log_;
  std::map<const ir::Value*, ir::Node*> quantized_;
};

void run_dynamic(ir::Graph& g, PassLog& log) {
  CodedNodes tables;
  tables.lookups = find_tables(g, log);
  Dynamic(g, &tables.lookups, log).run();
  code_nodes(g, tables, 8, {}, log);
}

}  // namespace

const Scheme kInt8Dynamic = {
    "int8-dynamic",
    "products and convolutions in 8 bits, their values quantized in each run, and token tables: a quarter of the size, "
    "no sample data",
    run_dynamic,
    0.1,
    nullptr,
    StagePlace::kBeforeQuantized};

}  // namespace vireo::quant
