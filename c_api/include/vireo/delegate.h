/* What a delegate offers to Vireo: the plain-C contract between the runtime and the code that drives a device, whether
 * it is compiled in or a vendor's library. The CPU delegate has no other way in.
 *
 * Order of life:
 *   open -> enumerate -> (per session) claim -> compile -> memory -> pack ... -> load -> bind -> submit, wait ...
 *   -> unload -> release
 *
 * The ABI is 0.x: host and delegate must have the same VIREO_DELEGATE_ABI. Within one, either may have the newer
 * header. Every struct begins with struct_size, the size that its maker's header gives it, grows at the end, and has 0
 * as the default of every member; the _INIT macros set it. The caller of a function sets struct_size, also in a struct
 * to be filled.
 *   - The host reads what a delegate hands over (its table, a vireo_claim) as far as it goes. What is missing is 0, or
 *     a function that is not there. It refuses a member that it does not know unless that is 0.
 *   - The host fills a struct (node(), value()) no further than struct_size says.
 *   - A delegate asks VIREO_HAS() before it reads or writes a member that came after the first header of this ABI.
 * Members of the delegate's table that are marked optional may be NULL. Functions return VIREO_OK or change nothing.
 * Only open, enumerate, claim, compile, load, buffer_create and _import may allocate: what the host counts through its
 * table, what a driver or a compiler needs inside in its own way. So may submit, for extents that are new to the part.
 *
 * Threads. Several sessions may call one device at once, each from a thread of its own, so every function of a device
 * may run beside every other. Calls on one loaded part follow each other, but for cancel; it is never submitted again
 * before its last submit is done. enumerate and release have the delegate to themselves. The host's functions may be
 * called from any thread.
 *
 * Errors. claim, compile, load and submit get a vireo_fault, in which they say what happened and at which node or
 * value; the host shows it. wait() uses that of the submit it waits for. Other functions have none: they log, with
 * VIREO_LOG_ERROR, what the user should know.
 *
 * Who decides what. A delegate says of each node whether its device can run it and how long that takes. The host places
 * the nodes and joins neighbours on one device to parts; a delegate that compiles gets every part as a whole.
 * Considered and set aside: parts that the delegate chooses (the host could then not weigh its part against another
 * device's node by node: a greedy claim is what makes delegation slower than the CPU elsewhere), one compile call for
 * the whole graph (a delegate that knows few operators would have to bring the rest along), a virtual C++ class
 * (compilers and standard libraries would have to match), and event objects that live apart from submits (a part has
 * one submit under way at most, so the loaded part is its own event).
 *
 * Faults. A delegate runs in the host's process. The host survives VIREO_DEVICE_LOST, a wait() that says VIREO_BUSY for
 * longer than the session's device_timeout_ns (cancel() is then called), refusals of compile() and, once, a compiled
 * part that computes wrongly when it is compared before its first use. It does not survive a call that crashes or does
 * not return, submit() included: a device that may hang works beside the host, with wait() and cancel().
 *
 * Memory of a device's own. The host plans it as it plans its own arena and asks for one buffer a session and device;
 * it knows which values lie where, copies those that cross, and leaves on the device what only parts there read. Where
 * a value lies is given once (bind), not with each submit, so that a delegate can record its commands. Considered and
 * set aside: buffers that the delegate places by itself (lifetimes over several parts are the host's knowledge, and
 * vireo_model_memory could not answer), a buffer for each value (as many allocations as values, nothing shared),
 * streams as objects (calls on a buffer keep their order: a session's buffer is its stream).
 */
#ifndef VIREO_DELEGATE_H_
#define VIREO_DELEGATE_H_

#include "vireo/buffer.h"
#include "vireo/telemetry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. Host and delegate must have the same. */
#define VIREO_DELEGATE_ABI 6u

