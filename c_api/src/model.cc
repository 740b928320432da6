#include <string.h>

#include "c_api/src/handles.h"
#include "runtime/create/create.h"
#include "runtime/devices/compiled.h"
#include "runtime/explain/device_choice.h"
#include "runtime/explain/explain.h"
#include "sdk/base/config.h"
#include "sdk/ops/shared/weight_tables.h"

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

vireo_value_info describe(const vireo_model* model, uint32_t tensor) {
  vireo_value_info made = VIREO_VALUE_INFO_INIT;
  const fb::Tensor& t = *model->program.subgraph(0).tensors()->Get(tensor);
  const vireo::TensorType type = vireo::type_of(t);
  made.dtype = t.dtype();
  made.rank = type.shape.rank;
  made.name = vireo::text_of(t.name());
  for (int i = 0; i < type.shape.rank; ++i) {
    const vireo::Dim d = type.shape[i];
    int visits = 0;
    const Interval bound = bound_in_file(model->program, d, 0, &visits);
    made.min_dims[i] = bound.lo < 0 ? 0 : bound.lo;
    made.max_dims[i] = bound.open() ? -1 : bound.hi;
    if (!vireo::is_symbolic(d)) continue;
    const fb::Expr& e = *model->program.model().exprs()->Get(vireo::handle_id(d));
    if (is_dimension(e)) made.dim_names[i] = vireo::text_of(e.name());
  }
  return made;
}

vireo_meaning describe_io(const flatbuffers::Vector<flatbuffers::Offset<fb::Io>>* list, uint32_t index) {
  vireo_meaning made = VIREO_MEANING_INIT;
  made.range_hi = 1;
  made.layout = made.color = made.resize = "";
  if (list == nullptr || index >= list->size()) return made;
  const fb::Io& io = *list->Get(index);
  made.kind = static_cast<vireo_meaning_kind>(io.meaning());
  made.layout = vireo::text_of(io.layout());
  made.color = vireo::text_of(io.color());
  made.resize = vireo::text_of(io.resize());
  made.range_lo = io.range_lo();
  made.range_hi = io.range_hi();
  made.mean = io.mean() == nullptr ? nullptr : io.mean()->data();
  made.std = io.std() == nullptr ? nullptr : io.std()->data();
  made.mean_count = io.mean() == nullptr ? 0 : io.mean()->size();
  made.std_count = io.std() == nullptr ? 0 : io.std()->size();
  made.sample_rate = io.sample_rate();
  return made;
}

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

vireo_status give_value(const vireo_value_info& value, vireo_value_info* out, vireo_error* error) {
  return vireo::give(value, out, {"out", "VIREO_VALUE_INFO_INIT"}, error);
}

// The index in `list` of the tensor of this name; -1 if no tensor has it.
int32_t find_value(const vireo_model& model, const flatbuffers::Vector<uint32_t>& list, const char* name) {
  for (uint32_t i = 0; i < list.size(); ++i) {
    if (strcmp(vireo::text_of(model.program.subgraph(0).tensors()->Get(list.Get(i))->name()), name) == 0)
      return static_cast<int32_t>(i);
  }
  return -1;
}

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
  vireo_value_info value = describe(model, model->program.subgraph(0).inputs()->Get(index));
  value.state_of = vireo::state_of(model->program, index);
  return give_value(value, out, error);
}

vireo_status vireo_model_output(const vireo_model* model, uint32_t index, vireo_value_info* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_output_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no output of this index");
  vireo_value_info value = describe(model, model->program.subgraph(0).outputs()->Get(index));
  value.state_of = -1;
  return give_value(value, out, error);
}

int32_t vireo_model_find_input(const vireo_model* model, const char* name) {
  return model == nullptr || name == nullptr ? -1 : find_value(*model, *model->program.subgraph(0).inputs(), name);
}

int32_t vireo_model_find_output(const vireo_model* model, const char* name) {
  return model == nullptr || name == nullptr ? -1 : find_value(*model, *model->program.subgraph(0).outputs(), name);
}

vireo_status vireo_model_input_meaning(const vireo_model* model, uint32_t index, vireo_meaning* out,
                                       vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_input_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no input of this index");
  const auto* const list = signature(model) == nullptr ? nullptr : signature(model)->inputs();
  return vireo::give(describe_io(list, index), out, {"out", "VIREO_MEANING_INIT"}, error);
}

vireo_status vireo_model_output_meaning(const vireo_model* model, uint32_t index, vireo_meaning* out,
                                        vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  if (index >= vireo_model_output_count(model))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no output of this index");
  const auto* const list = signature(model) == nullptr ? nullptr : signature(model)->outputs();
  return vireo::give(describe_io(list, index), out, {"out", "VIREO_MEANING_INIT"}, error);
}

