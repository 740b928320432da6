#include "delegates/gpu/lower/work.h"

#include <algorithm>
#include <cstring>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/space.h"

#include "vireo/ops.h"

namespace vireo::gpu {

Extents dense_strides(const Extents& dims) {
  Extents strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

uint64_t bits_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

Shape shape_of(const Datum& v) {
  Shape s;
  s.rank = v.rank();
  for (int i = 0; i < s.rank; ++i) s[i] = v.dims[static_cast<size_t>(i)];
  return s;
}

View view_of(const Laid& at) {
  View view;
  view.offset = at.offset;
  view.strides = at.strides;
  return view;
}

View broadcast_view(const Laid& at, const Extents& dims, size_t axes) {
  View view;
  view.offset = at.offset;
  view.strides.assign(axes, 0);
  const size_t skip = axes - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) view.strides[skip + i] = dims[i] == 1 ? 0 : at.strides[i];
  return view;
}

int ExpressionBuilder::given(DType dtype) {
  Input in;
  in.dtype = dtype;
  in.given = true;
  to_.inputs.push_back(in);
  return static_cast<int>(to_.inputs.size()) - 1;
}

int ExpressionBuilder::input(DType dtype, View view) {
  Input in;
  in.dtype = dtype;
  in.view = std::move(view);
  to_.inputs.push_back(std::move(in));
  return static_cast<int>(to_.inputs.size()) - 1;
}

int ExpressionBuilder::table(DType dtype, View view) {
  const int value = input(dtype, std::move(view));
  to_.inputs.back().indexed = true;
  return value;
}

int ExpressionBuilder::function(Function f, DType type, int a, int b, int c) {
  Step step;
  step.function = f;
  step.type = type;
  step.a = a;
  step.b = b;
  step.c = c;
  to_.steps.push_back(step);
  return static_cast<int>(to_.inputs.size() + to_.steps.size()) - 1;
}

int ExpressionBuilder::constant(DType type, uint64_t bits) {
  const int value = function(Function::kConstant, type, -1);
  last().bits = bits;
  return value;
}

int ExpressionBuilder::place(uint32_t axis) {
  const int value = function(Function::kPlace, DType::kI32, -1);
  last().bits = axis;
  return value;
}

int ExpressionBuilder::constant_f32(float value) { return constant(DType::kF32, bits_of(value)); }

int ExpressionBuilder::code(int v, const Codes& codes) {
  const DType real = DType::kF32;
  v = function(Function::kRound, real, v);
  v = function(Function::kAdd, real, v, constant_f32(static_cast<float>(codes.zero)));
  const int low = constant_f32(static_cast<float>(codes.low)), high = constant_f32(static_cast<float>(codes.high));
  return function(Function::kCast, codes.dtype, function(Function::kClip, real, v, low, high));
}

void ExpressionBuilder::output(int value, View view) {
  Output out;
  out.value = value;
  out.view = std::move(view);
  to_.outputs.push_back(std::move(out));
}

const char* template_of(const Problem& problem) {
  static constexpr const char* kNames[] = {"chain", "rows",      "product",   "convolution", "pool", "depthwise",
                                           "scan",  "attention", "recurrent", "scatter",     "top",  "gemv"};
  static_assert(std::size(kNames) == std::variant_size_v<Problem>);
  return kNames[problem.index()];
}

std::vector<Expression*> expressions_of(Problem& problem) {
  if (auto* const chain = std::get_if<ChainProblem>(&problem)) return {&chain->expression};
  const auto of_rows = [](RowsProblem* rows) {
    std::vector<Expression*> all{&rows->prologue};
    for (Statistic& s : rows->statistics) all.push_back(&s.map);
    all.push_back(&rows->epilogue);
    return all;
  };
  if (auto* const rows = std::get_if<RowsProblem>(&problem)) return of_rows(rows);
  if (auto* const gemv = std::get_if<GemvProblem>(&problem)) {
    std::vector<Expression*> all;
    if (!gemv->rows.empty()) all = of_rows(gemv->rows.data());
    all.push_back(&gemv->epilogue);
    return all;
  }
  if (auto* const attention = std::get_if<AttentionProblem>(&problem)) return {&attention->score, &attention->epilogue};
  if (auto* const product = std::get_if<ProductProblem>(&problem)) return {&product->epilogue};
  if (auto* const convolution = std::get_if<ConvolutionProblem>(&problem)) return {&convolution->epilogue};
  if (auto* const pool = std::get_if<PoolProblem>(&problem)) return {&pool->epilogue};
  if (auto* const depthwise = std::get_if<DepthwiseProblem>(&problem)) return {&depthwise->epilogue};
  return {};
}

Expression& last_expression(Problem& problem) { return *expressions_of(problem).back(); }

namespace {
struct Maker {
  const Target& t;
  Dispatch operator()(const ChainProblem& p) const { return make_chain(p, choose_chain(p, t), t); }
  Dispatch operator()(const RowsProblem& p) const { return make_rows(p, choose_rows(p, t), t); }
  Dispatch operator()(const ProductProblem& p) const { return make_product(p, choose_product(p, t), t); }
  Dispatch operator()(const ConvolutionProblem& p) const { return make_convolution(p, choose_convolution(p, t), t); }
  Dispatch operator()(const ScatterProblem& p) const { return make_scatter(p, t); }
  Dispatch operator()(const TopProblem& p) const { return make_top(p, t); }
  Dispatch operator()(const ScanProblem& p) const { return make_scan(p, t); }
  Dispatch operator()(const RecurrentProblem& p) const { return make_recurrent(p, choose_recurrent(p, t), t); }
  Dispatch operator()(const AttentionProblem& p) const { return make_attention(p, choose_attention(p, t), t); }
  Dispatch operator()(const GemvProblem& p) const { return make_gemv(p, choose_gemv(p, t), t); }
  Dispatch operator()(const PoolProblem& p) const { return make_pool(p, choose_pool(p, t), t); }
  Dispatch operator()(const DepthwiseProblem& p) const { return make_depthwise(p, choose_depthwise(p, t), t); }
};
}  // namespace

Dispatch dispatch_of(const Problem& problem, const Target& target) { return std::visit(Maker{target}, problem); }

void Lowering::set_border(const std::vector<int>& inputs, const std::vector<int>& outputs) {
  laid_.resize(network_.values.size());
  output_memory_.assign(network_.values.size(), -1);
  outputs_ = outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Memory m;
    m.where = Where::kInput;
    m.index = static_cast<uint32_t>(i);
    m.bytes = value(inputs[i]).bytes();
    memories.push_back(m);
    lay(inputs[i], {static_cast<int>(memories.size()) - 1, 0, dense_strides(value(inputs[i]).dims)});
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    Memory m;
    m.where = Where::kOutput;
    m.index = static_cast<uint32_t>(o);
    m.bytes = value(outputs[o]).bytes();
    memories.push_back(m);
    output_memory_[static_cast<size_t>(outputs[o])] = static_cast<int>(memories.size()) - 1;
  }
}

