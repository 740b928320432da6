#include "converter/firmware/flat_plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "converter/firmware/calls.h"
#include "converter/firmware/cost.h"
#include "converter/firmware/kernel_numbers.h"
#include "converter/firmware/read_lowered.h"
#include "converter/firmware/read_moves.h"
#include "converter/firmware/read_reals.h"
#include "converter/firmware/read_rows.h"
#include "converter/firmware/read_wide.h"
#include "converter/firmware/segments.h"
#include "delegates/mcu/kernels/integers.h"
#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/pool_rows.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/nodes/read_codes.h"
#include "delegates/mcu/nodes/read_pool.h"
#include "delegates/mcu/nodes/read_product.h"
#include "delegates/mcu/nodes/read_quantize.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/parameters.h"
#include "delegates/mcu/plan/vireo_mcu.h"
#include "sdk/base/fnv.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "sdk/graph/graph_host.h"
#include "sdk/graph/show_node.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/op.h"

namespace vireo::firmware {
namespace {

// Plans keep the kernels' structs as the compiler lays them out: the same everywhere, for all their members are of 32
// bits or bytes.
static_assert(sizeof(vireo_mcu_conv) == 84 && sizeof(vireo_mcu_gemm) == 32 && sizeof(vireo_mcu_pool) == 84 &&
              sizeof(vireo_mcu_binary) == 48 && sizeof(vireo_mcu_softmax) == 32 && sizeof(vireo_plan_table) == 4 &&
              sizeof(vireo_plan_quantize) == 20 && sizeof(vireo_plan_dequantize) == 12);
static_assert(sizeof(vireo_mcu_conv_reals) == 72 && sizeof(vireo_mcu_matmul_reals) == 24 &&
              sizeof(vireo_mcu_gemm_reals) == 20 && sizeof(vireo_mcu_pool_reals) == 64 &&
              sizeof(vireo_mcu_binary_reals) == 28 && sizeof(vireo_mcu_function) == 16 &&
              sizeof(vireo_mcu_softmax_reals) == 12);
static_assert(sizeof(vireo_mcu_conv_wide) == 84 && sizeof(vireo_mcu_gemm_wide) == 32 &&
              sizeof(vireo_mcu_pool_wide) == 80 && sizeof(vireo_mcu_binary_wide) == 56 &&
              sizeof(vireo_mcu_quantize_wide) == 24);
static_assert(sizeof(vireo_mcu_pick) == 28 && sizeof(vireo_mcu_choose) == 36 && sizeof(vireo_mcu_integers) == 28 &&
              sizeof(vireo_mcu_cast) == 8 && sizeof(vireo_mcu_greatest) == 16 &&
              sizeof(vireo_mcu_more_function) == 20 && sizeof(vireo_mcu_reduce_reals) == 52 &&
              sizeof(vireo_mcu_norm_reals) == 28 && sizeof(vireo_mcu_resample) == 20 &&
              sizeof(vireo_mcu_recurrent) == 56);
static_assert(sizeof(vireo_mcu_rows) == 20 && sizeof(vireo_mcu_pool_rows) == 36);
static_assert(sizeof(vireo_mcu_move) == 56 && sizeof(vireo_mcu_join) == 32);
static_assert(sizeof(vireo_plan_header) == 28 && sizeof(vireo_plan_record) == 36 && sizeof(vireo_plan_value) == 8);
static_assert(sizeof(vireo_segment) == 12 && sizeof(vireo_segment_value) == 32 && sizeof(vireo_segment_node) == 84);

constexpr Core kCores[] = {{"cortex-m0plus", 2, false, false, false}, {"cortex-m3", 4, false, false, false},
                           {"cortex-m4", 4, true, false, true},       {"cortex-m7", 4, true, false, true},
                           {"cortex-m33", 4, true, false, true},      {"cortex-m55", 4, true, true, true},
                           {"rv32imc", 4, false, false, false},       {"rv32imafc", 4, false, false, true}};

// ---- The file as nodes and values

struct Shown {
  Span<const uint8_t> file;
  const fb::Model* model;
  const fb::Subgraph* graph;
  const std::vector<Shown>* all;  // of all subgraphs

  const uint8_t* constant(const fb::Tensor& t) const {
    if (t.segment() < 0) return nullptr;
    return file.data() + model->segments()->Get(static_cast<uint32_t>(t.segment()))->offset() + t.offset();
  }
};

class View {
 public:
  explicit View(const vireo_graph* g) : s_(*reinterpret_cast<const Shown*>(g)) {}