vireo_status vireo_model_describe(const vireo_model* model, vireo_model_about* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  const vireo::Program& p = model->program;
  vireo_model_about about = VIREO_MODEL_ABOUT_INIT;
  const fb::Provenance* origin = p.model().provenance();
  about.format_major = p.header().major;
  about.format_minor = p.header().minor;
  about.integer_only = p.model().integer_only() ? 1 : 0;
  for (uint32_t i = 0; i < p.subgraph_count(); ++i) {
    about.node_count += p.subgraph(i).nodes()->size();
    for (const fb::Node* n : *p.subgraph(i).nodes()) {
      if (vireo::has_weight_tables(static_cast<vireo::Op>(n->op()))) about.weight_bytes += n->attrs()->size();
    }
    for (const fb::Tensor* t : *p.subgraph(i).tensors()) about.weight_bytes += t->segment() >= 0 ? t->size() : 0;
  }
  about.plan_count = p.model().plans()->size();
  about.segment_count = p.model().segments() == nullptr ? 0 : p.model().segments()->size();
  about.file_bytes = model->file.size();
  about.source = origin == nullptr ? "" : vireo::text_of(origin->source());
  about.producer = origin == nullptr ? "" : vireo::text_of(origin->producer());
  about.converter = origin == nullptr ? "" : vireo::text_of(origin->converter());
  return vireo::give(about, out, {"out", "VIREO_MODEL_ABOUT_INIT"}, error);
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
    vireo_dimension found = VIREO_DIMENSION_INIT;
    found.name = vireo::text_of(e.name());
    found.min = e.lo();
    found.max = e.hi();
    return vireo::give(found, out, {"out", "VIREO_DIMENSION_INIT"}, error);
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
  if constexpr (VIREO_JOINED) {
    vireo::CompiledCopy part;
    while (model != nullptr && made_part(model, count, &part)) ++count;
  }
  return count;
}

vireo_status vireo_model_packed(const vireo_model* model, uint32_t index, vireo_packed_copy* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  constexpr vireo::SizedName kName = {"out", "VIREO_PACKED_COPY_INIT"};
  vireo::PackedCopy copy;
  vireo_packed_copy made = VIREO_PACKED_COPY_INIT;
  if constexpr (VIREO_JOINED) {
    vireo::CompiledCopy part;
    if (made_part(model, index, &part)) {
      made.delegate = part.delegate;
      made.constant = part.name.constant;
      for (int i = 0; i < 4; ++i) made.sizes[i] = part.name.sizes[i];
      made.data = &part.blob->head;
      made.bytes = part.name.bytes;
      made.kind = VIREO_COMPILED_PART;
      return vireo::give(made, out, kName, error);
    }
  }
  if (!model->packs.at(index, &copy))
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model holds no packed weights of this index");
  vireo::PackEntry name;
  made.layout = copy.what.layout;
  made.delegate = copy.delegate;
  made.constant = vireo::name_pack(model, copy.delegate, copy.what, &name) ? name.constant : UINT64_MAX;
  for (int i = 0; i < 4; ++i) made.sizes[i] = copy.what.sizes[i];
  made.data = copy.data;
  made.bytes = copy.what.bytes;
  made.kind = VIREO_PACKED_CONSTANT;
  return vireo::give(made, out, kName, error);
}

vireo_status vireo_model_devices(const vireo_model* model, const vireo_session_options* options,
                                 const vireo_limits* limits, vireo_device_choice* choices, uint32_t capacity,
                                 uint32_t* count, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(count, error);
  vireo_session_options given;
  if (const vireo_status status = vireo::read_options(options, &given, error); status != VIREO_OK) return status;
  Error e;
  vireo_limits limit;
  Status status = vireo::read_sized(limits, &limit, {"limits", "VIREO_LIMITS_INIT"}, &e);
  if (vireo::ok(status) && choices != nullptr && capacity != 0)
    status = vireo::check_sized(choices, {"choices[0]", "VIREO_DEVICE_CHOICE_INIT"}, &e);
  if (!vireo::ok(status)) return vireo::report(status, e, error);
  if constexpr (VIREO_JOINED) {
    status = vireo::rank_devices(model, given, limit, choices, capacity, count, &e);
    return vireo::report(status, e, error);
  }
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build compares no devices: it was made without VIREO_JOINED");
}

vireo_status vireo_model_placement(const vireo_model* model, const vireo_session_options* options,
                                   const vireo_placement_visitor* visitor, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(visitor, error);
  VIREO_NOT_NULL(visitor->node, error);
  vireo_session_options given;
  if (const vireo_status status = vireo::read_options(options, &given, error); status != VIREO_OK) return status;
  if constexpr (VIREO_JOINED) {
    Error e;
    return vireo::report(vireo::explain_model(model, given, *visitor, &e), e, error);
  }
  return vireo::refuse(error, VIREO_UNSUPPORTED,
                       "this build runs each node where it can: it was made without VIREO_JOINED");
}

vireo_status vireo_model_memory(const vireo_model* model, const vireo_session_options* options, vireo_memory* out,
                                vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  vireo_session_options given;
  if (const vireo_status status = vireo::read_options(options, &given, error); status != VIREO_OK) return status;
  Error e;
  vireo_memory memory = VIREO_MEMORY_INIT;
  const Status status = vireo::session_memory(model, given, &memory, &e);
  if (!vireo::ok(status)) return vireo::report(status, e, error);
  return vireo::give(memory, out, {"out", "VIREO_MEMORY_INIT"}, error);
}

}  // extern "C"
