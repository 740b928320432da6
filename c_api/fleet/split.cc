// One batch over several sessions: rows are views of the caller's tensors. See DESIGN.md for the designs that were
// weighed.
#include <math.h>

#include "c_api/fleet/common.h"
#include "runtime/platform/threads.h"

namespace vireo::fleet {
namespace {

// How much a measured time moves the one that is believed: a disturbed run moves it little, eight runs nearly all.
constexpr double kNew = 0.25;

struct Share {
  vireo_split* split = nullptr;
  vireo_session* session = nullptr;
  platform::Thread thread;
  char device[64] = {};
  vireo_tensor *inputs = nullptr, *outputs = nullptr;  // slices
  double weight = 0, row_ns = 0;
  int64_t most = 0, rows = 0;  // rows: of the run under way
  bool lost = false, stop = false;
  // Of the round under way.
  bool go = false;
  int64_t begin = 0, end = 0;
  uint64_t ns = 0;
  vireo_status status = VIREO_OK;
  vireo_error error = VIREO_ERROR_INIT;
};

}  // namespace
}  // namespace vireo::fleet

struct vireo_split {
  vireo_allocator allocator = {};
  const vireo_model* model = nullptr;  // its sessions keep it
  uint32_t input_count = 0, output_count = 0, share_count = 0;
  bool refines = false;
  int64_t batch = 0;
  uint32_t busy = 0;
  vireo::fleet::Share* shares = nullptr;
  vireo_tensor* tensors = nullptr;  // of all shares, then the run's outputs
  const vireo_tensor* inputs = nullptr;
  vireo_tensor* outputs = nullptr;  // whole; ours, so that the caller's are written at the end
  vireo::platform::Mutex mutex;     // of go, stop and `running`
  vireo::platform::Condition work, done;
  uint32_t running = 0;

  size_t tensor_count() const { return static_cast<size_t>(share_count) * (input_count + output_count) + output_count; }
};

namespace vireo::fleet {
namespace {

using platform::Lock;

// Bytes of one row; -1 where rows do not end on bytes (4-bit types), or the count overflows.
int64_t row_bytes(const vireo_tensor& t) {
  int64_t count = 1;
  for (int32_t i = 1; i < t.rank; ++i) {
    if (t.dims[i] < 0 || (t.dims[i] != 0 && count > INT64_MAX / 16 / t.dims[i])) return -1;
    count *= t.dims[i];
  }
  const int64_t bytes = vireo_dtype_bytes(t.dtype, count), four = vireo_dtype_bytes(t.dtype, 4 * count);
  return bytes < 0 || four != 4 * bytes ? -1 : bytes;
}

vireo_tensor slice(const vireo_tensor& whole, int64_t begin, int64_t rows) {
  vireo_tensor t = whole;
  const int64_t each = row_bytes(whole);
  t.dims[0] = rows;
  t.capacity = each * rows;
  if (t.data != nullptr) t.data = static_cast<uint8_t*>(t.data) + each * begin;
  return t;
}

// Rows from begin to end, as many at once as the session takes. `begin` moves on behind what is done.
void run_rows(Share& s) {
  vireo_split& split = *s.split;
  const uint64_t start = platform::now_ns();
  s.status = VIREO_OK;
  while (s.begin < s.end && s.status == VIREO_OK) {
    const int64_t rows = s.end - s.begin < s.most ? s.end - s.begin : s.most;
    for (uint32_t i = 0; i < split.input_count; ++i) s.inputs[i] = slice(split.inputs[i], s.begin, rows);
    for (uint32_t o = 0; o < split.output_count; ++o) s.outputs[o] = slice(split.outputs[o], s.begin, rows);
    s.status = vireo_session_run(s.session, s.inputs, split.input_count, s.outputs, split.output_count, &s.error);
    if (s.status != VIREO_OK) break;
    for (uint32_t o = 0; o < split.output_count; ++o) {
      // What was promised of the outputs holds, or nothing is handed out.
      if (s.outputs[o].rank > 0 && s.outputs[o].dims[0] == rows) continue;
      s.status =
          refuse(&s.error, Status::kInvalidModel, "output {} has not one row for each of the {} that went in", o, rows);
    }
    if (s.status == VIREO_OK) {
      s.begin += rows;
      s.rows += rows;
    }
  }
  s.ns += platform::now_ns() - start;
}

void* serve(void* argument) {
  Share& s = *static_cast<Share*>(argument);
  vireo_split& split = *s.split;
  split.mutex.lock();
  for (;;) {
    while (!s.go && !s.stop) split.work.wait(split.mutex);
    if (s.stop) break;
    split.mutex.unlock();
    run_rows(s);
    split.mutex.lock();
    s.go = false;
    --split.running;
    split.done.wake_one();
  }
  split.mutex.unlock();
  return nullptr;
}

// Shares of [begin, end) by weight over those that are not lost, each rounded so that the sums are: a share ends where
// the weights before and with it end. False: none is left.
bool divide(vireo_split& split, int64_t begin, int64_t end) {
  double total = 0;
  uint32_t alive = 0;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    if (split.shares[i].lost) continue;
    total += split.shares[i].weight;
    ++alive;
  }
  if (alive == 0) return false;
  const double each = total > 0 ? 0 : 1;  // only devices of weight 0 are left: evenly
  if (total <= 0) total = alive;
  double sum = 0;
  int64_t at = begin;
  uint32_t left = alive;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    Share& s = split.shares[i];
    s.begin = s.end = at;
    if (s.lost) continue;
    sum += s.weight + each;
    --left;
    const auto rows = static_cast<double>(end - begin);
    s.end = left == 0 ? end : begin + llround(rows * (sum / total));
    if (s.end > end) s.end = end;
    if (s.end < at) s.end = at;
    at = s.end;
  }
  return true;
}