  uint32_t node_count() const { return s_.graph->nodes()->size(); }
  uint32_t value_count() const { return s_.graph->tensors()->size(); }
  uint32_t input_count() const { return s_.graph->inputs()->size(); }
  uint32_t output_count() const { return s_.graph->outputs()->size(); }
  int32_t input(uint32_t i) const { return static_cast<int32_t>(s_.graph->inputs()->Get(i)); }
  int32_t output(uint32_t i) const { return static_cast<int32_t>(s_.graph->outputs()->Get(i)); }

  void node(uint32_t index, vireo_graph_node* out) const {
    const fb::Node& n = *s_.graph->nodes()->Get(index);
    show_node(n, out);
    if (static_cast<Op>(n.op()) != Op::kComposite || n.subgraphs() == nullptr || n.subgraphs()->size() != 1) return;
    out->body = reinterpret_cast<const vireo_graph*>(&(*s_.all)[n.subgraphs()->Get(0)]);
    const auto* const hint = ::flatbuffers::GetRoot<attrs::Composite>(n.attrs()->data())->hint();
    out->hint = hint != nullptr ? hint->c_str() : "";
  }
  void value(uint32_t number, vireo_graph_value* out) const {
    const fb::Tensor& t = *s_.graph->tensors()->Get(number);
    out->dtype = t.dtype();
    out->rank = static_cast<int32_t>(t.dims() != nullptr ? t.dims()->size() : 0);
    out->is_static = 1;
    out->only_first_open = 0;
    for (int i = 0; i < VIREO_MAX_RANK; ++i) {
      const int64_t d = i < out->rank ? t.dims()->Get(static_cast<uint32_t>(i)) : 0;
      if (d < 0) out->is_static = 0;
      out->max_dims[i] = d;
    }
    out->constant = s_.constant(t);
    out->constant_size = out->constant != nullptr ? static_cast<size_t>(t.size()) : 0;
    out->name = t.name() != nullptr ? t.name()->c_str() : "";
  }

 private:
  const Shown& s_;
};

// ---- Nodes to records

class Maker {
 public:
  Maker(const Shown& shown, const Core& core, const std::string& costs, const PlanOptions& options)
      : shown_(shown),
        core_(core),
        costs_(costs),
        options_(options),
        host_(graph_host<View>()),
        made_(shown.graph->tensors()->size()) {}

  bool run(FlatPlan* out, std::vector<Refusal>* refusals, std::string* error) {
    const auto* const graph = reinterpret_cast<const vireo_graph*>(&shown_);
    for (uint32_t n = 0; n < shown_.graph->nodes()->size(); ++n) {
      NodeView view;
      const bool shown = view_node(host_, graph, n, &view);
      const std::string reason = shown ? add(view, n) : "it has too many inputs";
      if (!reason.empty()) refusals->push_back({view.node.name, title(n), reason});
    }
    if (!refusals->empty()) return false;
    return place(error) && write(out, error);
  }

 private:
  std::string title(uint32_t n) const {
    const fb::Node& node = *shown_.graph->nodes()->Get(n);
    const auto op = static_cast<Op>(node.op());
    if (op != Op::kComposite) return op_name(op);
    const auto* const hint = ::flatbuffers::GetRoot<attrs::Composite>(node.attrs()->data())->hint();
    return hint != nullptr ? hint->str() : op_name(op);
  }
  const fb::Tensor& tensor(int32_t t) const { return *shown_.graph->tensors()->Get(static_cast<uint32_t>(t)); }

  // The calls of node n of the file, or of a composite's body. "", or why not.
  std::string add(const NodeView& q, uint32_t n) {
    if (!q.is_static()) return "its sizes are open: fix the inputs with --shape NAME=1,3,32,32";
    std::string reason = add_several(q, n);
    if (reason != kUnknownNode) return reason;
    Call call;
    call.node = n;
    reason = read(q, &call);
    if (reason == kUnknownNode && q.op == Op::kComposite && q.node.body != nullptr) return add_body(q, n);
    if (reason == kUnknownNode) reason = why_unknown(q);
    if (!reason.empty()) return reason;
    call.inputs.assign(q.node.inputs, q.node.inputs + q.node.input_count);
    call.outputs.assign(q.node.outputs, q.node.outputs + q.node.output_count);
    list_.calls.push_back(std::move(call));
    return "";
  }

