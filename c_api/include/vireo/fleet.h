/* Several sessions of one model at work: a pipeline of runs, and a batch split over devices. They raise throughput; a
 * single run does not get faster.
 *
 * The rules of vireo.h hold. Without threads (bare metal, builds without VIREO_FLEET) every function that creates
 * something returns VIREO_UNSUPPORTED.
 */
#ifndef VIREO_FLEET_H_
#define VIREO_FLEET_H_

#include "vireo/vireo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What to expect ---- */

/* The most devices of an estimate or of a split. */
#define VIREO_FLEET_DEVICES 8
/* One device's share of a run. */
typedef struct vireo_load {
  uint32_t struct_size;
  uint32_t reserved;
  char device[32];
  uint32_t nodes; /* that run on it; those in bodies of nodes count with their owner */
  uint32_t timed; /* how many of them have a known time */
  double busy_ns; /* of one run: expected, or measured (vireo_pipeline_loads) */
} vireo_load;
#define VIREO_LOAD_INIT VIREO_INIT_(vireo_load)

/* The expected throughput of a placement when runs overlap. A device works on one part at a time, so the busiest device
 * limits it. */
typedef struct vireo_estimate {
  uint32_t struct_size;
  uint32_t load_count;    /* at most VIREO_FLEET_DEVICES */
  char devices[64];       /* for vireo_session_options.device */
  uint32_t bottleneck;    /* index among the loads */
  uint32_t known;         /* 1: every node outside of control flow has a time */
  double latency_ns;      /* of one run: the sum */
  double bottleneck_ns;   /* of one run on the busiest device */
  double runs_per_second; /* 1e9 / bottleneck_ns; 0: not known */
  char reason[192];       /* why this placement was chosen */
} vireo_estimate;
#define VIREO_ESTIMATE_INIT VIREO_INIT_(vireo_estimate)

/* Estimates the throughput of a placement from vireo_model_placement, without a session. Devices may compile. If
 * options->device is NULL or "auto", it compares the placements "auto", "cpu" and "<device>,cpu" for each device,
 * emulated ones only with `emulated` 1. It reports the one with the least bottleneck, or the first one if times are not
 * known. The first `capacity` of the out->load_count devices' shares are written to `loads`, which may be NULL.
 * `options` may be NULL. Same errors as vireo_model_placement. */
VIREO_API vireo_status vireo_fleet_estimate(const vireo_model* model, const vireo_session_options* options,
                                            uint32_t emulated, vireo_estimate* out, vireo_load* loads,
                                            uint32_t capacity, vireo_error* error);

/* ---- Pipeline ---- */

typedef struct vireo_pipeline vireo_pipeline; /* sessions, a thread for each, a queue */

/* How a pipeline is made. Set it up with VIREO_PIPELINE_OPTIONS_INIT. */
typedef struct vireo_pipeline_options {
  uint32_t struct_size;
  uint32_t depth;    /* sessions, so runs under way at once; at most 64. 0: as many as the placement has devices, 1 for
                        a model with operators that draw random numbers */
  uint32_t capacity; /* runs submitted and not yet given back by wait; at least depth, at most 4096. 0: 2 * depth */
  uint32_t emulated; /* 1: "auto" considers emulated devices */
  const vireo_session_options* session; /* may be NULL; read during the call. `arena` must be NULL. device NULL or
                                           "auto": as vireo_fleet_estimate chooses. threads 0: the cores divided by
                                           depth, at least one, so that sessions do not wait for each other's work */
  const vireo_allocator* allocator;     /* of the pipeline's own tables, copied; NULL: the platform's. Sessions use the
                                           runtime's */
} vireo_pipeline_options;
#define VIREO_PIPELINE_OPTIONS_INIT VIREO_INIT_(vireo_pipeline_options)

/* Makes a pipeline. `options` may be NULL. Nothing is allocated between this call and the release.
 * VIREO_INVALID_ARGUMENT if the model carries state: run i + 1 needs the state of run i. error.tensor names the input.
 * VIREO_UNSUPPORTED if the model draws random numbers and depth is above 1: the numbers of run i + 1 follow those of
 * run i. error.node names the operator. */
VIREO_API vireo_status vireo_pipeline_create(const vireo_model* model, const vireo_pipeline_options* options,
                                             vireo_pipeline** out_pipeline, vireo_error* error);
/* Cancels runs under way, waits until no thread touches a caller's memory, and frees the pipeline. No other call may be
 * under way, and none may follow. */
VIREO_API void vireo_pipeline_release(vireo_pipeline* pipeline);

/* The action of vireo_pipeline_submit if the queue is full. */
typedef uint32_t vireo_when_full;
enum {
  VIREO_WHEN_FULL_WAIT = 0, /* wait until vireo_pipeline_wait, on another thread, makes room */
  VIREO_WHEN_FULL_BUSY = 1  /* return VIREO_BUSY at once */
};

/* Queues a run. `inputs` has one entry for each input of the model, with data. `outputs` is NULL with `output_count` 0,
 * or has one entry for each output; an entry with data gets the result, the others get only type and shape. Both lists
 * are copied. The data belong to the pipeline until wait gives the run back: do not change inputs, do not read outputs.
 * wait writes `outputs` itself, so it must live until then. May be called from any thread. Runs are in the order in
 * which calls return. A fault of the run itself (a wrong shape) comes with wait. */
VIREO_API vireo_status vireo_pipeline_submit(vireo_pipeline* pipeline, const vireo_tensor* inputs, uint32_t input_count,
                                             vireo_tensor* outputs, uint32_t output_count, void* user,
                                             vireo_when_full when_full, vireo_error* error);