// All shares with rows, each on its thread, the first on the caller's.
void run_round(vireo_split& split) {
  Share* mine = nullptr;
  {
    Lock lock(split.mutex);
    for (uint32_t i = 0; i < split.share_count; ++i) {
      Share& s = split.shares[i];
      s.status = VIREO_OK;
      if (s.begin == s.end) continue;
      if (i == 0) {
        mine = &s;
      } else {
        s.go = true;
        ++split.running;
      }
    }
    if (split.running > 0) split.work.wake_all();
  }
  if (mine != nullptr) run_rows(*mine);
  Lock lock(split.mutex);
  while (split.running > 0) split.done.wait(split.mutex);
}

void normalise(vireo_split& split) {
  double total = 0;
  for (uint32_t i = 0; i < split.share_count; ++i) total += split.shares[i].lost ? 0 : split.shares[i].weight;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    Share& s = split.shares[i];
    s.weight = s.lost || total <= 0 ? 0 : s.weight / total;
  }
}

// A device's rows a second are its weight, once all have been measured.
void refine(vireo_split& split) {
  bool all = true;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    Share& s = split.shares[i];
    if (s.rows > 0 && !s.lost) {
      const double now = static_cast<double>(s.ns) / static_cast<double>(s.rows);
      s.row_ns = s.row_ns > 0 ? (1 - kNew) * s.row_ns + kNew * now : now;
    }
    all = all && (s.lost || s.row_ns > 0);
  }
  if (!all || !split.refines) return;
  for (uint32_t i = 0; i < split.share_count; ++i) split.shares[i].weight = 1 / (split.shares[i].row_ns + 1e-9);
  normalise(split);
}

vireo_status run_all(vireo_split& split, int64_t rows, vireo_error* error) {
  struct Range {
    int64_t begin, end;
  } open[VIREO_FLEET_DEVICES] = {{0, rows}};  // a round adds one range at most for each device that it lost
  uint32_t open_count = 1;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    split.shares[i].rows = 0;
    split.shares[i].ns = 0;
  }
  vireo_error lost = VIREO_ERROR_INIT;
  copy_text(lost.message, sizeof(lost.message), "every device of this split was lost before: build a new one");
  while (open_count > 0) {
    const Range range = open[--open_count];
    if (!divide(split, range.begin, range.end)) {
      lost.status = VIREO_DEVICE_LOST;
      copy_error(lost, error);
      return VIREO_DEVICE_LOST;
    }
    run_round(split);
    for (uint32_t i = 0; i < split.share_count; ++i) {
      Share& s = split.shares[i];
      if (s.status == VIREO_OK) continue;
      if (s.status != VIREO_DEVICE_LOST) {
        copy_error(s.error, error);
        return s.status;
      }
      s.lost = true;
      lost = s.error;
      open[open_count++] = {s.begin, s.end};
    }
  }
  return VIREO_OK;
}

