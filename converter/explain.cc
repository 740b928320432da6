// What else there is to say of a node that was refused. The node alone, as a model, is converted again with one thing
// changed at a time: what then converts is the rewrite to propose. Trying it is better than a table of what each
// operator takes, which would be a second list of what the operators' own code says, and would not know what follows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include "converter/convert.h"
#include "onnx/onnx-ml.pb.h"
#include "sdk/base/dtype.h"
#include "sdk/base/half.h"
#include "sdk/files/whole_file.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

using ::onnx::ModelProto;

constexpr size_t kMostTried = 24;  // refusals to find a way out for: each costs a few conversions of one node

ConvertOptions options_of(const std::vector<std::string>& texts) {
  ConvertOptions options;
  for (const std::string& text : texts) {
    const size_t space = text.find(' ');
    const std::string value = text.substr(space + 1);
    if (text.compare(0, space, "--shape") == 0) {
      ShapeOption shape;
      std::string error;
      if (parse_shape_option(value, &shape, &error)) options.shapes.push_back(std::move(shape));
    } else {
      const size_t at = value.rfind('=');
      const std::string count = value.substr(at + 1);
      options.elements.push_back({value.substr(0, at), count == "none" ? -1 : std::stoll(count)});
    }
  }
  return options;
}

// Whether `model` is refused as `d` says.
bool same_refusal(const std::string& model, const Diagnostic& d) {
  Diagnostics found;
  if (check_bytes(model, options_of(d.reproducer_options), &found, nullptr)) return false;
  for (const Diagnostic& other : found.all()) {
    if (other.code == d.code && other.op == d.op && (other.what == d.what || d.code == Code::kUnknownOperator))
      return true;
  }
  return false;
}

bool converts(const ModelProto& model, const std::vector<std::string>& options) {
  Diagnostics found;
  return check_bytes(model.SerializeAsString(), options_of(options), &found, nullptr);
}

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "\"" : ", \"") + name + "\"";
  return out;
}

bool is_real(DType t) { return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16; }

// What a Cast takes to another number and back: of a complex one it would keep the real part alone.
bool number_type(int type) {
  const auto t = static_cast<DType>(type);
  return type > 0 && type < kDTypeCount && (is_real(t) || (dtype_is_integer(t) && dtype_bits(t) >= 8));
}

// Adds `v` to `bytes` as a number of type `to`; false where that has no such number.
bool put(DType to, double v, std::string* bytes) {
  const auto same = [&](auto number, double back) {
    bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
    return back == v;
  };
  switch (to) {
    case DType::kF64:
      return same(v, v);
    case DType::kF32:
      return same(static_cast<float>(v), static_cast<double>(static_cast<float>(v)));
    case DType::kF16:
      return same(f32_to_f16(static_cast<float>(v)),
                  static_cast<double>(f16_to_f32(f32_to_f16(static_cast<float>(v)))));
    case DType::kBF16:
      return same(f32_to_bf16(static_cast<float>(v)),
                  static_cast<double>(bf16_to_f32(f32_to_bf16(static_cast<float>(v)))));
    case DType::kI64:
      return std::fabs(v) <= 0x1p53 && same(static_cast<int64_t>(v), std::trunc(v));
    case DType::kI32:
      return std::fabs(v) < 0x1p31 && same(static_cast<int32_t>(v), std::trunc(v));
    default:
      return false;
  }
}

// The values of `t` as those of another type; false where that has no such values, or it was not read.
bool retype(DType to, ::onnx::TensorProto* t) {
  const auto from = static_cast<DType>(t->data_type());
  int64_t count = 1;
  for (const int64_t d : t->dims()) count *= d;
  if (static_cast<int64_t>(t->raw_data().size()) != dtype_bytes(from, count)) return false;
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    if (!put(to, read_real(from, t->raw_data().data(), i), &bytes)) return false;
  }
  t->set_data_type(static_cast<int>(to));
  t->set_raw_data(bytes);
  return true;
}

// Something that a node reads.
struct Operand {
  std::string name;
  int type = 0;
  bool constant = false;
};

