#include "quant/calibrate/statistics.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "quant/calibrate/forward.h"
#include "quant/calibrate/kept.h"

namespace vireo::quant {
namespace {

std::string kibibytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

// Whole mebibytes, with a twentieth and four of them for what the program comes to hold besides.
uint64_t enough_mebibytes(uint64_t bytes) { return ((bytes + bytes / 20 + (1u << 20) - 1) >> 20) + 4; }

uint64_t held_by(const PassOptions& options) { return options.held ? options.held() : 0; }

template <class Program>
uint64_t bytes_in_less(const PassOptions& options, uint64_t besides, Program* program,
                       const std::vector<HostTensor>& inputs, std::string* error) {
  const uint64_t bytes = program->bytes(inputs, error);
  if (!error->empty() || fits(options, 1, bytes + besides, 0)) return bytes;
  program->save_memory();
  return program->bytes(inputs, error);
}

// Passes over groups of taps. A group fits under the ceiling with its program, or shrinks until it does; it begins with
// what the group before it left where that is small, else with the graph's inputs.
class TapPasses {
 public:
  TapPasses(const ir::Graph& graph, const std::vector<Tap>& taps, Samples& samples, Evaluator& evaluator,
            const PassOptions& options)
      : way_(graph, evaluator, Forward::Weights::kStay), taps_(taps), samples_(samples), options_(options) {}

  // Makes the taps from `first` on ready, as many as fit; how many: *count. False with `error`.
  bool next(size_t first, size_t* count, std::string* error) {
    const std::vector<HostTensor> inputs = samples_.read(0);
    const bool limited = options_.memory != 0 || options_.shared != 0;
    if (limited && least_ == 0) {
      least_ = prepare(taps_.size() - 1, 1, inputs, error);
      if (least_ == 0) return false;
    }
    for (*count = std::min(taps_.size() - first, most_);; *count = (*count + 1) / 2) {
      const uint64_t needed = prepare(first, *count, inputs, error);
      if (!error->empty()) return false;
      most_ = 2 * *count;
      if (!limited || fits(options_, *count, needed + way_.held(), least_)) break;
      if (*count == 1) {
        *error = "the value \"" + taps_[first].value->name + "\" needs " + needed_text(options_, needed);
        const uint64_t most = most_of_one(first, needed, inputs);
        const uint64_t kept = options_.group_done ? 0 : states_from(first);
        *error += "; --memory " + std::to_string(enough_mebibytes(held_by(options_) + most + kept)) + "M would do";
        return false;
      }
    }
    const size_t best = smallest_cut(first, *count);
    if (best == *count) return true;
    *count = best;
    (void)prepare(first, *count, inputs, error);
    return error->empty();
  }

  bool run(size_t sample, std::vector<TensorView>* values, std::string* error) {
    if (!way_.run(sample, samples_.read(sample), values, error)) return false;
    // All samples leave as much as the first one.
    if (sample == 0 && !may_keep(way_.left() * sample_count())) way_.forget();
    return true;
  }

  void finish() { way_.finish(); }

  size_t sample_count() const {
    const size_t all = samples_.count();
    return options_.most_samples == 0 ? all : std::min(all, options_.most_samples);
  }

 private:
  Forward::Values values_of(size_t first, size_t end) const {
    Forward::Values out;
    for (size_t i = first; i < end; ++i) out.push_back(taps_[i].value);
    return out;
  }

  // Behind which tap the least is kept, of a quarter of the group.
  size_t smallest_cut(size_t first, size_t count) {
    constexpr size_t kLookedAt = 24;
    if (first + count == taps_.size()) return count;
    const auto kept = [&](size_t n) {
      return way_.would_keep(values_of(first, first + n), values_of(first + n, taps_.size()));
    };
    size_t best = count;
    uint64_t least = kept(count);
    for (size_t n = count; n > 1 && count - n < kLookedAt && 4 * n >= 3 * count;) {
      --n;
      const uint64_t bytes = kept(n);
      if (bytes >= least) continue;
      least = bytes;
      best = n;
    }
    return best;
  }

  bool may_keep(uint64_t bytes) const {
    constexpr uint64_t kPart = 2;  // of what values may take together
    if (options_.shared != 0 && kPart * bytes > options_.shared) return false;
    return options_.memory == 0 || held_by(options_) + bytes <= options_.memory;
  }

  // What comes to be kept of all taps from `first` on.
  uint64_t states_from(size_t first) const {
    return std::accumulate(taps_.begin() + static_cast<std::ptrdiff_t>(first), taps_.end(), uint64_t{0},
                           [](uint64_t sum, const Tap& tap) { return sum + tap.state_bytes; });
  }

  // What a single tap from `first` on takes at most; `needed`: what that one takes. Only large ones are looked at.
  uint64_t most_of_one(size_t first, uint64_t needed, const std::vector<HostTensor>& inputs) {
    constexpr size_t kLookedAt = 8;
    const auto size = [this](size_t i) {
      const Shape& shape = taps_[i].value->type.shape;
      double elements = 1;
      for (int d = 0; d < shape.rank; ++d) elements *= static_cast<double>(std::max<int64_t>(shape[d], 1));
      return elements * sizeof(float) + static_cast<double>(taps_[i].state_bytes);
    };
    std::vector<size_t> others(taps_.size() - first - 1);
    std::iota(others.begin(), others.end(), first + 1);
    std::stable_sort(others.begin(), others.end(), [&](size_t a, size_t b) { return size(a) > size(b); });
    others.resize(std::min(others.size(), kLookedAt));
    std::string ignored;
    for (const size_t i : others) needed = std::max(needed, prepare(i, 1, inputs, &ignored));
    way_.drop();
    return needed;
  }