Laid Lowering::laid(int v) {
  const Laid& at = laid_[static_cast<size_t>(v)];
  if (at.memory >= 0) return at;
  Memory m;  // a constant, for the first time: values that nodes make are laid before they are read
  m.where = Where::kWeights;
  m.bytes = value(v).bytes();
  m.value = v;
  memories.push_back(std::move(m));
  lay(v, {static_cast<int>(memories.size()) - 1, 0, dense_strides(value(v).dims)});
  return laid_[static_cast<size_t>(v)];
}

Laid Lowering::weights(int v, const Laid& at, int64_t channels, int64_t taps, bool may_halve, DType* dtype,
                       bool* turned) {
  *turned = false;
  const Memory plain = memories[static_cast<size_t>(at.memory)];
  // Other extents may read a constant in another form, and an open part has one list for all.
  if (plain.where != Where::kWeights || plain.form.element != 0 || network_.open) return at;
  const Datum& source = value(plain.value);
  const int bits = dtype_bits(*dtype);
  if (source.dtype != *dtype || bits < 8 || bits > 32) return at;
  Memory kept = plain;
  kept.form.halves = may_halve && *dtype == DType::kF32 && target_.half_products;
  *turned = plain.value == v && channels > 1 && taps > 1 && source.count() % (channels * taps) == 0;
  if (!kept.form.halves && !*turned) return at;
  kept.form.element = static_cast<uint32_t>(bits / 8);
  if (*turned) {
    kept.form.channels = static_cast<uint32_t>(channels);
    kept.form.taps = static_cast<uint32_t>(taps);
  }
  if (kept.form.halves) {
    kept.bytes /= 2;
    *dtype = DType::kF16;
  }
  return {in_form(kept), at.offset, at.strides};
}

