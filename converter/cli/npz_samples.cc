#include "converter/cli/npz_samples.h"

#include <algorithm>
#include <utility>

#include "c_api/cli/failure.h"
#include "c_api/cli/nearest.h"
#include "converter/cli/onnx_source.h"

namespace vireo::cli {
namespace {

std::string shape_or_scalar(const ir::DimTable& dims, const Shape& shape) {
  std::string out;
  for (int i = 0; i < shape.rank; ++i) out += (i == 0 ? "" : "x") + dims.text(shape[i]);
  return out.empty() ? "scalar" : out;
}

// The next `each` rows as one array.
Array next_rows(NpyRows* rows, int64_t each) {
  Array sample = rows->next();
  sample.dims.insert(sample.dims.begin(), each);
  for (int64_t k = 1; k < each; ++k) {
    const Array more = rows->next();
    sample.bytes.insert(sample.bytes.end(), more.bytes.begin(), more.bytes.end());
    sample.strings.insert(sample.strings.end(), more.strings.begin(), more.strings.end());
  }
  return sample;
}

}  // namespace

NpzSamples::NpzSamples(std::string path) : path_(std::move(path)), file_(path_) {}

NpzSamples::Column NpzSamples::open(const std::string& input) const {
  const std::vector<std::string>& names = file_.names();
  if (std::find(names.begin(), names.end(), input) == names.end()) {
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    throw Failure(path_ + " has no array for the model's input \"" + input + "\"",
                  did_you_mean(input, names) + "it has: " + (all.empty() ? "nothing" : all) +
                      "; arrays bear the names of the model's inputs");
  }
  return {input, file_.rows(input)};
}

void NpzSamples::fit_input(const ir::Value& input, const ir::DimTable& dims) {
  Column c = open(input.name);
  const std::vector<int64_t>& given = c.rows.dims();
  const Shape& shape = input.type.shape;
  const auto refuse = [&](const std::string& why, const std::string& help) {
    throw Failure(path_ + " (" + c.name + ") is " + vireo_dtype_text(c.rows.dtype()) + " " + shape_text(given) + ": " +
                      why + "; the input \"" + input.name + "\" of the model is " + dtype_name(input.type.dtype) + " " +
                      shape_or_scalar(dims, shape),
                  help);
  };
  const char* const along = "samples lie along the first dimension, each as the model takes it";
  if (static_cast<int>(given.size()) != shape.rank)
    refuse("it has " + std::to_string(given.size()) + " dimensions, not " + std::to_string(shape.rank), along);
  for (int i = 1; i < shape.rank; ++i) {
    const Interval range = dims.interval(shape[i]);
    const int64_t extent = given[static_cast<size_t>(i)];
    if (extent < range.lo || (!range.open() && extent > range.hi))
      refuse("dimension " + std::to_string(i) + " does not fit", along);
  }
  c.each = is_symbolic(shape[0]) ? 1 : shape[0];
  if (c.each < 1 || given[0] % c.each != 0)
    refuse("its first dimension is no multiple of " + std::to_string(c.each), along);
  const auto count = static_cast<size_t>(given[0] / c.each);
  if (count == 0) refuse("it holds no samples", "put at least one sample into it, better 100 to 500");
  if (!columns_.empty() && count != count_)
    refuse(
        "it holds " + std::to_string(count) + " samples, \"" + columns_[0].name + "\" holds " + std::to_string(count_),
        "give each input as many samples");
  if (static_cast<DType>(c.rows.dtype()) != input.type.dtype)
    refuse("it is of another type", "convert it with numpy's astype(), scaled as the model takes it");
  count_ = count;
  columns_.push_back(std::move(c));
}

void NpzSamples::fit(const ir::Graph& graph) {
  columns_.clear();
  count_ = 0;
  for (const ir::Value* input : graph.inputs()) fit_input(*input, graph.dims());
}

std::vector<HostTensor> NpzSamples::read(size_t i) {
  std::vector<HostTensor> inputs;
  for (Column& c : columns_) {
    if (i < c.next) {
      c.rows = file_.rows(c.name);
      c.next = 0;
    }
    for (; c.next < i; ++c.next) (void)next_rows(&c.rows, c.each);
    inputs.push_back(to_host(next_rows(&c.rows, c.each)));
    ++c.next;
  }
  return inputs;
}

}  // namespace vireo::cli
