/* Vireo's C API: load a .vireo file, ask what it takes, run it.
 *
 * Rules that hold for every function, unless its comment says otherwise:
 *   - Handles are opaque. The caller that creates a handle must release it, once. The order of releases is free: a
 *     session keeps what it needs of its model, and a model keeps what it needs of its runtime. Memory, allocator,
 *     thread pool and log sink of the caller must outlive the last of these handles. Releasing NULL does nothing.
 *   - A function that returns vireo_status either returns VIREO_OK or changes nothing. Handle outputs are an exception:
 *     they become NULL on failure. `error` may be NULL. Otherwise it is cleared first, and filled on failure.
 *   - NULL where a pointer is needed gives VIREO_INVALID_ARGUMENT, never a crash.
 *   - A struct that begins with struct_size is set up with its _INIT macro: it sets struct_size, and every other field
 *     to 0, which is its default. Such a struct grows at the end. A library takes the shorter struct of an older
 *     header: fields that are not there count as 0. It takes the longer struct of a newer header if all that it does
 *     not know is 0, and returns VIREO_INVALID_ARGUMENT otherwise. It writes no byte beyond struct_size.
 *   - An array of such structs is as dense as its first struct_size says.
 *   - Text is UTF-8. A string that a function gives out lives as long as the handle it came from.
 *   - Sizes are bytes and times are nanoseconds, unless the name says otherwise.
 *   - There is no global state except a count of forks. Several threads may use a model or a runtime at once. Only one
 *     thread at a time may use a session; a second one gets VIREO_BUSY.
 *   - A child made by fork() may use and release the handles of its parent. Threads are not inherited: the runtime's
 *     pool starts its own in the child at the first run, which allocates them. Pipelines and splits of the parent give
 *     VIREO_INVALID_ARGUMENT there and can be released. A session that another thread was running at the fork stays
 *     VIREO_BUSY. Devices and a thread pool of the caller behave as their drivers and makers define: make a new runtime
 *     in the child for them. Do not fork inside a call, as in a log sink, unless exec follows.
 *   - Nothing is allocated between the creation of a session and its release.
 */