  // What `count` taps take on such inputs; 0 on failure.
  uint64_t prepare(size_t first, size_t count, const std::vector<HostTensor>& inputs, std::string* error) {
    const size_t end = first + count;
    if (!way_.prepare(values_of(first, end), values_of(end, taps_.size()), error)) return 0;
    uint64_t states = 0;
    for (size_t i = first; i < end; ++i) states += taps_[i].state_bytes;
    const uint64_t bytes = bytes_in_less(options_, states, &way_, inputs, error);
    return error->empty() ? bytes + states : 0;
  }

  Forward way_;
  const std::vector<Tap>& taps_;
  Samples& samples_;
  const PassOptions& options_;
  uint64_t least_ = 0;      // what one value takes
  size_t most_ = SIZE_MAX;  // taps of the next group: twice the last one's
};

}  // namespace

uint64_t bytes_within(const PassOptions& options, uint64_t besides, PreparedGraph* program,
                      const std::vector<HostTensor>& inputs, std::string* error) {
  return bytes_in_less(options, besides, program, inputs, error);
}

std::unique_ptr<PreparedGraph> prepare_values(const ir::Graph& graph, const std::vector<const ir::Value*>& values,
                                              Evaluator& evaluator, std::string* error) {
  const std::unique_ptr<ir::Graph> part = graph.clone();
  for (size_t i = part->outputs().size(); i-- > 0;) part->remove_output(i);
  for (const ir::Value* v : values) part->add_output(part->value(v->id), "value:" + v->name);
  for (auto it = part->nodes().end(); it != part->nodes().begin();) {
    ir::Node& n = *--it;
    const bool wanted = std::any_of(n.outputs.begin(), n.outputs.end(),
                                    [](const ir::Value* v) { return v != nullptr && !v->unused(); });
    if (wanted) continue;
    ++it;
    part->remove(&n);
  }
  return evaluator.prepare(*part, {}, error);
}

bool fits(const PassOptions& options, size_t count, uint64_t needed, uint64_t least) {
  if (options.memory != 0 && held_by(options) + needed > options.memory) return false;
  return count == 1 || options.shared == 0 || needed <= least + options.shared;
}

std::string needed_text(const PassOptions& options, uint64_t needed) {
  const uint64_t held = held_by(options);
  return kibibytes(needed) + " to be observed" +
         (held == 0 ? "" : ", beside the " + kibibytes(held) + " that the program holds") + ", and --memory allows " +
         kibibytes(options.memory);
}

void Statistics::add(const Block& block) {
  const BlockSummary summary = summary_of(block);
  range.add(summary);
  histogram.add(block, summary);
  moments.add(summary);
}

std::vector<uint8_t> entry_of(Statistics* s) {
  KeptWriter entry;
  const auto put = [&](auto* part) { entry.put(*part); };
  s->range.each_part(put);
  s->histogram.each_part(put);
  s->moments.each_part(put);
  return entry.take();
}

bool bring_back(const std::vector<uint8_t>& entry, Statistics* s) {
  Statistics found;
  KeptReader reader(entry);
  const auto get = [&](auto* part) { reader.get(part); };
  found.range.each_part(get);
  found.histogram.each_part(get);
  found.moments.each_part(get);
  if (!reader.done() || !found.histogram.whole() || !found.moments.whole()) return false;
  *s = std::move(found);
  return true;
}

Block block_of(const TensorView& tensor, int channels) {
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
                     const PassOptions& options, const TakeValues& take, std::string* error) {
  TapPasses passes(graph, taps, samples, evaluator, options);
  const size_t count = passes.sample_count();
  for (size_t first = 0; first < taps.size();) {
    size_t taken = 0;
    if (!passes.next(first, &taken, error)) return false;
    for (size_t s = 0; s < count; ++s) {
      if (options.tell)
        options.tell((static_cast<double>(first) + static_cast<double>(taken * s) / static_cast<double>(count)) /
                     static_cast<double>(taps.size()));
      std::vector<TensorView> values;
      if (!passes.run(s, &values, error)) {
        *error = "sample " + std::to_string(s) + ": " + *error;
        return false;
      }
      if (!take(first, s, values, error)) return false;
    }
    passes.finish();  // what is done with the states need not have room beside a program
    if (options.group_done) options.group_done(first, taken);
    first += taken;
  }
  return true;
}

bool check_finite(const ir::Value& value, const Statistics& statistics, size_t sample, std::string* error) {
  if (statistics.range.not_finite() == 0) return true;
  *error = "sample " + std::to_string(sample) +
           (value.is_input ? " has NaN or an infinite number in the input \"" + value.name + "\""
                           : " makes the value \"" + value.name + "\" NaN or infinite, so it has no range");
  return false;
}

}  // namespace vireo::quant
