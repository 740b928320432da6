#include "c_api/src/handles.h"
#include "sdk/ops/weight_tables.h"
#if VIREO_JOINED
#include "runtime/devices/compiled.h"
#include "runtime/exec/explain.h"
#include "runtime/exec/rank.h"
#endif

using vireo::Error;
using vireo::Interval;
using vireo::Span;
using vireo::Status;
namespace fb = vireo::fb;

namespace {

// Bounds of one dimension as the file has them. Expressions of expressions are bounded by walking them, without memory:
// this is not the hot path, and interning keeps them short. A file that means harm can make them as long and as
// branched as it likes: past so many links or visits the dimension reads as open.
constexpr int kMaxDepth = 64, kMaxVisits = 4096;

Interval bound_in_file(const vireo::Program& p, vireo::Dim d, int depth, int* visits) {
  if (!vireo::is_symbolic(d)) return {d, d};
  const fb::Expr& e = *p.model().exprs()->Get(vireo::handle_id(d));
  if (depth >= kMaxDepth || ++*visits > kMaxVisits) return {0, INT64_MAX};
  if (e.kind() == fb::ExprKind::Symbol) {
    if (e.data_dependent()) return vireo::up_to(bound_in_file(p, e.a(), depth + 1, visits));
    return {e.lo(), e.hi() < 0 ? INT64_MAX : e.hi()};
  }
  const Interval a = bound_in_file(p, e.a(), depth + 1, visits), b = bound_in_file(p, e.b(), depth + 1, visits);
  return vireo::bound_of(static_cast<vireo::ExprKind>(e.kind()), a, b);
}

// What a session's bounds may name.
bool is_dimension(const fb::Expr& e) { return e.kind() == fb::ExprKind::Symbol && !e.data_dependent(); }

void describe(const vireo_model* model, uint32_t tensor, vireo_value_info* out) {
  const fb::Tensor& t = *model->program.subgraph(0).tensors()->Get(tensor);
  const vireo::TensorType type = vireo::type_of(t);
  out->dtype = t.dtype();
  out->rank = type.shape.rank;
  out->name = vireo::text_of(t.name());
  for (int i = 0; i < VIREO_MAX_RANK; ++i) {
    out->min_dims[i] = out->max_dims[i] = 0;
    out->dim_names[i] = nullptr;
    if (i >= type.shape.rank) continue;
    const vireo::Dim d = type.shape[i];
    int visits = 0;
    const Interval bound = bound_in_file(model->program, d, 0, &visits);
    out->min_dims[i] = bound.lo < 0 ? 0 : bound.lo;
    out->max_dims[i] = bound.open() ? -1 : bound.hi;
    if (!vireo::is_symbolic(d)) continue;
    const fb::Expr& e = *model->program.model().exprs()->Get(vireo::handle_id(d));
    if (is_dimension(e)) out->dim_names[i] = vireo::text_of(e.name());
  }
}

void describe_io(const flatbuffers::Vector<flatbuffers::Offset<fb::Io>>* list, uint32_t index, vireo_meaning* out) {
  *out = vireo_meaning VIREO_MEANING_INIT;
  out->layout = out->color = out->resize = "";
  if (list == nullptr || index >= list->size()) return;
  const fb::Io& io = *list->Get(index);
  out->kind = static_cast<vireo_meaning_kind>(io.meaning());
  out->layout = vireo::text_of(io.layout());
  out->color = vireo::text_of(io.color());
  out->resize = vireo::text_of(io.resize());
  out->range_lo = io.range_lo();
  out->range_hi = io.range_hi();
  out->mean = io.mean() == nullptr ? nullptr : io.mean()->data();
  out->std = io.std() == nullptr ? nullptr : io.std()->data();
  out->mean_count = io.mean() == nullptr ? 0 : io.mean()->size();
  out->std_count = io.std() == nullptr ? 0 : io.std()->size();
  out->sample_rate = io.sample_rate();
}

#if VIREO_JOINED
// What this process compiled stands behind what it packed; the head in front of it makes it the contents of a set.
bool made_part(const vireo_model* model, uint32_t index, vireo::CompiledCopy* out) {
  vireo::PackedCopy copy;
  for (uint32_t i = 0; model->packs.at(i, &copy); ++i) {
    if (index-- == 0) return false;
  }
  for (uint32_t i = 0; vireo::compiled_at(model, i, out); ++i) {
    if (out->blob->origin == vireo::BlobOrigin::kMade && index-- == 0) return true;
  }
  return false;
}
#endif

const fb::Signature* signature(const vireo_model* model) {
  const auto* list = model->program.model().signatures();
  return list == nullptr || list->size() == 0 ? nullptr : list->Get(0);
}

}  // namespace

