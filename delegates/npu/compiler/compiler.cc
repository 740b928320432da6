#include "delegates/npu/compiler/compiler.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "delegates/npu/compiler/emit.h"
#include "delegates/npu/compiler/hazards.h"

namespace vireo::npu {
namespace {

constexpr uint64_t kNone = UINT64_MAX;

class Compiler {
 public:
  Compiler(const Graph& graph, const MachineConfig& config, const CompileOptions& options)
      : g_(graph), config_(config), options_(options) {}

  Compiled run() {
    if (!config_ok(config_) || config_.sram_bytes % 4 != 0) {
      out_.error = "the machine's numbers are out of range";
      return std::move(out_);
    }
    if (!check()) return std::move(out_);
    survey();
    if (!choose()) return std::move(out_);
    if (options_.own_regions) give_regions();
    place_tensors();
    write();
    return std::move(out_);
  }

 private:
  struct Choice {
    uint64_t cycles = kNone;
    Cut cut;
  };

  bool fail(size_t layer, const std::string& reason) {
    const Layer& l = g_.layers[layer];
    out_.error = std::string(kind_name(l.kind)) + " \"" + l.name + "\": " + reason;
    out_.error_layer = static_cast<int>(layer);
    return false;
  }

  bool check() {
    if (g_.layers.size() > 65535) {
      out_.error = "the graph has more than 65535 layers";
      return false;
    }
    std::vector<bool> made(g_.tensors.size(), false);
    for (size_t i = 0; i < g_.tensors.size(); ++i) made[i] = !g_.tensors[i].data.empty();
    for (const int i : g_.inputs) made[static_cast<size_t>(i)] = true;
    for (size_t i = 0; i < g_.layers.size(); ++i) {
      if (const std::string why = refusal(g_, i); !why.empty()) return fail(i, why);
      for (const int t : g_.layers[i].inputs) {
        if (!made[static_cast<size_t>(t)])
          return fail(i, "it reads \"" + g_.tensors[static_cast<size_t>(t)].name + "\" before it is made");
      }
      const auto y = static_cast<size_t>(g_.layers[i].output);
      if (made[y]) return fail(i, "tensor \"" + g_.tensors[y].name + "\" is made twice");
      made[y] = true;
    }
    for (const int t : g_.outputs) {
      if (made[static_cast<size_t>(t)]) continue;
      out_.error = "the output \"" + g_.tensors[static_cast<size_t>(t)].name + "\" is never made";
      return false;
    }
    return true;
  }

  void survey() {
    const size_t n = g_.tensors.size();
    w_.graph = &g_;
    w_.config = &config_;
    w_.compress = options_.compress;
    w_.cache = &cache_;
    w_.root.resize(n);
    w_.producer.assign(n, -1);
    w_.readers.assign(n, {});
    w_.wanted.assign(n, false);
    for (size_t i = 0; i < n; ++i) w_.root[i] = static_cast<int>(i);
    for (size_t i = 0; i < g_.layers.size(); ++i) {
      const Layer& l = g_.layers[i];
      w_.producer[static_cast<size_t>(l.output)] = static_cast<int>(i);
      if (l.kind == Kind::kReshape) {
        w_.root[static_cast<size_t>(l.output)] = w_.root[static_cast<size_t>(l.inputs[0])];
        continue;
      }
      for (const int t : l.inputs) w_.readers[static_cast<size_t>(w_.root[static_cast<size_t>(t)])].push_back(i);
    }
    for (const int t : g_.outputs) w_.wanted[static_cast<size_t>(w_.root[static_cast<size_t>(t)])] = true;
    // While sections are compared every tensor has a place of its own.
    w_.address.assign(n, 0);
    w_.region.assign(n, kTensors);
    int64_t at = 0;
    for (size_t i = 0; i < n; ++i) {
      w_.address[i] = at % (int64_t{1} << 31);
      at += (g_.tensors[i].bytes() + 63) / 64 * 64;
    }
  }

