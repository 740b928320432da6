#include "quant/calibrate/statistics.h"

#include <algorithm>

namespace vireo::quant {
namespace {

std::string kibibytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

// A group of taps that fits under the ceiling with its program; the group shrinks until it does.
struct TapGroup {
  std::unique_ptr<PreparedGraph> program;
  size_t count = 0;
};

class TapPasses {
 public:
  TapPasses(const ir::Graph& graph, const std::vector<Tap>& taps, Samples& samples, Evaluator& evaluator,
            const PassOptions& options)
      : graph_(graph), taps_(taps), samples_(samples), evaluator_(evaluator), options_(options) {}

  bool next(size_t first, TapGroup* group, std::string* error) {
    const std::vector<HostTensor> inputs = samples_.read(0);
    for (size_t count = taps_.size() - first;; count = (count + 1) / 2) {
      std::vector<const ir::Value*> values;
      for (size_t i = 0; i < count; ++i) values.push_back(taps_[first + i].value);
      group->program = evaluator_.prepare(graph_, values, error);
      if (group->program == nullptr) return false;
      group->count = count;
      if (options_.memory == 0) return true;
      const uint64_t needed = group->program->bytes(inputs, error) + count * options_.state_bytes;
      if (!error->empty()) return false;
      if (needed <= options_.memory) return true;
      if (count == 1) {
        *error = "the value \"" + taps_[first].value->name + "\" needs " + kibibytes(needed) +
                 " to be observed, and --memory allows " + kibibytes(options_.memory);
        return false;
      }
    }
  }

  size_t sample_count() const {
    const size_t all = samples_.count();
    return options_.most_samples == 0 ? all : std::min(all, options_.most_samples);
  }

 private:
  const ir::Graph& graph_;
  const std::vector<Tap>& taps_;
  Samples& samples_;
  Evaluator& evaluator_;
  const PassOptions& options_;
};

}  // namespace

Block block_of(const HostTensor& tensor, int channels) {
  const int rank = static_cast<int>(tensor.dims.size());
  const int axis = channels < 0 ? channels + rank : channels;
  Block b;
  b.data = reinterpret_cast<const float*>(tensor.bytes.data());
  for (int i = 0; i < rank; ++i) {
    int64_t& extent = axis < 0 || axis >= rank || i > axis ? b.inner : i < axis ? b.outer : b.channels;
    extent *= tensor.dims[static_cast<size_t>(i)];
  }
  return b;
}

bool for_each_sample(const ir::Graph& graph, const std::vector<Tap>& taps, Samples& samples, Evaluator& evaluator,
                     const PassOptions& options,
                     const std::function<bool(size_t first, size_t sample, const std::vector<HostTensor>& values,
                                              std::string* error)>& take,
                     std::string* error) {
  TapPasses passes(graph, taps, samples, evaluator, options);
  const size_t count = passes.sample_count(), outputs = graph.outputs().size();
  for (size_t first = 0; first < taps.size();) {
    TapGroup group;
    if (!passes.next(first, &group, error)) return false;
    for (size_t s = 0; s < count; ++s) {
      if (options.tell)
        options.tell((static_cast<double>(first) + static_cast<double>(group.count * s) / static_cast<double>(count)) /
                     static_cast<double>(taps.size()));
      std::vector<HostTensor> values;
      if (!group.program->run(samples.read(s), &values, error)) {
        *error = "sample " + std::to_string(s) + ": " + *error;
        return false;
      }
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(outputs));
      if (!take(first, s, values, error)) return false;
    }
    if (options.group_done) options.group_done(first, group.count);
    first += group.count;
  }
  return true;
}

bool calibrate(const ir::Graph& graph, const std::vector<Tap>& taps, Samples& samples, Evaluator& evaluator,
               const PassOptions& options, std::map<uint32_t, Statistics>* out, std::string* error) {
  PassOptions with_states = options;
  with_states.state_bytes = HistogramObserver::kBins * sizeof(uint64_t);
  const auto take = [&](size_t first, size_t sample, const std::vector<HostTensor>& values, std::string* why) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Tap& tap = taps[first + i];
      const Block block = block_of(values[i], tap.channels);
      if (block.count() == 0) continue;
      Statistics& s = (*out)[tap.value->id];
      s.range.add(block);
      s.histogram.add(block);
      s.moments.add(block);
      if (s.range.not_finite() == 0) continue;
      *why = "sample " + std::to_string(sample) + " makes the value \"" + tap.value->name +
             "\" NaN or infinite, so it has no range";
      return false;
    }
    return true;
  };
  return for_each_sample(graph, taps, samples, evaluator, with_states, take, error);
}

}  // namespace vireo::quant