extern "C" {

vireo_status vireo_model_load_file(vireo_runtime* runtime, const char* path, vireo_model** out_model,
                                   vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_model, error);
  *out_model = nullptr;
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(path, error);
  Error e;
  vireo::platform::MappedFile mapped;
  Status status = vireo::platform::map_file(path, &mapped, &e);
  if (vireo::ok(status)) {
    status = vireo::load_model(runtime, mapped, Span<const uint8_t>(mapped.data, mapped.size), out_model, &e);
    if (!vireo::ok(status)) {
      vireo::platform::unmap_file(mapped);
      Error named;
      (void)vireo::fail(&named, status, "\"{}\": {}", path, e.message);
      e = named;
    }
  }
  return vireo::report(status, e, error);
}

vireo_status vireo_model_load_memory(vireo_runtime* runtime, const void* bytes, size_t size, vireo_model** out_model,
                                     vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_model, error);
  *out_model = nullptr;
  VIREO_NOT_NULL(runtime, error);
  VIREO_NOT_NULL(bytes, error);
  Error e;
  const Span<const uint8_t> file(static_cast<const uint8_t*>(bytes), size);
  return vireo::report(vireo::load_model(runtime, {}, file, out_model, &e), e, error);
}

void vireo_model_release(vireo_model* model) { vireo::release_model(model); }

vireo_status vireo_model_check_hashes(const vireo_model* model, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  Error e;
  // The header is read again: the one that was verified is a copy, and the file's own bytes are what the hashes cover.
  vireo::FileHeader header;
  Status status = vireo::read_header(model->file, model->file.size(), &header, &e);
  if (vireo::ok(status)) status = vireo::check_hashes(model->file, header, &e);
  if (vireo::ok(status)) __atomic_store_n(&model->checked, 1u, __ATOMIC_RELEASE);
  return vireo::report(status, e, error);
}

uint32_t vireo_model_input_count(const vireo_model* model) {
  return model == nullptr ? 0 : model->program.subgraph(0).inputs()->size();
}
uint32_t vireo_model_output_count(const vireo_model* model) {
  return model == nullptr ? 0 : model->program.subgraph(0).outputs()->size();
}

vireo_status vireo_model_input(const vireo_model* model, uint32_t index, vireo_value_info* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_input_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no input of this index");
  describe(model, model->program.subgraph(0).inputs()->Get(index), out);
  out->state_of = vireo::state_of(model->program, index);
  return VIREO_OK;
}

vireo_status vireo_model_output(const vireo_model* model, uint32_t index, vireo_value_info* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_output_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no output of this index");
  describe(model, model->program.subgraph(0).outputs()->Get(index), out);
  out->state_of = -1;
  return VIREO_OK;
}

vireo_status vireo_model_input_meaning(const vireo_model* model, uint32_t index, vireo_meaning* out,
                                       vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_input_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no input of this index");
  describe_io(signature(model) == nullptr ? nullptr : signature(model)->inputs(), index, out);
  return VIREO_OK;
}

vireo_status vireo_model_output_meaning(const vireo_model* model, uint32_t index, vireo_meaning* out,
                                        vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_output_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no output of this index");
  describe_io(signature(model) == nullptr ? nullptr : signature(model)->outputs(), index, out);
  return VIREO_OK;
}

vireo_status vireo_model_describe(const vireo_model* model, vireo_model_about* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  const vireo::Program& p = model->program;
  const fb::Provenance* origin = p.model().provenance();
  out->format_major = p.header().major;
  out->format_minor = p.header().minor;
  out->integer_only = p.model().integer_only() ? 1 : 0;
  out->node_count = 0;
  out->weight_bytes = 0;
  for (uint32_t i = 0; i < p.subgraph_count(); ++i) {
    out->node_count += p.subgraph(i).nodes()->size();
    for (const fb::Node* n : *p.subgraph(i).nodes()) {
      if (vireo::has_weight_tables(static_cast<vireo::Op>(n->op()))) out->weight_bytes += n->attrs()->size();
    }
    for (const fb::Tensor* t : *p.subgraph(i).tensors()) out->weight_bytes += t->segment() >= 0 ? t->size() : 0;
  }
  out->plan_count = p.model().plans()->size();
  out->segment_count = p.model().segments() == nullptr ? 0 : p.model().segments()->size();
  out->file_bytes = model->file.size();
  out->source = origin == nullptr ? "" : vireo::text_of(origin->source());
  out->producer = origin == nullptr ? "" : vireo::text_of(origin->producer());
  out->converter = origin == nullptr ? "" : vireo::text_of(origin->converter());
  return VIREO_OK;
}

