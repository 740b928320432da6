// The model to disk. The constants' file appears first: whoever sees the model sees all of it.
#include <cstring>
#include <optional>

#include "converter/export/export.h"
#include "converter/onnx/six_bits.h"
#include "sdk/files/whole_file.h"

namespace vireo::exporter {
namespace {

constexpr int64_t kAlways = 1024;  // constants below this stay in the model: readers want to see shapes
constexpr int64_t kPage = 4096;    // ONNX asks for this alignment, so that files can be mapped

void refuse(const std::string& path, const files::WholeFile& file, Diagnostics* diagnostics) {
  diagnostics->error(Code::kWriteFailed, "cannot write \"" + path + "\": " + std::strerror(file.error()),
                     files::what_to_do(path, file.error()));
}

void set_entry(::onnx::TensorProto* t, const char* key, const std::string& value) {
  auto* e = t->add_external_data();
  e->set_key(key);
  e->set_value(value);
}

// Moves what is large into `file`.
bool write_external(const std::vector<ir::ConstantPtr>& constants, const std::string& location,
                    ::onnx::GraphProto* graph, files::WholeFile* file) {
  int64_t at = 0;
  const std::vector<uint8_t> gap(static_cast<size_t>(kPage));
  for (size_t i = 0; i < constants.size(); ++i) {
    const ir::Constant& c = *constants[i];
    if (c.size_bytes() < kAlways || c.tensor.type.dtype == DType::kString) continue;
    std::vector<uint8_t> packed;
    const Span<const uint8_t> raw = raw_bytes(c.tensor.type.dtype, c.tensor.bytes, &packed);
    const int64_t begin = (at + kPage - 1) / kPage * kPage;
    if (!file->write(gap.data(), static_cast<size_t>(begin - at)) || !file->write(raw.data(), raw.size())) return false;
    at = begin + static_cast<int64_t>(raw.size());
    ::onnx::TensorProto* t = graph->mutable_initializer(static_cast<int>(i));
    t->set_data_location(::onnx::TensorProto::EXTERNAL);
    set_entry(t, "location", location);
    set_entry(t, "offset", std::to_string(begin));
    set_entry(t, "length", std::to_string(raw.size()));
  }
  return file->finish();
}

}  // namespace

bool export_onnx(const ir::Graph& graph, const std::string& path, Diagnostics* diagnostics, int64_t inline_bytes) {
  ::onnx::ModelProto model;
  std::vector<ir::ConstantPtr> constants;
  if (!build_model(graph, &model, &constants, diagnostics)) return false;
  int64_t total = 0;
  for (const ir::ConstantPtr& c : constants) total += c->size_bytes();
  const bool external = total > inline_bytes;
  const std::string data_path = path + ".data";
  std::optional<files::WholeFile> data;
  if (external) {
    data.emplace(data_path);
    const size_t slash = data_path.find_last_of('/');
    if (!write_external(constants, slash == std::string::npos ? data_path : data_path.substr(slash + 1),
                        model.mutable_graph(), &*data)) {
      refuse(data_path, *data, diagnostics);
      return false;
    }
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    ::onnx::TensorProto* t = model.mutable_graph()->mutable_initializer(static_cast<int>(i));
    const ConstTensor& c = constants[i]->tensor;
    if (t->data_location() == ::onnx::TensorProto::EXTERNAL) continue;
    for (const std::string& s : c.strings) t->add_string_data(s);
    if (c.type.dtype == DType::kString) continue;
    std::vector<uint8_t> packed;
    const Span<const uint8_t> raw = raw_bytes(c.type.dtype, c.bytes, &packed);
    t->set_raw_data(raw.data(), raw.size());
  }
  std::string bytes;
  if (model.ByteSizeLong() > INT32_MAX || !model.SerializeToString(&bytes)) {
    diagnostics->error(Code::kFileTooLarge, "\"" + path + "\" would be larger than 2 GiB, where a protobuf ends");
    return false;
  }
  files::WholeFile file(path);
  if (!file.write(bytes.data(), bytes.size()) || !file.finish()) {
    refuse(path, file, diagnostics);
    return false;
  }
  if (external && !data->appear()) {
    refuse(data_path, *data, diagnostics);
    return false;
  }
  if (!file.appear()) {
    refuse(path, file, diagnostics);
    return false;
  }
  return true;
}

}  // namespace vireo::exporter
