/* Memory of devices in the caller's hands: frames of a camera, textures, results that stay on the device.
 *
 * A device that works on memory of its own (no VIREO_DEVICE_UNIFIED) gets a copy of each input, and its results are
 * copied back. Where the data lie on the device already, or can be shared with it, a buffer says so: bound to a
 * session's input or output it is used in place.
 *
 * The rules of vireo.h hold. Handles belong to whoever made them: an import does not take them over, and what they
 * stand for outlives the buffer. A buffer outlives the sessions that it is bound to. Buffers may be used from several
 * threads. Writing a buffer while a run reads it is a data race; the results are undefined.
 */
#ifndef VIREO_BUFFER_H_
#define VIREO_BUFFER_H_

#include "vireo/vireo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a handle's value is. A device takes and gives some of these; it refuses the others with VIREO_UNSUPPORTED. */
typedef uint32_t vireo_handle_kind;
enum {
  VIREO_HANDLE_HOST = 1,      /* an address in this process */
  VIREO_HANDLE_FD = 2,        /* a file descriptor whose bytes can be mapped: a dma-buf, a memfd */
  VIREO_HANDLE_OPAQUE_FD = 3, /* a file descriptor that only drivers understand: VkExternalMemoryHandleType...OPAQUE_FD,
                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
  VIREO_HANDLE_CUDA = 4,      /* CUdeviceptr */
  VIREO_HANDLE_HIP = 5,       /* hipDeviceptr_t */
  VIREO_HANDLE_OPENCL = 6,    /* cl_mem */
  VIREO_HANDLE_VULKAN = 7,    /* VkBuffer of the delegate's own VkDevice */
  VIREO_HANDLE_VENDOR = 64    /* and above: as the vendor says */
};

/* A reference to memory that was made elsewhere, or is given to others. */
typedef struct vireo_handle {
  uint32_t struct_size;
  vireo_handle_kind kind;
  uint64_t value;
  uint64_t offset; /* of the buffer's first byte in what `value` stands for */
  uint64_t bytes;
} vireo_handle;
#define VIREO_HANDLE_INIT VIREO_INIT_(vireo_handle)

typedef struct vireo_buffer vireo_buffer; /* memory of one device, in the caller's hands */

/* Makes new memory on device `device` of the runtime. VIREO_UNSUPPORTED if the device has no memory to give,
 * VIREO_OUT_OF_ARENA if it has no more. */
VIREO_API vireo_status vireo_buffer_create(vireo_runtime* runtime, uint32_t device, uint64_t bytes,
                                           vireo_buffer** out_buffer, vireo_error* error);
/* Makes a buffer of memory that already exists. VIREO_UNSUPPORTED if the device does not take this handle. */
VIREO_API vireo_status vireo_buffer_import(vireo_runtime* runtime, uint32_t device, const vireo_handle* handle,
                                           vireo_buffer** out_buffer, vireo_error* error);
/* Releases the buffer. No session may be bound to it. */
VIREO_API void vireo_buffer_release(vireo_buffer* buffer);
/* The size of the buffer. */
VIREO_API uint64_t vireo_buffer_bytes(const vireo_buffer* buffer);
/* Gives a handle of `kind` for others to use. A file descriptor is a new one, which the caller closes. Any other handle
 * lives as long as the buffer. */
VIREO_API vireo_status vireo_buffer_export(const vireo_buffer* buffer, vireo_handle_kind kind, vireo_handle* out,
                                           vireo_error* error);
/* Copies from the host's memory into the buffer; done on return. VIREO_OUT_OF_ARENA beyond its end. */
VIREO_API vireo_status vireo_buffer_write(vireo_buffer* buffer, uint64_t offset, const void* from, uint64_t bytes,
                                          vireo_error* error);
/* Copies from the buffer into the host's memory; done on return. VIREO_OUT_OF_ARENA beyond its end. */
VIREO_API vireo_status vireo_buffer_read(const vireo_buffer* buffer, uint64_t offset, void* to, uint64_t bytes,
                                         vireo_error* error);

/* Binds input `index` to a buffer: the next runs of the session read it from there. It is dense, row-major, of the
 * tensor's type. `offset` is a multiple of VIREO_BUFFER_ALIGNMENT, and there is room behind it for the value at the
 * session's bounds. The bytes are copied if no part on the buffer's device reads them. In vireo_session_run the entry
 * of a bound input has type and shape, and no data. A NULL buffer ends the binding. VIREO_UNSUPPORTED for carried
 * state, and in a session whose devices have no memory of their own. If the buffer's device is lost, its contents are
 * lost: runs end with VIREO_DEVICE_LOST. vireo_session_reserve does not keep the binding. */
VIREO_API vireo_status vireo_session_bind_input(vireo_session* session, uint32_t index, vireo_buffer* buffer,
                                                uint64_t offset, vireo_error* error);
/* Binds output `index` to a buffer: the next runs of the session write it there. As vireo_session_bind_input, and: in
 * vireo_session_run the entry of a bound output gets type and shape, and a copy if it brings data. VIREO_UNSUPPORTED
 * also for an output that is an input of the model. */
VIREO_API vireo_status vireo_session_bind_output(vireo_session* session, uint32_t index, vireo_buffer* buffer,
                                                 uint64_t offset, vireo_error* error);
/* Offsets in a buffer are multiples of this, in bytes. */
#define VIREO_BUFFER_ALIGNMENT 256

#ifdef __cplusplus
}
#endif

#endif /* VIREO_BUFFER_H_ */