  // Nodes that become several calls: "", kUnknownNode, or why not.
  std::string add_several(const NodeView& q, uint32_t n) {
    std::vector<Call> calls;
    std::string reason = read_moves(q, &calls);
    if (reason == kUnknownNode) {
      Lower lower(q, core_.reals, &made_, &calls);
      reason = read_lowered(lower);
    }
    if (!reason.empty()) return reason;
    for (Call& call : calls) {
      call.node = n;
      list_.calls.push_back(std::move(call));
    }
    return "";
  }

  // A composite as the nodes of its body. What one of them makes for the others is a value of its own.
  std::string add_body(const NodeView& q, uint32_t n) {
    const GraphReader body = q.body();
    std::map<int32_t, int32_t> numbers = {{kNothing, kNothing}};
    for (uint32_t i = 0; i < body.input_count() && i < q.node.input_count; ++i)
      numbers[body.input(i)] = q.node.inputs[i];
    for (uint32_t o = 0; o < body.output_count() && o < q.node.output_count; ++o)
      numbers[body.output(o)] = q.node.outputs[o];
    const auto number_of = [&](int32_t inner) {
      const auto known = numbers.find(inner);
      if (known != numbers.end()) return known->second;
      const vireo_graph_value v = body.value(inner);
      const auto* const bytes = static_cast<const uint8_t*>(v.constant);
      int64_t count = 1;
      for (int32_t i = 0; i < v.rank; ++i) count *= v.max_dims[i];
      const int bits = dtype_bits(static_cast<DType>(v.dtype));
      const int32_t number = bytes != nullptr
                                 ? made_.constant({bytes, bytes + v.constant_size})
                                 : made_.add((count * bits + 7) / 8, static_cast<uint32_t>(std::max(1, bits / 8)));
      return numbers.emplace(inner, number).first->second;
    };
    for (uint32_t i = 0; i < body.node_count(); ++i) {
      NodeView inner;
      if (!view_node(*q.host, q.node.body, i, &inner)) return "a node inside of it has too many inputs";
      std::vector<int32_t> inputs, outputs;
      for (uint32_t k = 0; k < inner.node.input_count; ++k) {
        const int32_t from = body.input_of(inner.node.inputs[k], q.input_count);
        if (from >= 0 && k < inner.input_count) inner.inputs[k] = q.inputs[from];  // it may be known outside
        inputs.push_back(number_of(inner.node.inputs[k]));
      }
      for (uint32_t k = 0; k < inner.node.output_count; ++k) outputs.push_back(number_of(inner.node.outputs[k]));
      inner.node.inputs = inputs.data();
      inner.node.outputs = outputs.data();
      std::string reason = add_several(inner, n);
      if (reason.empty()) continue;
      Call call;
      call.node = n;
      if (reason == kUnknownNode) reason = read(inner, &call);
      if (reason == kUnknownNode) return std::string(op_name(inner.op)) + " inside of it: " + why_unknown(inner);
      if (!reason.empty()) return reason;
      call.inputs = inputs;
      call.outputs = outputs;
      if (i > 0 && clamp_in_product(call, &list_.calls.back())) continue;
      list_.calls.push_back(std::move(call));
    }
    return "";
  }

  // "", kUnknownNode, or why not.
  std::string read(const NodeView& q, Call* call) {
    const int32_t y = q.node.output_count > 0 ? q.node.outputs[0] : kNothing;
    std::string reason = read_wide(q, core_, call);
    if (reason == kUnknownNode) reason = read_known(q, y, call);
    if (reason != kUnknownNode) return reason;
    if (core_.reals) reason = read_reals(q, &made_, call);
    const OpRow* const row = find_op(q.op);
    return reason == kUnknownNode && row != nullptr && (row->def->flags & OpDef::kView) != 0 ? "" : reason;
  }
  std::string why_unknown(const NodeView& q) const {
    for (uint32_t i = 0; i < q.input_count; ++i) {
      const DType t = q.inputs[i].type.dtype;
      if (t == DType::kF32 && core_.reals) return "no kernel for microcontrollers computes this operator in float32";
      if (t == DType::kF32) return "it computes in floating point, and the core has no unit for it";
      if (t == DType::kF16 || t == DType::kBF16) return "it computes in 16-bit floating point";
    }
    return "no kernel for microcontrollers computes this operator";
  }

  std::string read_known(const NodeView& q, int32_t y, Call* call) {
    switch (q.op) {
      case Op::kIntConv:
      case Op::kIntGemm:
        return read_product(q, y, call);
      case Op::kMaxPool:
        if (!is_byte(q.inputs[0].type.dtype)) return kUnknownNode;
        return read_pool(q, y, call);
      case Op::kIntAveragePool:
        return read_pool(q, y, call);
      case Op::kIntAdd:
      case Op::kIntMul:
      case Op::kIntTable:
      case Op::kIntSoftmax:
        return read_codes(q, y, call);
      case Op::kQuantizeLinear:
      case Op::kDequantizeLinear:
        return read_quantize(q, y, call);
      default:
        return kUnknownNode;
    }
  }

