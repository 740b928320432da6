#include "converter/cli/onnx_tensor.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx-ml.pb.h>
#include <string.h>

#include <algorithm>
#include <set>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "converter/onnx/six_bits.h"

namespace vireo::cli {
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
  if (tensor.data_type() <= 0 || tensor.data_type() > VIREO_FLOAT6E3M2)
    throw Failure("has element type " + std::to_string(tensor.data_type()) + ", which is not known");
  Array a = make_array(static_cast<vireo_dtype>(tensor.data_type()), {tensor.dims().begin(), tensor.dims().end()});
  if (a.dtype == VIREO_STRING) {
    if (static_cast<size_t>(tensor.string_data_size()) != a.strings.size())
      throw Failure("has not as many texts as its shape wants");
    a.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
    return a;
  }
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    const bool packed = is_six_bits(static_cast<DType>(a.dtype));
    const size_t want = packed ? static_cast<size_t>(packed_six_bits(a.count())) : a.bytes.size();
    if (raw.size() != want)
      throw Failure("holds " + std::to_string(raw.size()) + " bytes, its shape wants " + std::to_string(want));
    if (packed) {
      a.bytes = unpack_six_bits({reinterpret_cast<const uint8_t*>(raw.data()), raw.size()}, a.count());
    } else if (!a.bytes.empty()) {
      memcpy(a.bytes.data(), raw.data(), a.bytes.size());
    }
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

// The messages in field `number` of a message. SequenceProto, MapProto and OptionalProto are in a schema of their own,
// of which a few fields matter here.
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
      throw Failure("is no sequence, map or optional");
    if (tag >> 3 == number) found.push_back(bytes);
  }
  return found;
}

Array parse_tensor(const std::string& bytes) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(bytes)) throw Failure("is no TensorProto");
  return to_array(tensor);
}

// onnx-data.proto: SequenceProto.tensor_values and .map_values, OptionalProto.tensor_value and .sequence_value,
// MapProto.keys, .string_keys and .values.
constexpr uint32_t kTensorValues = 3, kMapValues = 6, kTensorValue = 3, kSequenceValue = 5;
constexpr uint32_t kMapKeys = 3, kMapTexts = 4, kMapSequence = 5;

// The integers in field `number` of a message, each alone or many in a run.
std::vector<int64_t> integers_of(const std::string& message, uint32_t number) {
  std::vector<int64_t> found;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    uint64_t value = 0;
    uint32_t length = 0;
    const bool wanted = tag >> 3 == number;
    if ((tag & 7u) == 0 && in.ReadVarint64(&value)) {
      if (wanted) found.push_back(static_cast<int64_t>(value));
      continue;
    }
    if ((tag & 7u) != 2 || !in.ReadVarint32(&length)) throw Failure("is no map");
    if (!wanted) {
      if (!in.Skip(static_cast<int>(length))) throw Failure("is no map");
      continue;
    }
    const auto limit = in.PushLimit(static_cast<int>(length));
    while (in.BytesUntilLimit() > 0) {
      if (!in.ReadVarint64(&value)) throw Failure("is no map");
      found.push_back(static_cast<int64_t>(value));
    }
    in.PopLimit(limit);
  }
  return found;
}

// Elements `order` of the last axis.
Array pick(const Array& a, const std::vector<size_t>& order) {
  Array out = a;
  const size_t size = static_cast<size_t>(dtype_bits(a.dtype)) / 8, count = static_cast<size_t>(a.count());
  for (size_t to = 0; to < count; ++to) {
    const size_t k = to % order.size(), from = to - k + order[k];
    if (a.dtype == VIREO_STRING) {
      out.strings[to] = a.strings[from];
    } else {
      memcpy(out.bytes.data() + to * size, a.bytes.data() + from * size, size);
    }
  }
  return out;
}

