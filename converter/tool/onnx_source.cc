#include "converter/tool/onnx_source.h"

#include <iostream>

#include "c_api/tool/app.h"

namespace vireo::tool {

ModelBytes share(FileBytes converted) {
  auto owner = std::make_shared<FileBytes>(std::move(converted));
  ModelBytes bytes;
  bytes.data = owner->data();
  bytes.size = owner->size();
  bytes.owner = std::move(owner);
  return bytes;
}

ModelBytes convert_in_memory(const std::string& path, const ImportOptions& import) {
  ConvertOptions options;
  fill_import(import, &options);
  Progress progress;
  options.progress = [&](const std::string& stage, double fraction) {
    progress.show(path + ": " + stage + " " + std::to_string(static_cast<int>(fraction * 100)) + " %");
  };
  Diagnostics diagnostics;
  FileBytes converted;
  const bool good = convert_to_memory(path, options, &converted, &diagnostics, nullptr);
  progress.show("");
  if (!good) throw Failure(diagnostics.text());
  std::cerr << diagnostics.text();
  return share(std::move(converted));
}

HostTensor to_host(const Array& array) {
  HostTensor tensor;
  tensor.dtype = static_cast<DType>(array.dtype);
  tensor.dims = array.dims;
  tensor.bytes = array.bytes;
  tensor.strings = array.strings;
  return tensor;
}

Array to_array(const HostTensor& tensor) {
  Array array;
  array.dtype = static_cast<vireo_dtype>(tensor.dtype);
  array.dims = tensor.dims;
  array.bytes = tensor.bytes;
  array.strings = tensor.strings;
  return array;
}

}  // namespace vireo::tool
