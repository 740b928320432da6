// Writes steps into an XNNPACK subgraph, or only says whether it could.
//
// Every operand is a value of its own whose memory is given at each run, also results that another step reads: XNNPACK
// runs nodes in the order of their definition, so that the same memory may be seen in another shape by the next node,
// and results lie where the host's memory plan wants them. What XNNPACK would have fused is folded in part.cc.
#ifndef VIREO_DELEGATES_XNNPACK_WRITER_H_
#define VIREO_DELEGATES_XNNPACK_WRITER_H_

#include <xnnpack.h>

#include "delegates/xnnpack/part.h"
#include "delegates/xnnpack/weights.h"

namespace vireo::xnnpack {

constexpr uint32_t kMaxExternals = 48;

// What XNNPACK is told of codes. The scale is 1 but where it stands for a multiplier: 1 * m / 1 is exact.
struct Codes {
  int32_t zero = 0;
  bool flipped = false;
  float scale = 1;
};

// A constant as XNNPACK is told of it.
struct Fixed {
  xnn_datatype type = xnn_datatype_fp32;
  const float* scales = nullptr;  // one a channel
  size_t channel_axis = 0;
  int32_t zero = 0;
  // What else is packed with it: a constant, and a number above kOrders.
  const void* partner = nullptr;
  size_t partner_bytes = 0;
  uint32_t tag = 0;
};
// The orders that a constant may be given in; 0 is as it lies.
enum Order : uint32_t {
  kTapsBeforeInputs = 1,
  kTransposed = 2,
  kWidened = 3,
  kFlipped = 4,  // codes with another highest bit
  kDivided = 5,  // a bias, by the scale that is packed with its filter
  kOrders = 256
};

// Extents as XNNPACK takes them.
struct Dims {
  size_t count = 0;
  size_t dims[XNN_MAX_TENSOR_DIMS] = {};

  Dims() = default;
  Dims(std::initializer_list<int64_t> list) {
    for (const int64_t d : list) dims[count++] = static_cast<size_t>(d);
  }
};

// The memory behind one of XNNPACK's values. Aligned as a Part, which follows it in a part's state.
struct alignas(Part) External {
  Place place = Place::kNone;
  bool from_caller = false;
  bool flipped = false;  // uint8 codes, which XNNPACK is given as int8: the highest bit of each is another
  uint32_t index = 0;
  size_t offset = 0;  // in scratch
  size_t bytes = 0;
  const void* constant = nullptr;
  Dims dims;
};

// XNNPACK reads, never uses, up to XNN_EXTRA_BYTES behind a tensor. Inside a page that is harmless, whoever owns it.
constexpr uintptr_t kSmallestPage = 4096;
inline bool may_read_behind(const void* data, size_t bytes) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + bytes;
  return (end - 1) / kSmallestPage == (end + XNN_EXTRA_BYTES - 1) / kSmallestPage;
}

class Writer {
 public:
  // `graph` null: defines nothing. `weights` goes with it.
  Writer(xnn_subgraph_t graph, Weights* weights) : graph_(graph), weights_(weights) {}
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // "" or why not.
  const char* write(const Part& part);

  Span<const External> externals() const { return Span<const External>(externals_, external_count_); }

  // For rules. Operands in the shape that XNNPACK wants; the extents' product is the value's.
  uint32_t in(const Value& v, const Dims& dims, const Codes& codes = {});
  uint32_t out(const Value& v, const Dims& dims, const Codes& codes = {});
  // A constant that XNNPACK packs, or reads when it prepares: as it lies, or written anew by fill(to).
  // float16 is given as float32, which XNNPACK wants for convolutions and takes everywhere.
  uint32_t fixed(const Value& v, const Dims& dims);
  uint32_t fixed(const Value& v, const Dims& dims, const Fixed& as);
  template <class F>
  uint32_t reordered(const Value& original, uint32_t tag, const Dims& dims, const Fixed& as, const F& fill) {
    if (graph_ == nullptr) return count_weights();
    void* const to = temporary(bytes_of(dims, as.type));
    if (to != nullptr && weights_->wants_contents()) fill(to);
    return define_fixed(to, original, tag, dims, as);
  }
  // One number a channel that XNNPACK reads when it prepares, from a constant of one or `count`. Null where there is no
  // graph, or no memory.
  const float* per_channel(const Value& v, int64_t count);
  // Null, or what went wrong.
  const char* done(xnn_status status) {
    return status == xnn_status_success && !full_ ? nullptr : "XNNPACK refuses it";
  }
  // Constants that XNNPACK packs or reads when it prepares.
  uint32_t weight_count() const { return weight_count_; }
  bool asks() const { return graph_ == nullptr; }
  xnn_subgraph_t graph() const { return graph_; }

 private:
  uint32_t external(const Value& v, const Dims& dims, const Codes& codes, uint32_t flags);
  uint32_t define_fixed(const void* given, const Value& original, uint32_t order, const Dims& dims, const Fixed& as);
  uint32_t count_weights() {
    full_ = full_ || ++weight_count_ > Weights::kMost;
    return 0;
  }
  static size_t bytes_of(const Dims& dims, xnn_datatype type);
  void* temporary(size_t bytes);

  xnn_subgraph_t graph_;
  Weights* weights_;
  External externals_[kMaxExternals];
  uint32_t external_count_ = 0;
  uint32_t weight_count_ = 0;
  void* temporaries_[Weights::kMost] = {};
  uint32_t temporary_count_ = 0;
  bool full_ = false;
};

// The extents as they are, at most XNNPACK's rank; a scalar is one element. False when there are too many.
bool dims_of(const Shape& shape, Dims* out);
inline Dims flat(const Value& v) { return {element_count(v.type.shape)}; }

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_WRITER_H_
