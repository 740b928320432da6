#include "delegates/npu/compiler/report.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace vireo::npu {
namespace {

void add(std::string* to, const char* format, ...) __attribute__((format(printf, 2, 3)));
void add(std::string* to, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  *to += line;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      add(&out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

double share(uint64_t macs, uint64_t cycles, const MachineConfig& c) {
  return cycles == 0 ? 0 : static_cast<double>(macs) / (static_cast<double>(cycles) * c.array_in * c.array_out);
}

double ratio(const LayerSizes& s) {
  return s.packed_bytes == 0 ? 1 : static_cast<double>(s.weight_bytes) / static_cast<double>(s.packed_bytes);
}

LayerSizes totals(const Compiled& c) {
  LayerSizes t;
  for (const LayerSizes& s : c.sizes) {
    t.weight_bytes += s.weight_bytes;
    t.packed_bytes += s.packed_bytes;
    t.sram_peak = s.sram_peak > t.sram_peak ? s.sram_peak : t.sram_peak;
  }
  return t;
}

double milliseconds(uint64_t cycles, const MachineConfig& m) {
  return static_cast<double>(cycles) / (1000.0 * m.clock_mhz);
}

}  // namespace

std::string listing(const Graph& g, const Compiled& c) {
  const auto* const commands = reinterpret_cast<const Command*>(c.stream.data()) + 1;
  const size_t count = c.stream.size() / kCommandWords - 1;
  std::string out;
  char line[1024];
  for (size_t i = 0; i < count; ++i) {
    const uint32_t layer = commands[i].u(field::layer);
    print_command(commands[i], static_cast<uint32_t>(i),
                  layer < g.layers.size() ? g.layers[layer].name.c_str() : nullptr, line, sizeof(line));
    out += line;
    out += '\n';
  }
  return out;
}

std::string report_text(const Graph& g, const Compiled& c, const MachineConfig& m) {
  std::string out;
  add(&out, "%-4s %4s %-12s %10s %12s %6s %9s %10s %10s %6s %9s  %s\n", "cut", "node", "kind", "cycles", "MACs", "util",
      "sram", "read", "written", "packed", "nJ", "layer");
  const auto row = [&](const std::string& cut, int node, const char* kind, uint64_t cycles, uint64_t busy,
                       uint64_t macs, const LayerSizes& sizes, uint64_t read, uint64_t written, uint64_t pj,
                       const std::string& name) {
    add(&out,
        "%-4s %4s %-12s %10" PRIu64 " %12" PRIu64 " %5.1f%% %9" PRId64 " %10" PRIu64 " %10" PRIu64 " %6.2f %9.1f  ",
        cut.c_str(), node < 0 ? "" : std::to_string(node).c_str(), kind, cycles, macs, 100 * share(macs, busy, m),
        sizes.sram_peak, read, written, ratio(sizes), static_cast<double>(pj) / 1000);
    out += name + "\n";
  };
  for (size_t s = 0; s < c.sections.size(); ++s) {
    for (size_t i = c.sections[s].cut.first; i < c.sections[s].cut.last; ++i) {
      const LayerCounters& l = c.layers[i];
      row(std::to_string(s), g.layers[i].node, kind_name(g.layers[i].kind), l.cycles, l.busy_matrix, l.macs, c.sizes[i],
          l.dram_read, l.dram_written, l.energy_pj, g.layers[i].name);
    }
  }
  const Counters& all = c.counters;
  row("all", -1, "", all.cycles, all.cycles, all.macs, totals(c), all.dram_read, all.dram_written, all.energy_pj,
      std::to_string(c.sections.size()) + " cuts");
  add(&out, "%.3f ms at %u MHz; busy: load %.0f%%, store %.0f%%, matrix %.0f%%, vector %.0f%%\n",
      milliseconds(all.cycles, m), m.clock_mhz,
      100.0 * static_cast<double>(all.busy[kLoad]) / static_cast<double>(all.cycles),
      100.0 * static_cast<double>(all.busy[kStore]) / static_cast<double>(all.cycles),
      100.0 * static_cast<double>(all.busy[kMatrix]) / static_cast<double>(all.cycles),
      100.0 * static_cast<double>(all.busy[kVector]) / static_cast<double>(all.cycles));
  return out;
}

std::string report_json(const Graph& g, const Compiled& c, const MachineConfig& m) {
  std::string out = "{\n  \"layers\": [";
  const auto numbers = [&](uint64_t cycles, uint64_t busy, uint64_t macs, const LayerSizes& sizes, uint64_t read,
                           uint64_t written, uint64_t pj) {
    add(&out,
        "\"cycles\": %" PRIu64 ", \"macs\": %" PRIu64 ", \"utilisation\": %.4f, \"sram_peak_bytes\": %" PRId64
        ", \"dram_read_bytes\": %" PRIu64 ", \"dram_written_bytes\": %" PRIu64 ", \"weight_bytes\": %" PRId64
        ", \"packed_bytes\": %" PRId64 ", \"compression\": %.3f, \"energy_nj\": %.3f",
        cycles, macs, share(macs, busy, m), sizes.sram_peak, read, written, sizes.weight_bytes, sizes.packed_bytes,
        ratio(sizes), static_cast<double>(pj) / 1000);
  };
  bool first = true;
  for (size_t s = 0; s < c.sections.size(); ++s) {
    for (size_t i = c.sections[s].cut.first; i < c.sections[s].cut.last; ++i) {
      const LayerCounters& l = c.layers[i];
      out += first ? "\n    {" : ",\n    {";
      first = false;
      out += "\"name\": " + quoted(g.layers[i].name) + ", \"kind\": \"" + kind_name(g.layers[i].kind) + "\", ";
      add(&out, "\"node\": %d, \"cut\": %zu, \"busy_matrix\": %" PRIu64 ", \"busy_vector\": %" PRIu64 ", ",
          g.layers[i].node, s, l.busy_matrix, l.busy_vector);
      numbers(l.cycles, l.busy_matrix, l.macs, c.sizes[i], l.dram_read, l.dram_written, l.energy_pj);
      out += "}";
    }
  }
  out += "\n  ],\n  \"total\": {";
  numbers(c.counters.cycles, c.counters.cycles, c.counters.macs, totals(c), c.counters.dram_read,
          c.counters.dram_written, c.counters.energy_pj);
  add(&out, ", \"milliseconds\": %.6f, \"cuts\": %zu, \"commands\": %zu}\n}\n", milliseconds(c.counters.cycles, m),
      c.sections.size(), c.stream.size() / kCommandWords - 1);
  return out;
}

}  // namespace vireo::npu