int Lowering::in_form(const Memory& kept) {
  for (size_t m = 0; m < memories.size(); ++m) {
    if (memories[m].where == Where::kWeights && memories[m].value == kept.value && memories[m].form == kept.form)
      return static_cast<int>(m);
  }
  memories.push_back(kept);
  return static_cast<int>(memories.size()) - 1;
}

int Lowering::turned(int v, int64_t channels, int64_t taps) {
  const int plain = laid(v).memory;
  Memory kept = memories[static_cast<size_t>(plain)];
  const Datum& d = value(v);
  const int bits = dtype_bits(d.dtype);
  kept.form.nibbles = bits == 4;
  if (kept.where != Where::kWeights || network_.open || channels < 1 || taps < 1 || (bits != 4 && bits % 8 != 0) ||
      bits > 32 || d.count() % (channels * taps) != 0 || (bits == 4 && (channels % 2 != 0 || taps % 2 != 0)))
    return -1;
  if (channels == 1 || taps == 1) return plain;
  kept.form.element = static_cast<uint32_t>(std::max(bits / 8, 1));
  kept.form.channels = static_cast<uint32_t>(channels);
  kept.form.taps = static_cast<uint32_t>(taps);
  return in_form(kept);
}

const Node* Lowering::maker(int v) const {
  for (const Node& n : network_.nodes) {
    if (std::find(n.outputs.begin(), n.outputs.end(), v) != n.outputs.end()) return &n;
  }
  return nullptr;
}

int Lowering::errors() {
  if (errors_ < 0) {
    errors_ = make_memory(uint64_t{network_.sources} * sizeof(uint32_t));
    memories[static_cast<size_t>(errors_)].where = Where::kErrors;
  }
  return errors_;
}

void Lowering::report(Work* work) {
  last_expression(work->problem).slot = work->node;
  work->errors = errors();
}

int Lowering::make_memory(uint64_t bytes) {
  Memory m;
  m.bytes = bytes;
  memories.push_back(std::move(m));
  return static_cast<int>(memories.size()) - 1;
}

int Lowering::table(std::vector<uint8_t> content) {
  const int memory = make_memory(content.size());
  memories.back().where = Where::kData;
  memories.back().content = std::move(content);
  return memory;
}

Laid Lowering::make(int v) {
  const int border = output_memory_[static_cast<size_t>(v)];
  lay(v, {border >= 0 ? border : make_memory(value(v).bytes()), 0, dense_strides(value(v).dims)});
  return laid_[static_cast<size_t>(v)];
}

Laid Lowering::dense(int v) {
  Laid at = laid(v);
  const Datum& x = value(v);
  const Extents wanted = dense_strides(x.dims);
  bool same = at.offset == 0;
  for (size_t i = 0; i < wanted.size(); ++i) same = same && (x.dims[i] == 1 || at.strides[i] == wanted[i]);
  if (same) return {at.memory, 0, wanted};
  Laid to{make_memory(x.bytes()), 0, wanted};
  copy(x.dims, x.dtype, at, to);
  lay(v, to);
  return to;
}

namespace {

// An axis of one element has no stride. A number that says otherwise counts where neighbours are sought.
void drop_stride(int64_t extent, int64_t* stride) {
  if (extent == 1) *stride = 0;
}
void drop_strides(const Extents& extents, Extents* strides) {
  for (size_t i = 0; i < std::min(extents.size(), strides->size()); ++i) drop_stride(extents[i], &(*strides)[i]);
}

void drop_strides(Problem* problem) {
  if (auto* const p = std::get_if<ProductProblem>(problem)) {
    for (MatrixView* v : {&p->x, &p->w}) drop_strides(p->batch, &v->batch);
  } else if (auto* const a = std::get_if<AttentionProblem>(problem)) {
    for (MatrixView* v : {&a->q, &a->k, &a->v}) drop_strides(a->batch, &v->batch);
  } else if (auto* const c = std::get_if<ConvolutionProblem>(problem)) {
    drop_stride(c->images, &c->x.image);
    for (size_t i = 0; i < 3; ++i) drop_stride(c->window.in[i], &c->x.spatial[i]);
    drop_stride(c->groups, &c->w.group);
  }
}

}  // namespace

Work& Lowering::push(Problem problem) {
  Work w;
  w.problem = std::move(problem);
  if (!target_.open) drop_strides(&w.problem);
  w.node = node_ == nullptr ? 0 : node_->source;
  works.push_back(std::move(w));
  return works.back();
}