std::vector<Operand> operands_of(const ModelProto& model) {
  std::vector<Operand> out;
  for (const auto& t : model.graph().initializer()) out.push_back({t.name(), t.data_type(), true});
  for (const auto& info : model.graph().input())
    if (info.type().has_tensor_type()) out.push_back({info.name(), info.type().tensor_type().elem_type(), false});
  return out;
}

// `refused` with the operands in `names` of another type; false where a constant has no such values, or it is refused
// all the same.
bool converts_as(const ModelProto& refused, const std::vector<std::string>& options, const std::set<std::string>& names,
                 DType to) {
  ModelProto model = refused;
  auto* graph = model.mutable_graph();
  for (auto& info : *graph->mutable_input()) {
    if (names.count(info.name()) != 0) info.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(to));
  }
  for (auto& t : *graph->mutable_initializer()) {
    if (names.count(t.name()) != 0 && !retype(to, &t)) return false;
  }
  graph->clear_output();
  for (const std::string& name : graph->node(0).output()) {
    if (!name.empty()) graph->add_output()->set_name(name);
  }
  return converts(model, options);
}

// One operand in another type: a constant before data, which a Cast would be run for; an integer before a real number,
// which a Cast would round.
std::string try_one_type(const ModelProto& refused, const std::vector<std::string>& options) {
  std::vector<Operand> operands = operands_of(refused);
  const auto cost = [](const Operand& o) {
    return (o.constant ? 0 : 2) + (dtype_is_integer(static_cast<DType>(o.type)) ? 0 : 1);
  };
  std::stable_sort(operands.begin(), operands.end(),
                   [&](const Operand& a, const Operand& b) { return cost(a) < cost(b); });
  for (const Operand& one : operands) {
    std::vector<int> types;
    for (const Operand& other : operands) types.push_back(other.type);
    for (const DType t : {DType::kF32, DType::kI64, DType::kI32}) types.push_back(static_cast<int>(t));
    for (const int type : types) {
      if (type == one.type || !number_type(type) || !number_type(one.type)) continue;
      const auto to = static_cast<DType>(type);
      if (!converts_as(refused, options, {one.name}, to)) continue;
      return "with \"" + one.name + "\" of " + dtype_name(to) +
             " this node converts: " + (one.constant ? "store it as " : "put a Cast before it to ") + dtype_name(to);
    }
  }
  return "";
}

// All operands of a type that the operator does not take.
std::string try_types(const ModelProto& refused, const std::vector<std::string>& options) {
  const std::vector<Operand> operands = operands_of(refused);
  std::set<int> types;
  for (const Operand& o : operands) types.insert(o.type);
  for (const int from : types) {
    if (!number_type(from)) continue;
    std::set<std::string> names;
    for (const Operand& o : operands) {
      if (o.type == from) names.insert(o.name);
    }
    for (const DType to : {DType::kF32, DType::kI32, DType::kI64}) {
      if (static_cast<int>(to) == from || !converts_as(refused, options, names, to)) continue;
      return "with " + joined(names) + " of " + dtype_name(to) + " this node converts: put a Cast to " +
             dtype_name(to) + " before it, and one back behind it";
    }
  }
  return "";
}

std::string try_numbers(const ModelProto& refused) {
  ModelProto model = refused;
  std::set<std::string> changed;
  std::string shapes;
  for (auto& info : *model.mutable_graph()->mutable_input()) {
    if (!info.type().has_tensor_type()) continue;
    std::string list;
    bool open = false;
    for (auto& dim : *info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      list += (list.empty() ? "" : ",") + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
      if (dim.has_dim_value()) continue;
      dim.set_dim_value(8);
      open = true;
    }
    if (!open) continue;
    changed.insert(info.name());
    shapes += " \"" + info.name() + "\" [" + list + "]";
  }
  if (changed.empty() || !converts(model, {})) return "";
  return "with numbers for the extents of" + shapes +
         " this node converts: fix the shapes of the model's inputs with --shape";
}