  uint64_t time(std::vector<Command> commands) const {
    Hazards hazards(config_);
    for (Command& k : commands) {
      hazards.add(&k);
      if (cost_too_long(k)) return kNone;
    }
    StreamHeader header{};
    header.command_count = static_cast<uint32_t>(commands.size());
    const Stream stream{&header, commands.data(), header.command_count};
    Machine machine(config_, nullptr);
    Counters counters;
    Fault fault;
    if (machine.run(stream, nullptr, nullptr, &counters, nullptr, 0, &fault) != Status::kOk) return kNone;
    return counters.cycles;
  }
  bool cost_too_long(const Command& k) const {
    StreamHeader any{};
    any.constant_bytes = any.tensor_bytes = UINT32_MAX;
    return verify_command(config_, k, any) != nullptr;
  }

  // Tries one cut; the better of it and *best stays.
  bool attempt(const Cut& cut, Choice* best) {
    const Built built = build_section(w_, cut, false, nullptr);
    if (!built.why.empty()) {
      why_ = built.why;
      return false;
    }
    const uint64_t cycles = time(built.commands);
    if (cycles == kNone) {
      why_ = "one command takes longer than the machine's watchdog waits";
      return false;
    }
    if (cycles < best->cycles) *best = {cycles, cut};
    return true;
  }

  Choice best_cut(size_t first, size_t last) {
    Choice best;
    if (!can_join(w_, first, last)) return best;
    int64_t height = 1;
    for (size_t i = first; i < last; ++i) {
      const int64_t h = g_.tensors[static_cast<size_t>(g_.layers[i].output)].shape[1];
      if (i + 1 == last) height = h;
    }
    Cut cut;
    cut.first = first;
    cut.last = last;
    const int64_t sram = config_.sram_bytes;
    bool fits = false;
    // One step with weights in blocks; then stripes with all weights held, from few to many.
    for (const int64_t share : {8, 32}) {
      cut.weight_bytes = sram / share;
      for (const size_t ahead : {2, 6, 20}) {
        cut.ahead = ahead;
        if (!attempt(cut, &best)) break;
        fits = true;
      }
      if (fits) break;
    }
    cut.ahead = 2;
    int tried = 0;
    for (int64_t steps = 2; steps <= height && tried < (fits ? 3 : 4); steps *= 2) {
      cut.steps = steps;
      cut.weight_bytes = sram;
      cut.keep_weights = true;
      cut.double_buffer = true;
      bool good = attempt(cut, &best);
      if (!good) {
        cut.double_buffer = false;
        good = attempt(cut, &best);
      }
      if (!good && last - first == 1) {
        cut.keep_weights = false;
        cut.double_buffer = true;
        cut.weight_bytes = sram / 8;
        good = attempt(cut, &best);
      }
      if (good) ++tried;
    }
    if (best.cycles != kNone || last - first > 1) return best;
    // A layer alone, whatever it takes: rows one by one, fewer and fewer columns and channels.
    const auto& y = g_.tensors[static_cast<size_t>(g_.layers[first].output)].shape;
    const int64_t units = y[3] / channel_unit(g_, g_.layers[first]);
    cut.steps = height;
    cut.keep_weights = false;
    cut.double_buffer = false;
    cut.ahead = 0;
    tried = 0;
    for (int64_t divide = 1; tried < 3; divide *= 4) {
      cut.weight_bytes = std::min<int64_t>(sram / 4, sram / divide);
      const int64_t columns = std::min(divide, y[2]), channels = std::min(divide, units);
      const int64_t pairs[][2] = {{columns, 1}, {1, channels}, {columns, channels}};
      for (const auto& [c, k] : pairs) {
        cut.column_tiles = c;
        cut.channel_tiles = k;
        if (attempt(cut, &best)) ++tried;
      }
      if (columns == y[2] && channels == units && cut.weight_bytes <= 1) break;
      if (divide > (int64_t{1} << 40)) break;
    }
    const Layer& l = g_.layers[first];
    if (best.cycles != kNone || l.kind != Kind::kConv || l.groups != 1) return best;
    // Not even one pixel's window and one channel's weights: the sums stay in the engine while both come in parts.
    const int64_t in = g_.tensors[static_cast<size_t>(l.inputs[0])].shape[3];
    for (int64_t parts = 2; parts <= 2 * in && best.cycles == kNone; parts *= 2) {
      cut.reduction_tiles = std::min(parts, in);
      cut.channel_tiles = std::min(parts, units);
      cut.weight_bytes = sram / 4;
      for (const int64_t width : {static_cast<int64_t>(config_.accumulator_pixels), int64_t{8}, int64_t{1}}) {
        cut.column_tiles = (y[2] + width - 1) / width;
        attempt(cut, &best);
      }
    }
    return best;
  }

