// A session for models whose data decide extents.
#ifndef VIREO_C_API_CLI_GROWING_H_
#define VIREO_C_API_CLI_GROWING_H_

#include <vector>

#include "c_api/cli/handles.h"

namespace vireo::cli {

// Of extents that data decide, and no bound was given for, kAssumedExtent is assumed (complete()). Where a run needs
// more, the session is planned anew for twice as much, up to kMostGrownBytes.
constexpr uint64_t kMostGrownBytes = uint64_t{4} << 30;

class GrowingSession {
 public:
  // Refers to `model` and to what `choice` points at.
  GrowingSession(const Model& model, const SessionChoice& choice, const Bounds& bounds);

  GrowingSession(const GrowingSession&) = delete;
  GrowingSession& operator=(const GrowingSession&) = delete;

  vireo_session* get() const { return session_.get(); }
  // As run_once(). Throws ApiFailure when the run fails for another reason, or needs more than may be taken.
  std::vector<Array> run(const std::vector<Array>& inputs);
  std::vector<vireo_tensor> run_in_place(const std::vector<Array>& inputs);
  // After a run that ended with `status`: whether the session became larger, so that it is worth another try.
  bool grow(vireo_status status);
  // The given ones, and what it grew to where something was assumed. Refers to nothing.
  Bounds bounds() const;

 private:
  const Model& model_;
  SessionChoice choice_;
  Bounds bounds_;
  std::vector<vireo_bound> list_;  // refers to bounds_ and model_; what is assumed comes last
  size_t given_ = 0;
  Session session_;
};

// `bounds` that have room for runs on `inputs`: one run finds them where something has to be assumed, and none is made
// where all are given.
Bounds fitted_bounds(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                     const std::vector<Array>& inputs);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_GROWING_H_