#ifndef VIREO_VIREO_H_
#define VIREO_VIREO_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/* A struct of 0 with its struct_size, for the _INIT macros. */
template <class Struct>
inline Struct vireo_init_() {
  Struct made = Struct();
  made.struct_size = static_cast<uint32_t>(sizeof(Struct));
  return made;
}
extern "C" {
#endif

#if defined(_WIN32)
#if defined(VIREO_BUILD_SHARED)
#define VIREO_API __declspec(dllexport)
#else
#define VIREO_API
#endif
#else
#define VIREO_API __attribute__((visibility("default")))
#endif

/* Behind the _INIT macros, which are for variables of their type: vireo_memory memory = VIREO_MEMORY_INIT; */
#ifdef __cplusplus
#define VIREO_INIT_(type) (::vireo_init_<type>())
#else
#define VIREO_INIT_(type) \
  { .struct_size = (uint32_t)sizeof(type) }
#endif

/* The version of this header: major, minor, patch. A higher major version may break programs. */
#define VIREO_VERSION_MAJOR 0
/* Higher: before 1.0, programs that were linked before may break; from 1.0 on, something was added. */
#define VIREO_VERSION_MINOR 1
/* Higher: before 1.0, something may have been added; from 1.0 on, nothing that a program sees. */
#define VIREO_VERSION_PATCH 0

/* The result of a call. Grows at the end. */
typedef uint32_t vireo_status;
enum {
  VIREO_OK = 0,
  VIREO_INVALID_ARGUMENT = 1, /* a documented precondition was broken: fix the caller */
  VIREO_INVALID_MODEL = 2,    /* the bytes do not verify: reject the file */
  VIREO_UNSUPPORTED = 3,      /* valid, but this build or device cannot serve it */
  VIREO_OUT_OF_ARENA = 4,     /* a buffer or a declared bound is too small: ask for the size, retry */
  VIREO_DEVICE_LOST = 5,      /* no other device was allowed or left: rebuild the session */
  VIREO_IO = 6,               /* the operating system refused: missing, unreadable, full */
  VIREO_BUSY = 7,             /* another thread is running this session */
  VIREO_CANCELLED = 8         /* vireo_session_cancel was called */
};

/* The type of a tensor's elements, with the values of ONNX's TensorProto.DataType. */
typedef uint8_t vireo_dtype;
enum {
  VIREO_NONE = 0,
  VIREO_FLOAT32 = 1,
  VIREO_UINT8 = 2,
  VIREO_INT8 = 3,
  VIREO_UINT16 = 4,
  VIREO_INT16 = 5,
  VIREO_INT32 = 6,
  VIREO_INT64 = 7,
  VIREO_STRING = 8, /* elements are vireo_string */
  VIREO_BOOL = 9,   /* one byte, 0 or 1 */
  VIREO_FLOAT16 = 10,
  VIREO_FLOAT64 = 11,
  VIREO_UINT32 = 12,
  VIREO_UINT64 = 13,
  VIREO_COMPLEX64 = 14,
  VIREO_COMPLEX128 = 15,
  VIREO_BFLOAT16 = 16,
  VIREO_FLOAT8E4M3FN = 17,
  VIREO_FLOAT8E4M3FNUZ = 18,
  VIREO_FLOAT8E5M2 = 19,
  VIREO_FLOAT8E5M2FNUZ = 20,
  VIREO_UINT4 = 21, /* two to a byte, the first element in the low half */
  VIREO_INT4 = 22,
  VIREO_FLOAT4E2M1 = 23,
  VIREO_FLOAT8E8M0 = 24,
  VIREO_UINT2 = 25, /* four to a byte */
  VIREO_INT2 = 26,
  VIREO_FLOAT6E2M3 = 27, /* one to a byte, in its lower six bits */
  VIREO_FLOAT6E3M2 = 28
};

/* The most dimensions that a tensor has. */
#define VIREO_MAX_RANK 8

/* One element of a tensor of VIREO_STRING. This layout never changes. */
typedef struct vireo_string {
  const char* data; /* not terminated */
  size_t size;
} vireo_string;

/* A failure. `message` says what was found, what was expected and what to do next. `node` and `tensor` name the place
 * where a session, a run or a binding failed. In a body or a composite that is the innermost node. For a shape, type,
 * capacity or bound it is the tensor. If a file is refused, the place is in `message`. */
typedef struct vireo_error {
  uint32_t struct_size;
  vireo_status status;
  char message[320];
  char node[96];   /* "" when no node is to blame */
  char tensor[96]; /* "" when no tensor is to blame */
} vireo_error;
#define VIREO_ERROR_INIT VIREO_INIT_(vireo_error)

/* A dense, row-major tensor in borrowed memory. This layout never changes. */
typedef struct vireo_tensor {
  vireo_dtype dtype;
  uint8_t reserved0[7];
  int32_t rank;
  int32_t reserved1;
  int64_t dims[VIREO_MAX_RANK];
  void* data;
  int64_t capacity; /* bytes at data */
} vireo_tensor;

typedef struct vireo_runtime vireo_runtime; /* allocator, log, devices, threads */
typedef struct vireo_model vireo_model;     /* immutable; shared by sessions and threads */
typedef struct vireo_session vireo_session; /* one execution context */

/* The version of the library: major << 16 | minor << 8 | patch. Compare it with the header's. */
VIREO_API uint32_t vireo_version(void);
/* A name for people, such as "out of arena". Static text. */
VIREO_API const char* vireo_status_text(vireo_status status);
/* A name for people, such as "float32". Static text. */
VIREO_API const char* vireo_dtype_text(vireo_dtype dtype);
/* Bytes of `count` dense elements; -1 for an unknown type or an overflow. */
VIREO_API int64_t vireo_dtype_bytes(vireo_dtype dtype, int64_t count);

/* A descriptor of the caller's dense tensor: `rank` extents at `dims`, the elements at `data`, where there is room for
 * `bytes`. Copies the extents and keeps the pointer to the elements. Nothing is checked here: a run refuses a
 * descriptor that does not fit. */
VIREO_API vireo_tensor vireo_tensor_of(vireo_dtype dtype, const int64_t* dims, int32_t rank, void* data, size_t bytes);

/* ---- Runtime ---- */

/* Functions of the caller that the runtime takes memory from. Several threads may call them at once. This layout never
 * changes. */
typedef struct vireo_allocator {
  void* (*allocate)(void* context, size_t bytes,
                    size_t alignment); /* NULL when there is none; alignment a power of two */
  void (*release)(void* context, void* memory, size_t bytes, size_t alignment);
  void* context;
} vireo_allocator;

/* How serious a line of the log is. */
typedef uint32_t vireo_log_level;
enum { VIREO_LOG_ERROR = 0, VIREO_LOG_WARNING = 1, VIREO_LOG_INFO = 2 };

/* Threads of the caller. `run` calls `task(arg, begin, end, slot)` over disjoint ranges that cover [0, count), and
 * returns when all are done. Each range has at least `grain` elements, except the last one. `slot` is below `slots`,
 * and no two calls that run at once have the same. Several sessions may call `run` at once. It must not allocate, or
 * the session allocates while it runs. This layout never changes. */
typedef struct vireo_thread_pool {
  void (*run)(void* pool, int64_t count, int64_t grain,
              void (*task)(void* arg, int64_t begin, int64_t end, int32_t slot), void* arg);
  void* pool;
  int32_t slots; /* at least 1 */
} vireo_thread_pool;

/* Whether a plug-in is tried in another process before this process opens it. The program vireo-probe opens it there
 * and compares a few known answers, once for each content of the file. The program lies beside the library, in ../bin,
 * or where the environment variable VIREO_PROBE says. VIREO_PROBE=off is the same as VIREO_PROBE_NEVER. */
typedef uint32_t vireo_probe;
enum {
  VIREO_PROBE_ALWAYS = 0, /* a plug-in that crashed, hung or computed wrongly there is not opened; nor one that could
                             not be tried, because there is no such program or the system starts none */
  VIREO_PROBE_NEVER = 1
};

/* How a runtime is made. Set it up with VIREO_RUNTIME_OPTIONS_INIT. */
typedef struct vireo_runtime_options {
  uint32_t struct_size;
  int32_t threads;                  /* 0: one per core where hosted, 1 elsewhere. Ignored when thread_pool is given */
  const vireo_allocator* allocator; /* copied; NULL: the platform's (none on bare metal: then required) */
  const vireo_thread_pool* thread_pool;                                /* copied; NULL: ours */
  void (*log)(void* context, vireo_log_level level, const char* text); /* NULL: silent */
  void* log_context;
  const char* plugins; /* delegates in shared libraries: files and folders with colons between them; read during the
                          call only. NULL: what the environment variable VIREO_PLUGINS says; "": none. Their code runs
                          in this process: name only what you trust. Without VIREO_PLUGINS in the build it is ignored */
  const char* plugin_cache; /* the folder for what probes found, made where it is not there. NULL: vireo/plugins in the
                               user's cache; "": every runtime probes anew */
  vireo_probe probe;
  uint32_t probe_timeout_ms; /* after which a probe counts as hanging; 0: 10,000 */
} vireo_runtime_options;
#define VIREO_RUNTIME_OPTIONS_INIT VIREO_INIT_(vireo_runtime_options)

/* Makes a runtime: starts its threads, opens its plug-ins, looks for devices. `options` may be NULL: all defaults. A
 * plug-in that cannot be used is no failure: vireo_runtime_plugin has the reason. */
VIREO_API vireo_status vireo_runtime_create(const vireo_runtime_options* options, vireo_runtime** out_runtime,
                                            vireo_error* error);
/* Releases the runtime. Models that were loaded with it still work. */
VIREO_API void vireo_runtime_release(vireo_runtime* runtime);

/* Properties of a device, for vireo_device_info.flags. */
enum {
  VIREO_DEVICE_EMULATED = 1, /* software stands in for it; it is used only if it is named, never by "auto" */
  VIREO_DEVICE_UNIFIED = 2,  /* works on the host's own memory */
  VIREO_DEVICE_MATRIX = 4,   /* has units for products of matrices */
  VIREO_DEVICE_MEASURED = 8  /* its rates are what was measured here: vireo_runtime_set_rates */
};
/* A device of the runtime. A text is NULL, and a number 0, if nothing is known. The first three texts are always
 * there. */
typedef struct vireo_device_info {
  uint32_t struct_size;
  const char* name;     /* "cpu" */
  const char* delegate; /* which delegate offers it */
  const char* detail;   /* "AVX-512", "32 x 32 products a cycle"... */
  const char* vendor;
  const char* family;    /* of chips */
  const char* driver;    /* its version */
  uint32_t flags;        /* VIREO_DEVICE_... */
  uint32_t trial_runs;   /* how often a part that was compiled here runs on made-up values before it is used. All runs
                          must give the same bits: 66 find a fault in one run of ten with a probability of .999. 0 is
                          once. A session's trials take half a second at most, but each part runs twice */
  uint64_t types;        /* that it computes in: bit 1 << VIREO_FLOAT32, ... */
  uint64_t memory_bytes; /* of its own */
  uint64_t local_bytes;  /* on the chip, where the device or its compiler places data there itself */
  double f32_rate;       /* multiplications and additions a second, as vireo_node_info.operations counts them */
  double f16_rate;       /* the same of float16 or bfloat16 */
  double i8_rate;        /* the same of bytes */
  double bandwidth;      /* bytes a second between the device and the memory that it computes from */
  double transfer;       /* bytes a second between that memory and the host's; 0: nothing needs to be moved */
  double launch_ns;      /* from the host's call to the first instruction, and back */
  double idle_watts;
  double busy_watts;
  double transfer_ns;        /* what moving a value between the two memories takes besides its bytes; 0: as launch_ns */
  uint64_t max_buffer_bytes; /* the most of one buffer there; 0: no limit but memory_bytes. The host takes several where
                                a session needs more. Nodes with a larger value run elsewhere */
} vireo_device_info;
#define VIREO_DEVICE_INFO_INIT VIREO_INIT_(vireo_device_info)
/* How many devices the runtime has. Their order does not change. */
VIREO_API uint32_t vireo_runtime_device_count(const vireo_runtime* runtime);
/* Describes device `index`. VIREO_INVALID_ARGUMENT past the last one. Texts live as long as the runtime. */
VIREO_API vireo_status vireo_runtime_device(const vireo_runtime* runtime, uint32_t index, vireo_device_info* out,
                                            vireo_error* error);

/* Measured rates of a device, in the units of vireo_device_info. 0 keeps the value that was there before. `vireo
 * devices --measure` measures them. */
typedef struct vireo_rates {
  uint32_t struct_size;
  double f32_rate;
  double f16_rate;
  double i8_rate;
  double bandwidth;
  double transfer;
  double launch_ns;   /* negative: a launch costs nothing */
  double transfer_ns; /* what moving a value takes besides its bytes; negative: nothing */
} vireo_rates;
#define VIREO_RATES_INIT VIREO_INIT_(vireo_rates)
/* Sets the rates of device `index`. vireo_runtime_device then gives them, with VIREO_DEVICE_MEASURED. "auto" and
 * vireo_model_devices use these values. Call it before models are loaded; no other call may run on the runtime at the
 * same time. */
VIREO_API vireo_status vireo_runtime_set_rates(vireo_runtime* runtime, uint32_t index, const vireo_rates* rates,
                                               vireo_error* error);

/* A shared library that the options or VIREO_PLUGINS named. */
typedef struct vireo_plugin_info {
  uint32_t struct_size;
  uint32_t device_count;
  const char* path;
  const char* reason; /* why it is not used; "" where it is */
} vireo_plugin_info;
#define VIREO_PLUGIN_INFO_INIT VIREO_INIT_(vireo_plugin_info)
/* How many shared libraries were named, used or not. */
VIREO_API uint32_t vireo_runtime_plugin_count(const vireo_runtime* runtime);
/* Describes shared library `index`. VIREO_INVALID_ARGUMENT past the last one. Texts live as long as the runtime. */
VIREO_API vireo_status vireo_runtime_plugin(const vireo_runtime* runtime, uint32_t index, vireo_plugin_info* out,
                                            vireo_error* error);

/* ---- Model ---- */

/* Maps the file and verifies it. The file must not change while the model lives. VIREO_IO if it cannot be read,
 * VIREO_INVALID_MODEL if it does not verify, VIREO_UNSUPPORTED on targets without a file system. */
VIREO_API vireo_status vireo_model_load_file(vireo_runtime* runtime, const char* path, vireo_model** out_model,
                                             vireo_error* error);
/* Verifies a model in memory, such as a linked-in array or flash. Uses `bytes` in place: they are aligned to 64, must
 * not change, and must outlive the model. */
VIREO_API vireo_status vireo_model_load_memory(vireo_runtime* runtime, const void* bytes, size_t size,
                                               vireo_model** out_model, vireo_error* error);
/* Releases the model. Sessions of it still work. */
VIREO_API void vireo_model_release(vireo_model* model);
/* Compares every byte of the file with its hash tree, in one pass over the file. VIREO_INVALID_MODEL names the range of
 * bytes that differs. */
VIREO_API vireo_status vireo_model_check_hashes(const vireo_model* model, vireo_error* error);

/* An input or output of a model. */
typedef struct vireo_value_info {
  uint32_t struct_size;
  vireo_dtype dtype;
  int32_t rank;
  int64_t min_dims[VIREO_MAX_RANK];      /* bounds of each dimension; equal where it is fixed */
  int64_t max_dims[VIREO_MAX_RANK];      /* -1: open, to be given in vireo_session_options.bounds */
  const char* dim_names[VIREO_MAX_RANK]; /* NULL where the dimension is fixed or follows from others or from the data;
                                            equal text: equal extent */
  const char* name;
  int32_t state_of; /* inputs: the output that feeds it after each run, -1 none */
} vireo_value_info;
#define VIREO_VALUE_INFO_INIT VIREO_INIT_(vireo_value_info)
/* How many inputs the model has. Their order is that of the original. */
VIREO_API uint32_t vireo_model_input_count(const vireo_model* model);
/* How many outputs the model has. Their order is that of the original. */
VIREO_API uint32_t vireo_model_output_count(const vireo_model* model);
/* Describes input `index`. VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_model_input(const vireo_model* model, uint32_t index, vireo_value_info* out,
                                         vireo_error* error); /* texts live as long as the model */
/* Describes output `index`. VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_model_output(const vireo_model* model, uint32_t index, vireo_value_info* out,
                                          vireo_error* error); /* texts live as long as the model */

/* The index of the input of this name, for every call that takes one. -1: the model has no such input. */
VIREO_API int32_t vireo_model_find_input(const vireo_model* model, const char* name);
/* The index of the output of this name. -1: the model has no such output. */
VIREO_API int32_t vireo_model_find_output(const vireo_model* model, const char* name);

/* What the numbers of an input or output stand for. */
typedef uint32_t vireo_meaning_kind;
enum {
  VIREO_MEANING_NONE = 0,
  VIREO_MEANING_IMAGE = 1,
  VIREO_MEANING_AUDIO = 2,
  VIREO_MEANING_TOKENS = 3,
  VIREO_MEANING_FEATURES = 4,
  VIREO_MEANING_STATE = 5
};
/* The meaning of an input or output, from the file given to `vireo convert --signature`. Without one: kind
 * VIREO_MEANING_NONE, empty texts, no channels. A value v of a picture or sound is first scaled to range_lo..range_hi.
 * It goes in as (v - mean[c]) / std[c]. */
typedef struct vireo_meaning {
  uint32_t struct_size;
  vireo_meaning_kind kind;
  const char* layout; /* "NCHW", "NHWC" */
  const char* color;  /* "RGB", "BGR", "gray" */
  const char* resize; /* "none", "stretch", "letterbox" */
  float range_lo;
  float range_hi;
  const float* mean; /* one per channel; NULL: 0 */
  const float* std;  /* one per channel; NULL: 1 */
  uint32_t mean_count;
  uint32_t std_count;
  uint32_t sample_rate; /* Hz; 0 unknown */
} vireo_meaning;
#define VIREO_MEANING_INIT VIREO_INIT_(vireo_meaning)
/* The meaning of input `index`. Texts and lists live as long as the model. */
VIREO_API vireo_status vireo_model_input_meaning(const vireo_model* model, uint32_t index, vireo_meaning* out,
                                                 vireo_error* error);
/* The meaning of output `index`. Texts and lists live as long as the model. */
VIREO_API vireo_status vireo_model_output_meaning(const vireo_model* model, uint32_t index, vireo_meaning* out,
                                                  vireo_error* error);

/* The origin of a model's file, and its contents. */
typedef struct vireo_model_about {
  uint32_t struct_size;
  uint16_t format_major;
  uint16_t format_minor;
  uint32_t integer_only; /* 1: the same bits on every device */
  uint32_t node_count;   /* of all subgraphs */
  uint32_t plan_count;
  uint32_t segment_count;
  uint64_t file_bytes;
  uint64_t weight_bytes; /* constants, as the kernels read them, and the tables of forests */
  const char* source;    /* file name of the original model; "" unknown */
  const char* producer;  /* that wrote the original model */
  const char* converter; /* that wrote this file */
} vireo_model_about;
#define VIREO_MODEL_ABOUT_INIT VIREO_INIT_(vireo_model_about)
/* Fills `out`. Texts live as long as the model. */
VIREO_API vireo_status vireo_model_describe(const vireo_model* model, vireo_model_about* out, vireo_error* error);

/* A symbolic dimension of the model: an open dimension of an input, or an extent that the data decide (a Range up to a
 * computed end). */
typedef struct vireo_dimension {
  uint32_t struct_size;
  const char* name; /* for vireo_session_options.bounds */
  int64_t min;
  int64_t max; /* -1: open */
} vireo_dimension;
#define VIREO_DIMENSION_INIT VIREO_INIT_(vireo_dimension)
/* How many symbolic dimensions the model has. */
VIREO_API uint32_t vireo_model_dimension_count(const vireo_model* model);
/* Describes symbolic dimension `index`. VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_model_dimension(const vireo_model* model, uint32_t index, vireo_dimension* out,
                                             vireo_error* error);

/* A plan in the file: the placement of the nodes for one target (`vireo convert --target`). Plan 0 is the portable one,
 * which places no node. */
typedef struct vireo_plan_info {
  uint32_t struct_size;
  uint32_t usable;    /* 1: all of its devices are here, also emulated ones */
  uint32_t automatic; /* 1: also, a session that names no target may use it: no device is emulated, and the plan is not
                         only for the CPU, which would keep nodes from the other devices here */
  uint32_t device_count;
  const char* target; /* its name; "" of the portable one */
  char devices[128];  /* of those that it was made with, names with commas between; cut where it is longer */
  char reason[192];   /* why it cannot be used here; "" */
} vireo_plan_info;
#define VIREO_PLAN_INFO_INIT VIREO_INIT_(vireo_plan_info)
/* How many plans the file has, the portable one included. */
VIREO_API uint32_t vireo_model_plan_count(const vireo_model* model);
/* Describes plan `index`. VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_model_plan(const vireo_model* model, uint32_t index, vireo_plan_info* out,
                                        vireo_error* error);

/* How many test cases the file carries (`vireo convert --embed-tests`), for vireo_session_selftest. */
VIREO_API uint32_t vireo_model_test_count(const vireo_model* model);

/* ---- Session ---- */

/* Bounds of one symbolic dimension: closes an open one, or narrows one that the file bounds. Where min is max, the
 * session is made as for a fixed dimension, and runs as fast. This layout never changes. */
typedef struct vireo_bound {
  const char* name; /* as in vireo_value_info.dim_names */
  int64_t min;
  int64_t max;
} vireo_bound;

/* Whether weights are copied into the order that kernels read fastest. The copy is made when the first session that
 * wants it is created. It serves all sessions of the model until the model is released. */
typedef uint32_t vireo_packing;
enum {
  VIREO_PACKING_DEFAULT = 0, /* packed where there is an operating system, in place on bare metal */
  VIREO_PACKING_ALWAYS = 1,
  VIREO_PACKING_NEVER = 2 /* weights are read in place: least memory, slower */
};

/* One kernel of one device that could run a node. */
typedef struct vireo_candidate {
  uint32_t struct_size;
  uint64_t key; /* of the operator, its attributes, the types and upper bounds of its values: what its time depends on.
                   The same on every machine; names and weights are not in it */
  const char* node;
  const char* device;
  const char* kernel;
} vireo_candidate;
#define VIREO_CANDIDATE_INIT VIREO_INIT_(vireo_candidate)

/* The caller's choice among candidates: kernels of one device, or the same node on several devices that the options
 * name. `vireo tune` measures them. */
typedef struct vireo_preference {
  uint32_t struct_size;
  void* context;
  /* The candidate of the highest rank runs the node. Among equal ranks the first one does, as without a preference. The
   * thread that creates the session, or asks for its memory, calls it. */
  int32_t (*rank)(void* context, const vireo_candidate* candidate);
  /* The measured time of the candidate on this machine, in nanoseconds. "auto" and vireo_model_devices use it before
   * any other source. 0: not known. May be NULL. */
  double (*time_ns)(void* context, const vireo_candidate* candidate);
} vireo_preference;
#define VIREO_PREFERENCE_INIT VIREO_INIT_(vireo_preference)

/* The effect of a device that is lost, or is not done in time, while it runs nodes as one part: its driver returns
 * VIREO_DEVICE_LOST, or its wait() returns VIREO_BUSY for longer than device_timeout_ns. Nothing helps against a driver
 * that crashes or whose calls never return, because it runs in this process. */
typedef uint32_t vireo_failover;
enum {
  VIREO_FAILOVER_DEFAULT = 0, /* where another device that the session may use can run every node of the part, the run
                                 goes on there, from the tensors that went into the part: the result does not change.
                                 Memory and weights for it are reserved at creation; such parts are also compared with
                                 that device before their first use, and nodes that compute something else there are
                                 placed elsewhere */
  VIREO_FAILOVER_NEVER = 1    /* the run ends with VIREO_DEVICE_LOST; nothing is reserved or compared */
};

/* How a device may compute with float32. It is a permission: a device that has no faster way is exact. The CPU is.
 * Grows at the end. */
typedef uint32_t vireo_math;
enum {
  VIREO_MATH_EXACT = 0, /* in float32 */
  VIREO_MATH_F16 = 1    /* the operands of products and convolutions may be rounded to float16, which holds 11 bits and
                           numbers up to 65,504; sums are float32. Compare results before you rely on it */
};

/* Whose work a device takes first, where several sessions or programs have some for it. It is a wish: drivers weigh it
 * in their own way, and many between programs not at all. Results do not depend on it. Grows at the end. */
typedef uint32_t vireo_priority;
enum {
  VIREO_PRIORITY_NORMAL = 0,
  VIREO_PRIORITY_LOW = 1, /* what can wait, such as a batch in the background */
  VIREO_PRIORITY_HIGH = 2
};

/* How a session is made. Set it up with VIREO_SESSION_OPTIONS_INIT. */
typedef struct vireo_session_options {
  uint32_t struct_size;
  const char* device; /* NULL or "auto", else device names with commas between them, the preferred one first. Other
                         devices are then used only for control flow */
  const vireo_bound* bounds; /* may be NULL */
  uint32_t bound_count;
  int32_t threads;    /* at most this many of the runtime's; 0: all */
  void* arena;        /* NULL: from the runtime's allocator. Aligned to 64; outlives the session */
  size_t arena_bytes; /* as vireo_model_memory says, or more */
  uint64_t seed;      /* of random operators without a seed of their own */
  uint32_t profile;   /* 1: keep the time of each node (vireo_session_node) */
  vireo_packing packing;
  const vireo_preference* preference; /* may be NULL; outlives the session. A build with only reference kernels has
                                         nothing to choose and does not ask */
  const char* cache;    /* NULL, or a folder for packed weights and compiled parts. It is made if it is not there. Data
                           that an earlier session of this model wrote, also in another process, is mapped from it. Data
                           that this session makes is written to it. A part that was compared with another device before
                           is not compared again. Cache errors are logged; the only cost is time. Read only during the
                           call. A build without VIREO_CACHE ignores it */
  uint64_t cache_bytes; /* the most bytes of the folder; the files longest not used go first. 0: VIREO_CACHE_BYTES */
  uint64_t device_timeout_ns; /* the most time of one part on a device that works beside the host. A device that takes
                                 longer counts as lost. 0: VIREO_DEVICE_TIMEOUT_NS */
  vireo_failover failover;
  const char* require; /* NULL, or a share of the nodes that must run on one device: "npu>=95%", "npu=100%". Otherwise
                          creation fails with VIREO_UNSUPPORTED, and names the first node that is elsewhere */
  const char* target;  /* the file's plan that places nodes (vireo_model_plan). NULL, if `device` is NULL or "auto": the
                          first plan that is automatic and whose bounds hold the session's, or none. "": none. A name:
                          that plan; creation fails with VIREO_UNSUPPORTED if it cannot be used, and with
                          VIREO_INVALID_ARGUMENT beside a list of devices. A node runs where its plan says if that
                          device takes it, else where it would without a plan */
  vireo_math math;     /* what devices may do to float32 numbers to be faster */
  uint32_t state_stays; /* 1: carried state that one device with memory of its own makes and reads stays there, and the
                           host gets no copy. If that device is lost, so is the state: runs end with VIREO_DEVICE_LOST
                           until vireo_session_reset. 0: the host gets a copy after each run */
  vireo_priority priority; /* on devices that know any */
  uint64_t
      slice_ns; /* the longest stretch of this session's work on a device without a gap in which the device may turn
                        to others, such as the screen: a part is handed over in pieces, each when the one before is
                        done. A cancelled run waits for one piece. No single kernel is cut. Devices that give way by
                        themselves ignore it. 0: each part in one piece, which is fastest */
} vireo_session_options;
#define VIREO_SESSION_OPTIONS_INIT VIREO_INIT_(vireo_session_options)
/* The default of vireo_session_options.device_timeout_ns: 10 seconds. */
#define VIREO_DEVICE_TIMEOUT_NS ((uint64_t)10000000000)
/* The default of vireo_session_options.cache_bytes: 2 GiB. */
#define VIREO_CACHE_BYTES ((uint64_t)2 << 30)

/* One device's answer for one node. */
typedef struct vireo_verdict {
  uint32_t struct_size;
  uint32_t takes;   /* 1: it can run the node */
  uint32_t allowed; /* 1: the options let it */
  const char* device;
  const char* kernel; /* that it would use; "" where it leaves the node */
  const char* reason; /* why it leaves the node; of one that takes it, why no faster way was open, or "" */
  double time_ns;     /* that it expects; 0: not known */
} vireo_verdict;
#define VIREO_VERDICT_INIT VIREO_INIT_(vireo_verdict)

/* The device and the kernel that would run a node. */
typedef struct vireo_placed_node {
  uint32_t struct_size;
  uint32_t depth;   /* of bodies: each behind its owner, one deeper */
  const char* name; /* as in vireo_node_info */
  const char* op;
  const char* device;
  const char* second; /* where it runs when the device is lost; NULL: nowhere */
  const char* kernel;
  const char* reason;
  vireo_dtype dtype;
  uint32_t part;           /* the same number: one part, which its device runs as a whole; UINT32_MAX: no part */
  uint32_t part_nodes;     /* how many nodes that part has */
  double part_ns;          /* what its device's compiler says of one run of it; 0: not known */
  uint64_t bytes_crossing; /* inputs that another device made, at the bounds */
  const vireo_verdict* const* verdicts; /* one for each device of the runtime */
  uint32_t verdict_count;
} vireo_placed_node;
#define VIREO_PLACED_NODE_INIT VIREO_INIT_(vireo_placed_node)

/* The caller's function that vireo_model_placement calls for each node. This layout never changes. */
typedef struct vireo_placement_visitor {
  void* context;
  void (*node)(void* context, const vireo_placed_node* node); /* what it points to lives for the call */
} vireo_placement_visitor;

/* Reports where a session with these options would run each node, in the order of vireo_session_node, and every
 * device's answer. Makes no session. Devices may compile; later sessions use the result. Same errors as
 * vireo_model_memory. */
VIREO_API vireo_status vireo_model_placement(const vireo_model* model, const vireo_session_options* options,
                                             const vireo_placement_visitor* visitor, vireo_error* error);

/* Limits for one run. */
typedef struct vireo_limits {
  uint32_t struct_size;
  uint32_t emulated;     /* 1: emulated devices are also considered */
  uint64_t memory_bytes; /* of a session with its packed weights and compiled parts; 0: any */
  double latency_ns;     /* of one run; 0: any */
  double energy_j;       /* of one run; 0: any */
  double cost;           /* of one run, by `prices`; 0: any */
  const char* vendors;   /* NULL, or names with commas between them: their devices come first, in this order */
  const double* prices;  /* of one second on each of the runtime's devices; NULL: all are free */
} vireo_limits;
#define VIREO_LIMITS_INIT VIREO_INIT_(vireo_limits)

/* One device for a model, with the expected time, energy and memory of a run there. */
typedef struct vireo_device_choice {
  uint32_t struct_size;
  uint32_t fits;      /* 1: within the limits, as far as is known */
  char devices[64];   /* for vireo_session_options.device: "npu", or "npu,cpu" where it does not run every node */
  char reason[192];   /* why it does not fit; "" */
  double expected_ns; /* nodes one after another, launches and what has to be moved; bodies of control flow once */
  const char*
      source;      /* the weakest of what that comes from: "compiler", "measured" rates, "declared" rates, "assumed" */
  double energy_j; /* 0: not known */
  double cost;
  uint64_t memory_bytes;
  uint32_t node_count;
  uint32_t nodes_there; /* on the first device of the list */
} vireo_device_choice;
#define VIREO_DEVICE_CHOICE_INIT VIREO_INIT_(vireo_device_choice)

/* Compares the runtime's devices for this model. Those that fit the limits come first, then the order is by `vendors`,
 * then by expected time. `options.device` is not read; the other options hold for each device. *count is the number of
 * choices. The first `capacity` of them are written to `choices`, which may be NULL. Makes no session. Devices may
 * compile; later sessions use the result. VIREO_INVALID_ARGUMENT if the options fit no device, VIREO_UNSUPPORTED in a
 * build without VIREO_JOINED. */
VIREO_API vireo_status vireo_model_devices(const vireo_model* model, const vireo_session_options* options,
                                           const vireo_limits* limits, vireo_device_choice* choices, uint32_t capacity,
                                           uint32_t* count, vireo_error* error);

/* The memory of a session, in bytes. */
typedef struct vireo_memory {
  uint32_t struct_size;
  size_t total_bytes;       /* what arena_bytes must be: the sum of the rest, with alignment */
  size_t tensor_bytes;      /* planned tensors */
  size_t scratch_bytes;     /* shared by all nodes */
  size_t state_bytes;       /* kernels' prepared state and the session's own tables */
  size_t lower_bound_bytes; /* the largest set of tensor bytes alive at once: no plan can be below */
  size_t packed_bytes;      /* beside total_bytes: packed weights, which the model's sessions share. From the runtime's
                               allocator, see vireo_packing */
  size_t mapped_bytes;      /* packed weights and compiled parts that are read where they lie, in the model's file or in
                               the cache: shared with other processes, in neither of the sums above */
  size_t compiled_bytes;    /* beside total_bytes: what devices compiled of this model so far, which its sessions share.
                               From the runtime's allocator */
  size_t device_bytes;      /* beside total_bytes: buffers on devices with memory of their own, of all devices: values,
                               scratch, state */
  size_t text_bytes;        /* beside total_bytes: what devices said of this model's nodes so far, which its sessions
                               share. From the runtime's allocator; 0 where the CPU is the only device of the build */
  size_t device_packed_bytes; /* beside total_bytes: packed weights in buffers on devices, of all devices, which the
                                 model's sessions share */
} vireo_memory;
#define VIREO_MEMORY_INIT VIREO_INIT_(vireo_memory)

/* Computes the memory of a session with these options, to the byte. Allocates only during the call, but for what
 * compiled_bytes and text_bytes count: that stays with the model.
 * VIREO_INVALID_ARGUMENT names a dimension that has no bound. */
VIREO_API vireo_status vireo_model_memory(const vireo_model* model, const vireo_session_options* options,
                                          vireo_memory* out, vireo_error* error);

/* Builds a session that runs `model`. Keeps a pointer to the arena, which must outlive the session. The session
 * allocates nothing after this call. VIREO_OUT_OF_ARENA if arena_bytes is below vireo_model_memory, VIREO_UNSUPPORTED
 * if an operator has no kernel here. If a device is found to compute wrongly (vireo_failover), its nodes move and the
 * session may need more memory than was reported before. The arena may then be too small once; vireo_model_memory
 * reports the new size. */
VIREO_API vireo_status vireo_session_create(const vireo_model* model, const vireo_session_options* options,
                                            vireo_session** out_session, vireo_error* error);
/* Releases the session. No call may be under way on it. */
VIREO_API void vireo_session_release(vireo_session* session);

/* The two types of vireo_packed_copy. A compiled part is what a device's compiler made of neighbouring nodes, or
 * its reason for refusing them. Another device can use it if its model and its driver's version are the same. */
enum { VIREO_PACKED_CONSTANT = 0, VIREO_COMPILED_PART = 1 };
/* Packed weights or a compiled part that the model holds in memory, because a session wanted it. `vireo pack` writes
 * these into a file. */
typedef struct vireo_packed_copy {
  uint32_t struct_size;
  uint32_t layout;      /* the delegate's number; 0 of a compiled part */
  const char* delegate; /* whose layout that is */
  uint64_t constant;    /* the weights' first byte in the model's file; UINT64_MAX when they do not lie there. Of a
                           compiled part: subgraph << 32 | first node */
  int64_t sizes[4];     /* as the layout counts. Of a compiled part: nodes, hash of their shapes, the device's
                           fingerprint, 0 */
  const void* data;     /* lives as long as the model */
  uint64_t bytes;
  uint32_t kind; /* VIREO_PACKED_CONSTANT or VIREO_COMPILED_PART */
} vireo_packed_copy;
#define VIREO_PACKED_COPY_INIT VIREO_INIT_(vireo_packed_copy)
/* How many packed copies the model holds now. */
VIREO_API uint32_t vireo_model_packed_count(const vireo_model* model);
/* Describes copy `index`: packed weights first, then compiled parts, the newest first of each.
 * VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_model_packed(const vireo_model* model, uint32_t index, vireo_packed_copy* out,
                                          vireo_error* error);

/* Gives the session's own memory for input `index`, to be filled before a run. `dims` are the current shape, or the
 * upper bounds before the first run. `data` is valid until the next call on the session. Write such an input before
 * each run, because the session reuses the memory. Of carried state it holds what the next run will read, also if that
 * lay on a device before: so it is saved, and set. */
VIREO_API vireo_status vireo_session_input(vireo_session* session, uint32_t index, vireo_tensor* out,
                                           vireo_error* error);
/* Sets the shape of an input that lies in the session's memory. */
VIREO_API vireo_status vireo_session_input_shape(vireo_session* session, uint32_t index, const int64_t* dims,
                                                 int32_t rank, vireo_error* error);

/* Runs once.
 * `inputs` is NULL with `input_count` 0, or has one entry for each input of the model, in order: any other count gives
 * VIREO_INVALID_ARGUMENT. An entry whose data is NULL is read from the session's memory or its carried state. Other
 * entries are read in place from the caller's memory: type and shape must fit, and data must be aligned to its element.
 * `outputs` is NULL with `output_count` 0, or has one entry for each output, in order. An entry with data gets a copy
 * of the result, or VIREO_OUT_OF_ARENA if its capacity is too small. An entry without data gets a view of the session's
 * memory, which is valid until the next run; its capacity is the room at the upper bounds, so count elements by dims.
 * Its data are NULL where they are in a buffer of the caller's or stay on a device (vireo_session_options.state_stays).
 * Each entry gets type and shape. On failure the outputs are untouched. */
VIREO_API vireo_status vireo_session_run(vireo_session* session, const vireo_tensor* inputs, uint32_t input_count,
                                         vireo_tensor* outputs, uint32_t output_count, vireo_error* error);
/* Ends a run under way with VIREO_CANCELLED, after its current node. May be called from any thread. */
VIREO_API void vireo_session_cancel(vireo_session* session);
/* Sets carried state to zeros. */
VIREO_API vireo_status vireo_session_reset(vireo_session* session, vireo_error* error);
/* Plans the session again for other bounds. Builds a new session in memory of the runtime's allocator, moves carried
 * state to it, releases the old one, and puts the new handle in its place. Both exist for a moment.
 * VIREO_INVALID_ARGUMENT if the arena is the caller's. On failure the session is unchanged. */
VIREO_API vireo_status vireo_session_reserve(vireo_session** session, const vireo_bound* bounds, uint32_t bound_count,
                                             vireo_error* error);

/* A node of a session: where it runs, and its time. Nodes of bodies follow their owner, one `depth` deeper. */
typedef struct vireo_node_info {
  uint32_t struct_size;
  const char* name;   /* of the ONNX node */
  const char* op;     /* "Conv"; a composite's hint for a fused node */
  const char* device; /* "cpu"; "-" for control flow */
  const char* kernel; /* which of the device's kernels */
  const char* reason; /* why not a faster or another one; "" when nothing is to be said */
  vireo_dtype dtype;  /* of output 0 */
  uint32_t depth;
  uint64_t calls;    /* since creation; 0 unless profiling */
  uint64_t total_ns; /* of a node in a part: on its device, where the driver tells it; else the first has the part's */
  uint64_t key;      /* vireo_candidate.key; 0 in sessions without a preference */
  /* The least work of one run of the node, at the shapes of the last run, or at the bounds before the first.
   * operations: multiplications and additions of products and convolutions, 0 for other operators. bytes: all inputs
   * and outputs. A roofline: a node takes operations / rate or bytes / bandwidth, whichever is more. */
  uint64_t operations;
  uint64_t bytes;
} vireo_node_info;
#define VIREO_NODE_INFO_INIT VIREO_INIT_(vireo_node_info)
/* How many nodes the session has, nodes of bodies included. */
VIREO_API uint32_t vireo_session_node_count(const vireo_session* session);
/* Describes node `index`, with its time if the options set `profile`. VIREO_INVALID_ARGUMENT past the last one. */
VIREO_API vireo_status vireo_session_node(const vireo_session* session, uint32_t index, vireo_node_info* out,
                                          vireo_error* error);

/* How many parts run on another device than planned, because theirs was lost (vireo_failover). vireo_session_node says
 * where their nodes run now. */
VIREO_API uint32_t vireo_session_failover_count(const vireo_session* session);

/* Runs the file's test case `index` and compares the outputs with those of the original model. VIREO_OK if they agree.
 * VIREO_INVALID_MODEL if not; `error` has the worst output and its difference. Takes memory from the runtime's
 * allocator, not from your arena: 16 bytes an element of string inputs, and a session if an extent is outside this
 * one's bounds. */
VIREO_API vireo_status vireo_session_selftest(vireo_session* session, uint32_t index, vireo_error* error);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_VIREO_H_ */
