// How an operator's folder sees the node of an ONNX file, and says what becomes of it. Host only; knows neither
// protobuf nor the graph IR, both of which stand behind the abstract class.
//
// An importer is called in topological order, with its inputs' types already inferred, and handles every opset version
// of its operator: it upgrades what old versions spelled otherwise, so that the rest of Vireo sees one form.
#ifndef VIREO_SDK_OPS_VIEW_H_
#define VIREO_SDK_OPS_VIEW_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"
#include "sdk/ops/op.h"

namespace vireo {

// A value of the graph under construction. 0: absent.
struct Value {
  uint32_t id = 0;
  explicit operator bool() const { return id != 0; }
};

struct ConstTensor {
  TensorType type;                   // shape in numbers; packed types (int4...) packed as dtype.h says
  Span<const uint8_t> bytes;         // dense, row-major, little-endian; empty for strings
  std::vector<std::string> strings;  // kString only

  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  int64_t count() const { return element_count(type.shape); }
};

// A number of a file in the 32 bits that a .vireo file has for it: those beyond become the nearest. No axis or
// block reaches it, so that inference refuses it as any other out of range; a size or a window is as large as it gets.
inline int32_t saturated_int32(int64_t v) {
  return static_cast<int32_t>(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}

class ImportContext {
 public:
  virtual ~ImportContext() = default;

  virtual std::string_view op_type() const = 0;
  virtual std::string_view domain() const = 0;  // "" for ai.onnx
  virtual int opset() const = 0;                // of the node's domain

  virtual int input_count() const = 0;
  virtual int output_count() const = 0;
  virtual Value input(int i) const = 0;                    // absent (also past the end): false
  virtual bool wants_output(int i) const = 0;              // false for unnamed outputs and past the end
  virtual TensorType type(Value v) const = 0;              // dimensions may be handles
  virtual const ConstTensor* constant(Value v) const = 0;  // null: not a constant. Lives as long as the import
  // Proven different, whatever the input.
  virtual bool differ(Dim a, Dim b) const { return !is_symbolic(a) && !is_symbolic(b) && a != b; }
  // Proven equal, whatever the input.
  virtual bool equal(Dim a, Dim b) const { return a == b; }
  // The elements are numbers or expressions over dimensions, so that extents may be made of them.
  virtual bool knows_elements(Value v) const { return constant(v) != nullptr; }
  // The rank that the file declares for the ONNX node's output `i`, or that a reader of it asks for; -1: none.
  virtual int declared_rank(int) const { return -1; }
  // The number that the file declares for dimension `axis` of the ONNX node's output `i`; -1: none.
  virtual int64_t declared_extent(int i, int axis) const {
    static_cast<void>(i + axis);
    return -1;
  }
  // Extents of which nothing is known, where it matters whether they are 1, are to be taken as 1: the other assumption
  // was tried, and does not give the outputs that the file declares.
  virtual bool unknown_is_one() const { return false; }

  // So long a string is taken to be at most, where memory is reserved for text (text.h); --string-bytes.
  virtual uint32_t string_bytes() const { return 256; }

  virtual bool has_attr(std::string_view name) const = 0;
  virtual int64_t attr_int(std::string_view name, int64_t otherwise) const = 0;
  int32_t attr_int32(std::string_view name, int64_t otherwise) const {
    return saturated_int32(attr_int(name, otherwise));
  }
  virtual float attr_float(std::string_view name, float otherwise) const = 0;
  virtual std::string attr_string(std::string_view name, std::string_view otherwise) const = 0;
  virtual std::vector<int64_t> attr_ints(std::string_view name) const = 0;  // absent: empty
  virtual std::vector<float> attr_floats(std::string_view name) const = 0;
  virtual std::vector<std::string> attr_strings(std::string_view name) const = 0;
  virtual const ConstTensor* attr_tensor(std::string_view name) const = 0;  // absent: null
  // For nodes whose lists are all but a whole model. Each string of attr_strings() where it lies:
  virtual void each_attr_string(std::string_view name, const std::function<void(std::string_view)>& see) const {
    for (const std::string& s : attr_strings(name)) see(s);
  }
  // The list is not asked for again, and its memory may serve others. From here on it may be empty.
  virtual void forget_attr(std::string_view name) { static_cast<void>(name); }

  // Adds a node of operator `op` and infers its outputs' types; on failure the diagnostic is recorded and the returned
  // values are absent. `attrs`: pack() of the operator's table.
  virtual std::vector<Value> emit(Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs, int outputs) = 0;
  Value emit1(Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs) {
    const std::vector<Value> out = emit(op, std::move(attrs), std::move(inputs), 1);
    return out.empty() ? Value{} : out[0];
  }
  virtual Value add_constant(const TensorType& type, std::vector<uint8_t> bytes) = 0;
  virtual Value add_string_constant(const Shape& shape, std::vector<std::string> strings) = 0;
  Value add_i64(const std::vector<int64_t>& values) {  // 1-D
    TensorType t{DType::kI64, {}};
    t.shape.rank = 1;
    t.shape[0] = static_cast<int64_t>(values.size());
    const auto* p = reinterpret_cast<const uint8_t*>(values.data());
    return add_constant(t, std::vector<uint8_t>(p, p + values.size() * sizeof(int64_t)));
  }
  Value add_f32_scalar(float v) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    return add_constant({DType::kF32, {}}, std::vector<uint8_t>(p, p + sizeof(v)));
  }
  // What the graph in attribute `name` makes of `inputs`: its nodes stand among the others. Empty when the diagnostic
  // is recorded.
  virtual std::vector<Value> call(std::string_view name, const std::vector<Value>& inputs) {
    static_cast<void>(inputs);
    static_cast<void>(fail(Status::kUnsupported, "the graph " + std::string(name) + " cannot be called here"));
    return {};
  }
  // Says which value the ONNX node's output `i` is. Every wanted output must be given one.
  virtual void set_output(int i, Value v) = 0;

  // Tells the user what is assumed about this node, and how to say otherwise.
  virtual void assume(const std::string& what, const std::string& help) = 0;
  // The same of extents that only a run knows: that all are 1, or that all are larger. Where the extents of inputs
  // decide them, a session refuses inputs that make them otherwise.
  virtual void assume_extents(const std::vector<Dim>& extents, bool one, const std::string& what,
                              const std::string& help) = 0;
  // Says how this node is read, which the standard does not allow and other runtimes run.
  virtual void beyond_standard(const std::string& what) = 0;
  // Records a diagnostic for this node (its name, operator and opset are added) and returns `status`:
  // kInvalidModel (the file is wrong) or kUnsupported (valid, not built). `help`: what the user can do.
  virtual Status fail(Status status, const std::string& what, const std::string& help = "") = 0;
};

struct OnnxImport {
  const char* domain;  // "" for ai.onnx, "ai.onnx.ml", "com.microsoft"...
  const char* op_type;
  Status (*import)(ImportContext& ctx);
};

Span<const OnnxImport* const> onnx_imports();  // generated from ops.def

// Bytes of an attribute table from flatc's object type: pack<attrs::Softmax>(attrs::SoftmaxT{...}).
template <class Table, class Object>
std::vector<uint8_t> pack(const Object& object) {
  ::flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &object));
  return std::vector<uint8_t>(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
}

// For an operator whose ONNX form is ours: same inputs, same outputs, attributes given.
Status import_direct(ImportContext& ctx, Op op, std::vector<uint8_t> attrs);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_VIEW_H_
