// What a model's values are like on sample data: one pass through sessions, with the values as further outputs, and a
// state of fixed size for each. Where a ceiling is given, values are divided into groups, each with a pass of its own.
#ifndef VIREO_QUANT_CALIBRATE_STATISTICS_H_
#define VIREO_QUANT_CALIBRATE_STATISTICS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/evaluator.h"
#include "quant/calibrate/samples.h"
#include "quant/observers/histogram.h"
#include "quant/observers/moments.h"
#include "quant/observers/range.h"

namespace vireo::quant {

struct Statistics {
  RangeObserver range;
  HistogramObserver histogram;
  MomentsObserver moments;

  void add(const Block& block);
};

// To keep statistics, and to bring them back: false where the entry is none of these.
std::vector<uint8_t> entry_of(Statistics* statistics);
bool bring_back(const std::vector<uint8_t>& entry, Statistics* statistics);

// A value to observe, its axis of channels (from the end where negative), and the bytes of what is kept of it.
struct Tap {
  const ir::Value* value = nullptr;
  int channels = -1;
  uint64_t state_bytes = 0;
};

// A tensor with `channels` in the middle; one channel where it has no such axis.
Block block_of(const TensorView& tensor, int channels);

// Says which share of the work is behind.
using TellShare = std::function<void(double share)>;

struct PassOptions {
  uint64_t memory = 0;  // most bytes that a pass may take, with those held already; 0: no ceiling
  // Bytes that the program has. Asked when a pass is prepared and nothing of it has run. Empty: none.
  std::function<uint64_t()> held;
  uint64_t shared = 0;      // of several values, what they take more than none of them; 0: up to the ceiling
  size_t most_samples = 0;  // 0: all
  TellShare tell;
  // Is called when a group of taps has seen all samples: what was kept of them may go. May be empty.
  std::function<void(size_t first, size_t count)> group_done;
};

// What `program` takes: in less memory (save_memory) where that and `besides` would be above the ceiling.
uint64_t bytes_within(const PassOptions& options, uint64_t besides, PreparedGraph* program,
                      const std::vector<HostTensor>& inputs, std::string* error);

// Whether a pass on `count` values, which takes `needed` bytes, goes on as it is. `least`: what one value takes.
bool fits(const PassOptions& options, size_t count, uint64_t needed, uint64_t least);
// What --memory would have to be for it.
std::string needed_text(const PassOptions& options, uint64_t needed);

// What of `graph` makes `values`, with these as its only outputs; ids stay.
std::unique_ptr<PreparedGraph> prepare_values(const ir::Graph& graph, const std::vector<const ir::Value*>& values,
                                              Evaluator& evaluator, std::string* error);

// Gets the values from tap `first` on, as the sample makes them.
using TakeValues =
    std::function<bool(size_t first, size_t sample, const std::vector<TensorView>& values, std::string* error)>;

// Runs `graph` over `samples`, a group of taps at a time; `take` gets the values.
// False with `error`, which names the value where one needs more than the ceiling, and says which ceiling would do.
bool for_each_sample(const ir::Graph& graph, const std::vector<Tap>& taps, Samples& samples, Evaluator& evaluator,
                     const PassOptions& options, const TakeValues& take, std::string* error);

// False with `error` where the sample made the value NaN or infinite: it has no range then.
bool check_finite(const ir::Value& value, const Statistics& statistics, size_t sample, std::string* error);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_STATISTICS_H_
