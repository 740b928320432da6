// What a kernel sees when it runs, and the table of reference kernels.
#ifndef VIREO_SDK_OPS_KERNEL_H_
#define VIREO_SDK_OPS_KERNEL_H_

#include <stdint.h>

#include "sdk/base/error.h"
#include "sdk/base/parallel.h"
#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"
#include "sdk/base/string.h"
#include "sdk/ops/op.h"

namespace vireo {

// A dense, row-major tensor in borrowed memory; its shape is numbers only. The layout is that of vireo_tensor, so that
// tensors cross the delegate ABI as they are.
struct Tensor : TensorType {
  void* data = nullptr;  // aligned to 16 in the arena; caller's memory: to its element
  int64_t capacity = 0;  // bytes at `data`

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t count() const { return product(shape, 0, shape.rank); }
};

// The fewest elements that are worth a thread's while, where a kernel takes a few cycles for each.
constexpr int64_t kElementGrain = 4096;

struct KernelContext {
  Span<const Tensor* const> inputs;  // null: absent
  Span<Tensor* const> outputs;       // null: not wanted. Shapes are set by the shape function before the kernel runs
  Span<const uint8_t> attr_bytes;
  Span<uint8_t> scratch;  // at least what scratch_bytes asked for, aligned to 64
  Span<uint8_t> text;     // at least what text_bytes asked for: the node's own, whose bytes stay until its next run
  Parallel parallel;
  uint64_t* random = nullptr;  // the session's generator state, advanced by operators that draw from it
  Error* error = nullptr;

  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attr_bytes.data());
  }
  const Tensor* in(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  Tensor* out(size_t i) const { return i < outputs.size() ? outputs[i] : nullptr; }
  // An input that the operator cannot be without: the loader refuses a node that lacks it.
  const Tensor& required(size_t i) const { return *inputs[i]; }
  template <class... Args>
  Status fail(Status status, const char* format, const Args&... args) const {
    return ::vireo::fail(error, status, format, args...);
  }
};

// Types at the bounds, from which a kernel says what scratch it needs.
struct KernelQuery {
  Span<const TensorType> inputs;  // kNone: absent
  Span<const TensorType> outputs;
  Span<const uint8_t> attr_bytes;
  int32_t slots = 1;
  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attr_bytes.data());
  }
};

struct RefKernel {
  // Inputs have passed the shape function. Rechecks only what data can change: gathered indices, divisors, loop bounds.
  Status (*run)(const KernelContext& ctx);
  int64_t (*scratch_bytes)(const KernelQuery& query);  // null: none. Asked with any shape and axis; negative: no size
  // Room for the bytes of strings that the operator makes rather than takes from its inputs (text.h). Null: none.
  int64_t (*text_bytes)(const KernelQuery& query) = nullptr;
};

struct RefRow {
  Op op;
  const RefKernel* kernel;
};

Span<const RefRow> ref_rows();  // by number, ascending; control flow has no row
const RefKernel* find_ref(Op op);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_KERNEL_H_
