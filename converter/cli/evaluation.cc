#include "converter/cli/evaluation.h"

#include <algorithm>
#include <chrono>

#include "c_api/cli/clock.h"
#include "c_api/cli/nearest.h"

namespace vireo::cli {
namespace {

std::string text_of(const Bounds& bounds) {
  std::string text;
  for (const vireo_bound& b : bounds.list())
    text += std::string(b.name) + "=" + std::to_string(b.min) + ".." + std::to_string(b.max) + ";";
  return text;
}

// The place of the output that `name` says, the first for "".
size_t find_output(const Model& model, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    names.emplace_back(model.outputs()[i].name);
    if (name.empty() || names.back() == name) return i;
  }
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  throw Failure(model.name() + " has no output '" + name + "'", did_you_mean(name, names) + "its outputs: " + list,
                {"failed", model.name(), "", name, "", ""});
}

}  // namespace

Candidate::Candidate(const std::string& path, const SessionChoice& choice, const DataOptions& data,
                     const Bounds& bounds, const std::string& output, const ConvertOnnx& convert)
    : model_(path, choice.threads, convert),
      choice_(choice),
      bounds_(bounds),
      data_(open_dataset(data, model_)),
      output_(find_output(model_, output)) {
  output_name_ = model_.outputs()[output_].name;
}

std::string Candidate::device() const {
  if (session_ != nullptr) return devices_of(session_->get());
  return choice_.device.empty() ? "auto" : choice_.device;
}

double Candidate::milliseconds() const { return runs_ == 0 ? 0 : spent_ms_ / static_cast<double>(runs_); }

Item Candidate::run(std::vector<Array>* outputs) {
  Item item = data_->next();
  for (size_t i = 0; i < item.inputs.size(); ++i) {
    if (item.inputs[i].dtype != VIREO_NONE)
      bounds_.add(model_.inputs()[i], item.inputs[i].dims, item.name + " of the data");
  }
  // Open dimensions grow with the samples; a session has room for those that were seen.
  if (const std::string text = text_of(bounds_); session_ == nullptr || text != bounds_text_) {
    session_.reset();
    session_ = std::make_unique<GrowingSession>(model_, choice_, bounds_);
    bounds_text_ = text;
  }
  vireo_error error = VIREO_ERROR_INIT;
  check_file(vireo_session_reset(session_->get(), &error), error, "reset the carried state of", model_.name());
  const auto start = std::chrono::steady_clock::now();
  *outputs = session_->run(item.inputs);
  spent_ms_ += ms_since(start);
  ++runs_;
  return item;
}

quant::Output as_output(const Array& array, const std::string& name) {
  if (dtype_is_complex(array.dtype))
    throw Failure("output '" + name + "' holds complex numbers, which no metric takes", "--output names another one");
  quant::Output out;
  out.name = name;
  out.dims = array.dims;
  out.texts = array.strings;
  if (array.dtype == VIREO_STRING) return out;
  out.values.resize(static_cast<size_t>(array.count()));
  for (size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = static_cast<float>(real_at(array, static_cast<int64_t>(i)));
  return out;
}

}  // namespace vireo::cli
