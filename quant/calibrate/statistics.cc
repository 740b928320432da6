#include "quant/calibrate/statistics.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "quant/calibrate/kept.h"

namespace vireo::quant {
namespace {

std::string kibibytes(uint64_t bytes) { return std::to_string((bytes + 1023) / 1024) + " KiB"; }

// Whole mebibytes, with a twentieth and four of them for what the program comes to hold besides.
uint64_t enough_mebibytes(uint64_t bytes) { return ((bytes + bytes / 20 + (1u << 20) - 1) >> 20) + 4; }

uint64_t held_by(const PassOptions& options) { return options.held ? options.held() : 0; }

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
    const bool limited = options_.memory != 0 || options_.shared != 0;
    if (limited && least_ == 0) {
      least_ = prepare(taps_.size() - 1, 1, inputs, group, error);
      if (least_ == 0) return false;
    }
    for (size_t count = std::min(taps_.size() - first, most_);; count = (count + 1) / 2) {
      group->program.reset();
      const uint64_t needed = prepare(first, count, inputs, group, error);
      if (!error->empty()) return false;
      most_ = 2 * count;
      if (!limited || fits(options_, count, needed, least_)) return true;
      if (count == 1) {
        *error = "the value \"" + taps_[first].value->name + "\" needs " + needed_text(options_, needed);
        const uint64_t most = most_of_one(first, needed, inputs, group);
        const uint64_t kept = options_.group_done ? 0 : states_from(first);
        *error += "; --memory " + std::to_string(enough_mebibytes(held_by(options_) + most + kept)) + "M would do";
        return false;
      }
    }
  }

  size_t sample_count() const {
    const size_t all = samples_.count();
    return options_.most_samples == 0 ? all : std::min(all, options_.most_samples);
  }

 private:
  // What comes to be kept of all taps from `first` on.
  uint64_t states_from(size_t first) const {
    return std::accumulate(taps_.begin() + static_cast<std::ptrdiff_t>(first), taps_.end(), uint64_t{0},
                           [](uint64_t sum, const Tap& tap) { return sum + tap.state_bytes; });
  }

  // What a single tap from `first` on takes at most; `needed`: what that one takes. Only large ones are looked at.
  uint64_t most_of_one(size_t first, uint64_t needed, const std::vector<HostTensor>& inputs, TapGroup* group) {
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
    for (const size_t i : others) {
      group->program.reset();
      needed = std::max(needed, prepare(i, 1, inputs, group, &ignored));
    }
    group->program.reset();
    return needed;
  }

  // What the program for `count` taps takes on such inputs; 0 on failure.
  uint64_t prepare(size_t first, size_t count, const std::vector<HostTensor>& inputs, TapGroup* group,
                   std::string* error) {
    std::vector<const ir::Value*> values;
    for (size_t i = 0; i < count; ++i) values.push_back(taps_[first + i].value);
    group->count = count;
    group->program = prepare_values(graph_, values, evaluator_, error);
    if (group->program == nullptr) return 0;
    uint64_t states = 0;
    for (size_t i = 0; i < count; ++i) states += taps_[first + i].state_bytes;
    const uint64_t bytes = bytes_within(options_, states, group->program.get(), inputs, error);
    return error->empty() ? bytes + states : 0;
  }

  const ir::Graph& graph_;
  const std::vector<Tap>& taps_;
  Samples& samples_;
  Evaluator& evaluator_;
  const PassOptions& options_;
  uint64_t least_ = 0;      // what one value takes
  size_t most_ = SIZE_MAX;  // taps of the next group: twice the last one's
};

}  // namespace

uint64_t bytes_within(const PassOptions& options, uint64_t besides, PreparedGraph* program,
                      const std::vector<HostTensor>& inputs, std::string* error) {
  const uint64_t bytes = program->bytes(inputs, error);
  if (!error->empty() || fits(options, 1, bytes + besides, 0)) return bytes;
  program->save_memory();
  return program->bytes(inputs, error);
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
    TapGroup group;
    if (!passes.next(first, &group, error)) return false;
    for (size_t s = 0; s < count; ++s) {
      if (options.tell)
        options.tell((static_cast<double>(first) + static_cast<double>(group.count * s) / static_cast<double>(count)) /
                     static_cast<double>(taps.size()));
      std::vector<TensorView> values;
      if (!group.program->run(samples.read(s), &values, error)) {
        *error = "sample " + std::to_string(s) + ": " + *error;
        return false;
      }
      if (!take(first, s, values, error)) return false;
    }
    group.program.reset();  // what is done with the states need not have room beside it
    if (options.group_done) options.group_done(first, group.count);
    first += group.count;
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