void close(vireo_split* split) {
  if (split->shares != nullptr) {
    if (split->mutex.here()) {
      split->mutex.lock();
      for (uint32_t i = 0; i < split->share_count; ++i) split->shares[i].stop = true;
      split->work.wake_all();
      split->mutex.unlock();
    }
    for (uint32_t i = 0; i < split->share_count; ++i) split->shares[i].thread.join();
    for (uint32_t i = 0; i < split->share_count; ++i) vireo_session_release(split->shares[i].session);
  }
  const vireo_allocator from = split->allocator;
  destroy(from, split->shares, split->share_count);
  destroy(from, split->tensors, split->tensor_count());
  destroy(from, split, 1);
}

vireo_status blame(vireo_error* error, const vireo_value_info& value, const char* what) {
  Error e;
  (void)fail(&e, Status::kInvalidArgument, "\"{}\" {}", value.name, what);
  e.tensor = value.name;
  return report(e.status, e, error);
}

// The dimension that all inputs and outputs begin with.
vireo_status find_batch(const vireo_model* model, const char** name, vireo_error* error) {
  *name = nullptr;
  const uint32_t inputs = vireo_model_input_count(model);
  for (uint32_t i = 0; i < inputs + vireo_model_output_count(model); ++i) {
    vireo_value_info v = VIREO_VALUE_INFO_INIT;
    const vireo_status status =
        i < inputs ? vireo_model_input(model, i, &v, error) : vireo_model_output(model, i - inputs, &v, error);
    if (status != VIREO_OK) return status;
    if (v.rank < 1 || v.dim_names[0] == nullptr)
      return blame(error, v, "does not begin with a symbolic dimension: convert with --shape, as in x=1..8,3,224,224");
    if (*name == nullptr) *name = v.dim_names[0];
    if (strcmp(*name, v.dim_names[0]) != 0)
      return blame(error, v, "begins with another dimension than the first input");
    if (v.min_dims[0] > 1) return blame(error, v, "takes no single row, so a batch cannot be cut at will");
    if (i < inputs) continue;
    if (v.dtype == VIREO_STRING) return blame(error, v, "is text, which lies in the session that made it");
    for (int32_t d = 1; d < v.rank; ++d) {
      if (v.max_dims[d] < 0 || v.max_dims[d] != v.min_dims[d])
        return blame(error, v, "has a second dimension that is not fixed, so its rows' places are not known before");
    }
  }
  if (*name == nullptr || inputs == 0)
    return refuse(error, Status::kInvalidArgument, "the model has no input to split");
  return VIREO_OK;
}

// Weights as given, by expected times, or even ones where those are not known.
vireo_status weigh(vireo_split& split, const vireo_split_options& options, const vireo_session_options& base,
                   vireo_error* error) {
  bool known = true;
  double total = 0;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    Share& s = split.shares[i];
    if (options.weights != nullptr) {
      if (!(options.weights[i] >= 0) || options.weights[i] > 1e9)
        return refuse(error, Status::kInvalidArgument, "weight {} is not a number from 0 to 1e9", i);
      s.weight = options.weights[i];
      total += s.weight;
      continue;
    }
    vireo_session_options made = base;
    made.device = s.device;
    Estimate expected;
    const vireo_status status = choose(split.model, made, true, &expected, error);
    if (status != VIREO_OK) return status;
    known = known && expected.whole.known != 0 && expected.whole.latency_ns > 0;
    s.weight = known ? 1 / expected.whole.latency_ns : 0;
  }
  if (options.weights != nullptr && total <= 0)
    return refuse(error, Status::kInvalidArgument, "all weights are 0: one device at least has to work");
  for (uint32_t i = 0; options.weights == nullptr && !known && i < split.share_count; ++i) split.shares[i].weight = 1;
  normalise(split);
  return VIREO_OK;
}

