#include "delegates/cpu/cpu.h"

#include <string.h>

#include <type_traits>

#include "delegates/cpu/cost.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/features.h"
#if VIREO_LEVEL_MASK
#include "delegates/cpu/level_testing.h"
#endif
#include "delegates/cpu/shape_check.h"
#include "sdk/base/config.h"

#if VIREO_TUNED
#include "delegates/cpu/forms.h"
#include "delegates/cpu/kernels/levels.h"
#endif

#if VIREO_TUNED && VIREO_JOINED
#define VIREO_DEPTH_FIRST 1
#include "delegates/cpu/depth_first/by_image.h"
#include "delegates/cpu/depth_first/stretch.h"
#else
#define VIREO_DEPTH_FIRST 0
#endif

namespace vireo {
namespace {

#if VIREO_MCU_TABLE  // delegates/mcu as a device of its own, for tests
#define VIREO_CPU_DELEGATE vireo_mcu_delegate
Span<const CpuRow> all_rows() { return mcu_rows(); }
#else
#define VIREO_CPU_DELEGATE vireo_cpu_delegate
Span<const CpuRow> all_rows() { return cpu_rows(); }
#endif

// Whether nodes may have another kernel than the reference.
constexpr bool kChooses = VIREO_TUNED || VIREO_MCU;

// What a prepared part is: which code, with what. The tuned kernel's own state follows it.
struct CpuPart {
  const RefKernel* reference = nullptr;
  const CpuKernel* tuned = nullptr;
  const uint8_t* attrs = nullptr;
  size_t attrs_size = 0;
  bool alone = false;     // too small for a second thread
  bool rests = false;     // has nothing to do where no output has elements
  bool stretch = false;   // of several nodes, image by image: depth_first/stretch.h has its state
  size_t text_bytes = 0;  // of the reference kernel, where a tuned one has its state
};
static_assert(sizeof(CpuPart) <= 64, "the kernel's state begins at 64");
constexpr size_t kStateOffset = 64;

static_assert(sizeof(Tensor) == sizeof(vireo_tensor), "tensors cross the ABI as they are");
static_assert(alignof(Tensor) == alignof(vireo_tensor), "tensors cross the ABI as they are");

// What a claim of a tuned kernel hands on to memory, pack and load; no state: the reference kernel runs the node.
struct Found {
  const CpuKernel* kernel = nullptr;
#if VIREO_DEPTH_FIRST
  bool in_stretch = false;
  uint32_t packs = 0;  // in a stretch: constants that it reads packed
#else
  static constexpr bool in_stretch = false;
#endif
#if VIREO_TUNED
  CpuForms forms;  // a stretch reads them anew, for one image
  size_t bytes() const { return sizeof(*this) - sizeof(forms) + (in_stretch ? 0 : forms.bytes()); }
#else
  size_t bytes() const { return sizeof(*this); }
#endif
};
static_assert(std::is_trivially_copyable_v<Found>, "the host copies it as bytes");

// What a call of the delegate asks about one node.
struct Query : CpuQuery {
  Found found;
#if VIREO_TUNED
  Query() { forms = &found.forms; }
#endif
};

// The kernel that will run a node.
struct Choice {
  const CpuKernel* tuned = nullptr;
  const CpuOp* op = nullptr;  // whose kernel that is
  const RefKernel* reference = nullptr;
  const char* kernel = "";
  const char* reason = "";
};

Choice choose(const vireo_host& host, const vireo_graph* graph, uint32_t index, int32_t slots, CpuQuery* query) {
  Choice c;
  const bool fits = view_node(host, graph, index, query);
  query->slots = slots;
  const ShapeCheck shapes = kChooses && fits && !all_rows().empty() ? check_shapes(*query) : ShapeCheck::kRefuse;
  if (kChooses && shapes != ShapeCheck::kAgree) {  // else there is no kernel that asks for shapes
    c.reason =
        shapes == ShapeCheck::kUnsure ? "its shapes follow from data" : "its shapes do not agree at their bounds";
  }
  for (const CpuRow& row : all_rows()) {
    if (shapes == ShapeCheck::kRefuse || (shapes == ShapeCheck::kUnsure && !row.op->any_shape)) continue;
    if (!row.serves(query->op)) continue;
    const char* reason = "";
    c.tuned = row.op->choose(*query, &reason);
    c.reason = reason;  // of one that takes it: not why others did not
    if (c.tuned != nullptr) {
      c.op = row.op;
      c.kernel = c.tuned->name;
      return c;
    }
  }
  c.reference = find_ref(query->op);
  c.kernel = "reference";
  return c;
}

// What the claim decided: a tuned kernel, or none for the reference.
Choice chosen(const vireo_host& host, const vireo_graph* graph, const vireo_part& part, int32_t slots, Query* query) {
  Choice c;
  (void)view_node(host, graph, part.nodes[0], query);
  query->slots = slots;
  if (const auto* const found = static_cast<const Found*>(part.claimed[0]); kChooses && found != nullptr) {
    memcpy(static_cast<void*>(&query->found), found, found->bytes());
    c.tuned = found->kernel;
  } else {
    c.reference = find_ref(query->op);
  }
  return c;
}

// Calls f(query) with the types at their bounds, as reference kernels ask for them. They may have more values than a
// query holds; those that need memory do not.
template <class F>
int64_t ask_reference(const CpuQuery& query, int32_t slots, const F& f) {
  TensorType in[kMaxNodeArgs], y[kMaxNodeArgs];
  for (uint32_t i = 0; i < query.input_count; ++i) in[i] = query.inputs[i].type;
  for (uint32_t o = 0; o < query.output_count; ++o) y[o] = query.outputs[o].type;
  const KernelQuery q = {Span<const TensorType>(in, query.input_count), Span<const TensorType>(y, query.output_count),
                         Span<const uint8_t>(query.node.attrs, query.node.attrs_size), slots};
  return f(q);
}

int64_t text_bytes(const Choice& c, const CpuQuery& query, int32_t slots) {
  const bool makes = VIREO_TEXT && c.reference != nullptr && c.reference->text_bytes != nullptr;
  return makes ? ask_reference(query, slots, c.reference->text_bytes) : 0;
}

// Handing work to a thread costs some microseconds. A node of few elements, constants and results counted, stays with
// its caller whatever its kernel is; what a larger one gives away decides the kernel's grain. So many elements are at
// most some ten thousand multiplications of a matrix product, or a few microseconds of the slowest elementwise kernel.
constexpr int64_t kAloneElements = 2048;

bool is_small(const CpuQuery& q) {
  int64_t left = kAloneElements;
  const auto take = [&](const TensorType& t) {
    int64_t count = t.dtype == DType::kNone ? 0 : 1;
    for (int i = 0; i < t.shape.rank && count <= left; ++i) count *= t.shape[i];
    left -= count <= left ? count : left + 1;
  };
  for (uint32_t i = 0; i < q.input_count && left >= 0; ++i) take(q.inputs[i].type);
  for (uint32_t o = 0; o < q.output_count && left >= 0; ++o) take(q.outputs[o].type);
  if (q.op != Op::kComposite) return left >= 0;
  const GraphReader body = q.body();
  const uint32_t nodes = body.node_count();
  for (uint32_t n = 0; n < nodes && left >= 0; ++n) {
    vireo_graph_node node;
    if (!body.read_node(n, &node)) return false;
    for (uint32_t i = 0; i < node.input_count && left >= 0; ++i) {
      const vireo_graph_value v = body.value(node.inputs[i]);
      if (v.constant != nullptr) take(type_of(v));
    }
  }
  return left >= 0;
}

vireo_status enumerate(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info, void** device) {
  if (index != 0) return VIREO_INVALID_ARGUMENT;
#if VIREO_LEVEL_MASK
  if (!mask_level()) {
    host->log(host->context, VIREO_LOG_ERROR,
              "VIREO_LEVEL names no instruction set of this core: there is no device cpu");
    return VIREO_INVALID_ARGUMENT;
  }
#else
  (void)host;
#endif
  info->name = "cpu";
  info->detail = cpu_features_text();
  info->flags = VIREO_DEVICE_UNIFIED;
#if VIREO_TUNED
  // Highway looks at the CPU in the first call of a kernel, and again in each tile of that one, for its callers hold
  // the function that looks. Where a hypervisor answers cpuid that is 26 ms of a first run.
  cpu::use_supported_levels();
#endif
  *device = self;
  return VIREO_OK;
}

#if VIREO_DEPTH_FIRST
// A stretch as a call of the delegate names it; `part` is one where its claims say so.
bool is_stretch(const vireo_part& part) {
  const auto* const found = static_cast<const Found*>(part.claimed[0]);
  return found != nullptr && found->in_stretch;
}

bool is_tuned(const vireo_host& host, const vireo_graph* graph, uint32_t node) {
  Query query;
  return choose(host, graph, node, 1, &query).tuned != nullptr;
}

cpu::StretchPart stretch_of(const vireo_host& host, const vireo_graph* graph, const vireo_part& part, int32_t slots) {
  const auto link = [](const void* claimed) {
    const auto& found = *static_cast<const Found*>(claimed);
    return cpu::Link{found.kernel, found.packs};
  };
  return {host, graph, part, link, is_small, slots};
}
#endif

// Offers every kernel that could run the node, the best one first: as a link of its stretch, or by itself.
vireo_status offer(const vireo_claims& claims, const Choice& c, [[maybe_unused]] bool in_stretch, Query* query,
                   vireo_claim* mine) {
  const auto take = [&](const CpuKernel* kernel) {
    query->found.kernel = kernel;
    mine->kernel = kernel->name;
#if VIREO_DEPTH_FIRST
    query->found.in_stretch = in_stretch;
    if (in_stretch) query->found.packs = cpu::count_packs(*query->host, query->graph, mine->node, *kernel);
    mine->flags = in_stretch ? VIREO_CLAIM_JOINS | VIREO_CLAIM_STAYS : 0;
#endif
    mine->state = &query->found;
    mine->state_bytes = query->found.bytes();  // it may have asked for another form
    return claims.take(claims.context, mine);
  };
  vireo_status status = take(c.tuned);
  const CpuKernel* other = nullptr;
  for (uint32_t k = 0;
       status == VIREO_OK && c.op->alternative != nullptr && (other = c.op->alternative(*query, k)) != nullptr; ++k) {
    if (other != c.tuned) status = take(other);
  }
  return status;
}

vireo_status claim(void*, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  const uint32_t count = host->node_count(graph);
#if VIREO_DEPTH_FIRST
  const cpu::Stretches stretches(*host, graph, is_tuned);
#endif
  for (uint32_t n = 0; n < count; ++n) {
    Query query;
    const Choice c = choose(*host, graph, n, 1, &query);
    if (c.tuned == nullptr && c.reference == nullptr) {
      const bool composite = query.op == Op::kComposite;
      const char* reason =
          composite ? (c.reason[0] != 0 ? c.reason : "no fused kernel: its body runs") : "no kernel in this build";
      const vireo_status status = claims->leave(claims->context, n, reason);
      if (status != VIREO_OK) return status;
      continue;
    }
    const double cost = VIREO_BRANCHES ? cost_ns(query, c.tuned != nullptr) : 0;
    vireo_claim mine = VIREO_CLAIM_INIT;
    mine.node = n;
    mine.cost_ns = cost;
    mine.time_ns = cost;
    mine.kernel = c.kernel;
    mine.reason = c.reason;
    vireo_status status = VIREO_OK;
    if (!kChooses || c.tuned == nullptr) {
      status = claims->take(claims->context, &mine);
    } else {
#if VIREO_DEPTH_FIRST
      if (stretches.has(n)) status = offer(*claims, c, /*in_stretch=*/true, &query, &mine);
#endif
      if (status == VIREO_OK) status = offer(*claims, c, /*in_stretch=*/false, &query, &mine);
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

vireo_status memory(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                    const vireo_memory_request* with, vireo_part_memory* out) {
  const int32_t slots = with->slots;
#if VIREO_DEPTH_FIRST
  if (is_stretch(*part)) {
    const vireo_status status = cpu::stretch_memory(stretch_of(*host, graph, *part, slots), with->packs != 0,
                                                    &out->state_bytes, &out->scratch_bytes);
    out->state_bytes += kStateOffset;
    return status;
  }
#endif
  Query query;
  const Choice c = chosen(*host, graph, *part, slots, &query);
  query.packs = with->packs != 0;
  out->state_bytes = kStateOffset + (c.tuned != nullptr ? c.tuned->state_bytes : 0);
  int64_t scratch = 0;
  const bool asks = c.tuned != nullptr ? c.tuned->scratch_bytes != nullptr
                                       : c.reference != nullptr && c.reference->scratch_bytes != nullptr;
  if (asks) {
    scratch =
        c.tuned != nullptr ? c.tuned->scratch_bytes(query) : ask_reference(query, slots, c.reference->scratch_bytes);
  }
  if (scratch < 0) return VIREO_INVALID_MODEL;
  if (scratch == 0 && asks && !query.is_static()) scratch = 1;  // what lies above the bounds would need some
  if (VIREO_TEXT) {
    const int64_t text = text_bytes(c, query, slots);
    if (text < 0) return VIREO_INVALID_MODEL;
    out->state_bytes += static_cast<size_t>(text);
  }
  out->scratch_bytes = static_cast<size_t>(scratch);
  return static_cast<int64_t>(out->scratch_bytes) == scratch ? VIREO_OK : VIREO_OUT_OF_ARENA;  // size_t of 32 bits
}

#if VIREO_TUNED
vireo_status pack(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* part, uint32_t index,
                  const vireo_thread_pool* threads, vireo_packed* out, void* to) {
  Parallel parallel;
  if (threads != nullptr) parallel = {threads->run, threads->pool, threads->slots};
#if VIREO_DEPTH_FIRST
  if (is_stretch(*part)) {
    const cpu::StretchPart stretch = stretch_of(*host, graph, *part, parallel.slots);
    return cpu::pack_stretch(stretch, index, parallel, out, to) ? VIREO_OK : VIREO_INVALID_ARGUMENT;
  }
#endif
  Query query;
  const Choice c = chosen(*host, graph, *part, parallel.slots, &query);
  query.packs = true;
  if (c.tuned == nullptr || c.tuned->pack == nullptr) return VIREO_INVALID_ARGUMENT;
  return c.tuned->pack(query, index, parallel, out, to) ? VIREO_OK : VIREO_INVALID_ARGUMENT;
}
#else
constexpr decltype(vireo_delegate::pack) pack = nullptr;  // reference kernels read constants as they lie
#endif

// Whether a run may have outputs without elements.
bool may_be_empty(const CpuQuery& query) {
  for (uint32_t o = 0; o < query.output_count; ++o) {
    const GraphValue& y = query.outputs[o];
    if (y.type.dtype != DType::kNone && (!y.is_static || element_count(y.type.shape) == 0)) return true;
  }
  return false;
}

vireo_status load(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                  const vireo_load_request* with, void** loaded) {
  const int32_t slots = with->slots;
#if VIREO_DEPTH_FIRST
  if (is_stretch(*part)) {
    auto* const p = new (with->state) CpuPart();
    p->stretch = true;
    *loaded = p;
    return cpu::load_stretch(stretch_of(*host, graph, *part, slots), with->packed,
                             static_cast<uint8_t*>(with->state) + kStateOffset);
  }
#endif
  Query query;
  const Choice c = chosen(*host, graph, *part, slots, &query);
  query.packs = with->packed != nullptr;
  query.packed = with->packed;
  auto* p = new (with->state) CpuPart();
  p->reference = c.reference;
  p->tuned = c.tuned;
  p->attrs = query.node.attrs;
  p->attrs_size = query.node.attrs_size;
  p->alone = slots <= 1 || (VIREO_TUNED && is_small(query));  // reference kernels alone: small code first
  const OpRow* const row = find_op(query.op);
  p->rests = row != nullptr && (row->def->flags & (OpDef::kDataDependent | OpDef::kRandom)) == 0 && may_be_empty(query);
  if (VIREO_TEXT) p->text_bytes = static_cast<size_t>(text_bytes(c, query, slots));
  if (c.tuned != nullptr && c.tuned->prepare != nullptr)
    c.tuned->prepare(query, static_cast<uint8_t*>(with->state) + kStateOffset);
  *loaded = p;
  return VIREO_OK;
}

// Kernels loop over extents, which may be of any size beside a 0.
bool is_empty(vireo_tensor* const* outputs, uint32_t count) {
  for (uint32_t o = 0; o < count; ++o) {
    if (outputs[o] == nullptr) continue;
    const Shape& s = reinterpret_cast<const Tensor*>(outputs[o])->shape;
    bool none = false;
    for (int i = 0; i < s.rank; ++i) none = none || s[i] == 0;
    if (!none) return false;
  }
  return true;
}

void tell(const Error& error, vireo_fault* fault) {
  const size_t n = strlen(error.message);
  const size_t kept = n < fault->message_bytes ? n : fault->message_bytes - 1;
  memcpy(fault->message, error.message, kept);
  fault->message[kept] = 0;
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  const auto& p = *static_cast<const CpuPart*>(loaded);
  if (p.rests && is_empty(outputs, output_count)) return VIREO_OK;
  Error error;
  KernelContext ctx;
  ctx.inputs = Span<const Tensor* const>(reinterpret_cast<const Tensor* const*>(inputs), input_count);
  ctx.outputs = Span<Tensor* const>(reinterpret_cast<Tensor* const*>(outputs), output_count);
#if VIREO_DEPTH_FIRST
  if (p.stretch) {
    const char* blamed = nullptr;
    const Status status =
        cpu::run_stretch(static_cast<uint8_t*>(loaded) + kStateOffset, ctx.inputs, ctx.outputs, *with, &error, &blamed);
    if (VIREO_DETAIL && !ok(status)) tell(error, with->fault);
    with->fault->node = blamed;
    return static_cast<vireo_status>(status);
  }
#endif
  ctx.attr_bytes = Span<const uint8_t>(p.attrs, p.attrs_size);
  ctx.scratch = Span<uint8_t>(static_cast<uint8_t*>(with->scratch), with->scratch_bytes);
  if (VIREO_TEXT) ctx.text = Span<uint8_t>(static_cast<uint8_t*>(loaded) + kStateOffset, p.text_bytes);
  if (with->threads != nullptr && !p.alone)
    ctx.parallel = {with->threads->run, with->threads->pool, with->threads->slots};
  ctx.random = with->random;
  ctx.error = &error;
  const Status status = p.tuned != nullptr ? p.tuned->run(ctx, static_cast<const uint8_t*>(loaded) + kStateOffset)
                                           : p.reference->run(ctx);
  if (VIREO_DETAIL && !ok(status)) tell(error, with->fault);
  return static_cast<vireo_status>(status);
}

void unload(void*) {}
vireo_status health(void*) { return VIREO_OK; }
void release(void*) {}

}  // namespace

}  // namespace vireo

namespace {
// Members that are not named here are NULL.
constexpr vireo_delegate delegate_table() {
  vireo_delegate t = {};
  t.struct_size = sizeof(vireo_delegate);
  t.abi = VIREO_DELEGATE_ABI;
  t.name = "cpu";
  t.enumerate = vireo::enumerate;
  t.claim = vireo::claim;
  t.memory = vireo::memory;
  t.pack = vireo::pack;
  t.load = vireo::load;
  t.submit = vireo::submit;
  t.unload = vireo::unload;
  t.health = vireo::health;
  t.release = vireo::release;
  return t;
}
}  // namespace

extern "C" const vireo_delegate VIREO_CPU_DELEGATE = delegate_table();