/* A run that vireo_pipeline_wait gives back. */
typedef struct vireo_finished {
  uint32_t struct_size;
  vireo_status status; /* of the run: `error` of wait is filled for it */
  uint64_t number;     /* 0, 1, ... in order of submission */
  void* user;
  uint64_t run_ns; /* from its session's begin to its end */
} vireo_finished;
#define VIREO_FINISHED_INIT VIREO_INIT_(vireo_finished)

/* Waits for the oldest run and gives it back, for at most `timeout_ns` (0: only looks; UINT64_MAX: for ever). VIREO_OK:
 * *out is a run, and out->status is its own status. If that is a failure, its outputs are untouched and the other runs
 * go on. VIREO_BUSY: not finished in time. VIREO_INVALID_ARGUMENT: no run is submitted. May be called from any thread;
 * two threads that wait at once get different runs. */
VIREO_API vireo_status vireo_pipeline_wait(vireo_pipeline* pipeline, uint64_t timeout_ns, vireo_finished* out,
                                           vireo_error* error);
/* Ends each run that was submitted and is not finished with VIREO_CANCELLED; a run under way ends after its current
 * node. wait still gives each of them back. Later runs are not affected. May be called from any thread. */
VIREO_API void vireo_pipeline_cancel(vireo_pipeline* pipeline);

/* Reports the placement that the pipeline chose, with the reason. `loads` as in vireo_fleet_estimate. */
VIREO_API vireo_status vireo_pipeline_estimate(const vireo_pipeline* pipeline, vireo_estimate* out, vireo_load* loads,
                                               uint32_t capacity, vireo_error* error);
/* How many sessions the pipeline has. */
VIREO_API uint32_t vireo_pipeline_depth(const vireo_pipeline* pipeline);
/* Reports how long each device was busy in all runs since creation. *count is the number of devices; the first
 * `capacity` are written. Needs session->profile 1. VIREO_BUSY while a run is under way. */
VIREO_API vireo_status vireo_pipeline_loads(vireo_pipeline* pipeline, vireo_load* loads, uint32_t capacity,
                                            uint32_t* count, vireo_error* error);

/* ---- Split ---- */

typedef struct vireo_split vireo_split; /* a session for each device, a thread for all but one */

/* How a split is made. Set it up with VIREO_SPLIT_OPTIONS_INIT. */
typedef struct vireo_split_options {
  uint32_t struct_size;
  uint32_t device_count;      /* 1 to VIREO_FLEET_DEVICES */
  const char* const* devices; /* each as vireo_session_options.device: {"cpu", "npu,cpu"} */
  const double* weights;      /* of the devices' shares, at least 0 and not all 0; fixed then. NULL: by expected
                                 times, then refined by measured ones */
  uint32_t deterministic;     /* 1: shares stay as they were at creation */
  uint32_t reserved;
  int64_t batch;                        /* the most rows of a run; at least 1 */
  const vireo_session_options* session; /* may be NULL; read during the call. Of device, arena and failover nothing is
                                           read: a lost device's share goes to another session. bounds: of other
                                           dimensions than the batch. threads 0: all of the runtime's: sessions that
                                           compute at the same time share them */
  const vireo_allocator* allocator;     /* copied; NULL: the platform's */
} vireo_split_options;
#define VIREO_SPLIT_OPTIONS_INIT VIREO_INIT_(vireo_split_options)

/* Makes a split. The first dimension of every input and output must be one symbolic dimension, and the other dimensions
 * of outputs must be fixed; otherwise VIREO_INVALID_ARGUMENT names the value. A model that carries state or draws
 * random numbers is refused. The caller vouches that a row of the outputs depends only on its row of the inputs: a
 * model that normalises over the batch computes something else when it is split. Nothing is allocated between this call
 * and the release. */
VIREO_API vireo_status vireo_split_create(const vireo_model* model, const vireo_split_options* options,
                                          vireo_split** out_split, vireo_error* error);
/* Frees the split and its sessions. No other call may be under way, and none may follow. */
VIREO_API void vireo_split_release(vireo_split* split);

/* Runs one batch. The counts are those of vireo_session_run. Each input is a whole tensor of the caller's, and so is
 * each output with data: devices read and write their rows in place. An output without data gets only type and shape.
 * Rows of a lost device run on another one; VIREO_DEVICE_LOST if none is left. On failure the outputs' descriptors are
 * untouched, and their data may be written in part. One thread at a time; a second one gets VIREO_BUSY. */
VIREO_API vireo_status vireo_split_run(vireo_split* split, const vireo_tensor* inputs, uint32_t input_count,
                                       vireo_tensor* outputs, uint32_t output_count, vireo_error* error);

/* One device's share of the batch. */
typedef struct vireo_share {
  uint32_t struct_size;
  uint32_t lost; /* 1: the device is gone and gets no more rows */
  char device[64];
  double weight;     /* of the next run; all add up to 1 */
  int64_t rows;      /* in the last run, of its own and of lost ones */
  int64_t most_rows; /* that its session takes at once */
  double row_ns;     /* measured; 0: not yet */
} vireo_share;
#define VIREO_SHARE_INIT VIREO_INIT_(vireo_share)
/* Describes the share of device `index`. Not while a run is under way. VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_split_share(const vireo_split* split, uint32_t index, vireo_share* out,
                                         vireo_error* error);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_FLEET_H_ */