/* Whether the other side, which made or will read the struct, knows this member of it. */
#define VIREO_HAS(pointer, member) \
  ((pointer)->struct_size >= (size_t)((const char*)(&(pointer)->member + 1) - (const char*)(const void*)(pointer)))

/* A subgraph as the host shows it. Node and value numbers are those of the file. */
typedef struct vireo_graph vireo_graph;

/* A node of a graph. Attributes, lists and texts live as long as the model, the body for the call that gave the graph.
 */
typedef struct vireo_graph_node {
  uint32_t struct_size;
  uint16_t op;          /* vireo/ops.h */
  uint16_t version;     /* of the operator's meaning: leave a node of one that you do not know */
  const uint8_t* attrs; /* the operator's FlatBuffers table, verified, aligned to 8 */
  size_t attrs_size;
  const int32_t* inputs; /* value numbers, -1 absent */
  uint32_t input_count;
  const int32_t* outputs; /* -1 not wanted */
  uint32_t output_count;
  /* Composite: what the node means. Its inputs and outputs are the node's. Else NULL. Output 0 may lie in the memory of
   * an input, as with the body: an input that only its first node reads, if that operator works in place. */
  const vireo_graph* body;
  const char* hint; /* composite: what the body is believed to be. Else NULL */
  const char* name;
} vireo_graph_node;
#define VIREO_GRAPH_NODE_INIT VIREO_INIT_(vireo_graph_node)

/* A value of a graph. Pointers live as long as the model. */
typedef struct vireo_graph_value {
  uint32_t struct_size;
  vireo_dtype dtype;
  uint8_t is_static;       /* the file or the session's bounds fix every dimension: max_dims is the shape */
  uint8_t only_first_open; /* they do, but for the first one */
  int32_t rank;
  int64_t max_dims[VIREO_MAX_RANK]; /* upper bounds */
  const void* constant;             /* the bytes of a constant, aligned to 64 (small ones to 8). They may not be
                                       written: a file may be mapped there. Else NULL */
  size_t constant_size;
  const char* name;
} vireo_graph_value;
#define VIREO_GRAPH_VALUE_INIT VIREO_INIT_(vireo_graph_value)