void Lowering::copy(const Extents& shape, DType dtype, const Laid& from, const Laid& to) {
  ChainProblem p;
  p.shape = shape;
  ExpressionBuilder b(&p.expression);
  b.output(b.input(dtype, view_of(from)), view_of(to));
  Work& w = push(std::move(p));
  w.reads = {from.memory};
  w.writes = {to.memory};
}

bool Lowering::integers(size_t i, Extents* to) const {
  to->clear();
  if (has(i) && in(i).count() == 0) return true;
  if (!constant(i)) return false;
  const Datum& v = in(i);
  const int64_t count = v.count();
  if (v.constant_bytes < v.bytes()) return false;
  for (int64_t k = 0; k < count; ++k) {
    if (v.dtype == DType::kI64) {
      int64_t n = 0;
      std::memcpy(&n, v.constant + k * 8, 8);
      to->push_back(n);
    } else if (v.dtype == DType::kI32) {
      int32_t n = 0;
      std::memcpy(&n, v.constant + k * 4, 4);
      to->push_back(n);
    } else {
      return false;
    }
  }
  return true;
}

bool Lowering::zero_point(size_t i, int32_t* to) const {
  *to = 0;
  return !has(i) || one_code(in(i), to);
}

bool one_code(const Datum& d, int32_t* to) {
  const int bits = dtype_bits(d.dtype);
  const bool is_signed = d.dtype == DType::kI8 || d.dtype == DType::kI4;
  if (!is_signed && d.dtype != DType::kU8 && d.dtype != DType::kU4) return false;
  if (d.constant == nullptr || d.count() < 1 || d.constant_bytes < d.bytes()) return false;
  const auto at = [&](int64_t k) -> int32_t {
    const int code = bits == 8 ? d.constant[k] : d.constant[k / 2] >> (k % 2 * 4) & 15;
    return is_signed && code >= 1 << (bits - 1) ? code - (1 << bits) : code;
  };
  *to = at(0);
  for (int64_t k = 1; k < d.count(); ++k) {
    if (at(k) != *to) return false;
  }
  return true;
}

namespace {

// The sum over all other axes, for each place on the first. Models have megabytes of codes at each load, so the
// innermost loop goes along bytes that lie side by side: along channels where those do, else along the axes that are
// one run.
template <class T>
std::vector<uint32_t> sums_of(const T* codes, const Extents& extents, const Extents& strides, int64_t offset) {
  const int64_t channels = extents[0];
  std::vector<uint32_t> sums(static_cast<size_t>(channels), 0);
  Extents outer, steps;  // of the other axes, those that continue each other as one
  for (size_t axis = 1; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    if (!outer.empty() && steps.back() == strides[axis] * extents[axis]) {
      outer.back() *= extents[axis];
      steps.back() = strides[axis];
    } else {
      outer.push_back(extents[axis]);
      steps.push_back(strides[axis]);
    }
  }
  const bool along_channels = strides[0] == 1 && channels > 1;
  int64_t run = 1, run_step = 1;
  if (!along_channels && !outer.empty()) {
    run = outer.back();
    run_step = steps.back();
    outer.pop_back();
    steps.pop_back();
  }
  Extents at(outer.size(), 0);
  for (int64_t left = count_of(outer), index = offset; left > 0; --left) {
    for (int64_t c = 0; c < channels; ++c) {
      const T* const first = codes + index + c * strides[0];
      uint32_t sum = 0;
      for (int64_t i = 0; i < run; ++i) sum += static_cast<uint32_t>(first[i * run_step]);
      sums[static_cast<size_t>(c)] += sum;
    }
    for (size_t axis = outer.size(); axis-- > 0;) {
      index += steps[axis];
      if (++at[axis] < outer[axis]) break;
      index -= steps[axis] * outer[axis];
      at[axis] = 0;
    }
  }
  return sums;
}

}  // namespace

