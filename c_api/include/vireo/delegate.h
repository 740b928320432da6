/* What a delegate offers to Vireo: the plain-C contract between the runtime and the code that drives a device, whether
 * it is compiled in or a vendor's library. The CPU delegate has no other way in.
 *
 * Order of life:  enumerate -> (per session) claim -> memory -> pack ... -> load -> submit ... -> unload -> release
 *
 * The ABI is 0.x: host and delegate must have the same VIREO_DELEGATE_ABI. Structs begin with struct_size and grow at
 * the end. Functions return VIREO_OK or change nothing. Nothing but load and enumerate may allocate, and only through
 * the host's table. Two sessions may call submit at once, on different parts; one part is never submitted twice at
 * once.
 *
 * Considered and set aside: one big compile call for the whole graph (a delegate that knows few operators would have to
 * bring the rest along), and a virtual C++ class (compilers and standard libraries would have to match).
 */
#ifndef VIREO_DELEGATE_H_
#define VIREO_DELEGATE_H_

#include "vireo/vireo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VIREO_DELEGATE_ABI 3u

/* A subgraph as the host shows it. Node and value numbers are those of the file. */
typedef struct vireo_graph vireo_graph;

typedef struct vireo_graph_node {
  uint32_t struct_size;
  uint16_t op; /* vireo/ops.h */
  uint16_t version;
  const uint8_t* attrs; /* the operator's FlatBuffers table, verified, aligned to 8 */
  size_t attrs_size;
  const int32_t* inputs; /* value numbers, -1 absent */
  uint32_t input_count;
  const int32_t* outputs; /* -1 not wanted */
  uint32_t output_count;
  /* Composite: what the node means. Its inputs and outputs are the node's. Else NULL. Output 0 may lie in the memory of
   * an input, as with the body: of one that its first node alone reads, where that operator works in place. */
  const vireo_graph* body;
  const char* hint; /* composite: what the body is believed to be. Else NULL */
  const char* name;
} vireo_graph_node;

typedef struct vireo_graph_value {
  uint32_t struct_size;
  vireo_dtype dtype;
  uint8_t is_static; /* every dimension is fixed: max_dims is the shape */
  int32_t rank;
  int64_t max_dims[VIREO_MAX_RANK]; /* upper bounds */
  const void* constant;             /* the bytes of a constant, aligned to 64 (small ones to 8). Else NULL */
  size_t constant_size;
  const char* name;
} vireo_graph_value;

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
} vireo_host;

/* One part that a delegate would run: a set of nodes that can run together without leaving the device. */
typedef struct vireo_part {
  uint32_t struct_size;
  const uint32_t* nodes; /* in an order in which they can run */
  uint32_t node_count;
  double cost_ns; /* one thread, at the bounds, the same on all machines; > 0: may run beside other parts, no threads */
  const char* kernel; /* static text: which way it will run */
  const char* reason; /* static text: why no faster way was open; "" when nothing is to be said */
  const void* choice; /* the delegate's own: what it decided; the host hands it to memory and load. Lives as long as the
                         device, may be NULL */
  uint32_t packs;     /* memory, load: 1 where the host keeps packed constants, 0 where the part runs without */
  const void* const*
      packed; /* load with packs: what pack() wrote, in its order. Lives as long as the part. Else NULL */
} vireo_part;

/* A constant in a layout of the delegate's own. It is written once and serves all sessions of a model; whose bytes it
 * has, the layout's number and its sizes say all about its contents, and two parts that agree in them share one. */
typedef struct vireo_packed {
  uint32_t struct_size;
  uint32_t layout;      /* the delegate's number; a layout does not depend on the machine */
  const void* constant; /* of a value of the graph, or of a body in it */
  int64_t sizes[4];     /* as the layout counts */
  size_t bytes;
} vireo_packed;
#define VIREO_MAX_PACKED 8 /* of one part */

/* How a delegate answers a claim. Called during claim only; the pointers in `part` need live no longer than the call.
 * A node may be taken more than once, the best way first: the others are what a session's preference and `vireo tune`
 * choose from. */
typedef struct vireo_claims {
  void* context;
  vireo_status (*take)(void* context, const vireo_part* part);
  vireo_status (*leave)(void* context, uint32_t node, const char* reason); /* static text */
} vireo_claims;

typedef struct vireo_part_memory {
  uint32_t struct_size;
  size_t state_bytes;   /* kept from load to unload, aligned to 64 */
  size_t scratch_bytes; /* during submit only, aligned to 64; shared with other parts */
} vireo_part_memory;

/* What a submit may use. */
typedef struct vireo_submit {
  uint32_t struct_size;
  void* scratch; /* what memory() asked for */
  size_t scratch_bytes;
  const vireo_thread_pool* threads; /* NULL: this thread alone */
  uint64_t* random;                 /* the session's generator state */
  char* message;                    /* on failure: what happened, for the user; message_bytes with its end */
  size_t message_bytes;
} vireo_submit;

typedef struct vireo_delegate vireo_delegate;
struct vireo_delegate {
  uint32_t struct_size;
  uint32_t abi; /* VIREO_DELEGATE_ABI; read before anything else */
  const char* name;
  void* self;

  /* Device `index`, or VIREO_INVALID_ARGUMENT past the last one. `device` is handed to the other calls. */
  vireo_status (*enumerate)(void* self, const vireo_host* host, uint32_t index, vireo_device_info* info, void** device);
  /* Looks at the whole graph and says of every node: take (in a part) or leave (with a reason). */
  vireo_status (*claim)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims);
  /* What a part that was claimed takes with `slots` threads. */
  vireo_status (*memory)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                         int32_t slots, vireo_part_memory* out);
  /* Constant `index` that the part reads in a layout of its own, or VIREO_INVALID_ARGUMENT past the last one. `to` is
   * NULL: says which. Else writes out->bytes there, aligned to 64, on `threads` (NULL: this thread alone). The member
   * may be NULL: no part wants any. */
  vireo_status (*pack)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                       uint32_t index, const vireo_thread_pool* threads, vireo_packed* out, void* to);
  /* Prepares a part in `state` (as memory() said). Constants may be referred to: they outlive the part. */
  vireo_status (*load)(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                       int32_t slots, void* state, void** loaded);
  /* Runs it. `inputs` and `outputs`: the part's boundary values, NULL where absent or not wanted, for a part of one
   * node in the node's order. Shapes are set; an operator whose shape the data decide sets its outputs' true dims
   * (never above capacity). Returns when the outputs are written. */
  vireo_status (*submit)(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count,
                         vireo_tensor* const* outputs, uint32_t output_count, const vireo_submit* with);
  void (*unload)(void* loaded);
  /* VIREO_OK, or VIREO_DEVICE_LOST. */
  vireo_status (*health)(void* device);
  void (*release)(void* self);
};

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATE_H_ */
