// Measuring the ways to run a model's nodes: what `vireo tune` and --tune-at-load share.
#ifndef VIREO_C_API_CLI_TUNER_H_
#define VIREO_C_API_CLI_TUNER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "c_api/cli/handles.h"
#include "c_api/cli/tuning.h"

namespace vireo::cli {

using Way = std::pair<std::string, std::string>;  // device, kernel

// The ways to run each node, as a session's planning tells them; then the one that is to be taken.
struct Ways {
  std::map<uint64_t, std::vector<Way>> all;
  std::map<uint64_t, std::string> names;  // of the first node with that key
  std::map<uint64_t, size_t> taken;       // index in `all`; the first where there is none

  // For vireo_preference.rank.
  static int32_t note(void* self, const vireo_candidate* candidate);
  static int32_t choose(void* self, const vireo_candidate* candidate);
};

// A session that takes certain ways, and the least time that its nodes took in a run.
class Trial {
 public:
  Trial(const Model& model, SessionChoice choice, const Bounds& bounds, const Ways& ways);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // One run; returns its milliseconds.
  double run(const std::vector<vireo_tensor>& in);
  double us(uint64_t key) const;  // of one node with that key; infinite for none
  double median_ms() const;
  void forget() { times_.clear(); }
  size_t taken(uint64_t key) const;
  const std::vector<vireo_node_info>& nodes() const { return before_; }

 private:
  const Model& model_;
  Ways ways_;
  vireo_preference preference_;
  Session session_;
  std::vector<vireo_node_info> before_;
  std::map<uint64_t, double> least_;
  std::vector<double> times_;
};

constexpr double kWorthwhile = 0.97;  // of the time as it was: less gain is noise
constexpr double kSmallGain = 0.005;  // of a run: what could be gained at most is not worth its measuring

// What each kind of node (by key, of those with several ways) could gain in a run at most, in microseconds: its time
// less what the machine's rates allow (roofline.h). Kinds that could not gain kSmallGain of a run are left out.
std::map<uint64_t, double> possible_gains(const Model& model, const Ways& ways, const Trial& as_it_is, double run_ms,
                                          int threads, const Rates& rates);

struct LoadTuning {
  size_t worth = 0;     // kinds of nodes that could gain, and of which the file knew nothing
  size_t measured = 0;  // of these, for which there was time
  size_t changed = 0;
  double spent_ms = 0;
};

// Before a session is created: measures those kinds of nodes that could gain most and that `tuning` does not know, for
// about `budget_ms`, and writes what was found into its file. `choice` is the session's to be.
LoadTuning tune_at_load(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                        const std::vector<Array>& inputs, double budget_ms, Tuning* tuning);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_TUNER_H_