// One input that is a short list of integers (axes, extents, counts) or a single number becomes a constant.
std::string try_constants(const ModelProto& refused, const std::vector<std::string>& options) {
  std::vector<std::string> left;
  for (int i = 0; i < refused.graph().input_size(); ++i) {
    const auto& info = refused.graph().input(i);
    const auto& type = info.type().tensor_type();
    if (!info.type().has_tensor_type() || type.shape().dim_size() > 1) continue;
    const int64_t count = type.shape().dim_size() == 0 ? 1 : type.shape().dim(0).dim_value();
    if (count < 1 || count > 8 || type.elem_type() != ::onnx::TensorProto::INT64) continue;
    for (const int64_t value : {1, 0}) {
      ModelProto model = refused;
      auto* t = model.mutable_graph()->add_initializer();
      t->set_name(info.name());
      t->set_data_type(type.elem_type());
      for (const auto& dim : type.shape().dim()) t->add_dims(dim.dim_value());
      for (int64_t k = 0; k < count; ++k) t->add_int64_data(value);
      model.mutable_graph()->mutable_input()->DeleteSubrange(i, 1);
      if (converts(model, options))
        return "with a constant for \"" + info.name() + "\" this node converts: make it an initialiser of the model";
    }
  }
  return "";
}

std::string way_out(const Diagnostic& d) {
  ModelProto model;
  if (!model.ParseFromString(d.reproducer) || model.graph().node_size() != 1) return "";
  for (const std::function<std::string()>& attempt :
       {std::function<std::string()>([&] { return try_numbers(model); }),
        std::function<std::string()>([&] { return try_constants(model, d.reproducer_options); }),
        std::function<std::string()>([&] { return try_one_type(model, d.reproducer_options); }),
        std::function<std::string()>([&] { return try_types(model, d.reproducer_options); })}) {
    std::string found = attempt();
    if (!found.empty()) return found;
  }
  return "";
}

// "007-VC0208-Conv-stem_conv1.onnx"
std::string file_name(size_t number, const Diagnostic& d, const std::string& op) {
  char head[32];
  std::snprintf(head, sizeof(head), "%03zu-VC%04d-", number, static_cast<int>(d.code));
  std::string name = op + (d.node.empty() ? "" : "-" + d.node);
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    if (!plain) c = '_';
  }
  return head + name.substr(0, 80) + ".onnx";
}

}  // namespace

bool explain_refusals(const std::string& folder, Diagnostics* diagnostics) {
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  size_t tried = 0, number = 0;
  for (size_t i = 0; i < diagnostics->all().size(); ++i) {
    Diagnostic& d = diagnostics->at(i);
    if (d.severity != Severity::kError || d.reproducer.empty()) continue;
    const bool same = (!folder.empty() || tried < kMostTried) && same_refusal(d.reproducer, d);
    const bool may_convert =
        d.code == Code::kUnsupportedNode || d.code == Code::kBadNode || d.code == Code::kBranchMismatch;
    if (same && may_convert && ++tried <= kMostTried) {
      const std::string found = way_out(d);
      if (!found.empty()) d.help += (d.help.empty() ? "" : "; or: ") + found;
    }
    if (folder.empty()) continue;
    ModelProto model;
    const std::string op = d.op.empty() && model.ParseFromString(d.reproducer) ? model.graph().node(0).op_type() : d.op;
    const std::filesystem::path path = std::filesystem::path(folder) / file_name(++number, d, op);
    files::WholeFile file(path.string());
    if (!file.write(d.reproducer.data(), d.reproducer.size()) || !file.finish() || !file.appear()) {
      diagnostics->error(Code::kWriteFailed, "cannot write \"" + path.string() + "\": " + std::strerror(file.error()),
                         files::what_to_do(path.string(), file.error()));
      return false;
    }
    std::string note = "the node alone is " + path.string();
    for (const std::string& option : d.reproducer_options) note += " " + option;
    if (!same) note += "; it is not refused for this by itself: what is around it has a part in it";
    d.notes.push_back(std::move(note));
  }
  return true;
}

}  // namespace vireo