uint32_t vireo_model_dimension_count(const vireo_model* model) {
  uint32_t count = 0;
  for (uint32_t i = 0; model != nullptr && i < model->program.expr_count(); ++i) {
    count += is_dimension(*model->program.model().exprs()->Get(i)) ? 1 : 0;
  }
  return count;
}

vireo_status vireo_model_dimension(const vireo_model* model, uint32_t index, vireo_dimension* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  uint32_t at = 0;
  for (uint32_t i = 0; i < model->program.expr_count(); ++i) {
    const fb::Expr& e = *model->program.model().exprs()->Get(i);
    if (!is_dimension(e) || at++ != index) continue;
    out->name = vireo::text_of(e.name());
    out->min = e.lo();
    out->max = e.hi();
    return VIREO_OK;
  }
  return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no symbolic dimension of this index");
}

uint32_t vireo_model_test_count(const vireo_model* model) {
  return model == nullptr || model->program.model().tests() == nullptr ? 0 : model->program.model().tests()->size();
}

uint32_t vireo_model_packed_count(const vireo_model* model) {
  vireo::PackedCopy copy;
  uint32_t count = 0;
  while (model != nullptr && model->packs.at(count, &copy)) ++count;
#if VIREO_JOINED
  vireo::CompiledCopy part;
  while (model != nullptr && made_part(model, count, &part)) ++count;
#endif
  return count;
}

vireo_status vireo_model_packed(const vireo_model* model, uint32_t index, vireo_packed_copy* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  vireo::PackedCopy copy;
#if VIREO_JOINED
  vireo::CompiledCopy part;
  if (made_part(model, index, &part)) {
    out->layout = 0;
    out->delegate = part.delegate;
    out->constant = part.name.constant;
    for (int i = 0; i < 4; ++i) out->sizes[i] = part.name.sizes[i];
    out->data = &part.blob->head;
    out->bytes = part.name.bytes;
    if (out->struct_size >= sizeof(*out)) out->kind = VIREO_COMPILED_PART;
    return VIREO_OK;
  }
#endif
  if (!model->packs.at(index, &copy))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model holds no packed weights of this index");
  vireo::PackEntry name;
  out->layout = copy.what.layout;
  out->delegate = copy.delegate;
  out->constant = vireo::name_pack(model, copy.delegate, copy.what, &name) ? name.constant : UINT64_MAX;
  for (int i = 0; i < 4; ++i) out->sizes[i] = copy.what.sizes[i];
  out->data = copy.data;
  out->bytes = copy.what.bytes;
  if (out->struct_size >= sizeof(*out)) out->kind = VIREO_PACKED_CONSTANT;
  return VIREO_OK;
}

vireo_status vireo_model_devices(const vireo_model* model, const vireo_session_options* options,
                                 const vireo_limits* limits, vireo_device_choice* choices, uint32_t capacity,
                                 uint32_t* count, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(count, error);
  if (const vireo_status status = vireo::check_options(options, error); status != VIREO_OK) return status;
  if (limits != nullptr && limits->struct_size < sizeof(vireo_limits)) {
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "limits: set struct_size with VIREO_LIMITS_INIT");
  }
#if VIREO_JOINED
  const vireo_limits none = VIREO_LIMITS_INIT;
  Error e;
  const vireo::Status status =
      vireo::rank_devices(model, options, limits == nullptr ? none : *limits, choices, capacity, count, &e);
  return vireo::report(status, e, error);
#else
  (void)choices, (void)capacity;
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build compares no devices: it was made without VIREO_JOINED");
#endif
}

vireo_status vireo_model_placement(const vireo_model* model, const vireo_session_options* options,
                                   const vireo_placement_visitor* visitor, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(visitor, error);
  VIREO_NOT_NULL(visitor->node, error);
  if (const vireo_status status = vireo::check_options(options, error); status != VIREO_OK) return status;
#if VIREO_JOINED
  Error e;
  return vireo::report(vireo::explain_model(model, options, *visitor, &e), e, error);
#else
  return vireo::refuse(error, VIREO_UNSUPPORTED,
                       "this build runs each node where it can: it was made without VIREO_JOINED");
#endif
}

vireo_status vireo_model_memory(const vireo_model* model, const vireo_session_options* options, vireo_memory* out,
                                vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (const vireo_status status = vireo::check_options(options, error); status != VIREO_OK) return status;
  Error e;
  return vireo::report(vireo::session_memory(model, options, out, &e), e, error);
}

}  // extern "C"
