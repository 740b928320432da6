#include "converter/tool/onnx_tensor.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx-ml.pb.h>
#include <string.h>

#include <set>

#include "c_api/tool/failure.h"
#include "c_api/tool/file.h"

namespace vireo::tool {
namespace {

// Copies `field` element by element into integers of type T, as ONNX widens small types.
template <typename T, typename Field>
void copy_field(const Field& field, Array* out) {
  const size_t want = out->bytes.size() / sizeof(T);
  if (static_cast<size_t>(field.size()) != want)
    throw Failure("holds " + std::to_string(field.size()) + " values, its shape wants " + std::to_string(want));
  for (size_t i = 0; i < want; ++i) {
    const T value = static_cast<T>(field.Get(static_cast<int>(i)));
    memcpy(out->bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

Array to_array(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) throw Failure("keeps its values in another file");
  if (tensor.data_type() <= 0 || tensor.data_type() > VIREO_INT2)
    throw Failure("has element type " + std::to_string(tensor.data_type()) + ", which is not known");
  Array a = make_array(static_cast<vireo_dtype>(tensor.data_type()), {tensor.dims().begin(), tensor.dims().end()});
  if (a.dtype == VIREO_STRING) {
    if (static_cast<size_t>(tensor.string_data_size()) != a.strings.size())
      throw Failure("has not as many texts as its shape wants");
    a.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
    return a;
  }
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != a.bytes.size())
      throw Failure("holds " + std::to_string(tensor.raw_data().size()) + " bytes, its shape wants " +
                    std::to_string(a.bytes.size()));
    if (!a.bytes.empty()) memcpy(a.bytes.data(), tensor.raw_data().data(), a.bytes.size());
    return a;
  }
  switch (a.dtype) {
    case VIREO_FLOAT32:
    case VIREO_COMPLEX64:
      copy_field<float>(tensor.float_data(), &a);
      break;
    case VIREO_FLOAT64:
    case VIREO_COMPLEX128:
      copy_field<double>(tensor.double_data(), &a);
      break;
    case VIREO_INT64:
      copy_field<int64_t>(tensor.int64_data(), &a);
      break;
    case VIREO_UINT64:
      copy_field<uint64_t>(tensor.uint64_data(), &a);
      break;
    case VIREO_UINT32:
      copy_field<uint32_t>(tensor.uint64_data(), &a);
      break;
    case VIREO_INT32:
      copy_field<int32_t>(tensor.int32_data(), &a);
      break;
    case VIREO_INT16:
    case VIREO_UINT16:
    case VIREO_FLOAT16:
    case VIREO_BFLOAT16:
      copy_field<uint16_t>(tensor.int32_data(), &a);
      break;
    default:
      copy_field<uint8_t>(tensor.int32_data(), &a);
      break;  // bytes, and packed types a byte at a time
  }
  return a;
}

// The messages in field `number` of a message. SequenceProto and OptionalProto are in a schema of their own, of which
// two fields matter here.
std::vector<std::string> field_of(const std::string& message, uint32_t number) {
  std::vector<std::string> found;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    uint64_t skipped = 0;
    uint32_t length = 0;
    std::string bytes;
    if ((tag & 7u) == 0 && in.ReadVarint64(&skipped)) continue;
    if ((tag & 7u) != 2 || !in.ReadVarint32(&length) || !in.ReadString(&bytes, static_cast<int>(length)))
      throw Failure("is no sequence or optional");
    if (tag >> 3 == number) found.push_back(bytes);
  }
  return found;
}

Array parse_tensor(const std::string& bytes) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(bytes)) throw Failure("is no TensorProto");
  return to_array(tensor);
}

// onnx-data.proto: SequenceProto.tensor_values, OptionalProto.tensor_value and .sequence_value.
constexpr uint32_t kTensorValues = 3, kTensorValue = 3, kSequenceValue = 5;

}  // namespace

CaseTypes read_case_types(const std::string& model_path) {
  const std::vector<uint8_t> bytes = read_file(model_path);
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) throw Failure(model_path + " is no model");
  const auto type_of = [](const onnx::ValueInfoProto& info) {
    const onnx::TypeProto& type = info.type();
    const bool optional = type.has_optional_type();
    return CaseType{info.name(), optional,
                    type.has_sequence_type() || (optional && type.optional_type().elem_type().has_sequence_type()),
                    static_cast<vireo_dtype>(type.tensor_type().elem_type())};
  };
  std::set<std::string> constants;
  for (const auto& t : model.graph().initializer()) constants.insert(t.name());
  CaseTypes types;
  for (const auto& info : model.graph().input()) {
    if (constants.count(info.name()) == 0) types.inputs.push_back(type_of(info));
  }
  for (const auto& info : model.graph().output()) types.outputs.push_back(type_of(info));
  return types;
}

CaseValue read_case_value(const std::string& path, const CaseType& type) try {
  const std::vector<uint8_t> file = read_file(path);
  std::string bytes(file.begin(), file.end());
  CaseValue value;
  if (type.optional) {
    const std::vector<std::string> held = field_of(bytes, type.sequence ? kSequenceValue : kTensorValue);
    value.present = !held.empty();
    if (!value.present) return value;
    bytes = held[0];
  }
  value.sequence = type.sequence;
  if (!type.sequence) {
    value.tensors.push_back(parse_tensor(bytes));
    // Old packages of ONNX write bfloat16 values under numpy's name for 16 bits.
    Array& a = value.tensors.back();
    if (type.dtype == VIREO_BFLOAT16 && a.dtype == VIREO_UINT16) a.dtype = VIREO_BFLOAT16;
  } else {
    for (const std::string& element : field_of(bytes, kTensorValues)) value.tensors.push_back(parse_tensor(element));
  }
  return value;
} catch (const Failure& failure) {
  throw Failure(path + " " + failure.what());
}

std::map<std::string, Array> constants_to_inputs(const std::string& from, const std::string& to) {
  const std::vector<uint8_t> bytes = read_file(from);
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) throw Failure(from + " is no model");
  onnx::GraphProto& graph = *model.mutable_graph();
  std::map<std::string, Array> values;
  const auto give = [&](const std::string& name, const onnx::TensorProto& tensor) {
    values[name] = to_array(tensor);
    for (const auto& input : graph.input()) {
      if (input.name() == name) return;  // files of IR version 3 list initialisers as inputs
    }
    onnx::ValueInfoProto& info = *graph.add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(tensor.data_type());
    onnx::TensorShapeProto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const int64_t d : tensor.dims()) shape.add_dim()->set_dim_value(d);
  };
  for (const auto& tensor : graph.initializer()) give(tensor.name(), tensor);
  graph.clear_initializer();
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.op_type() != "Constant" || node.attribute_size() != 1 || node.attribute(0).name() != "value") continue;
    give(node.output(0), node.attribute(0).t());
    graph.mutable_node()->DeleteSubrange(i, 1);
  }
  std::string text;
  if (!model.SerializeToString(&text)) throw Failure(from + " cannot be written again");
  const std::vector<uint8_t> out(text.begin(), text.end());
  write_file(to, out.data(), out.size());
  return values;
}

Array read_tensor_file(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) throw Failure(path + " is no TensorProto");
  try {
    return to_array(tensor);
  } catch (const Failure& failure) {
    throw Failure(path + " " + failure.what());
  }
}

}  // namespace vireo::tool