vireo_status build(vireo_split& split, const vireo_split_options& options, const vireo_session_options& base,
                   vireo_bound* batch_bound, vireo_error* error) {
  split.shares = make<Share>(split.allocator, split.share_count);
  split.tensors = make<vireo_tensor>(split.allocator, split.tensor_count());
  if (split.shares == nullptr || split.tensors == nullptr)
    return refuse(error, Status::kOutOfArena, "the allocator has no memory for a split over {} devices",
                  split.share_count);
  vireo_tensor* next = split.tensors;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    Share& s = split.shares[i];
    s.split = &split;
    copy_text(s.device, sizeof(s.device), options.devices[i]);
    s.inputs = next;
    s.outputs = next + split.input_count;
    next += split.input_count + split.output_count;
  }
  split.outputs = next;
  vireo_status status = weigh(split, options, base, error);
  if (status != VIREO_OK) return status;
  for (uint32_t i = 0; i < split.share_count; ++i) {
    Share& s = split.shares[i];
    // A row more than the share, for rounding; twice the share where it may still grow. More rows go in turns.
    const double rows = s.weight * static_cast<double>(split.batch) * (split.refines ? 2 : 1);
    s.most = static_cast<int64_t>(rows) + 1 < split.batch ? static_cast<int64_t>(rows) + 1 : split.batch;
    batch_bound->max = s.most;
    vireo_session_options made = base;
    made.device = s.device;
    made.failover = VIREO_FAILOVER_NEVER;
    status = vireo_session_create(split.model, &made, &s.session, error);
    if (status != VIREO_OK) return status;
    if (i == 0) {
      status =
          refuse_random(s.session, "its numbers depend on how the batch is cut: run the model in a session", error);
      if (status != VIREO_OK) return status;
    }
  }
  for (uint32_t i = 1; i < split.share_count; ++i) {
    if (!split.shares[i].thread.start(serve, &split.shares[i]))
      return refuse(error, Status::kIo, "the system starts no more than {} threads", i - 1);
  }
  return VIREO_OK;
}

}  // namespace
}  // namespace vireo::fleet

namespace fleet = vireo::fleet;
using vireo::Status;