  std::string read_product(const NodeView& q, int32_t y, Call* call) {
    vireo_mcu_conv conv = {};
    vireo_mcu_gemm gemm = {};
    if (std::string why = mcu::why_not_product(q, &conv, &gemm); !why.empty()) return why;
    for (const uint32_t i : {1u, 3u, 4u}) {
      if (i < q.input_count && q.inputs[i].type.dtype != DType::kNone && i != 1 && q.inputs[i].constant == nullptr)
        return "its bias and zero points are not constant";
    }
    call->operands = {input(q, 0), input(q, 1), input(q, 2), input(q, 3), input(q, 4), y, kScratch};
    const auto products = [&](int64_t k) {
      const TensorType& t = q.outputs[0].type;
      return static_cast<uint64_t>(product(t.shape, 0, t.shape.rank) * k);
    };
    if (q.op == Op::kIntGemm) {
      call->kernel = k_gemm;
      call->parameters = bytes_of(gemm);
      call->scratch_bytes = vireo_mcu_gemm_scratch_on(&gemm, core_.tile);
      call->products = products(gemm.k);
      return "";
    }
    call->parameters = bytes_of(conv);
    call->products = products(int64_t{conv.in_channels} * conv.kernel[0] * conv.kernel[1]);
    if (mcu::slides(conv)) {
      call->kernel = k_depthwise;
      call->scratch_bytes = vireo_mcu_depthwise_scratch(&conv);
      call->inplace = vireo_mcu_depthwise_in_place(&conv) != 0 ? 1 : 0;
    } else {
      call->kernel = k_conv;
      call->scratch_bytes = vireo_mcu_conv_scratch_on(&conv, core_.tile);
      call->inplace = vireo_mcu_conv_in_place(&conv, core_.tile) != 0 ? 1 : 0;
    }
    return "";
  }

  static std::string read_pool(const NodeView& q, int32_t y, Call* call) {
    vireo_mcu_pool pool = {};
    if (std::string why = mcu::why_not_pool(q, &pool); !why.empty()) return why;
    call->parameters = bytes_of(pool);
    const bool average = q.op == Op::kIntAveragePool;
    call->kernel = average ? k_average : k_max;
    call->operands = {input(q, 0)};
    if (average) call->operands.push_back(input(q, 1));
    call->operands.push_back(y);
    return "";
  }

  static std::string read_codes(const NodeView& q, int32_t y, Call* call) {
    if (std::string why = mcu::why_not_codes(q); !why.empty()) return why;
    call->operands = {input(q, 0), input(q, 1), y};
    call->inplace = 1;
    const auto count = static_cast<int32_t>(product(q.outputs[0].type.shape, 0, q.outputs[0].type.shape.rank));
    if (q.op == Op::kIntTable) {
      call->kernel = k_table;
      call->parameters = bytes_of(vireo_plan_table{count});
      return "";
    }
    if (q.op == Op::kIntSoftmax) {
      call->kernel = k_softmax;
      call->parameters = bytes_of(mcu::read_softmax(q.attrs<attrs::IntSoftmax>(), q.inputs[0].type));
      return "";
    }
    const DType a = q.inputs[0].type.dtype, b = q.inputs[1].type.dtype;
    vireo_mcu_binary f = q.op == Op::kIntAdd ? mcu::read_add(q.attrs<attrs::IntAdd>(), a, b)
                                             : mcu::read_mul(q.attrs<attrs::IntMul>(), a, b);
    if (!read_rows(q, &f)) return "its operands are broadcast along several axes with others between them";
    call->kernel = q.op == Op::kIntAdd ? k_add : k_mul;
    call->parameters = bytes_of(f);
    call->inplace = 3;  // the planner asks for as many bytes as the result has: none of them is read twice then
    return "";
  }

