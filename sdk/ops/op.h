// What an operator is to everyone: its row in ops.def, its attributes, its shape function, what memory it may share.
// Kernels are elsewhere: the reference in <op>_ref.cc (kernel.h), tuned ones in delegates.
#ifndef VIREO_SDK_OPS_OP_H_
#define VIREO_SDK_OPS_OP_H_

#include <stdint.h>

#include "flatbuffers/flatbuffers.h"
#include "sdk/base/error.h"
#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"

namespace vireo {

// Operator numbers as shipped in files: Op::kSoftmax = 10 from `VIREO_OP(10, Softmax, softmax, 1, kPlain)`.
enum class Op : uint16_t {
  kNone = 0,
#define VIREO_OP(number, name, folder, version, traits) k##name = number,
#define VIREO_IMPORT(domain, name, folder)
#include "sdk/ops/ops.def"
#undef VIREO_OP
#undef VIREO_IMPORT
};

// What a shape function sees. Dimensions and known integer contents may be handles to symbolic expressions (shape.h) in
// the converter; on a device they are numbers. Shape functions never test a dimension's value before asking
// is_symbolic().
class InferContext {
 public:
  int input_count() const { return input_count_; }
  int output_count() const { return output_count_; }
  // An optional input that is absent has dtype kNone. `i` past the end reads as absent.
  bool has(int i) const { return i < input_count_ && input(i).dtype != DType::kNone; }
  const TensorType& input(int i) const { return inputs_[i] == nullptr ? absent_ : *inputs_[i]; }
  bool wants(int o) const { return o < output_count_; }
  // To be filled for every o < output_count(). Starts out as {kNone, rank 0}.
  TensorType& output(int o) { return outputs_[o] == nullptr ? ignored_ : *outputs_[o]; }

  // The operator's own table, already verified. `T` is the generated class, e.g. attrs::Softmax.
  template <class T>
  const T& attrs() const {
    return *::flatbuffers::GetRoot<T>(attrs_.data());
  }

  // Contents of an input, where they are known: constants and shape arithmetic in the converter, constants while a
  // session is prepared, everything while it runs. Only for kI32, kI64, kBool, kU8, kI8 (value) and floats (real).
  virtual bool known(int i) = 0;
  virtual Dim value(int i, int64_t element) = 0;    // a number, or a handle
  virtual double real(int i, int64_t element) = 0;  // floating-point inputs: always numbers

  // Arithmetic over dimensions and known values: plain on numbers, an expression as soon as one side is a handle.
  // Of numbers that overflow, or meet the handles, comes one above every extent that is accepted, or the lowest that is
  // no handle; of a product only the first.
  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim floor_div(Dim a, Dim b);  // towards minus infinity; by zero: 0
  Dim ceil_div(Dim a, Dim b) { return sub(0, floor_div(sub(0, a), b)); }
  Dim min(Dim a, Dim b) { return both(a, b) ? (a < b ? a : b) : symbolic(Arith::kMin, a, b); }
  Dim max(Dim a, Dim b) { return both(a, b) ? (a > b ? a : b) : symbolic(Arith::kMax, a, b); }
  Dim count(const Shape& s, int begin, int end);  // product of dims[begin, end)
  // Proven equal (numbers that are equal, expressions that simplify to the same).
  bool equal(Dim a, Dim b) { return a == b || (!both(a, b) && symbolic(Arith::kSub, a, b) == 0); }
  // Proven different.
  bool differ(Dim a, Dim b) { return both(a, b) && a != b; }

  // An extent that only the data decide (NonZero), at most `upper`. The kernel sets the true one in its output's shape.
  virtual Dim bounded(Dim upper) = 0;
  // An extent that follows from contents not known here and has no bound by itself (Expand to a computed shape). The
  // converter makes a fresh symbol that needs a declared bound; a session that is being prepared takes what the file
  // says.
  virtual Dim unknown() = 0;

  template <class... Args>
  Status fail(Status status, const char* format, const Args&... args) {
    return ::vireo::fail(error_, status, format, args...);
  }

 protected:
  enum class Arith : uint8_t { kAdd, kSub, kMul, kFloorDiv, kMin, kMax };
  static bool both(Dim a, Dim b) { return !is_symbolic(a) && !is_symbolic(b); }
  virtual Dim symbolic(Arith op, Dim a, Dim b) = 0;  // at least one side is a handle; may answer with a number

  ~InferContext() = default;

  const TensorType* const* inputs_ = nullptr;  // null entries: absent
  TensorType* const* outputs_ = nullptr;       // null entries: not wanted
  int input_count_ = 0;
  int output_count_ = 0;
  Span<const uint8_t> attrs_;
  Error* error_ = nullptr;

 private:
  TensorType absent_;   // what an absent input looks like
  TensorType ignored_;  // takes the type of an output that nobody wants
};

class PartQuery;

struct OpDef {
  enum Flags : uint16_t {
    kPure = 0,
    kView = 1,           // output 0 holds the bytes of input 0: only the shape differs
    kDataDependent = 2,  // an output's shape is known only after the kernel ran
    kRandom = 4,         // never folded, never merged
    kControlFlow = 8,    // run by the runtime itself: If, Loop, Scan, Composite
    kInputsInside = 16,  // `parts` are the inputs in output 0; without it, the outputs in input 0
  };
  const char* name;                           // ONNX's name
  bool (*verify)(Span<const uint8_t> attrs);  // the bytes are a valid attribute table of this operator
  Status (*infer)(InferContext& ctx);         // also the place where types, ranks and attributes are checked
  uint8_t min_inputs, max_inputs;             // max 255: any number
  uint8_t min_outputs, max_outputs;
  uint16_t flags;
  // Bit i: output 0 may be written where input i lies, if both have the same number of bytes. A promise that every
  // kernel of the operator keeps.
  uint32_t inplace;
  // Fills `at` (-1 to begin with) with the elements that stand in the whole before each part whose elements are one run
  // of it (parts.h). A promise that every kernel of the operator keeps: a part that lies at its place in the whole is
  // not copied, or copied onto itself. Null: no part ever is.
  void (*parts)(const PartQuery& query, Span<int64_t> at) = nullptr;
};

struct OpRow {
  Op op;
  uint16_t version;  // the newest this build understands
  const OpDef* def;
};

// All operators of this build, by number, ascending; narrowed by VIREO_KERNELS.
Span<const OpRow> op_rows();
const OpRow* find_op(Op op);  // null: not in this build
const char* op_name(Op op);   // "?" when not in this build

// `verify` for an operator with attribute table T.
template <class T>
bool verify_attrs(Span<const uint8_t> bytes) {
  if (bytes.size() < 8) return false;
  ::flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  return verifier.VerifyBuffer<T>(nullptr);
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_OP_H_