extern "C" {

vireo_status vireo_split_create(const vireo_model* model, const vireo_split_options* options, vireo_split** out_split,
                                vireo_error* error) {
  vireo::clear(error);
  if (out_split != nullptr) *out_split = nullptr;
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(options, error);
  VIREO_NOT_NULL(out_split, error);
  vireo::Error e;
  vireo_split_options given;
  vireo_session_options base;
  Status read = vireo::read_sized(options, &given, {"options", "VIREO_SPLIT_OPTIONS_INIT"}, &e);
  if (vireo::ok(read))
    read = vireo::read_sized(given.session, &base, {"options.session", "VIREO_SESSION_OPTIONS_INIT"}, &e);
  if (!vireo::ok(read)) return vireo::report(read, e, error);
  options = &given;
  if (options->device_count < 1 || options->device_count > VIREO_FLEET_DEVICES || options->devices == nullptr)
    return vireo::refuse(error, Status::kInvalidArgument, "options.devices: wanted 1 to {}", VIREO_FLEET_DEVICES);
  for (uint32_t i = 0; i < options->device_count; ++i) {
    if (options->devices[i] == nullptr || strlen(options->devices[i]) > 63)
      return vireo::refuse(error, Status::kInvalidArgument, "options.devices[{}] is NULL or longer than 63 bytes", i);
  }
  if (options->batch < 1)
    return vireo::refuse(error, Status::kInvalidArgument, "options.batch is {}, wanted at least one row",
                         options->batch);
  const char* name = nullptr;
  vireo_status status =
      fleet::refuse_state(model, "a row's state would lie with one device; run it in a session", error);
  if (status == VIREO_OK) status = fleet::find_batch(model, &name, error);
  if (status != VIREO_OK) return status;
  for (uint32_t i = 0; i < base.bound_count; ++i) {
    const char* const bound = base.bounds[i].name;
    if (bound != nullptr && name != nullptr && strcmp(bound, name) == 0)
      return vireo::refuse(error, Status::kInvalidArgument, "the bound of \"{}\" is options.batch: leave it out", name);
  }
  const vireo_allocator from = fleet::allocator_of(options->allocator);
  auto* const split = fleet::make<vireo_split>(from, 1);
  const uint32_t bound_count = base.bound_count + 1;
  auto* const bounds = fleet::make<vireo_bound>(from, bound_count);
  if (split == nullptr || bounds == nullptr) {
    fleet::destroy(from, split, 1);
    fleet::destroy(from, bounds, bound_count);
    return vireo::refuse(error, Status::kOutOfArena, "the allocator has no memory for a split");
  }
  for (uint32_t i = 0; i < base.bound_count; ++i) bounds[i] = base.bounds[i];
  bounds[base.bound_count] = {name, 1, options->batch};
  base.bounds = bounds;
  base.bound_count = bound_count;
  base.arena = nullptr;
  base.arena_bytes = 0;
  split->allocator = from;
  split->model = model;
  split->input_count = vireo_model_input_count(model);
  split->output_count = vireo_model_output_count(model);
  split->share_count = options->device_count;
  split->batch = options->batch;
  split->refines = options->weights == nullptr && options->deterministic == 0;
  status = fleet::build(*split, *options, base, &bounds[bound_count - 1], error);
  fleet::destroy(from, bounds, bound_count);
  if (status != VIREO_OK) {
    fleet::close(split);
    return status;
  }
  *out_split = split;
  return VIREO_OK;
}

void vireo_split_release(vireo_split* split) {
  if (split != nullptr) fleet::close(split);
}

vireo_status vireo_split_run(vireo_split* split, const vireo_tensor* inputs, uint32_t input_count,
                             vireo_tensor* outputs, uint32_t output_count, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(split, error);
  const vireo_status counted = vireo::check_counts(inputs, input_count, vireo_model_input_count(split->model), outputs,
                                                   output_count, vireo_model_output_count(split->model), error);
  if (counted != VIREO_OK) return counted;
  if (!split->mutex.here()) return fleet::refuse_fork("split", error);
  if (__atomic_exchange_n(&split->busy, 1u, __ATOMIC_ACQUIRE) != 0)
    return vireo::refuse(error, Status::kBusy, "another thread is running this split");
  const int64_t rows = inputs[0].rank < 1 ? -1 : inputs[0].dims[0];
  vireo_status status = VIREO_OK;
  if (rows < 1 || rows > split->batch)
    status = vireo::refuse(error, Status::kInvalidArgument, "input 0 has {} rows, wanted 1 to {}", rows, split->batch);
  for (uint32_t i = 0; status == VIREO_OK && i < split->input_count; ++i) {
    const vireo_tensor& x = inputs[i];
    const int64_t each = x.rank < 1 || x.rank > VIREO_MAX_RANK ? -1 : fleet::row_bytes(x);
    if (x.data == nullptr || each < 0 || x.dims[0] != rows || x.capacity / rows < each)
      status = vireo::refuse(error, Status::kInvalidArgument,
                             "input {}: wanted {} rows of whole bytes in the caller's memory", i, rows);
  }
  for (uint32_t o = 0; status == VIREO_OK && o < split->output_count; ++o) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    status = vireo_model_output(split->model, o, &info, error);
    if (status != VIREO_OK) break;
    vireo_tensor& y = split->outputs[o];
    y = {};
    y.dtype = info.dtype;
    y.rank = info.rank;
    for (int32_t d = 0; d < info.rank; ++d) y.dims[d] = info.max_dims[d];
    y.dims[0] = rows;
    if (outputs == nullptr || outputs[o].data == nullptr) continue;
    y.data = outputs[o].data;
    y.capacity = outputs[o].capacity;
    const int64_t each = fleet::row_bytes(y);
    if (each < 0) {
      status = vireo::refuse(error, Status::kUnsupported, "output \"{}\": its rows do not end on bytes", info.name);
    } else if (y.capacity / rows < each) {
      status = vireo::refuse(error, Status::kOutOfArena, "output \"{}\" takes {} bytes, the caller's buffer has {}",
                             info.name, each * rows, y.capacity);
    }
  }
  if (status == VIREO_OK) {
    split->inputs = inputs;
    status = fleet::run_all(*split, rows, error);
    split->inputs = nullptr;
  }
  if (status == VIREO_OK) {
    fleet::refine(*split);
    for (uint32_t o = 0; outputs != nullptr && o < split->output_count; ++o) outputs[o] = split->outputs[o];
  }
  __atomic_store_n(&split->busy, 0u, __ATOMIC_RELEASE);
  return status;
}

vireo_status vireo_split_share(const vireo_split* split, uint32_t index, vireo_share* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(split, error);
  VIREO_NOT_NULL(out, error);
  if (index >= split->share_count)
    return vireo::refuse(error, Status::kInvalidArgument, "there is no device of this index");
  const fleet::Share& s = split->shares[index];
  vireo_share share = VIREO_SHARE_INIT;
  share.lost = s.lost ? 1 : 0;
  vireo::copy_text(share.device, sizeof(share.device), s.device);
  share.weight = s.weight;
  share.rows = s.rows;
  share.most_rows = s.most;
  share.row_ns = s.row_ns;
  return vireo::give(share, out, {"out", "VIREO_SHARE_INIT"}, error);
}

}  // extern "C"