int raw_addends(Lowering& l, int32_t x_zero, const Extents& extents, const Extents& strides, int64_t offset) {
  const Memory& w = l.memories[static_cast<size_t>(l.laid(l.node().inputs[1]).memory)];
  if (w.where != Where::kWeights || w.form.element != 0 || (l.has(3) && !l.constant(3))) return -1;
  const Datum& source = l.value(w.value);
  const auto channels = static_cast<size_t>(extents[0]);
  const std::vector<uint32_t> sums =
      source.dtype == DType::kI8 ? sums_of(reinterpret_cast<const int8_t*>(source.constant), extents, strides, offset)
                                 : sums_of(source.constant, extents, strides, offset);
  std::vector<uint8_t> content(channels * sizeof(uint32_t));
  for (size_t c = 0; c < channels; ++c) {
    uint32_t bias = 0;
    if (l.has(3)) std::memcpy(&bias, l.in(3).constant + (l.in(3).count() == 1 ? 0 : c * sizeof(bias)), sizeof(bias));
    const uint32_t addend = bias - static_cast<uint32_t>(x_zero) * sums[c];
    std::memcpy(content.data() + c * sizeof(addend), &addend, sizeof(addend));
  }
  return l.table(std::move(content));
}

int requantized(Lowering& l, ExpressionBuilder* b, const Codes& codes, const Extents& channel, std::vector<int>* reads,
                int addends) {
  const auto parameter = [&](size_t i) {
    const Laid at = l.laid(l.node().inputs[i]);
    View view;
    view.offset = at.offset;
    view.strides.assign(channel.size(), 0);
    if (l.in(i).count() != 1) {
      for (size_t axis = 0; axis < channel.size(); ++axis) view.strides[axis] = channel[axis] * at.strides[0];
    }
    reads->push_back(at.memory);
    return b->input(l.in(i).dtype, view);
  };
  int sum = b->given(DType::kI32);
  const int multiplier = parameter(2);
  int bias = -1;
  if (addends >= 0) {
    View view;
    view.strides = channel;
    reads->push_back(addends);
    bias = b->input(DType::kI32, view);
  } else if (l.has(3)) {
    bias = parameter(3);
  }
  if (bias >= 0) sum = b->function(Function::kAdd, DType::kI32, sum, bias);
  const int real = b->function(Function::kCast, DType::kF32, sum);
  return b->code(b->function(Function::kMul, DType::kF32, real, multiplier), codes);
}

std::string Lowering::finish() {
  node_ = nullptr;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const int v = outputs_[o];
    if (laid_[static_cast<size_t>(v)].memory < 0 && value(v).constant == nullptr)
      return "no node makes an output of the part";
    const Laid at = laid(v);
    const int border = output_memory_[static_cast<size_t>(v)];
    if (at.memory != border) copy(value(v).dims, value(v).dtype, at, {border, 0, dense_strides(value(v).dims)});
  }
  return "";
}

namespace {

// Types that kernels read and write; all others are left.
bool is_stored(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF64:
    case DType::kU8:
    case DType::kI8:
    case DType::kU16:
    case DType::kI16:
    case DType::kU32:
    case DType::kI32:
    case DType::kU64:
    case DType::kI64:
    case DType::kBool:
    case DType::kU2:
    case DType::kI2:
    case DType::kU4:
    case DType::kI4:
      return true;
    default:
      return is_narrow_float(t);
  }
}

std::string check_value(const Datum& v, const Target& target) {
  if (v.dtype == DType::kNone) return kNotShown;
  if (!is_stored(v.dtype)) return std::string("no kernel for ") + dtype_name(v.dtype);
  if (v.rank() > kMostAxes) return "more than 8 dimensions";
  const int64_t count = v.count();
  if (count == 0) return "an empty tensor";
  if (count < 0) return "a tensor of more than 2^31 elements";
  if (v.bytes() > target.buffer_bytes)
    return "a tensor of " + std::to_string(v.bytes()) + " bytes, above the device's " +
           std::to_string(target.buffer_bytes) + " a buffer";
  if (v.constant != nullptr && v.constant_bytes < v.bytes()) return "a constant that is smaller than its shape says";
  return "";
}

}  // namespace

