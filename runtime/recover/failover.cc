#include "runtime/recover/failover.h"

#include "runtime/recover/device_memory.h"
#include "runtime/run/remote.h"

#include <string.h>

#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

void tell(const vireo_session& s, vireo_log_level level, const Error& what) {
  const vireo_runtime* rt = s.model->runtime;
  if (rt->log != nullptr) rt->log(rt->log_context, level, what.message);
}

// ---- Comparing

// Of a float type, how far another device may be from the largest value: kernels of both differ in the order of sums.
// This is to find wrong kernels, not to judge rounding.
double slack_of(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kF64:
      return 1e-3;
    case DType::kF16:
      return 2e-2;
    case DType::kBF16:
      return 5e-2;
    default:
      return 0;
  }
}

bool comparable(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
    case DType::kI64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

// Codes of every value; numbers of 32 and 64 bits are small, because they may be indices; floats lie in [-1, 1].
void make_up(const Tensor& t, uint32_t* state) {
  const auto next = [state] { return *state = *state * 1664525u + 1013904223u; };
  const int64_t count = t.count(), bytes = tensor_bytes(t);
  auto* const out = static_cast<uint8_t*>(t.data);
  switch (t.dtype) {
    case DType::kF32:
      for (int64_t i = 0; i < count; ++i) t.as<float>()[i] = static_cast<float>(next() >> 9) * 0x1p-22f - 1;
      break;
    case DType::kF64:
      for (int64_t i = 0; i < count; ++i) t.as<double>()[i] = static_cast<double>(next() >> 9) * 0x1p-22 - 1;
      break;
    case DType::kF16:  // sign, an exponent of -4 to -1, any fraction
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t r = next() >> 8;
        t.as<uint16_t>()[i] = static_cast<uint16_t>((r & 0x83ffu) | (11u + (r >> 18 & 3u)) << 10);
      }
      break;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) {
        const uint32_t r = next() >> 8;
        t.as<uint16_t>()[i] = static_cast<uint16_t>((r & 0x807fu) | (123u + (r >> 18 & 3u)) << 7);
      }
      break;
    case DType::kBool:
      for (int64_t i = 0; i < count; ++i) out[i] = next() >> 31;
      break;
    case DType::kI32:
      for (int64_t i = 0; i < count; ++i) t.as<int32_t>()[i] = static_cast<int32_t>(next() >> 30);
      break;
    case DType::kI64:
      for (int64_t i = 0; i < count; ++i) t.as<int64_t>()[i] = static_cast<int64_t>(next() >> 30);
      break;
    default:
      for (int64_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(next() >> 24);
  }
}

// `halves`: the device computes floats in float16.
bool agree(const Tensor& t, bool halves, const void* a, const void* b) {
  const double slack = slack_of(halves && t.dtype == DType::kF32 ? DType::kF16 : t.dtype);
  if (slack == 0) return memcmp(a, b, static_cast<size_t>(tensor_bytes(t))) == 0;
  double most = 0;
  const int64_t count = t.count();
  for (int64_t i = 0; i < count; ++i) {
    const double v = read_real(t.dtype, b, i);
    const double size = v < 0 ? -v : v;
    if (size > most && size < 1e300) most = size;
  }
  for (int64_t i = 0; i < count; ++i) {
    const double x = read_real(t.dtype, a, i), y = read_real(t.dtype, b, i);
    const double d = x < y ? y - x : x - y;
    if (!(d <= slack * most) && !(x != x && y != y) && x != y) return false;
  }
  return true;
}

