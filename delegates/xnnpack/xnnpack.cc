#include "delegates/xnnpack/xnnpack.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "delegates/xnnpack/codes.h"
#include "delegates/xnnpack/heap.h"
#include "delegates/xnnpack/pool.h"
#include "delegates/xnnpack/probe.h"
#include "delegates/xnnpack/writer.h"

namespace vireo::xnnpack {
namespace {

constexpr const char* kDetail = "XNNPACK 20241108, on the session's threads";

// A part in the host's memory; its externals follow, what it was made from where extents vary, and what XNNPACK
// allocates in load.
struct alignas(External) Loaded {
  pthreadpool pool;
  Weights weights;
  xnn_runtime_t runtime = nullptr;
  uint32_t external_count = 0;
  size_t spare_offset = 0;  // in scratch: where an input is copied to
  void* copies[Weights::kMost] = {};

  bool varies = false;
  bool reshaped = true;  // XNNPACK knows the shapes that the part has

  External* externals() { return reinterpret_cast<External*>(this + 1); }
  Part* part() { return reinterpret_cast<Part*>(externals() + external_count); }
};

// Whether an input may have to be copied before XNNPACK sees it.
bool is_copied(const External& e) { return e.place == Place::kInput && (e.from_caller || e.flipped); }

// Room to copy inputs to: all of them at once.
size_t spare_bytes(const Writer& writer) {
  size_t bytes = 0;
  for (const External& e : writer.externals()) {
    if (is_copied(e)) bytes += (e.bytes + XNN_EXTRA_BYTES + 63) / 64 * 64;
  }
  return bytes;
}

// What one part is, without defining anything. "" or why XNNPACK does not run it.
const char* look(const vireo_host& host, const vireo_graph* graph, uint32_t node, Part* part, Writer* writer) {
  if (const char* reason = part->read(host, graph, node); reason[0] != 0) return reason;
  return writer->write(*part);
}

// XNNPACK's way to learn of the processor (cpuinfo) follows a null pointer on Linux where one of these cannot be read:
// in a sandbox without /proc or /sys, or when no descriptor is left.
bool knows_processor() {
#ifdef __linux__
  for (const char* const path :
       {"/proc/cpuinfo", "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present"}) {
    FILE* const file = fopen(path, "r");
    if (file == nullptr) return false;
    const bool good = fgetc(file) != EOF;
    fclose(file);
    if (!good) return false;
  }
#endif
  return true;
}

vireo_status enumerate(void* self, const vireo_host*, uint32_t index, vireo_device_info* info, void** device) {
  if (index != 0 || !knows_processor() || xnn_initialize(&heap()) != xnn_status_success) return VIREO_INVALID_ARGUMENT;
  (void)kernels();  // the first call runs them, before sessions are made
  info->name = "xnnpack";
  info->detail = kDetail;
  *device = self;
  return VIREO_OK;
}

const char* kernel_of(const Part& part) {
  const Step& first = part.steps()[0];
  if (first.codes != nullptr)
    return dtype_bits(first.codes->in(0)->type.dtype) == 4 ? "xnnpack_f32_w4" : "xnnpack_f32_w8";
  switch (first.out->type.dtype) {
    case DType::kI8:
    case DType::kU8:
      return "xnnpack_codes";
    case DType::kF16:
      return "xnnpack_f16";
    default:
      return "xnnpack_f32";
  }
}

vireo_status claim(void*, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  const uint32_t count = host->node_count(graph);
  for (uint32_t n = 0; n < count; ++n) {
    Part part;
    Writer writer(nullptr, nullptr);
    const char* const reason = look(*host, graph, n, &part, &writer);
    vireo_status status = VIREO_OK;
    if (reason[0] != 0) {
      status = claims->leave(claims->context, n, reason);
    } else {
      vireo_claim taken = VIREO_CLAIM_INIT;
      taken.node = n;
      taken.kernel = kernel_of(part);
      status = claims->take(claims->context, &taken);
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

// Where an external lies in this run.
void* address(const External& e, const vireo_tensor* const* inputs, vireo_tensor* const* outputs, uint8_t* scratch) {
  switch (e.place) {
    case Place::kInput:
      return inputs[e.index]->data;
    case Place::kOutput:
      return outputs[e.index]->data;
    case Place::kScratch:
      return scratch + e.offset;
    default:
      return const_cast<void*>(e.constant);
  }
}

// Constants that are operands keep their place unless nothing may be read behind them.
bool keep_constants(Loaded* p) {
  uint32_t copies = 0;
  for (uint32_t i = 0; i < p->external_count; ++i) {
    External& e = p->externals()[i];
    if (e.place != Place::kConstant || may_read_behind(e.constant, e.bytes)) continue;
    if (copies == Weights::kMost) return false;
    void* const copy = heap().allocate(nullptr, e.bytes + XNN_EXTRA_BYTES);
    if (copy == nullptr) return false;
    memcpy(copy, e.constant, e.bytes);
    e.constant = p->copies[copies++] = copy;
  }
  return true;
}

void unload(void* loaded) {
  auto* const p = static_cast<Loaded*>(loaded);
  if (p->runtime != nullptr) (void)xnn_delete_runtime(p->runtime);
  for (void* copy : p->copies) heap().deallocate(nullptr, copy);
  p->~Loaded();
}

// Makes the runtime of a part and has it ready to be given addresses, all in `bytes` at `memory`; without memory only
// `most`, what that takes.
bool build(Loaded* p, const Part& part, uint32_t externals, int32_t slots, void* memory, size_t bytes, size_t* most) {
  p->pool.slots = static_cast<size_t>(slots);
  xnn_subgraph_t sub = nullptr;
  if (xnn_create_subgraph(externals, 0, &sub) != xnn_status_success) return false;
  bool done = false;
  {
    Writer writer(sub, &p->weights);
    if (writer.write(part)[0] == 0 && writer.externals().size() == externals) {
      const Region region(memory, bytes);
      p->external_count = externals;
      for (uint32_t i = 0; i < externals; ++i) new (p->externals() + i) External(writer.externals()[i]);
      done = keep_constants(p) &&
             xnn_create_runtime_v3(sub, p->weights.provider(), &p->pool, 0, &p->runtime) == xnn_status_success &&
             xnn_reshape_runtime(p->runtime) == xnn_status_success;
      *most = region.most();
    }
  }
  (void)xnn_delete_subgraph(sub);
  return done;
}

// How a part's state is divided.
struct State {
  uint32_t externals = 0;
  size_t own_bytes = 0;   // ours
  size_t heap_bytes = 0;  // XNNPACK's, behind it
  bool filters = false;   // it packs a filter, which the host may have kept
};

// Lets XNNPACK make the part as load() will, but for the weights, and counts.
bool divide(const Part& part, const Writer& asked, int32_t slots, State* out) {
  static_assert(alignof(Part) <= alignof(External) && alignof(External) <= alignof(Loaded), "they follow each other");
  out->externals = static_cast<uint32_t>(asked.externals().size());
  out->own_bytes =
      Region::aligned(sizeof(Loaded) + out->externals * sizeof(External) + (part.varies() ? sizeof(Part) : 0));
  void* const trial = aligned_alloc(Region::kAlignment, out->own_bytes);
  if (trial == nullptr) return false;
  auto* const p = new (trial) Loaded();
  p->weights.pretend();
  const bool done = build(p, part, out->externals, slots, nullptr, 0, &out->heap_bytes);
  out->filters = p->weights.was_asked();
  unload(p);
  free(trial);
  return done;
}

vireo_status memory(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* asked,
                    const vireo_memory_request* with, vireo_part_memory* out) {
  Part part;
  Writer writer(nullptr, nullptr);
  State state;
  if (look(*host, graph, asked->nodes[0], &part, &writer)[0] != 0 || !divide(part, writer, with->slots, &state))
    return VIREO_UNSUPPORTED;
  out->state_bytes = state.own_bytes + state.heap_bytes;
  out->scratch_bytes = part.scratch_bytes() + spare_bytes(writer);
  return VIREO_OK;
}

// Has XNNPACK pack the part's first filter, as `weights` was told. False where it packs nothing.
bool run_packing(const Part& part, Weights* weights, vireo_packed* out) {
  xnn_subgraph_t sub = nullptr;
  if (xnn_create_subgraph(kMaxExternals, 0, &sub) != xnn_status_success) return false;
  bool packed = false;
  {
    Writer writer(sub, weights);  // owns what the weights' names stand for
    xnn_runtime_t runtime = nullptr;
    if (writer.write(part)[0] == 0 &&
        xnn_create_runtime_v3(sub, weights->provider(), nullptr, 0, &runtime) == xnn_status_success)
      (void)xnn_delete_runtime(runtime);
    packed = weights->describe(out);
  }
  (void)xnn_delete_subgraph(sub);
  return packed;
}

// What the host is to keep of this part; false: nothing.
bool first_filter(const vireo_host& host, const vireo_graph* graph, uint32_t node, Part* part, vireo_packed* out) {
  Writer asking(nullptr, nullptr);
  if (look(host, graph, node, part, &asking)[0] != 0 || asking.weight_count() == 0) return false;
  Weights weights;
  weights.measure();
  return run_packing(*part, &weights, out);
}

vireo_status pack(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* asked, uint32_t index,
                  const vireo_thread_pool*, vireo_packed* out, void* to) {
  Part part;
  if (index != 0 || !first_filter(*host, graph, asked->nodes[0], &part, out)) return VIREO_INVALID_ARGUMENT;
  if (to == nullptr) return VIREO_OK;
  Weights weights;
  weights.write_to(to);
  vireo_packed written = *out;
  if (!run_packing(part, &weights, &written) || written.bytes != out->bytes) return VIREO_UNSUPPORTED;
  memset(static_cast<uint8_t*>(to) + out->bytes - XNN_EXTRA_BYTES, 0, XNN_EXTRA_BYTES);
  return VIREO_OK;
}

vireo_status load(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* asked,
                  const vireo_load_request* with, void** loaded) {
  Part part;
  Writer writer(nullptr, nullptr);
  State divided;
  if (look(*host, graph, asked->nodes[0], &part, &writer)[0] != 0 || !divide(part, writer, with->slots, &divided))
    return VIREO_UNSUPPORTED;
  auto* const p = new (with->state) Loaded();
  if (with->packed != nullptr && divided.filters) p->weights.use(with->packed[0]);
  p->spare_offset = part.scratch_bytes();
  size_t taken = 0;
  if (!build(p, part, divided.externals, with->slots, static_cast<uint8_t*>(with->state) + divided.own_bytes,
             divided.heap_bytes, &taken)) {
    unload(p);
    return VIREO_UNSUPPORTED;
  }
  p->varies = part.varies();
  if (p->varies) (void)(new (p->part()) Part())->read(*host, graph, asked->nodes[0]);
  *loaded = p;
  return VIREO_OK;
}

// The extents of this run. XNNPACK was prepared for the bounds, and the rules that are taken with extents that vary
// have operators that allocate nothing below them.
bool reshape(Loaded* p, const vireo_tensor* const* inputs, vireo_tensor* const* outputs) {
  bool changed = false;
  const bool possible = p->part()->set_shapes(inputs, outputs, &changed);
  if (possible && !changed && p->reshaped) return true;
  p->reshaped = false;
  if (!possible) return false;
  Writer writer(nullptr, nullptr);
  if (writer.write(*p->part())[0] != 0 || writer.externals().size() != p->external_count) return false;
  for (uint32_t i = 0; i < p->external_count; ++i) {
    const External& now = writer.externals()[i];
    p->externals()[i].bytes = now.bytes;
    if (xnn_reshape_external_value(p->runtime, i, now.dims.count, now.dims.dims) != xnn_status_success) return false;
  }
  p->reshaped = xnn_reshape_runtime(p->runtime) == xnn_status_success;
  return p->reshaped;
}

bool is_empty(const vireo_tensor& t) {
  for (int32_t i = 0; i < t.rank; ++i) {
    if (t.dims[i] == 0) return true;
  }
  return false;
}

vireo_status fail(const vireo_submit* with, const char* what, xnn_status status) {
  (void)snprintf(with->fault->message, with->fault->message_bytes, "XNNPACK %s: status %d", what,
                 static_cast<int>(status));
  return VIREO_UNSUPPORTED;
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t, vireo_tensor* const* outputs, uint32_t,
                    const vireo_submit* with) {
  auto& p = *static_cast<Loaded*>(loaded);
  if (p.varies && is_empty(*outputs[0])) return VIREO_OK;
  if (p.varies && !reshape(&p, inputs, outputs)) return fail(with, "could not take these extents", xnn_status_success);
  auto* const scratch = static_cast<uint8_t*>(with->scratch);
  xnn_external_value values[kMaxExternals];
  uint8_t* spare = scratch + p.spare_offset;
  for (uint32_t i = 0; i < p.external_count; ++i) {
    const External& e = p.externals()[i];
    void* data = address(e, inputs, outputs, scratch);
    if (is_copied(e) && (e.flipped || !may_read_behind(data, e.bytes))) {
      if (e.flipped) {
        flip_codes(data, spare, e.bytes, with->threads);
      } else {
        memcpy(spare, data, e.bytes);
      }
      data = spare;
      spare += (e.bytes + XNN_EXTRA_BYTES + 63) / 64 * 64;
    }
    values[i] = {i, data};
  }
  p.pool.threads = with->threads;
  xnn_status status = xnn_setup_runtime_v2(p.runtime, p.external_count, values);
  if (status != xnn_status_success) return fail(with, "could not take the tensors", status);
  status = xnn_invoke_runtime(p.runtime);
  if (status != xnn_status_success) return fail(with, "failed", status);
  for (uint32_t i = 0; i < p.external_count; ++i) {
    const External& e = p.externals()[i];
    if (e.place == Place::kOutput && e.flipped) flip_codes(values[i].data, values[i].data, e.bytes, with->threads);
  }
  return VIREO_OK;
}

vireo_status health(void*) { return VIREO_OK; }
void release(void*) { (void)xnn_deinitialize(); }

}  // namespace
}  // namespace vireo::xnnpack

namespace {
// Members that are not named here are NULL.
constexpr vireo_delegate delegate_table() {
  vireo_delegate t = {};
  t.struct_size = sizeof(vireo_delegate);
  t.abi = VIREO_DELEGATE_ABI;
  t.name = "xnnpack";
  t.enumerate = vireo::xnnpack::enumerate;
  t.claim = vireo::xnnpack::claim;
  t.memory = vireo::xnnpack::memory;
  t.pack = vireo::xnnpack::pack;
  t.load = vireo::xnnpack::load;
  t.submit = vireo::xnnpack::submit;
  t.unload = vireo::xnnpack::unload;
  t.health = vireo::xnnpack::health;
  t.release = vireo::xnnpack::release;
  return t;
}
}  // namespace

extern "C" const vireo_delegate vireo_xnnpack_delegate = delegate_table();