std::string Lowering::add(const Node& n) {
  node_ = &n;
  const bool may_leave = n.op == VIREO_OP_LSTM || n.op == VIREO_OP_GRU || n.op == VIREO_OP_RNN ||
                         n.op == VIREO_OP_SPLIT || n.op == VIREO_OP_TOP_K;
  if (n.output(0) < 0 && !may_leave) return "its first output is left out";
  // A node that was taken makes nothing in a run in which all its results are empty.
  const bool makes =
      std::any_of(n.outputs.begin(), n.outputs.end(), [this](int v) { return v >= 0 && value(v).count() != 0; });
  if (network_.in_run && !makes) {
    for (const int v : n.outputs) {
      if (v >= 0) (void)make(v);
    }
    return "";
  }
  for (const std::vector<int>* list : {&n.inputs, &n.outputs}) {
    for (const int v : *list) {
      // An absent list of integers may have no elements: the lowering of its operator looks.
      if (v < 0 || (value(v).constant != nullptr && value(v).count() == 0)) continue;
      // A reduction of nothing has a result.
      if (value(v).count() == 0 && is_reduction(n.op) && list == &n.inputs) continue;
      if (std::string why = check_value(value(v), target_); !why.empty()) return why;
    }
  }
  return lower();
}

std::string Lowering::lower() {
  if (is_reduction(node_->op)) return lower_rows(*this);
  switch (node_->op) {
    case VIREO_OP_IDENTITY:
    case VIREO_OP_RESHAPE:
    case VIREO_OP_SQUEEZE:
    case VIREO_OP_UNSQUEEZE:
    case VIREO_OP_FLATTEN:
    case VIREO_OP_TRANSPOSE:
    case VIREO_OP_SLICE:
    case VIREO_OP_SPLIT:
    case VIREO_OP_CONCAT:
    case VIREO_OP_EXPAND:
    case VIREO_OP_TILE:
    case VIREO_OP_PAD:
    case VIREO_OP_GATHER:
    case VIREO_OP_DEPTH_TO_SPACE:
    case VIREO_OP_SPACE_TO_DEPTH:
    case VIREO_OP_RESIZE:
      return lower_movement(*this);
    case VIREO_OP_SOFTMAX:
    case VIREO_OP_LOG_SOFTMAX:
    case VIREO_OP_LAYER_NORMALIZATION:
    case VIREO_OP_RMSNORMALIZATION:
    case VIREO_OP_GROUP_NORMALIZATION:
    case VIREO_OP_GLOBAL_AVERAGE_POOL:
    case VIREO_OP_GLOBAL_MAX_POOL:
    case VIREO_OP_HARDMAX:
    case VIREO_OP_ARG_MAX:
    case VIREO_OP_ARG_MIN:
    case VIREO_OP_MEAN_VARIANCE_NORMALIZATION:
    case VIREO_OP_LP_NORMALIZATION:
      return lower_rows(*this);
    case VIREO_OP_MAT_MUL:
    case VIREO_OP_GEMM:
    case VIREO_OP_INT_GEMM:
      return lower_product(*this);
    case VIREO_OP_CONV:
    case VIREO_OP_CONV_TRANSPOSE:
    case VIREO_OP_INT_CONV:
    case VIREO_OP_MAX_POOL:
    case VIREO_OP_AVERAGE_POOL:
    case VIREO_OP_INT_AVERAGE_POOL:
      return lower_window(*this);
    case VIREO_OP_TRILU:
    case VIREO_OP_EYE_LIKE:
    case VIREO_OP_ONE_HOT:
      return lower_position(*this);
    case VIREO_OP_GATHER_ELEMENTS:
    case VIREO_OP_GATHER_ND:
    case VIREO_OP_ROTARY_EMBEDDING:
      return lower_indexed(*this);
    case VIREO_OP_CUM_SUM:
    case VIREO_OP_CUM_PROD:
      return lower_scan(*this);
    case VIREO_OP_TOP_K:
      return lower_top(*this);
    case VIREO_OP_GRID_SAMPLE:
      return lower_sample(*this);
    case VIREO_OP_SCATTER_ELEMENTS:
    case VIREO_OP_SCATTER_ND:
    case VIREO_OP_TENSOR_SCATTER:
      return lower_scatter(*this);
    case VIREO_OP_LSTM:
    case VIREO_OP_GRU:
    case VIREO_OP_RNN:
      return lower_recurrent(*this);
    case VIREO_OP_ATTENTION:
      return lower_attention(*this);
    case VIREO_OP_INT_ADD:
    case VIREO_OP_INT_MUL:
    case VIREO_OP_INT_AFFINE:
    case VIREO_OP_INT_SOFTMAX:
    case VIREO_OP_INT_TABLE:
    case VIREO_OP_QUANTIZE_LINEAR:
    case VIREO_OP_DEQUANTIZE_LINEAR:
      return lower_integer(*this);
    default:
      return lower_elementwise(*this);
  }
}

}  // namespace vireo::gpu
