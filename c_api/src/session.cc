#include "c_api/src/handles.h"
#include "c_api/src/node_cost.h"
#include "c_api/src/selftest.h"
#include "runtime/create/create.h"
#include "runtime/recover/device_memory.h"
#include "runtime/run/remote.h"
#include "sdk/base/config.h"
#include "sdk/ops/control/control_generated.h"
#include "vireo/buffer.h"

using vireo::Error;
using vireo::Status;
using vireo::Tensor;
namespace fb = vireo::fb;

namespace {

// Marks a session as in use; a second thread that comes meanwhile is told so.
class Use {
 public:
  explicit Use(vireo_session* s) : s_(s), mine_(__atomic_exchange_n(&s->run.busy, 1u, __ATOMIC_ACQUIRE) == 0) {}
  ~Use() {
    if (mine_) __atomic_store_n(&s_->run.busy, 0u, __ATOMIC_RELEASE);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  bool mine() const { return mine_; }

 private:
  vireo_session* s_;
  bool mine_;
};

vireo_status busy(vireo_error* error) {
  return vireo::refuse(error, VIREO_BUSY,
                       "another thread is using this session: wait for it, or give each thread a session of its own");
}

}  // namespace

extern "C" {

vireo_status vireo_session_create(const vireo_model* model, const vireo_session_options* options,
                                  vireo_session** out_session, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(out_session, error);
  *out_session = nullptr;
  VIREO_NOT_NULL(model, error);
  vireo_session_options given;
  if (const vireo_status status = vireo::read_options(options, &given, error); status != VIREO_OK) return status;
  Error e;
  return vireo::report(vireo::create_session(model, given, out_session, &e), e, error);
}

void vireo_session_release(vireo_session* session) { vireo::release_session(session); }

static vireo_status bind(vireo_session* session, bool output, uint32_t index, const vireo_buffer* buffer,
                         uint64_t offset, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  Use use(session);
  if (!use.mine()) return busy(error);
  if constexpr (VIREO_JOINED) {
    Error e;
    const Status status = vireo::bind_buffer(*session, output, index, buffer, offset, &e);
    if (index < (output ? session->main.output_count : session->main.input_count))
      vireo::blame_tensor(&e, output ? vireo::output_name(*session, index) : vireo::input_name(*session, index));
    return vireo::report(status, e, error);
  }
  return vireo::refuse(error, VIREO_UNSUPPORTED, "this build knows no devices with memory of their own (VIREO_JOINED)");
}

vireo_status vireo_session_bind_input(vireo_session* session, uint32_t index, vireo_buffer* buffer, uint64_t offset,
                                      vireo_error* error) {
  return bind(session, false, index, buffer, offset, error);
}

vireo_status vireo_session_bind_output(vireo_session* session, uint32_t index, vireo_buffer* buffer, uint64_t offset,
                                       vireo_error* error) {
  return bind(session, true, index, buffer, offset, error);
}

vireo_status vireo_session_input(vireo_session* session, uint32_t index, vireo_tensor* out, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  VIREO_NOT_NULL(out, error);
  Use use(session);
  if (!use.mine()) return busy(error);
  if (index >= session->main.input_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no input of this index");
  if constexpr (VIREO_JOINED) {
    session->error.clear();
    const Status status = vireo::Remote::take_state(*session, index);
    if (!vireo::ok(status)) return vireo::report(status, session->error, error);
  }
  Tensor t = session->inputs.own[index];
  t.shape = session->main.inputs[index]->shape;
  memcpy(out, &t, sizeof(*out));
  return VIREO_OK;
}

vireo_status vireo_session_input_shape(vireo_session* session, uint32_t index, const int64_t* dims, int32_t rank,
                                       vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  if (rank != 0) VIREO_NOT_NULL(dims, error);
  Use use(session);
  if (!use.mine()) return busy(error);
  if (index >= session->main.input_count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the model has no input of this index");
  const vireo::TensorType& most = session->inputs.most[index];
  Error e;
  Status status = Status::kOk;
  if (rank != most.shape.rank)
    status = vireo::fail(&e, Status::kInvalidArgument, "rank {}, the input has {}", rank, most.shape.rank);
  for (int32_t i = 0; vireo::ok(status) && i < rank; ++i) {
    if (dims[i] < 0 || dims[i] > most.shape[i]) {
      status = vireo::fail(&e, Status::kInvalidArgument, "dimension {} is {}, the session's bound is {}", i, dims[i],
                           most.shape[i]);
    }
  }
  if (vireo::ok(status)) {
    vireo::set_extents(*session, index, dims);
    session->inputs.own[index].shape =
        session->main.inputs[index]->shape;  // what a state falls back to, and reserve keeps
  }
  vireo::blame_tensor(&e, vireo::input_name(*session, index));
  return vireo::report(status, e, error);
}

vireo_status vireo_session_run(vireo_session* session, const vireo_tensor* inputs, uint32_t input_count,
                               vireo_tensor* outputs, uint32_t output_count, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  // Without inputs it reads those in its own memory.
  const vireo_status counted =
      vireo::check_counts(inputs, input_count, inputs == nullptr ? 0 : session->main.input_count, outputs, output_count,
                          session->main.output_count, error);
  if (counted != VIREO_OK) return counted;
  Use use(session);
  if (!use.mine()) return busy(error);
  const Status status = vireo::run_session(*session, inputs, outputs);
  return vireo::report(status, session->error, error);
}

uint32_t vireo_session_failover_count(const vireo_session* session) {
  return session == nullptr ? 0 : session->devices.failovers;
}

void vireo_session_cancel(vireo_session* session) {
  if (session != nullptr) __atomic_store_n(&session->run.cancelled, 1u, __ATOMIC_RELAXED);
}

vireo_status vireo_session_reset(vireo_session* session, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  Use use(session);
  if (!use.mine()) return busy(error);
  session->random.state = session->random.seed;
  for (uint32_t i = 0; i < session->main.input_count; ++i) {
    if (vireo::state_of(session->model->program, i) < 0) continue;
    const Tensor& t = session->inputs.own[i];
    if (t.data != nullptr) memset(t.data, 0, static_cast<size_t>(t.capacity));
  }
  vireo::Remote::reset_state(*session);
  return VIREO_OK;
}

vireo_status vireo_session_reserve(vireo_session** session, const vireo_bound* bounds, uint32_t bound_count,
                                   vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  VIREO_NOT_NULL(*session, error);
  if (bound_count != 0) VIREO_NOT_NULL(bounds, error);
  if (__atomic_exchange_n(&(*session)->run.busy, 1u, __ATOMIC_ACQUIRE) != 0) return busy(error);
  if (!(*session)->block.owned) {
    __atomic_store_n(&(*session)->run.busy, 0u, __ATOMIC_RELEASE);
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT,
                         "the arena is the caller's: release the session and create one in a larger arena");
  }
  Error e;
  const Status status = vireo::rebuild_session(session, bounds, bound_count, &e);
  if (!vireo::ok(status)) __atomic_store_n(&(*session)->run.busy, 0u, __ATOMIC_RELEASE);
  return vireo::report(status, e, error);
}

uint32_t vireo_session_node_count(const vireo_session* session) {
  return session == nullptr ? 0 : session->nodes.count;
}

vireo_status vireo_session_node(const vireo_session* session, uint32_t index, vireo_node_info* out,
                                vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  VIREO_NOT_NULL(out, error);
  if (index >= session->nodes.count)
    return vireo::refuse(error, VIREO_INVALID_ARGUMENT, "the session has no node of this index");
  const vireo::NodeInfo& info = session->nodes.infos[index];
  vireo_node_info node = VIREO_NODE_INFO_INIT;
  node.name = vireo::text_of(info.node->name());
  node.op = vireo::op_name(static_cast<vireo::Op>(info.node->op()));
  if (static_cast<vireo::Op>(info.node->op()) == vireo::Op::kComposite) {
    node.op = vireo::text_of(flatbuffers::GetRoot<vireo::attrs::Composite>(info.node->attrs()->data())->hint());
  }
  node.device = info.device == vireo::kNoDevice ? "-" : session->model->runtime->devices[info.device].info.name;
  node.kernel = info.kernel;
  node.reason = info.reason;
  node.dtype = static_cast<vireo_dtype>(info.dtype);
  node.depth = info.depth;
  node.calls = session->nodes.times == nullptr ? 0 : session->nodes.times[index].calls;
  node.total_ns = session->nodes.times == nullptr ? 0 : session->nodes.times[index].total_ns;
  node.key = info.key;
  const vireo::NodeCost cost = vireo::node_cost(*session, index);
  node.operations = cost.operations;
  node.bytes = cost.bytes;
  return vireo::give(node, out, {"out", "VIREO_NODE_INFO_INIT"}, error);
}

vireo_status vireo_session_selftest(vireo_session* session, uint32_t index, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(session, error);
  Use use(session);
  if (!use.mine()) return busy(error);
  session->error.clear();
  const Status status = vireo::selftest(*session, index);
  return vireo::report(status, session->error, error);
}

}  // extern "C"
