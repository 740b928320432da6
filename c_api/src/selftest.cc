#include "c_api/src/selftest.h"

#include <math.h>

#include "runtime/create/create.h"
#include "sdk/ops/shared/to_integer.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

constexpr uint32_t kMaxIo = 64;

TensorType type_of(const fb::TestTensor& t) {
  TensorType type;
  type.dtype = static_cast<DType>(t.dtype());
  type.shape.rank = t.dims() == nullptr ? 0 : static_cast<int32_t>(t.dims()->size());
  for (int i = 0; i < type.shape.rank; ++i) type.shape[i] = t.dims()->Get(static_cast<uint32_t>(i));
  return type;
}

// |d| <= atol * max|ref| + rtol * |ref|; infinities and NaNs at the same places; integers equal.
Status compare(vireo_session& s, uint32_t o, const fb::TestTensor& want, const Tensor& got) {
  const TensorType type = type_of(want);
  if (static_cast<const TensorType&>(got) != type) {
    return fail(&s.error, Status::kInvalidModel, "output \"{}\" is {} {}, the model's own test vector {} {}",
                output_name(s, o), dtype_name(got.dtype), got.shape, dtype_name(type.dtype), type.shape);
  }
  const uint8_t* ref = s.model->program.at(want.segment(), want.offset(), want.size());
  VIREO_TRY(check_guard(s.model, &s.error));
  const auto step = static_cast<int64_t>(want.step());
  const int64_t count = element_count(type.shape);
  if (dtype_bits(type.dtype) < 8 || type.dtype == DType::kString ||
      !(dtype_is_float(type.dtype) && dtype_bits(type.dtype) >= 16)) {
    const int64_t unit = dtype_bits(type.dtype) / 8;
    bool same = true;
    if (type.dtype == DType::kString) {
      for (int64_t i = 0; same && i < count; ++i) same = got.as<const StringRef>()[i] == text_at(ref, i);
    } else if (unit == 0) {
      same = memcmp(got.data, ref, static_cast<size_t>(want.size())) == 0;
    } else {
      for (int64_t i = 0, k = 0; same && i < count; i += step, ++k) {
        same = memcmp(got.as<const uint8_t>() + i * unit, ref + k * unit, static_cast<size_t>(unit)) == 0;
      }
    }
    return same ? Status::kOk
                : fail(&s.error, Status::kInvalidModel, "output \"{}\" differs from the model's own test vector",
                       output_name(s, o));
  }
  double most = 0;
  for (int64_t i = 0, k = 0; i < count; i += step, ++k) {
    const double r = fabs(read_real(type.dtype, ref, k));
    if (isfinite(r) && r > most) most = r;
  }
  for (int64_t i = 0, k = 0; i < count; i += step, ++k) {
    const double r = read_real(type.dtype, ref, k), y = read_real(type.dtype, got.data, i);
    const double allowed = static_cast<double>(want.atol()) * most + static_cast<double>(want.rtol()) * fabs(r);
    const bool fits = isfinite(r) ? fabs(y - r) <= allowed : isnan(r) ? isnan(y) : y == r;
    if (!fits && !isfinite(y)) {
      return fail(&s.error, Status::kInvalidModel, "output \"{}\" is {} at element {}", output_name(s, o),
                  isnan(y) ? "not a number" : "infinite", i);
    }
    if (!fits) {
      return fail(&s.error, Status::kInvalidModel,
                  "output \"{}\" differs from the model's own test vector at element {}: {}e-6 against {}e-6, {}e-6 "
                  "is allowed",
                  output_name(s, o), i, to_integer<int64_t>(y * 1e6), to_integer<int64_t>(r * 1e6),
                  to_integer<int64_t>(allowed * 1e6));
    }
  }
  return Status::kOk;
}

// String inputs as elements, which take `refs`, in place of offsets and bytes as the file has them.
void point_at_texts(Tensor* inputs, uint32_t count, StringRef* refs) {
  for (uint32_t i = 0; i < count; ++i) {
    if (inputs[i].dtype != DType::kString) continue;
    const auto* table = inputs[i].as<const uint8_t>();
    inputs[i].data = refs;
    inputs[i].capacity = inputs[i].count() * static_cast<int64_t>(sizeof(StringRef));
    for (int64_t k = 0; k < inputs[i].count(); ++k) *refs++ = text_at(table, k);
  }
}

