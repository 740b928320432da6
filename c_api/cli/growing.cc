#include "c_api/cli/growing.h"

#include <iostream>
#include <utility>

namespace vireo::cli {

GrowingSession::GrowingSession(const Model& model, const SessionChoice& choice, const Bounds& bounds)
    : model_(model),
      choice_(choice),
      bounds_(bounds),
      list_(complete(model, choice_, bounds_, false)),
      given_(bounds_.list().size()),
      session_(make_session(model, choice_, bounds_)) {}

std::vector<Array> GrowingSession::run(const std::vector<Array>& inputs) {
  std::vector<Array> out;
  for (const vireo_tensor& t : run_in_place(inputs)) out.push_back(copy_of(t));
  return out;
}

std::vector<vireo_tensor> GrowingSession::run_in_place(const std::vector<Array>& inputs) {
  for (;;) {
    try {
      return cli::run_in_place(model_, session_.get(), inputs);
    } catch (const ApiFailure& failure) {
      if (!grow(failure.status())) throw;
    }
  }
}

bool GrowingSession::grow(vireo_status status) {
  if (status != VIREO_OUT_OF_ARENA || list_.size() == given_) return false;
  std::vector<vireo_bound> larger = list_;
  for (size_t i = given_; i < larger.size(); ++i) larger[i].max *= 2;
  const vireo_session_options options = options_of(choice_, larger);
  vireo_memory memory = VIREO_MEMORY_INIT;
  if (vireo_model_memory(model_.get(), &options, &memory, nullptr) != VIREO_OK || memory.total_bytes > kMostGrownBytes)
    return false;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session* session = session_.release();
  const vireo_status grown =
      vireo_session_reserve(&session, larger.data(), static_cast<uint32_t>(larger.size()), &error);
  session_.reset(session);
  check_file(grown, error, "make room for", model_.name());
  list_ = std::move(larger);
  for (size_t i = given_; i < list_.size(); ++i)
    std::cerr << "note: that was not enough: \"" << list_[i].name << "\" may be " << list_[i].max << " now\n";
  return true;
}

Bounds GrowingSession::bounds() const {
  Bounds all = bounds_;
  for (size_t i = given_; i < list_.size(); ++i) all.set(list_[i].name, list_[i].min, list_[i].max);
  return all;
}

Bounds fitted_bounds(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                     const std::vector<Array>& inputs) {
  if (complete(model, choice, bounds, false).size() == bounds.list().size()) return bounds;
  GrowingSession session(model, choice, bounds);
  session.run(inputs);
  return session.bounds();
}

}  // namespace vireo::cli
