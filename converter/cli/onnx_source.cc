#include "converter/cli/onnx_source.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "c_api/cli/app.h"
#include "converter/cli/verbs.h"

namespace vireo::cli {

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
  options.progress = [&](const std::string& stage, double share) { progress.show(path + ": " + stage, share); };
  Diagnostics diagnostics;
  FileBytes converted;
  const bool good = convert_to_memory(path, options, &converted, &diagnostics, nullptr);
  progress.show("");
  if (!good) throw refusal(path, diagnostics);
  std::cerr << diagnostics.text();
  return share(std::move(converted));
}

Failure refusal(const std::string& path, const Diagnostics& diagnostics) {
  ErrorFacts facts;
  facts.file = path;
  const auto& all = diagnostics.all();
  const auto is_error = [](const Diagnostic& d) { return d.severity == Severity::kError; };
  auto first =
      std::find_if(all.begin(), all.end(), [&](const Diagnostic& d) { return is_error(d) && !d.node.empty(); });
  if (first == all.end()) first = std::find_if(all.begin(), all.end(), is_error);
  if (first != all.end()) {
    facts.code = code_text(first->code);
    facts.node = first->node;
    facts.tensor = first->tensor;
    facts.message = first->what;
    facts.help = first->help;
  }
  return Failure(diagnostics.text(), "", facts);
}

HostTensor to_host(Array array) {
  HostTensor tensor;
  tensor.dtype = static_cast<DType>(array.dtype);
  tensor.dims = std::move(array.dims);
  tensor.bytes = std::move(array.bytes);
  tensor.strings = std::move(array.strings);
  return tensor;
}

Array to_array(HostTensor tensor) {
  Array array;
  array.dtype = static_cast<vireo_dtype>(tensor.dtype);
  array.dims = std::move(tensor.dims);
  array.bytes = std::move(tensor.bytes);
  array.strings = std::move(tensor.strings);
  return array;
}

}  // namespace vireo::cli
