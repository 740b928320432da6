// What else there is to say of a node that was refused. The node alone, as a model, is converted again with one thing
// changed at a time: what then converts is the rewrite to propose. Trying it is better than a table of what each
// operator takes, which would be a second list of what the operators' own code says, and would not know what follows.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include "converter/convert.h"
#include "onnx/onnx-ml.pb.h"
#include "sdk/base/dtype.h"
#include "sdk/files/whole_file.h"

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

// The inputs of element type `from`, data and constants, become zeros of `to`.
bool retype(ModelProto* model, int from, int to, std::set<std::string>* changed) {
  auto* graph = model->mutable_graph();
  for (auto& info : *graph->mutable_input()) {
    if (!info.type().has_tensor_type() || info.type().tensor_type().elem_type() != from) continue;
    info.mutable_type()->mutable_tensor_type()->set_elem_type(to);
    changed->insert(info.name());
  }
  for (auto& t : *graph->mutable_initializer()) {
    if (t.data_type() != from) continue;
    int64_t count = 1;
    for (const int64_t d : t.dims()) count *= d;
    t.set_data_type(to);
    t.set_raw_data(std::string(static_cast<size_t>(dtype_bytes(static_cast<DType>(to), count)), '\0'));
    changed->insert(t.name());
  }
  graph->clear_output();
  for (const std::string& name : graph->node(0).output()) {
    if (!name.empty()) graph->add_output()->set_name(name);
  }
  return !changed->empty();
}

// What a Cast takes to another number and back: of a complex one it would keep the real part alone.
bool number_type(int type) {
  return type != static_cast<int>(DType::kC64) && type != static_cast<int>(DType::kC128) &&
         type != static_cast<int>(DType::kString) && type != static_cast<int>(DType::kBool);
}

std::string try_types(const ModelProto& refused, const std::vector<std::string>& options) {
  std::set<int> types;
  for (const auto& info : refused.graph().input()) types.insert(info.type().tensor_type().elem_type());
  for (const auto& t : refused.graph().initializer()) types.insert(t.data_type());
  for (const int from : types) {
    if (!number_type(from) || from <= 0 || from >= kDTypeCount) continue;
    for (const DType to : {DType::kF32, DType::kI32, DType::kI64}) {
      if (static_cast<int>(to) == from) continue;
      ModelProto model = refused;
      std::set<std::string> changed;
      if (!retype(&model, from, static_cast<int>(to), &changed) || !converts(model, options)) continue;
      const char* wanted = dtype_name(to);
      return "with " + joined(changed) + " of " + wanted + " this node converts: put a Cast to " + wanted +
             " before it, and one back behind it";
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