// Its keys and its values, 1-D.
std::vector<Array> parse_map(const std::string& bytes) {
  const std::vector<std::string> texts = field_of(bytes, kMapTexts), held = field_of(bytes, kMapSequence);
  const std::vector<int64_t> integers = integers_of(bytes, kMapKeys);
  const auto count = static_cast<int64_t>(texts.empty() ? integers.size() : texts.size());
  Array keys = make_array(texts.empty() ? VIREO_INT64 : VIREO_STRING, {count});
  keys.strings = texts;
  if (!integers.empty() && texts.empty()) memcpy(keys.bytes.data(), integers.data(), keys.bytes.size());
  std::vector<Array> each;
  for (const std::string& sequence : held) {
    for (const std::string& tensor : field_of(sequence, kTensorValues)) each.push_back(parse_tensor(tensor));
  }
  if (count == 0 || static_cast<int64_t>(each.size()) != count)
    throw Failure("is a map of " + std::to_string(count) + " keys and " + std::to_string(each.size()) + " values");
  Array values = make_array(each[0].dtype, {count});
  values.bytes.clear();
  values.strings.clear();
  for (const Array& v : each) {
    if (v.dtype != values.dtype || !v.dims.empty()) throw Failure("is a map whose values are not scalars of one type");
    values.bytes.insert(values.bytes.end(), v.bytes.begin(), v.bytes.end());
    values.strings.insert(values.strings.end(), v.strings.begin(), v.strings.end());
  }
  if (!sort_by_key(&keys, &values)) throw Failure("is a map with a key that comes twice");
  return {std::move(keys), std::move(values)};
}

// Keys [E] and values [N, E] of N maps.
std::vector<Array> parse_maps(const std::string& bytes) {
  std::vector<Array> all;
  int64_t count = 0;
  for (const std::string& element : field_of(bytes, kMapValues)) {
    const std::vector<Array> map = parse_map(element);
    if (++count == 1) {
      all = map;
      continue;
    }
    if (map[0].bytes != all[0].bytes || map[0].strings != all[0].strings || map[1].dtype != all[1].dtype)
      throw Failure("holds maps of different keys");
    all[1].bytes.insert(all[1].bytes.end(), map[1].bytes.begin(), map[1].bytes.end());
    all[1].strings.insert(all[1].strings.end(), map[1].strings.begin(), map[1].strings.end());
  }
  if (count == 0) throw Failure("holds no maps");
  all[1].dims = {count, all[0].dims[0]};
  return all;
}

}  // namespace

bool sort_by_key(Array* keys, Array* values) {
  const bool text = keys->dtype == VIREO_STRING;
  if ((!text && keys->dtype != VIREO_INT64) || keys->dims.size() != 1 || values->dims.empty() ||
      values->dims.back() != keys->dims[0] || (values->dtype != VIREO_STRING && dtype_bits(values->dtype) < 8))
    return false;
  const auto* numbers = reinterpret_cast<const int64_t*>(keys->bytes.data());
  const auto before = [&](size_t a, size_t b) {
    return text ? keys->strings[a] < keys->strings[b] : numbers[a] < numbers[b];
  };
  std::vector<size_t> order(static_cast<size_t>(keys->dims[0]));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), before);
  for (size_t i = 1; i < order.size(); ++i) {
    if (!before(order[i - 1], order[i])) return false;
  }
  *values = pick(*values, order);
  *keys = pick(*keys, order);
  return true;
}

CaseTypes read_case_types(const std::string& model_path) {
  const std::vector<uint8_t> bytes = read_file(model_path);
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) throw Failure(model_path + " is no model");
  const auto type_of = [](const onnx::ValueInfoProto& info) {
    const onnx::TypeProto& type = info.type();
    const bool optional = type.has_optional_type();
    return CaseType{info.name(), optional,
                    type.has_sequence_type() || (optional && type.optional_type().elem_type().has_sequence_type()),
                    type.has_map_type() || type.sequence_type().elem_type().has_map_type(),
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
  if (type.map) {
    value.tensors = type.sequence ? parse_maps(bytes) : parse_map(bytes);
  } else if (!type.sequence) {
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

}  // namespace vireo::cli