  static std::string read_quantize(const NodeView& q, int32_t y, Call* call) {
    if (std::string why = mcu::why_not_quantize(q); !why.empty()) return why;
    const bool has_zero = q.input_count > 2 && q.inputs[2].type.dtype != DType::kNone;
    if (q.inputs[1].constant == nullptr || (has_zero && q.inputs[2].constant == nullptr))
      return "its scale or zero point is not constant";
    const float scale = *q.inputs[1].as<float>();
    const uint8_t zero = has_zero ? *q.inputs[2].as<uint8_t>() : 0;
    const auto count = static_cast<int32_t>(product(q.outputs[0].type.shape, 0, q.outputs[0].type.shape.rank));
    call->operands = {input(q, 0), y};
    if (q.op == Op::kQuantizeLinear) {
      call->kernel = k_quantize;
      call->parameters = bytes_of(vireo_plan_quantize{count, scale, mcu::codes_between(q.outputs[0].type.dtype, zero)});
    } else {
      call->kernel = k_dequantize;
      vireo_plan_dequantize d = {};
      d.count = count;
      d.scale = scale;
      d.flip = mcu::flip_of(q.inputs[0].type.dtype);
      d.zero = zero;
      call->parameters = bytes_of(d);
    }
    return "";
  }

  // ---- Where values lie

  static int64_t bytes_of_tensor(const fb::Tensor& t) {
    int64_t count = 1;
    for (uint32_t i = 0; t.dims() != nullptr && i < t.dims()->size(); ++i) count *= t.dims()->Get(i);
    return (count * dtype_bits(static_cast<DType>(t.dtype())) + 7) / 8;
  }

  bool place(std::string* error) {
    for (uint32_t t = 0; t < made_.first(); ++t) {
      const fb::Tensor& from = tensor(static_cast<int32_t>(t));
      CallTensor& to = list_.tensors.emplace_back();
      to.bytes = bytes_of_tensor(from);
      to.constant = from.segment() >= 0;
      to.element_bytes = static_cast<uint32_t>(std::max<size_t>(1, dtype_bits(static_cast<DType>(from.dtype())) / 8));
      if (from.dims() != nullptr) to.dims.assign(from.dims()->begin(), from.dims()->end());
    }
    for (uint32_t t = made_.first(); t < made_.end(); ++t) {
      const MadeValues::Value& v = made_[static_cast<int32_t>(t)];
      CallTensor& to = list_.tensors.emplace_back();
      to.bytes = v.bytes;
      to.element_bytes = v.element_bytes;
      to.constant = !v.constant.empty();
    }
    for (const uint32_t i : *shown_.graph->inputs()) list_.tensors[i].input = true;
    for (const uint32_t o : *shown_.graph->outputs()) {
      list_.tensors[o].output = true;
      if (list_.tensors[o].constant) {
        *error = "output \"" + name(o) + "\" is a constant: there is nothing to run for it";
        return false;
      }
    }
    if (options_.strips) segments_ = choose_segments(list_, core_, costs_, options_.arena_limit);
    if (!plan_memory(list_, segments_, 1000, &memory_, error)) return false;
    copy_views();
    if (memory_.bytes > VIREO_PLAN_MOST) {
      *error = "its tensors take " + std::to_string(memory_.bytes) + " bytes, a flat plan has room for " +
               std::to_string(VIREO_PLAN_MOST);
      return false;
    }
    return true;
  }

  // A view whose result has memory of its own, as an output of the model that is also an input, is a copy.
  void copy_views() {
    for (uint32_t c = 0; c < list_.calls.size(); ++c) {
      Call& call = list_.calls[c];
      if (call.kernel != 0 || segment_at(c) != nullptr) continue;
      const int32_t from = call.inputs[0], to = call.outputs[0];
      const bool constant = made_.has(from) ? !made_[from].constant.empty() : tensor(from).segment() >= 0;
      if (!constant && memory_.tensors[static_cast<size_t>(from)] == memory_.tensors[static_cast<size_t>(to)]) continue;
      vireo_mcu_move m = {{1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 1}, 0, 1};
      const int64_t bytes = made_.has(to) ? made_[to].bytes : bytes_of_tensor(tensor(to));
      if (bytes == 0) continue;
      m.dims[VIREO_MCU_MOVE_AXES - 1] = static_cast<int32_t>(bytes);
      call.kernel = k_move;
      call.parameters = bytes_of(m);
      call.operands = {from, to};
    }
  }

  std::string name(uint32_t t) const {
    const fb::Tensor& from = tensor(static_cast<int32_t>(t));
    return from.name() != nullptr ? from.name()->str() : "";
  }

  // ---- Bytes

  // Equal blocks are there once: layers of one shape share their parameters, and often tables and multipliers.
  static constexpr size_t kSmallConstant = 1024;
  uint32_t append_once(const std::vector<uint8_t>& block) {
    const auto known = blocks_.find(block);
    if (known != blocks_.end()) return known->second;
    const uint32_t at = append(block.data(), block.size());
    blocks_.emplace(block, at);
    return at;
  }

