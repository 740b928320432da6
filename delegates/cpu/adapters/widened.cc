// Nodes of float16 whose operator has a kernel for float32: operands become float32 in scratch, the result is rounded
// once. Where rows or planes are computed each for itself, some of them at a time, so that they stay in the cache.
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/half/half.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo {
namespace {

constexpr int64_t kBlockFloats = 16 * 1024;  // of x or y: with both of them half a second-level cache, or less
constexpr size_t kMostState = 64;            // of the float32 kernel

struct State {
  const CpuKernel* kernel = nullptr;
  Op op = Op::kNone;
  bool apart = false;
  alignas(16) uint8_t inner[kMostState];
};

int64_t count_of(const Shape& s) { return product(s, 0, s.rank); }
size_t room(int64_t floats) { return (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64; }

// The same node in float32. Its constants are not known: they are float16 in the model.
void widen(const CpuQuery& q, CpuQuery* wide) {
  *wide = q;
  wide->packs = false;
  wide->packed = nullptr;
  const auto change = [](GraphValue* v) {
    if (v->type.dtype != DType::kF16) return;
    v->type.dtype = DType::kF32;
    v->constant = nullptr;
  };
  for (uint32_t i = 0; i < q.input_count; ++i) change(&wide->inputs[i]);
  for (uint32_t o = 0; o < q.output_count; ++o) change(&wide->outputs[o]);
}

const CpuKernel* kernel_of(const CpuQuery& wide, const char** reason) {
  for (const CpuRow& row : cpu_rows()) {
    if (!row.serves(wide.op)) continue;
    const CpuKernel* const kernel = row.op->choose(wide, reason);
    if (kernel != nullptr && kernel->state_bytes <= kMostState) return kernel;
  }
  return nullptr;
}

// Axes at the beginning of x and y over which the operator runs for each index by itself; 0: there are none.
int leading_axes(Op op, const uint8_t* attributes, int rank) {
  switch (op) {
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      return normalize_axis(::flatbuffers::GetRoot<attrs::Softmax>(attributes)->axis(), rank);
    case Op::kLayerNormalization:
      return normalize_axis(::flatbuffers::GetRoot<attrs::LayerNormalization>(attributes)->axis(), rank);
    case Op::kRMSNormalization:
      return normalize_axis(::flatbuffers::GetRoot<attrs::RMSNormalization>(attributes)->axis(), rank);
    case Op::kMaxPool:
    case Op::kAveragePool:
      return ::flatbuffers::GetRoot<attrs::Pool>(attributes)->layout() == 0 ? 2 : 1;
    case Op::kGlobalMaxPool:
    case Op::kGlobalAveragePool:
      return ::flatbuffers::GetRoot<attrs::GlobalPool>(attributes)->layout() == 0 ? 2 : 1;
    default:
      return 0;
  }
}

// x and y in pieces of `rows` indices of their leading axes.
struct Pieces {
  int lead;
  int64_t count, rows, x_row, y_row;

  Pieces(int axes, const Shape& x, const Shape& y)
      : lead(axes), count(product(x, 0, lead)), x_row(product(x, lead, x.rank)), y_row(product(y, lead, y.rank)) {
    const int64_t most = x_row > y_row ? x_row : y_row;
    rows = most > 0 && kBlockFloats / most > 1 ? kBlockFloats / most : 1;
    rows = rows < count ? rows : count;
  }
};

bool is_apart(const CpuQuery& q) {  // a result of float32 (RMSNormalization's, by its scale) is written as it is
  return q.output_count == 1 && q.outputs[0].type.dtype == DType::kF16 &&
         leading_axes(q.op, q.node.attrs, q.inputs[0].type.shape.rank) > 0;
}

int64_t scratch_bytes(const CpuQuery& q) {
  CpuQuery wide;
  const char* reason = "";
  widen(q, &wide);
  const bool apart = is_apart(q);
  if (apart) wide.slots = 1;
  const CpuKernel* const kernel = kernel_of(wide, &reason);
  if (kernel == nullptr) return 0;
  for (uint32_t i = 0; i < q.input_count; ++i) wide.inputs[i].is_static = wide.inputs[i].is_static && !apart;
  size_t inner = kernel->scratch_bytes != nullptr ? static_cast<size_t>(kernel->scratch_bytes(wide)) : 0;
  inner = (inner + 63) / 64 * 64;
  size_t bytes = 0;
  for (uint32_t i = apart ? 1 : 0; i < q.input_count; ++i)
    bytes += q.inputs[i].type.dtype == DType::kF16 ? room(count_of(q.inputs[i].type.shape)) : 0;
  if (!apart) {
    for (uint32_t o = 0; o < q.output_count; ++o)
      bytes += q.outputs[o].type.dtype == DType::kF16 ? room(count_of(q.outputs[o].type.shape)) : 0;
    return static_cast<int64_t>(bytes + inner);
  }
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  const int lead = leading_axes(q.op, q.node.attrs, x.rank);
  const int64_t row = product(x, lead, x.rank) + product(y, lead, y.rank);
  const int64_t most = count_of(x) + count_of(y), block = 2 * kBlockFloats > row ? 2 * kBlockFloats : row;
  const size_t piece = room(most < block ? most : block) + 2 * 64;
  return static_cast<int64_t>(bytes + (piece + inner) * static_cast<size_t>(q.slots < 1 ? 1 : q.slots));
}

void prepare(const CpuQuery& q, void* state) {
  CpuQuery wide;
  const char* reason = "";
  widen(q, &wide);
  auto* const s = new (state) State();
  s->kernel = kernel_of(wide, &reason);
  s->op = q.op;
  s->apart = is_apart(q);
  if (s->kernel != nullptr && s->kernel->prepare != nullptr) s->kernel->prepare(wide, s->inner);
}

// The operands of one call of the float32 kernel.
struct Operands {
  Tensor in[kMaxNodeArgs], out[kMaxNodeArgs];
  const Tensor* in_at[kMaxNodeArgs] = {};
  Tensor* out_at[kMaxNodeArgs] = {};
};

void put(Tensor* t, const Shape& shape, uint8_t* at) {
  t->dtype = DType::kF32;
  t->shape = shape;
  t->data = at;
  t->capacity = count_of(shape) * static_cast<int64_t>(sizeof(float));
}

// x and y piece by piece; the other operands are in place.
Status run_apart(const KernelContext& ctx, const State& s, const Operands& whole, uint8_t* scratch,
                 size_t scratch_size) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const Pieces pieces(leading_axes(s.op, ctx.attr_bytes.data(), x.shape.rank), x.shape, y.shape);
  if (pieces.count == 0) return Status::kOk;
  const size_t each = scratch_size / static_cast<size_t>(ctx.parallel.slots) / 64 * 64;
  const int64_t count = (pieces.count + pieces.rows - 1) / pieces.rows;
  const int64_t grain = 1 + kBlockFloats / (pieces.rows * (pieces.x_row + pieces.y_row) + 1);
  Status result = Status::kOk;
  ctx.parallel.for_range(count, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    uint8_t* const mine = scratch + static_cast<size_t>(slot) * each;
    Operands own = whole;
    for (uint32_t i = 1; i < kMaxNodeArgs; ++i)
      own.in_at[i] = whole.in_at[i] == &whole.in[i] ? &own.in[i] : whole.in_at[i];
    own.in_at[0] = &own.in[0];
    own.out_at[0] = &own.out[0];
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * pieces.rows;
      const int64_t rows = pieces.count - first < pieces.rows ? pieces.count - first : pieces.rows;
      Shape xs = x.shape, ys = y.shape;
      for (int i = 0; i < pieces.lead; ++i) xs[i] = ys[i] = i + 1 == pieces.lead ? rows : 1;
      put(&own.in[0], xs, mine);
      put(&own.out[0], ys, mine + room(rows * pieces.x_row));
      uint8_t* const rest = mine + room(rows * pieces.x_row) + room(rows * pieces.y_row);
      cpu::f32_from_f16(x.as<const uint16_t>() + first * pieces.x_row, own.in[0].as<float>(), rows * pieces.x_row,
                        Parallel{});
      KernelContext inner = ctx;
      inner.inputs = Span<const Tensor* const>(own.in_at, ctx.inputs.size());
      inner.outputs = Span<Tensor* const>(own.out_at, 1);
      inner.scratch = Span<uint8_t>(rest, static_cast<size_t>(mine + each - rest));
      inner.parallel = Parallel{};
      const Status status = s.kernel->run(inner, s.inner);
      if (!ok(status)) result = status;  // these kernels fail by their shapes: all pieces alike
      cpu::f16_from_f32(own.out[0].as<float>(), y.as<uint16_t>() + first * pieces.y_row, rows * pieces.y_row,
                        Parallel{});
    }
  });
  return result;
}

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  Operands wide;
  uint8_t* at = ctx.scratch.data();
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    wide.in_at[i] = ctx.inputs[i];
    if (ctx.inputs[i] == nullptr || ctx.inputs[i]->dtype != DType::kF16 || (i == 0 && s.apart)) continue;
    const Tensor& t = *ctx.inputs[i];
    put(&wide.in[i], t.shape, at);
    wide.in_at[i] = &wide.in[i];
    at += room(t.count());
    cpu::f32_from_f16(t.as<const uint16_t>(), wide.in[i].as<float>(), t.count(), ctx.parallel);
  }
  if (s.apart) return run_apart(ctx, s, wide, at, static_cast<size_t>(ctx.scratch.data() + ctx.scratch.size() - at));
  for (size_t o = 0; o < ctx.outputs.size(); ++o) {
    wide.out_at[o] = ctx.outputs[o];
    if (ctx.outputs[o] == nullptr || ctx.outputs[o]->dtype != DType::kF16) continue;
    put(&wide.out[o], ctx.outputs[o]->shape, at);
    wide.out_at[o] = &wide.out[o];
    at += room(ctx.outputs[o]->count());
  }
  KernelContext inner = ctx;
  inner.inputs = Span<const Tensor* const>(wide.in_at, ctx.inputs.size());
  inner.outputs = Span<Tensor* const>(wide.out_at, ctx.outputs.size());
  inner.scratch = Span<uint8_t>(at, static_cast<size_t>(ctx.scratch.data() + ctx.scratch.size() - at));
  VIREO_TRY(s.kernel->run(inner, s.inner));
  for (size_t o = 0; o < ctx.outputs.size(); ++o) {
    if (wide.out_at[o] != &wide.out[o]) continue;
    cpu::f16_from_f32(wide.out[o].as<float>(), ctx.outputs[o]->as<uint16_t>(), wide.out[o].count(), ctx.parallel);
  }
  return Status::kOk;
}

constexpr CpuKernel kWidened = {"widened_f32", sizeof(State), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for float32 and float16";
  if (q.input_count == 0 || q.inputs[0].type.dtype != DType::kF16) return nullptr;
  CpuQuery wide;
  widen(q, &wide);
  if (kernel_of(wide, reason) == nullptr) return nullptr;
  *reason = "";
  return &kWidened;
}

}  // namespace

extern const CpuOp kCpuOp_widened;
const CpuOp kCpuOp_widened = {"widened", choose};

}  // namespace vireo