// The bounds of `s` with room for the test: one for each symbol that a session bounds. Returns whether any is wider.
bool widen(const vireo_session& s, const fb::TestCase& test, vireo_bound* bounds, uint32_t* count) {
  const Program& p = s.model->program;
  bool wider = false;
  *count = 0;
  for (uint32_t id = 0; id < p.expr_count(); ++id) {
    const fb::Expr& e = *p.model().exprs()->Get(id);
    if (e.kind() != fb::ExprKind::Symbol || e.data_dependent()) continue;
    vireo_bound& b = bounds[(*count)++] = {text_of(e.name()), s.shapes.intervals[id].lo, s.shapes.intervals[id].hi};
    for (uint32_t i = 0; i < s.main.input_count; ++i) {
      const Shape declared = vireo::type_of(*s.main.graph->tensors()->Get(s.main.graph->inputs()->Get(i))).shape;
      const Shape given = type_of(*test.inputs()->Get(i)).shape;
      for (int d = 0; declared.rank == given.rank && d < given.rank; ++d) {
        if (!is_symbolic(declared[d]) || handle_id(declared[d]) != id) continue;
        wider = wider || given[d] < b.min || given[d] > b.max;
        if (given[d] < b.min) b.min = given[d];
        if (given[d] > b.max) b.max = given[d];
      }
    }
  }
  return wider;
}

Status run_test(vireo_session& s, const fb::TestCase& test) {
  Tensor inputs[kMaxIo];
  int64_t texts = 0;
  for (uint32_t i = 0; i < s.main.input_count; ++i) {
    const fb::TestTensor& t = *test.inputs()->Get(i);
    static_cast<TensorType&>(inputs[i]) = type_of(t);
    if (inputs[i].dtype == DType::kString) texts += inputs[i].count();
    inputs[i].data = const_cast<uint8_t*>(s.model->program.at(t.segment(), t.offset(), t.size()));
    inputs[i].capacity = static_cast<int64_t>(t.size());
  }
  VIREO_TRY(check_guard(s.model, &s.error));
  const vireo_runtime& rt = *s.model->runtime;
  const size_t bytes = static_cast<size_t>(texts) * sizeof(StringRef);
  auto* refs = static_cast<StringRef*>(texts == 0 ? nullptr : rt.allocate(bytes));
  if (texts != 0 && refs == nullptr)
    return fail(&s.error, Status::kOutOfArena, "the allocator has no {} bytes for the texts of a test", bytes);
  point_at_texts(inputs, s.main.input_count, refs);
  Status status = run_session(s, as_c(inputs), nullptr);
  for (uint32_t o = 0; ok(status) && o < s.main.output_count; ++o) {
    const fb::TestTensor& want = *test.outputs()->Get(o);
    if (want.dtype() != 0) status = compare(s, o, want, *s.main.outputs[o]);
    if (!ok(status)) blame_tensor(&s.error, output_name(s, o));
  }
  rt.release(refs, bytes);
  return status;
}

// A test whose inputs are outside the session's bounds, in a session like it that is made for them.
Status run_apart(vireo_session& s, const fb::TestCase& test, const vireo_bound* bounds, uint32_t count) {
  vireo_session_options options = s.options;
  options.bounds = bounds;
  options.bound_count = count;
  vireo_session* apart = nullptr;
  VIREO_TRY(create_session(s.model, options, &apart, &s.error));
  const Status status = run_test(*apart, test);
  s.error = apart->error;
  release_session(apart);
  return status;
}

}  // namespace

Status selftest(vireo_session& s, uint32_t index) {
  const auto* tests = s.model->program.model().tests();
  if (tests == nullptr || index >= tests->size()) {
    return fail(&s.error, Status::kInvalidArgument, "the model has no test vector {}: convert it with --embed-tests",
                index);
  }
  VIREO_TRY(s.model->program.check_tests(&s.error));
  const fb::TestCase& test = *tests->Get(index);
  if (s.main.input_count > kMaxIo)
    return fail(&s.error, Status::kUnsupported, "self-test of more than {} inputs", kMaxIo);
  const vireo_runtime& rt = *s.model->runtime;
  const size_t bytes = s.model->program.expr_count() * sizeof(vireo_bound);
  auto* bounds = static_cast<vireo_bound*>(bytes == 0 || !s.block.owned ? nullptr : rt.allocate(bytes));
  uint32_t count = 0;
  const bool wider = bounds != nullptr && widen(s, test, bounds, &count);
  const Status status = wider ? run_apart(s, test, bounds, count) : run_test(s, test);
  rt.release(bounds, bytes);
  return status;
}

}  // namespace vireo