  uint32_t append(const void* data, size_t bytes) {
    const auto at = static_cast<uint32_t>(bytes_.size());
    const auto* const from = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + bytes);
    bytes_.resize((bytes_.size() + 3) & ~size_t{3});
    return at;
  }

  // What has no memory of its own lies where a segment begins: the executor does not look at it.
  static uint32_t arena_place(uint64_t offset) {
    return VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, offset < VIREO_PLAN_MOST ? offset : 0);
  }

  uint32_t place_of(size_t call, int32_t operand) {
    if (operand == kNothing) return VIREO_PLAN_ABSENT;
    if (operand == kScratch) {
      const auto found = memory_.scratch.find(static_cast<uint32_t>(call));
      return arena_place(found == memory_.scratch.end() ? 0 : found->second);
    }
    if (made_.has(operand)) {
      const std::vector<uint8_t>& constant = made_[operand].constant;
      if (constant.empty()) return arena_place(memory_.tensors[static_cast<size_t>(operand)]);
      const auto known = own_.find(operand);
      if (known != own_.end()) return known->second;
      constant_bytes_ += static_cast<uint32_t>(constant.size());
      return own_.emplace(operand, append(constant.data(), constant.size())).first->second;
    }
    const fb::Tensor& t = tensor(operand);
    if (t.segment() < 0) return arena_place(memory_.tensors[static_cast<size_t>(operand)]);
    const uint8_t* const from = shown_.constant(t);
    const auto known = constants_.find(from);
    if (known != constants_.end()) return known->second;
    const auto size = static_cast<size_t>(t.size());
    const uint32_t at = size <= kSmallConstant ? append_once({from, from + size}) : append(from, size);
    constants_.emplace(from, at);
    constant_bytes_ += static_cast<uint32_t>(t.size());
    return at;
  }

  // What reads a value says which integers it may have, also through a cast.
  void describe_integers(int32_t t, PlanValue* v) const {
    for (const Call& call : list_.calls) {
      if (call.kernel == k_cast && call.operands[0] == t) describe_integers(call.operands[1], v);
      if (call.kernel == k_pick && call.operands[1] == t) {
        vireo_mcu_pick pick;
        std::memcpy(&pick, call.parameters.data(), sizeof pick);
        const auto axis = static_cast<uint32_t>(pick.axis);
        v->below = v->below == 0 ? axis : std::min(v->below, axis);
      }
      if (call.kernel == k_integers && call.operands[1] == t) {
        vireo_mcu_integers f;
        std::memcpy(&f, call.parameters.data(), sizeof f);
        v->never_0 = v->never_0 || (f.what >= VIREO_MCU_INT_DIV && f.what <= VIREO_MCU_INT_MODULUS);
      }
    }
  }

  PlanValue describe(uint32_t t) const {
    const fb::Tensor& from = tensor(static_cast<int32_t>(t));
    PlanValue v;
    v.name = name(t);
    v.dtype = static_cast<DType>(from.dtype());
    for (uint32_t i = 0; from.dims() != nullptr && i < from.dims()->size(); ++i) v.dims.push_back(from.dims()->Get(i));
    v.offset = static_cast<uint32_t>(memory_.tensors[t]);
    v.bytes = static_cast<uint32_t>(bytes_of_tensor(from));
    const fb::Quant* const q = from.quant();
    if (q != nullptr && q->scale() != nullptr && q->scale()->size() == 1) {
      v.quantized = true;
      v.scale = q->scale()->Get(0);
      v.zero = q->zero_point() != nullptr && q->zero_point()->size() == 1 ? q->zero_point()->Get(0) : 0;
    }
    describe_integers(static_cast<int32_t>(t), &v);
    for (const Call& call : list_.calls) {
      if (call.kernel != k_quantize || call.operands[0] != static_cast<int32_t>(t)) continue;
      vireo_plan_quantize quantize;
      std::memcpy(&quantize, call.parameters.data(), sizeof quantize);
      v.read_scale = quantize.scale;
      break;
    }
    return v;
  }