// Memory for all that goes into a step and comes out of it, twice for what comes out; the tensors point there until it
// is gone.
class Trial {
 public:
  Trial(vireo_session& s, Step& step) : s_(s), step_(step), rt_(s.model->runtime) {}
  ~Trial() {
    for (uint32_t i = 0; data_ != nullptr && i < count(); ++i) {
      step_.args[i]->data = data_[i];
      step_.args[i]->shape = shapes_[i];
    }
    rt_->release(block_, bytes_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool can() const {
    for (uint32_t i = 0; i < count(); ++i) {
      if (step_.args[i] == nullptr || !comparable(step_.args[i]->dtype)) return false;
    }
    return true;
  }

  Status open() {
    for (int round = 0; round < 2; ++round) {
      Carver c(block_);
      void** const data = c.array<void*>(count());
      Shape* const shapes = c.array<Shape>(count());
      kept_ = c.array<uint8_t*>(step_.output_count);
      for (uint32_t i = 0; i < count(); ++i) {
        Tensor& t = *step_.args[i];
        void* const at = c.bytes(static_cast<size_t>(tensor_bytes(t)), 64);
        if (round == 0) continue;
        data[i] = t.data;
        shapes[i] = t.shape;
        t.data = at;
      }
      for (uint32_t o = 0; o < step_.output_count; ++o) {
        auto* const at = static_cast<uint8_t*>(c.bytes(static_cast<size_t>(tensor_bytes(output(o))), 64));
        if (round != 0) kept_[o] = at;
      }
      if (round != 0) {
        data_ = data;
        shapes_ = shapes;
        break;
      }
      bytes_ = c.used();
      block_ = rt_->allocate(bytes_);
      if (block_ == nullptr) {
        return fail(&s_.error, Status::kOutOfArena, "the allocator has no {} bytes to compare a part of two devices",
                    bytes_);
      }
    }
    uint32_t random = 12345;
    for (uint32_t i = 0; i < step_.input_count; ++i) make_up(*step_.args[i], &random);
    spoil_outputs();
    return Status::kOk;
  }

  // What is not written shows.
  void spoil_outputs() const {
    for (uint32_t o = 0; o < step_.output_count; ++o)
      memset(output(o).data, 0xa5, static_cast<size_t>(tensor_bytes(output(o))));
  }

  void keep_outputs() {
    for (uint32_t o = 0; o < step_.output_count; ++o)
      memcpy(kept_[o], output(o).data, static_cast<size_t>(tensor_bytes(output(o))));
  }
  bool same_bits() const {
    for (uint32_t o = 0; o < step_.output_count; ++o) {
      if (memcmp(kept_[o], output(o).data, static_cast<size_t>(tensor_bytes(output(o)))) != 0) return false;
    }
    return true;
  }
  bool same() const {
    const uint64_t types = step_.away.device->info.types;
    const bool halves =
        s_.options.math == VIREO_MATH_F16 || ((types >> VIREO_FLOAT16 & 1) != 0 && (types >> VIREO_FLOAT32 & 1) == 0);
    for (uint32_t o = 0; o < step_.output_count; ++o) {
      if (!agree(output(o), halves, kept_[o], output(o).data)) return false;
    }
    return true;
  }

 private:
  uint32_t count() const { return uint32_t{step_.input_count} + step_.output_count; }
  Tensor& output(uint32_t o) const { return *step_.args[step_.input_count + o]; }

  vireo_session& s_;
  Step& step_;
  const vireo_runtime* rt_;
  void* block_ = nullptr;
  size_t bytes_ = 0;
  void** data_ = nullptr;
  Shape* shapes_ = nullptr;
  uint8_t** kept_ = nullptr;
};

// One run of a part on its own device, with all values the host's before and after.
Status try_part(vireo_session& s, Step& step) {
  if (s.devices.memory != nullptr) all_at_home(s);
  Status status = run_part(s, step);
  if (ok(status) && step.away.arena != 0) status = finish_step(s, step);
  if (s.devices.memory != nullptr) {
    abandon(s);
    all_at_home(s);
    s.devices.memory->begins_again = false;
  }
  return status;
}

// The time that is left for the trials of a session.
struct TrialTime {
  uint64_t end = platform::now_ns() + 500000000;
  bool is_over() const { return platform::now_ns() >= end; }
};

// Runs it again as often as its device wants it. *steady: all runs gave the bits of the first, which are kept.
Status repeat_part(vireo_session& s, Step& step, const Trial& trial, const TrialTime& time, bool* steady) {
  *steady = true;
  for (uint32_t k = 1; k < step.away.device->info.trial_runs && *steady && (k == 1 || !time.is_over()); ++k) {
    trial.spoil_outputs();
    VIREO_TRY(try_part(s, step));
    *steady = trial.same_bits();
  }
  return Status::kOk;
}

// The session's nodes of this part are placed elsewhere from now on; `how`: what it computed.
void refuse_wrong(vireo_session& s, const Step& step, const char* how, const char* than) {
  const Fallback& f = *step.away.fallback;
  Error told;
  (void)fail(&told, Status::kUnsupported, "it computed {} there {}", how, than);
  const bool forgotten = f.blob->forget();
  if (!forgotten) f.blob->refuse(told.message);
  told.clear();
  (void)fail(&told, Status::kUnsupported, "device \"{}\" computed {} {} in {} nodes from \"{}\" on: {}",
             step.away.device->info.name, how, than, f.frame.step_count, step_name(s, step),
             forgotten ? "what a file had compiled is not used, it compiles anew" : "it does not get them");
  tell(s, VIREO_LOG_WARNING, told);
}

const char* second_device(const vireo_session& s, const Fallback& f) {
  uint32_t there = 0;  // a composite that runs as its body has no device of its own
  while (there + 1 < f.frame.step_count && f.infos[there].device == kNoDevice) ++there;
  const uint16_t at = f.infos[there].device;
  return at == kNoDevice ? "other devices" : s.model->runtime->devices[at].info.name;
}

Status check_part(vireo_session& s, Step& step, const TrialTime& time, bool* wrong) {
  Fallback& f = *step.away.fallback;
  if (f.blob == nullptr || __atomic_load_n(&f.blob->head.checked, __ATOMIC_ACQUIRE) != 0) return Status::kOk;
  Trial trial(s, step);
  if (!trial.can()) return Status::kOk;
  VIREO_TRY(trial.open());
  bool steady = true;
  Status status = step.shapes.infer ? infer_step(s, step) : Status::kOk;
  if (ok(status)) status = try_part(s, step);
  if (ok(status)) {
    trial.keep_outputs();
    status = repeat_part(s, step, trial, time, &steady);
  }
  if (is_lost(s, step)) {  // it has been told
    s.error.clear();
    return Status::kOk;
  }
  if (ok(status) && !steady) {
    *wrong = true;
    refuse_wrong(s, step, "different values", "from run to run");
    return Status::kOk;
  }
  if (ok(status)) status = Remote::run_instead(s, step);
  if (!ok(status)) {  // made-up inputs may be none that the nodes can take
    s.error.clear();
    return Status::kOk;
  }
  if (trial.same()) {
    __atomic_store_n(&f.blob->head.checked, 1u, __ATOMIC_RELEASE);
    return Status::kOk;
  }
  *wrong = true;
  Error than;
  (void)fail(&than, Status::kUnsupported, "than on {}", second_device(s, f));
  refuse_wrong(s, step, "other values", than.message);
  return Status::kOk;
}

Status check_frame(vireo_session& s, Frame& frame, const TrialTime& time, bool* wrong) {
  for (uint32_t i = 0; i < frame.step_count; ++i) {
    Step& step = frame.steps[i];
    if (step.away.fallback != nullptr) VIREO_TRY(check_part(s, step, time, wrong));
    for (Frame* body : step.bodies) {
      if (body != nullptr && step.kind != Step::kPart) VIREO_TRY(check_frame(s, *body, time, wrong));
    }
  }
  return Status::kOk;
}

}  // namespace

bool is_lost(const vireo_session& s, const Step& step) {
  return (s.devices.lost & device_bit(s, step.away.device)) != 0;
}
bool Remote::lost(const vireo_session& s, const Step& step) { return is_lost(s, step); }

Status Remote::run_instead(vireo_session& s, Step& step) {
  Fallback& f = *step.away.fallback;
  if (is_lost(s, step) && !f.lost) {
    f.lost = true;
    step.away.tells_time = false;
    ++s.devices.failovers;
    for (uint32_t k = 0; k < f.frame.step_count; ++k) {
      NodeInfo& info = s.nodes.infos[f.first_info + k];
      info.device = f.infos[k].device;
      info.kernel = f.infos[k].kernel;
      info.reason = "its device was lost";
    }
  }
  for (uint32_t i = 0; i < f.value_count; ++i) f.values[i].tensor->data = f.values[i].at;
  NodeTime* const times = s.nodes.times;  // the caller counts them as one
  s.nodes.times = nullptr;
  const Status status = run_frame(s, f.frame);
  s.nodes.times = times;
  for (uint32_t i = 0; i < f.value_count; ++i) f.values[i].tensor->data = nullptr;
  return status;
}

static Status fail_over(vireo_session& s, Step& step, const char* why) {
  if (!is_lost(s, step)) {
    s.devices.lost |= device_bit(s, step.away.device);
    s.fault.node = s.fault.tensor = nullptr;  // nobody is to blame: the run goes on
    Error told;
    (void)fail(
        &told, Status::kDeviceLost,
        "device \"{}\" was lost at \"{}\" ({}): what this session had there runs on its other devices from now on",
        step.away.device->info.name, step_name(s, step), why);
    tell(s, VIREO_LOG_WARNING, told);
  }
  return Remote::run_instead(s, step);
}

void note_declined(vireo_session& s, Step& step) {
  Fallback& f = *step.away.fallback;
  step.away.tells_time = false;
  s.fault.node = s.fault.tensor = nullptr;  // nobody is to blame: the run goes on
  if (f.declined) return;
  f.declined = true;
  Error told;
  (void)fail(&told, Status::kUnsupported,
             "device \"{}\" does not take the part from \"{}\" on with what this run brings ({}): other devices run it "
             "in such runs",
             step.away.device->info.name, step_name(s, step), s.fault.said(VIREO_UNSUPPORTED));
  tell(s, VIREO_LOG_WARNING, told);
}

Status Remote::settle(vireo_session& s, Step& step, vireo_status status) {
  if (declines(step, status)) {
    note_declined(s, step);
    return run_instead(s, step);
  }
  if (status == VIREO_OK && step.away.device->delegate->wait != nullptr) status = wait_for(s, step);
  if (status == VIREO_CANCELLED) return fail(&s.error, Status::kCancelled, "the run was cancelled");
  if (status == VIREO_OK) count_times(s, step);
  if (status != VIREO_DEVICE_LOST) return end_part(s, step, status);
  if (step.away.fallback != nullptr) return fail_over(s, step, s.fault.text[0] == 0 ? "it is gone" : s.fault.text);
  take_blame(s);
  return fail(&s.error, Status::kDeviceLost, "device \"{}\", from {} \"{}\" on: {}", step.away.device->info.name,
              step.def->name, step_name(s, step), s.fault.text[0] == 0 ? "lost" : s.fault.text);
}

Status check_parts(vireo_session& s, bool* wrong) {
  *wrong = false;
  NodeTime* const times = s.nodes.times;  // trials are no runs of the caller's
  s.nodes.times = nullptr;
  const Status status = check_frame(s, s.main, TrialTime(), wrong);
  s.nodes.times = times;
  VIREO_TRY(status);
  for (uint32_t k = 0; k < s.state.count; ++k) {  // a device that computes in the host's arena had trials there
    const Tensor& own = s.inputs.own[s.state.carried[k].input];
    if (own.data != nullptr) memset(own.data, 0, static_cast<size_t>(own.capacity));
  }
  return Status::kOk;
}

}  // namespace vireo