  // The cheapest way to divide the layers into sections, from the last layer to the first.
  bool choose() {
    const size_t n = g_.layers.size();
    std::vector<uint64_t> cost(n + 1, kNone);
    std::vector<Choice> choice(n + 1);
    cost[n] = 0;
    for (size_t i = n; i-- > 0;) {
      size_t failures = 0;
      for (size_t length = 1; i + length <= n && length <= options_.longest; length = next_length(length)) {
        if (length > 1 && !options_.cascade) break;
        if (cost[i + length] == kNone) continue;
        const Choice c = best_cut(i, i + length);
        if (c.cycles == kNone) {
          if (length == 1) return fail(i, why_);
          if (!can_join(w_, i, i + length) || ++failures == 3) break;
          continue;
        }
        const uint64_t all = c.cycles + cost[i + length];
        if (all >= cost[i]) continue;
        cost[i] = all;
        choice[i] = c;
      }
    }
    for (size_t i = 0; i < n; i = choice[i].cut.last) out_.sections.push_back({choice[i].cut});
    return true;
  }
  static size_t next_length(size_t length) { return length < 4 ? length + 1 : length + length / 3; }

  // Inputs and outputs that nobody else's bytes lie in: an output that is an input, or another output, under a new
  // shape is copied by the host's side.
  void give_regions() {
    std::map<int, int> named;  // roots, how often
    for (const int t : g_.inputs) ++named[w_.root[static_cast<size_t>(t)]];
    for (const int t : g_.outputs) ++named[w_.root[static_cast<size_t>(t)]];
    for (const std::vector<int>* list : {&g_.inputs, &g_.outputs}) {
      for (const int t : *list) {
        const auto r = static_cast<size_t>(w_.root[static_cast<size_t>(t)]);
        const int64_t bytes = g_.tensors[r].bytes();
        const bool used = list == &g_.outputs || !w_.readers[r].empty();
        if (!used || header_.value_count == kMostRegions || named[static_cast<int>(r)] != 1 ||
            !g_.tensors[r].data.empty() || bytes > UINT32_MAX)
          continue;
        w_.region[r] = static_cast<Region>(kValues + header_.value_count);
        header_.value_bytes[header_.value_count] = static_cast<uint32_t>(bytes);
        if (list == &g_.outputs) header_.value_written |= 1u << header_.value_count;
        ++header_.value_count;
      }
    }
  }

  // Addresses by lifetime: sections in which a tensor is written first and read last.
  void place_tensors() {
    const size_t n = g_.tensors.size(), sections = out_.sections.size();
    std::vector<size_t> section_of(g_.layers.size());
    for (size_t s = 0; s < sections; ++s) {
      for (size_t i = out_.sections[s].cut.first; i < out_.sections[s].cut.last; ++i) section_of[i] = s;
    }
    struct Life {
      size_t tensor, first, last;
      int64_t address;
    };
    std::vector<Life> lives;
    std::vector<size_t> own;
    std::vector<bool> is_input(n, false);
    for (const int t : g_.inputs) is_input[static_cast<size_t>(t)] = true;
    for (size_t t = 0; t < n; ++t) {
      if (w_.root[t] != static_cast<int>(t) || !g_.tensors[t].data.empty()) continue;
      Life life{t, 0, sections, 0};
      bool outside = is_input[t] || w_.wanted[t];
      if (!outside && w_.producer[t] < 0) continue;  // nobody makes it, nobody reads it
      if (!outside) {
        life.first = life.last = section_of[static_cast<size_t>(w_.producer[t])];
        for (const size_t r : w_.readers[t]) {
          outside = outside || section_of[r] != life.first;
          life.last = std::max(life.last, section_of[r]);
        }
      }
      if (outside && w_.region[t] == kTensors) lives.push_back(life);
      if (outside && w_.region[t] != kTensors) own.push_back(t);
    }
    std::stable_sort(lives.begin(), lives.end(), [&](const Life& a, const Life& b) {
      return g_.tensors[a.tensor].bytes() > g_.tensors[b.tensor].bytes();
    });
    w_.address.assign(n, -1);
    for (const size_t t : own) w_.address[t] = 0;
    for (size_t i = 0; i < lives.size(); ++i) {
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (size_t k = 0; k < i; ++k) {
        if (lives[k].first > lives[i].last || lives[i].first > lives[k].last) continue;
        taken.emplace_back(lives[k].address, lives[k].address + g_.tensors[lives[k].tensor].bytes());
      }
      std::sort(taken.begin(), taken.end());
      int64_t at = 0;
      for (const auto& [begin, end] : taken) {
        if (at + g_.tensors[lives[i].tensor].bytes() <= begin) break;
        at = std::max(at, (end + 63) / 64 * 64);
      }
      lives[i].address = at;
      w_.address[lives[i].tensor] = at;
      out_.tensor_bytes = std::max(out_.tensor_bytes, at + g_.tensors[lives[i].tensor].bytes());
    }
    out_.address.resize(n);
    out_.region.resize(n);
    for (size_t t = 0; t < n; ++t) {
      out_.address[t] = w_.address[static_cast<size_t>(w_.root[t])];
      out_.region[t] = w_.region[static_cast<size_t>(w_.root[t])];
    }
  }