  const Segment* segment_at(uint32_t call) const {
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [&](const Segment& s) { return call >= s.first && call < s.first + s.count; });
    return found == segments_.end() ? nullptr : &*found;
  }
  bool is_record(uint32_t call) const {
    const Segment* const segment = segment_at(call);
    return segment != nullptr ? segment->first == call : list_.calls[call].kernel != 0;
  }

  PlanStep describe_step(uint32_t c, uint32_t record) const {
    const Call& call = list_.calls[c];
    const fb::Node& node = *shown_.graph->nodes()->Get(call.node);
    const int32_t y = call.outputs[0];
    PlanStep step;
    step.node = node.name() != nullptr ? node.name()->str() : "";
    step.op = title(call.node);
    step.kernel = kernel_name(call.kernel);
    step.number = call.kernel;
    step.record = record;
    step.products = call.products;
    step.output_offset = VIREO_PLAN_OFFSET(arena_place(memory_.tensors[static_cast<size_t>(y)]));
    step.output_bytes = static_cast<uint32_t>(list_.tensors[static_cast<size_t>(y)].bytes);
    return step;
  }

  // Its parameters, values and nodes; where rows of values lie.
  vireo_plan_record write_segment(const Segment& s, uint32_t record, FlatPlan* out) {
    const Memory::Rows& rows = memory_.segments[static_cast<size_t>(&s - segments_.data())];
    std::vector<vireo_segment_value> values = s.values;
    std::vector<vireo_segment_node> nodes = s.nodes;
    for (size_t v = 0; v < values.size(); ++v) {
      if (values[v].whole != VIREO_PLAN_ABSENT)
        values[v].whole = arena_place(memory_.tensors[static_cast<size_t>(s.tensors[v])]);
      values[v].fresh = arena_place(rows.fresh[v]);
      values[v].kept = arena_place(rows.kept[v]);
    }
    for (uint32_t k = 0; k < s.count; ++k) {
      vireo_segment_node& n = nodes[k];
      n.parameters = append_once(s.parameters[k]);
      for (size_t i = 0; i < 2; ++i) n.gather[i] = arena_place(rows.gather[k][i]);
      for (uint32_t& o : n.operands) o = VIREO_PLAN_ABSENT;
      for (size_t i = 0; i < s.operands[k].size(); ++i) n.operands[i] = place_of(s.first + k, s.operands[k][i]);
      out->in_reals = out->in_reals || is_in_reals(n.kernel);
      PlanStep step = describe_step(s.first + k, record);
      step.kernel = kernel_name(n.kernel);
      step.number = n.kernel;
      step.in_strip = n.chunk;
      step.scratch_bytes = s.scratch[k];
      step.instructions = costs_.empty() ? 0 : s.instructions[k];
      const vireo_segment_value& y = values[n.output];
      if (y.whole == VIREO_PLAN_ABSENT) step.output_offset = VIREO_PLAN_OFFSET(y.fresh);
      out->steps.push_back(std::move(step));
    }
    vireo_segment head = s.head;
    head.state = arena_place(memory_.state);
    head.list = append(values.data(), values.size() * sizeof values[0]);
    append(nodes.data(), nodes.size() * sizeof nodes[0]);
    vireo_plan_record r = {};
    r.kernel = VIREO_PLAN_SEGMENT;
    r.cost = s.cost;
    r.parameters = append(&head, sizeof head);
    for (uint32_t& o : r.operands) o = VIREO_PLAN_ABSENT;
    ++out->segments;
    return r;
  }

  static bool is_in_reals(uint16_t kernel) {
    return (kernel >= k_conv_reals && kernel <= k_softmax_reals) || kernel == k_matmul_reals ||
           (kernel >= k_pairs && kernel <= k_recurrent) || kernel == k_average_rows_reals;
  }

  bool write(FlatPlan* out, std::string* error) {
    uint32_t count = 0;
    for (uint32_t c = 0; c < list_.calls.size(); ++c) count += is_record(c) ? 1 : 0;
    const uint32_t inputs = shown_.graph->inputs()->size(), outputs = shown_.graph->outputs()->size();
    const uint32_t values = inputs + outputs;
    if (count > UINT16_MAX || values > UINT16_MAX) {
      *error = "it has more nodes than a flat plan has room for";
      return false;
    }
    bytes_.assign(sizeof(vireo_plan_header) + count * sizeof(vireo_plan_record) + values * sizeof(vireo_plan_value), 0);
    std::vector<vireo_plan_record> records;
    for (uint32_t c = 0; c < list_.calls.size(); ++c) {
      if (const Segment* const segment = segment_at(c); segment != nullptr) {
        records.push_back(write_segment(*segment, static_cast<uint32_t>(records.size()), out));
        c += segment->count - 1;
        continue;
      }
      const Call& call = list_.calls[c];
      if (call.kernel == 0) continue;
      vireo_plan_record r = {};
      r.kernel = call.kernel;
      r.cost = unit_cost(call.kernel, call.parameters, core_, costs_);
      r.parameters = append_once(call.parameters);
      for (uint32_t& o : r.operands) o = VIREO_PLAN_ABSENT;
      for (size_t i = 0; i < call.operands.size(); ++i) r.operands[i] = place_of(c, call.operands[i]);
      records.push_back(r);
      out->in_reals = out->in_reals || is_in_reals(call.kernel);
      PlanStep step = describe_step(c, static_cast<uint32_t>(records.size() - 1));
      step.instructions = instructions_of(features_of(call.kernel, call.parameters.data(), core_), costs_);
      step.scratch_bytes = call.scratch_bytes;
      out->steps.push_back(std::move(step));
    }
    std::vector<vireo_plan_value> list;
    for (const uint32_t i : *shown_.graph->inputs()) out->inputs.push_back(describe(i));
    for (const uint32_t o : *shown_.graph->outputs()) out->outputs.push_back(describe(o));
    for (const auto* side : {&out->inputs, &out->outputs}) {
      for (const PlanValue& v : *side) list.push_back({VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, v.offset), v.bytes});
    }
    vireo_plan_header h = {};
    h.magic = VIREO_PLAN_MAGIC;
    h.version = VIREO_PLAN_VERSION;
    h.tile = static_cast<uint16_t>(core_.tile);
    h.bytes = static_cast<uint32_t>(bytes_.size());
    h.arena_bytes = static_cast<uint32_t>(memory_.bytes);
    h.records = static_cast<uint16_t>(count);
    h.inputs = static_cast<uint16_t>(inputs);
    h.outputs = static_cast<uint16_t>(outputs);
    uint8_t* const behind = bytes_.data() + sizeof h;
    std::memcpy(behind, records.data(), records.size() * sizeof(vireo_plan_record));
    std::memcpy(behind + records.size() * sizeof(vireo_plan_record), list.data(),
                list.size() * sizeof(vireo_plan_value));
    const uint64_t hash = hash_bytes(kEmptyHash, behind, bytes_.size() - sizeof h);
    h.model = static_cast<uint32_t>(hash ^ hash >> 32);
    std::memcpy(bytes_.data(), &h, sizeof h);
    if (bytes_.size() > VIREO_PLAN_MOST) {
      *error = "its plan has " + std::to_string(bytes_.size()) + " bytes, a flat plan has at most " +
               std::to_string(VIREO_PLAN_MOST);
      return false;
    }
    out->words.resize(bytes_.size() / 4);
    std::memcpy(out->words.data(), bytes_.data(), bytes_.size());
    out->arena_bytes = h.arena_bytes;
    out->lower_bound_bytes = static_cast<uint32_t>(memory_.lower_bound);
    out->constant_bytes = constant_bytes_;
    out->model = h.model;
    return true;
  }

  const Shown& shown_;
  const Core& core_;
  const std::string& costs_;
  const PlanOptions& options_;
  const vireo_host host_;
  MadeValues made_;
  std::map<int32_t, uint32_t> own_;  // where made constants lie
  CallList list_;
  std::vector<Segment> segments_;
  Memory memory_;
  std::vector<uint8_t> bytes_;
  std::map<const uint8_t*, uint32_t> constants_;
  std::map<std::vector<uint8_t>, uint32_t> blocks_;
  uint32_t constant_bytes_ = 0;
};

}  // namespace

const Core* find_core(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kCores), std::end(kCores), [&](const Core& c) { return name == c.name; });
  return found == std::end(kCores) ? nullptr : found;
}

std::string core_names() {
  std::string list;
  for (const Core& c : kCores) list += (list.empty() ? "" : ", ") + std::string(c.name);
  return list;
}

bool make_flat_plan(Span<const uint8_t> file, const Core& core, const std::string& costs, const PlanOptions& options,
                    FlatPlan* out, std::vector<Refusal>* refusals, std::string* error) {
  FileHeader header;
  Error e;
  if (read_header(file, file.size(), &header, &e) != Status::kOk) {
    *error = e.message;
    return false;
  }
  const fb::Model& model = *fb::GetModel(file.data() + header.model_offset);
  std::vector<Shown> all;
  for (const fb::Subgraph* const graph : *model.subgraphs()) all.push_back({file, &model, graph, &all});
  const Shown& shown = all[0];
  *out = FlatPlan();
  out->options = options;
  return Maker(shown, core, costs, options).run(out, refusals, error);
}

}  // namespace vireo::firmware