/* The host's functions, handed to every call that needs them. */
typedef struct vireo_host {
  uint32_t struct_size;
  uint32_t abi;
  void* context;
  uint32_t (*node_count)(const vireo_graph* graph);
  uint32_t (*value_count)(const vireo_graph* graph);
  vireo_status (*node)(const vireo_graph* graph, uint32_t index, vireo_graph_node* out);
  vireo_status (*value)(const vireo_graph* graph, uint32_t number, vireo_graph_value* out);
  /* Values that go into and come out of a composite's body, in the order of the node's own. */
  uint32_t (*input_count)(const vireo_graph* graph);
  int32_t (*input)(const vireo_graph* graph, uint32_t index);
  uint32_t (*output_count)(const vireo_graph* graph);
  int32_t (*output)(const vireo_graph* graph, uint32_t index);
  void (*log)(void* context, vireo_log_level level, const char* text);
  /* The application's allocator: NULL if it has no more. release gets the size and alignment of allocate. `context` and
   * these functions live until the delegate's release; the table itself may be copied, as far as its struct_size says,
   * and need not live longer than a call. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* memory, size_t bytes, size_t alignment);
} vireo_host;
#define VIREO_HOST_INIT VIREO_INIT_(vireo_host)

/* Why a call failed, for the user. The host hands it over empty, and reads it only after an error. */
typedef struct vireo_fault {
  uint32_t struct_size;
  char* message; /* what happened, without the device's name; message_bytes with its end */
  size_t message_bytes;
  const char* node;   /* vireo_graph_node.name of the one to blame, also in a body; NULL: the host names the part's */
  const char* tensor; /* vireo_graph_value.name; NULL: no value in particular */
} vireo_fault;
#define VIREO_FAULT_INIT VIREO_INIT_(vireo_fault)

/* Properties of a claim, for vireo_claim.flags. */
enum {
  VIREO_CLAIM_JOINS = 1, /* neighbours that are claimed with this flag may become one part, which is compiled as a whole
                            if there is compile(). Only such parts are compared before their first use, and run
                            elsewhere after VIREO_DEVICE_LOST */
  VIREO_CLAIM_STAYS = 2  /* with VIREO_CLAIM_JOINS: the part runs on the host's own cores, which cannot be lost. It is
                            not compared and has no second device, and its nodes take as long as by themselves */
};
/* One way in which a delegate would run a node. The host copies what it keeps: nothing need outlive the call of take,
 * unless it says so. */
typedef struct vireo_claim {
  uint32_t struct_size;
  uint32_t node;
  uint32_t flags;     /* VIREO_CLAIM_... */
  const char* kernel; /* the kernel that will run it; lives until release */
  const char* reason; /* why it is not a faster kernel; NULL or "" if there is nothing to say */
  /* What the delegate found out of the node, for vireo_part.claimed. state_bytes of it are copied as they are, to an
   * address that is a multiple of 16, and are dropped without a call: they own nothing. They may point to what lives as
   * long as the model or the device. With state_bytes 0 the pointer itself is kept: what it leads to lives as long as
   * the device. */
  const void* state;
  size_t state_bytes;
  double cost_ns; /* one thread, at the bounds, the same on all machines; > 0: may run beside other parts, no threads */
  double time_ns; /* what the node is expected to take on this device inside a part, at the bounds; 0: not known, the
                     host estimates it from the device's rates */
} vireo_claim;
#define VIREO_CLAIM_INIT VIREO_INIT_(vireo_claim)

/* How a delegate answers a claim. Called during claim only. A node may be taken more than once, the best way first: the
 * others are what a session's preference and `vireo tune` choose from. Without VIREO_CLAIM_JOINS, take calls memory and
 * pack before it returns, and gives back their error: hold no lock of theirs there. */
typedef struct vireo_claims {
  uint32_t struct_size;
  void* context;
  vireo_status (*take)(void* context, const vireo_claim* claim);
  vireo_status (*leave)(void* context, uint32_t node, const char* reason); /* the reason is copied */
  vireo_fault* fault;
  vireo_math math; /* of the session: what the parts' nodes may do to float32 */
} vireo_claims;
#define VIREO_CLAIMS_INIT VIREO_INIT_(vireo_claims)

/* One part that a delegate runs: nodes that follow each other in the graph's order, without leaving the device. */
typedef struct vireo_part {
  uint32_t struct_size;
  uint32_t node_count;   /* 1 where they were claimed without VIREO_CLAIM_JOINS */
  const uint32_t* nodes; /* in the graph's order */
  /* Of each node: vireo_claim.state of the claim that the host chose. It lives from claim until load has returned, in
   * compile, memory, pack and load of the session that is made; load copies what submit needs. */
  const void* const* claimed;
  /* The values that go in and come out, by number, in the order in which submit gets them. Of a node that was claimed
   * without VIREO_CLAIM_JOINS: its own lists, with -1 where one is absent or not wanted. With it: each value that the
   * part does not make itself and that is not constant, then each that is read outside of the part or an output of the
   * graph, as the nodes name them first; no output lies in the memory of an input. */
  const int32_t* inputs;
  const int32_t* outputs;
  uint32_t input_count;
  uint32_t output_count;
  vireo_math math; /* of the session. What compile writes may depend on it: the host keeps results apart by it */
} vireo_part;
#define VIREO_PART_INIT VIREO_INIT_(vireo_part)

/* Where a packed constant lies, for vireo_packed.flags. */
enum {
  /* In a buffer of the device's. The host has pack() write to memory of its own and calls buffer_write() before the
   * first load() that reads it: one copy a model and device, also where the session's options say that nothing is to be
   * packed. Only in parts that were claimed with VIREO_CLAIM_JOINS, on devices that have buffers. */
  VIREO_PACKED_ON_DEVICE = 1
};

/* A constant in a layout of the delegate's own. It is written once and serves all sessions of a model; whose bytes it
 * has, the layout's number and its sizes say all about its contents, and two parts that agree in them share one. */
typedef struct vireo_packed {
  uint32_t struct_size;
  uint32_t layout;      /* the delegate's number; a layout does not depend on the machine */
  const void* constant; /* of a value of the graph, or of a body in it */
  int64_t sizes[4];     /* as the layout counts */
  size_t bytes;
  uint32_t flags; /* VIREO_PACKED_... */
} vireo_packed;
#define VIREO_PACKED_INIT VIREO_INIT_(vireo_packed)
/* The most packed constants of a node that is a part by itself. A part that was claimed with VIREO_CLAIM_JOINS has any
 * number. */
#define VIREO_MAX_PACKED 8

/* Where compile() leaves its result. */
typedef struct vireo_blob {
  uint32_t struct_size;
  void* context;
  /* Memory for the blob, aligned to 64; once a compile. NULL: there is none, give VIREO_OUT_OF_ARENA back. */
  void* (*reserve)(void* context, size_t bytes);
  vireo_fault* fault;
} vireo_blob;
#define VIREO_BLOB_INIT VIREO_INIT_(vireo_blob)

/* What compile() found. */
typedef struct vireo_compiled {
  uint32_t struct_size;
  double time_ns;       /* of one run of the part, launch included; 0: not known */
  uint64_t energy_nj;   /* of one run; 0: not known */
  uint64_t moved_bytes; /* between the device and the memory it computes from, in one run; 0: not known */
} vireo_compiled;
#define VIREO_COMPILED_INIT VIREO_INIT_(vireo_compiled)

/* How a part will run, for memory(). */
typedef struct vireo_memory_request {
  uint32_t struct_size;
  int32_t slots;    /* threads, this one included */
  uint32_t packs;   /* 1 where the host keeps packed constants, 0 where the part runs without. Always 1 for a part that
                       works on buffers, if there is pack() */
  const void* blob; /* what compile() wrote, aligned to 64. NULL without compile */
  size_t blob_bytes;
} vireo_memory_request;
#define VIREO_MEMORY_REQUEST_INIT VIREO_INIT_(vireo_memory_request)

/* The memory that a part takes, in bytes. */
typedef struct vireo_part_memory {
  uint32_t struct_size;
  size_t state_bytes; /* kept from load to unload, aligned to 64 */
  /* Valid only during submit, aligned to 64, shared with other parts. A part whose scratch depends on dynamic extents
   * must request at least 1 byte, even if it is 0 at the bounds: the host checks the extents only of parts that request
   * scratch, and otherwise only the room of their outputs. */
  size_t scratch_bytes;
  /* The same in a buffer of the device's, at a multiple of VIREO_BUFFER_ALIGNMENT: load() gets the places. Scratch is
   * shared with the session's other parts there, whose submits follow each other. 0 for parts that work on no buffers.
   */
  uint64_t device_state_bytes;
  uint64_t device_scratch_bytes;
} vireo_part_memory;
#define VIREO_PART_MEMORY_INIT VIREO_INIT_(vireo_part_memory)

/* Where a value lies, or what belongs to a part. */
typedef struct vireo_place {
  uint32_t struct_size;
  void* buffer;    /* buffer_create's or buffer_import's; NULL: the host's memory, at vireo_tensor.data */
  uint64_t offset; /* a multiple of VIREO_BUFFER_ALIGNMENT, of a value in the host's arena of 16 */
} vireo_place;
#define VIREO_PLACE_INIT VIREO_INIT_(vireo_place)

/* Where load() keeps what a driver compiled, for later sessions, also of other processes: machine code, not results. It
 * is a folder that the user named. What one device and driver keeps no other one sees. */
typedef struct vireo_cache {
  uint32_t struct_size;
  void* context;
  /* What put() was given last for this key, as it was, or NULL. It lives for the call of load, aligned to 64. Whoever
   * can write to the folder may have made it. */
  const void* (*get)(void* context, const char* key, size_t* bytes);
  /* In place of what was there. An error costs time only: the host logs it. */
  void (*put)(void* context, const char* key, const void* data, size_t bytes);
} vireo_cache;
#define VIREO_CACHE_INIT VIREO_INIT_(vireo_cache)

/* What load() gets beside the part. */
typedef struct vireo_load_request {
  uint32_t struct_size;
  int32_t slots;             /* as vireo_memory_request.slots */
  const void* const* packed; /* what pack() wrote, in its order, which lives as long as the part; the list lives for the
                                call. NULL: the part runs without */
  const void* blob;          /* as vireo_memory_request.blob; outlives the part */
  size_t blob_bytes;
  void* state; /* vireo_part_memory.state_bytes */
  vireo_fault* fault;
  /* Where each packed constant lies that has VIREO_PACKED_ON_DEVICE (its `packed` is NULL), NULL for the others. List
   * and places live for the call, the buffers as long as the part. NULL for a part that works on no buffers. */
  const vireo_place* const* packed_at;
  /* vireo_part_memory.device_state_bytes and device_scratch_bytes: as packed_at. NULL where they are 0. */
  const vireo_place* state_at;
  const vireo_place* scratch_at;
  vireo_priority priority; /* of the session: whose work comes first. One that is not known here counts as normal */
  uint64_t
      slice_ns;     /* the longest stretch of work of the part without a gap; 0: any. Where it is set, submit hands over
                        a first piece and wait the others. cancel drops what was not handed over */
  uint32_t profile; /* 1: timeline() will be called behind each run of the part */
  const vireo_cache* cache; /* for the call; NULL: nothing is kept */
} vireo_load_request;
#define VIREO_LOAD_REQUEST_INIT VIREO_INIT_(vireo_load_request)

/* The most elements of an input whose contents a delegate may read in submit. */
#define VIREO_STEERING_ELEMENTS 16
/* What a submit may use. */
typedef struct vireo_submit {
  uint32_t struct_size;
  void* scratch; /* what memory() asked for */
  size_t scratch_bytes;
  const vireo_thread_pool* threads; /* NULL: only this thread */
  uint64_t* random;                 /* the session's generator state */
  vireo_fault* fault;               /* also for what wait() says of this submit */
  /* The part's graph in this run: value() gives each value of the part's nodes, also in their bodies, with its extents
   * in this run as max_dims and is_static set. It lives for the call. Where it is given, the data of inputs of rank 0
   * and 1 may be read, also if their places were bound. Given to a part that was claimed with VIREO_CLAIM_JOINS if a
   * shape in it is dynamic, or if a node of it has an input of rank 0 or 1 with at most VIREO_STEERING_ELEMENTS
   * elements that is not constant: it may be a list of axes, extents or scales. Else NULL. */
  const vireo_graph* graph;
} vireo_submit;
#define VIREO_SUBMIT_INIT VIREO_INIT_(vireo_submit)

/* What a device did in a run, for vireo_delegate.timeline: a kernel, or what it has in place of one. */
typedef struct vireo_timeline_entry {
  uint32_t struct_size;
  uint32_t node; /* of the part, counted from 0: the one that it computes, or the first of several */
  const char* kernel;
  uint64_t begin_ns; /* by the device's clock, from any beginning that is the same for the whole run */
  uint64_t end_ns;
} vireo_timeline_entry;
#define VIREO_TIMELINE_ENTRY_INIT VIREO_INIT_(vireo_timeline_entry)

typedef struct vireo_delegate vireo_delegate; /* the delegate's table of functions */
/* The delegate's functions. Those that are marked optional may be NULL. */
struct vireo_delegate {
  uint32_t struct_size;
  uint32_t abi; /* VIREO_DELEGATE_ABI; read before anything else */
  const char* name;
  void* self;

  /* Device `index`, or VIREO_INVALID_ARGUMENT past the last one. `device` is handed to the other calls. Texts in `info`
   * live until release. A field that the delegate does not write is unknown to the host. */
  vireo_status (*enumerate)(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info, void** device);
  /* Looks at the whole graph and says of every node: take (in a part) or leave (with a reason). */
  vireo_status (*claim)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims);
  /* What a part that was claimed takes. Called for a node before it is known whether the host chooses the claim. */
  vireo_status (*memory)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                         const vireo_memory_request* with, vireo_part_memory* out);
  /* Optional. Constant `index` that the part reads in a layout of its own, or VIREO_INVALID_ARGUMENT past the last one.
   * `to` is NULL: says which. Else writes out->bytes there, aligned to 64, on `threads` (NULL: only this thread). */
  vireo_status (*pack)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                       uint32_t index, const vireo_thread_pool* threads, vireo_packed* out, void* to);
  /* Prepares a part in with->state. Constants and the blob may be referred to: they outlive the part. A blob may come
   * from a file: whatever steers addresses in it is checked here. *loaded is the delegate's own, such as with->state.
   * VIREO_OUT_OF_ARENA: the device has no more memory; the host places the nodes of a joined part elsewhere. Any other
   * error ends the session. */
  vireo_status (*load)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                       const vireo_load_request* with, void** loaded);
  /* Runs it. `inputs` and `outputs`: the part's boundary values in the order of vireo_part.inputs and outputs, NULL
   * where absent or not wanted. They are dense and row-major. Their memory is aligned to their element, and no more is
   * sure: it may be the application's. Inputs are only read, also where they are not needed any more; every element of
   * an output is written, in every run. Shapes are set; an operator whose shape the data decide sets its outputs' true
   * dims (never above capacity). If a node runs as a part by itself, output 0 may lie in the memory of an input where
   * the operator works element by element, and what an operator only moves may be in its place already: outputs of
   * Slice, Split and Gather inside the input, inputs of Concat inside the output. Without wait(): returns when the
   * outputs are written. With it: may return before; until wait() has given something else than VIREO_BUSY, the host
   * neither reads the outputs nor changes the inputs. VIREO_DEVICE_LOST: the host goes on elsewhere. VIREO_UNSUPPORTED,
   * where a part that was claimed with VIREO_CLAIM_JOINS has dynamic extents: not with those of this run, for which the
   * host runs the part's nodes elsewhere. Any other error ends the run. */
  vireo_status (*submit)(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count,
                         vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with);
  /* The last call on a loaded part. Work under way is cancelled first. */
  void (*unload)(void* loaded);
  /* VIREO_OK, or VIREO_DEVICE_LOST. */
  vireo_status (*health)(void* device);
  void (*release)(void* self);

  /* Optional: turns a part into what the device runs; the same bytes for the same part on every host. Host and device
   * need not be in one machine: enumerate may offer devices that can be compiled for, but not run (load then returns
   * VIREO_UNSUPPORTED). VIREO_UNSUPPORTED: these nodes do not work together, the fault says why; the host then places
   * them elsewhere. So it does after any other error. VIREO_OK without a call of reserve: a part that needs no blob. */
  vireo_status (*compile)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                          const vireo_blob* blob, vireo_compiled* out);
  /* Optional, with cancel: waits for the last submit, at most `timeout_ns` (0: only looks). VIREO_BUSY: not done yet.
   * VIREO_DEVICE_LOST: the device is gone, nothing can be said of the outputs. Others: submit's own. */
  vireo_status (*wait)(void* loaded, uint64_t timeout_ns);
  /* From any thread. After it has returned the device touches neither inputs nor outputs; wait() then gives
   * VIREO_CANCELLED, or what had happened before. A device that does not listen is lost. */
  void (*cancel)(void* loaded);
  /* Optional: tries to make a lost device work again; parts that were loaded stay lost and are loaded anew. */
  vireo_status (*reset)(void* device);
  /* Optional. From any thread, beside submits; never waits for work. out->struct_size is the host's: an older one ends
   * before the later fields. */
  vireo_status (*telemetry)(void* device, vireo_telemetry* out);

  /* Memory of the device's own: bind, create, release, write and read come together, with wait; import and export may
   * be NULL. Calls on one buffer, and submits of parts that are bound to it, take effect in the order in which they are
   * made, so that the host waits only for what it reads. Any call may return VIREO_DEVICE_LOST.
   *
   * Only parts that were claimed with VIREO_CLAIM_JOINS work on buffers. A device without VIREO_DEVICE_UNIFIED gets all
   * values of such a part in a buffer. A device with it gets the host's arena as an import of VIREO_HANDLE_HOST,
   * aligned to 4096, in which all values lie: nothing is copied, and the host waits before it touches the arena. Where
   * the device does not take that import, it gets a buffer of its own as the others do. */

  /* Where a part's boundary values lie from the next submit on, in the order of vireo_part.inputs and outputs; the
   * lists live for the call. Before the first submit, and again when a caller binds other buffers or carried state has
   * changed its place: that of an input and that of an output take turns after each run. Never while a submit is under
   * way. vireo_tensor.data is then not to be used. */
  vireo_status (*bind)(void* loaded, const vireo_place* const* inputs, const vireo_place* const* outputs);
  /* VIREO_OUT_OF_ARENA: there is no more; the host then places the session's nodes elsewhere. */
  vireo_status (*buffer_create)(void* device, const vireo_host* host, uint64_t bytes, void** out);
  /* VIREO_UNSUPPORTED: not this kind. A file descriptor stays the caller's: the delegate makes one of its own. */
  vireo_status (*buffer_import)(void* device, const vireo_host* host, const vireo_handle* handle, void** out);
  vireo_status (*buffer_export)(void* device, void* buffer, vireo_handle_kind kind, vireo_handle* out);
  /* Nothing is under way on it. */
  void (*buffer_release)(void* device, void* buffer);
  /* `from` may change after the call. VIREO_BUSY: not while what was submitted before is under way; the host waits for
   * it and calls again. */
  vireo_status (*buffer_write)(void* device, void* buffer, uint64_t offset, const void* from, uint64_t bytes);
  /* The bytes are there on return. Called when what makes them has been waited for. */
  vireo_status (*buffer_read)(void* device, void* buffer, uint64_t offset, void* to, uint64_t bytes);

  /* Optional. What the last run took, in the order in which it began: calls `take` with each entry, which need not live
   * longer. Of a part that was loaded with vireo_load_request.profile, after wait() has given VIREO_OK. An error, or no
   * entry: it is not known. */
  vireo_status (*timeline)(void* loaded, void* context, void (*take)(void* context, const vireo_timeline_entry* entry));
};
#define VIREO_DELEGATE_INIT VIREO_INIT_(vireo_delegate)

/* The name of the one function that a plug-in's library exports. */
#define VIREO_DELEGATE_OPEN "vireo_delegate_open"
/* The type of the exported function. `abi` is the host's VIREO_DELEGATE_ABI; a plug-in that cannot serve it returns
 * VIREO_UNSUPPORTED, before it looks at `host`, whose members may be others. So does one that needs what the host's
 * structs do not have (VIREO_HAS). Each call opens the driver anew and gives
 * a table of its own, which lives until its release, because several runtimes may be in one process. */
typedef vireo_status (*vireo_delegate_open_function)(uint32_t abi, const vireo_host* host,
                                                     const vireo_delegate** out_delegate);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATE_H_ */