  void write() {
    if (out_.tensor_bytes > UINT32_MAX) {
      out_.error = "tensors outside take " + std::to_string(out_.tensor_bytes) + " bytes, the machine addresses 4 GiB";
      return;
    }
    Blob blob;
    Hazards hazards(config_);
    std::vector<Command> commands;
    out_.sizes.resize(g_.layers.size());
    for (size_t s = 0; s < out_.sections.size(); ++s) {
      Section& section = out_.sections[s];
      Built built = build_section(w_, section.cut, s % 2 == 1, &blob);
      if (!built.why.empty()) {
        fail(section.cut.first, built.why);
        return;
      }
      for (Command& k : built.commands) {
        hazards.add(&k);
        commands.push_back(k);
      }
      section.sram_bytes = built.sram_bytes;
      for (size_t i = 0; i < built.layers.size(); ++i) out_.sizes[section.cut.first + i] = built.layers[i];
    }
    blob.pad();
    if (blob.bytes().size() > UINT32_MAX) {
      out_.error = "constants take more than the 4 GiB that the machine addresses";
      return;
    }
    out_.constants = blob.bytes();
    StreamHeader& header = header_;
    header.magic = kStreamMagic;
    header.version = kIsaVersion;
    header.command_count = static_cast<uint32_t>(commands.size());
    header.sram_bytes = config_.sram_bytes;
    header.constant_bytes = static_cast<uint32_t>(out_.constants.size());
    header.tensor_bytes = static_cast<uint32_t>(out_.tensor_bytes);
    out_.stream.resize((commands.size() + 1) * kCommandWords);
    std::memcpy(out_.stream.data(), &header, sizeof(header));
    if (!commands.empty())
      std::memcpy(out_.stream.data() + kCommandWords, commands.data(), commands.size() * sizeof(Command));
    Stream stream;
    Fault fault;
    if (verify_stream(config_, out_.stream.data(), out_.stream.size() * 4, &stream, &fault) != Status::kOk) {
      out_.error = "command " + std::to_string(fault.command) + ": " + fault.reason;
      return;
    }
    Machine machine(config_, nullptr);
    out_.layers.resize(g_.layers.size());
    if (machine.run(stream, nullptr, nullptr, &out_.counters, out_.layers.data(),
                    static_cast<uint32_t>(out_.layers.size()), &fault) != Status::kOk) {
      out_.error = "command " + std::to_string(fault.command) + ": " + fault.reason;
    }
  }

  const Graph& g_;
  const MachineConfig& config_;
  const CompileOptions& options_;
  Surroundings w_;
  WeightCache cache_;
  Compiled out_;
  StreamHeader header_{};
  std::string why_;
};

}  // namespace

Compiled compile(const Graph& graph, const MachineConfig& config, const CompileOptions& options) {
  return Compiler(graph, config, options).run();
}

}  // namespace vireo::npu
