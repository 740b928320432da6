#include "delegates/cpu/kernels/winograd/plan.h"

namespace vireo::cpu {
namespace {

constexpr int64_t kColumns = 2 * kPanelColumns;  // products of one panel read all pixels again for 32 columns
constexpr int64_t kBlockFloats = 256 * 1024;     // pixels and products of a block of tiles: 1 MiB
constexpr int64_t kLeastTiles = 28;              // two register tiles: filters are read again for each block
constexpr int64_t kRegisterTiles = 14;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

// Lines of 64 bytes, an odd number of them: the places of one vector lie in different sets of the cache.
int64_t step_of(int64_t floats) { return (ceil_div(floats, 16) | 1) * 16; }

int64_t most_tiles(const WinogradPlan& p, int64_t channels) {
  return at_least(kBlockFloats / (p.places * (channels + p.columns)), kLeastTiles);
}

bool is_window(const ConvF32& s) {
  return s.groups == 1 && s.kernel[0] == 1 && s.kernel[1] == 3 && s.kernel[2] == 3 && s.stride[0] == 1 &&
         s.stride[1] == 1 && s.stride[2] == 1 && s.dilation[1] == 1 && s.dilation[2] == 1 && s.in[0] == 1 &&
         s.out[0] == 1 && s.pad[0] == 0 && s.in_channels > 0 && s.out_channels > 0;
}

bool empty(const ConvF32& s) { return s.n <= 0 || s.out[1] <= 0 || s.out[2] <= 0; }

// Rates of one thread of a core with AVX-512 in ns; what counts are ratios, which narrower vectors leave alone.
constexpr double kMacs = 100;        // multiplications of a product in a ns
constexpr double kStart = 4;         // what a register tile takes besides, as so many channels more
constexpr double kTransform = 0.08;  // an element of a transformed tile, pixels or products
constexpr double kCopied = 0.04;     // direct: an element of a patch
constexpr double kCopiedRun = 1;     // and each tap's run of channels
constexpr double kRead = 0.3;        // a filter's float from memory
constexpr double kOverlap = 0.25;    // what the shorter of reading and computing adds
constexpr double kGain = 0.9;        // for less than a tenth filters do not grow

double time_of(double computing, double filters) {
  const double reading = filters * kRead;
  return computing > reading ? computing + kOverlap * reading : reading + kOverlap * computing;
}

// Rows of G for one of Toom's points, and infinity: powers of the point over its distance from the others.
struct Points {
  int32_t count;
  double at[5];
};
constexpr Points kPoints2 = {3, {0, 1, -1}};
constexpr Points kPoints4 = {5, {0, 0.75, -0.75, 1.5, -1.5}};

void filter_rows(const Points& points, double (&g)[6][3]) {
  for (int i = 0; i < points.count; ++i) {
    double scale = 1;
    for (int j = 0; j < points.count; ++j) scale *= j == i ? 1 : points.at[i] - points.at[j];
    g[i][0] = 1 / scale;
    g[i][1] = points.at[i] / scale;
    g[i][2] = points.at[i] * points.at[i] / scale;
  }
  g[points.count][0] = g[points.count][1] = 0;
  g[points.count][2] = 1;
}

// 32 filters of one input channel: outputs [first, first + n). Places are `step` floats apart.
void pack_column(const double (&g)[6][3], int32_t edge, const float* filters, int64_t filter_step, int64_t n, float* to,
                 int64_t step) {
  double w[9][kPanelColumns] = {};
  for (int64_t o = 0; o < n; ++o) {
    for (int t = 0; t < 9; ++t) w[t][o] = double{filters[o * filter_step + t]};
  }
  for (int32_t i = 0; i < edge; ++i) {
    double line[3][kPanelColumns];
    for (int x = 0; x < 3; ++x) {
      for (int64_t o = 0; o < kPanelColumns; ++o)
        line[x][o] = g[i][0] * w[x][o] + g[i][1] * w[3 + x][o] + g[i][2] * w[6 + x][o];
    }
    for (int32_t j = 0; j < edge; ++j, to += step) {
      for (int64_t o = 0; o < kPanelColumns; ++o)
        to[o] = static_cast<float>(g[j][0] * line[0][o] + g[j][1] * line[1][o] + g[j][2] * line[2][o]);
    }
  }
}

}  // namespace

int32_t winograd_f32_best(const ConvF32& s) {
  if (!is_window(s) || empty(s)) return 0;
  const double pixels = static_cast<double>(s.n * s.out[1] * s.out[2]), c = static_cast<double>(s.in_channels);
  const double columns = static_cast<double>(ceil_div(s.out_channels, kPanelColumns) * kPanelColumns);
  const double direct = time_of(pixels * (9 * c * columns / kMacs + 9 * c * kCopied + 9 * kCopiedRun), 9 * c * columns);
  const double lanes = static_cast<double>((ceil_div(s.in_channels, 16) + ceil_div(s.out_channels, 16)) * 16);
  double best = kGain * direct;
  int32_t out = 0;
  for (int32_t tile = 2; tile <= 4; tile += 2) {
    const double places = (tile + 2) * (tile + 2);
    const double tiles = static_cast<double>(s.n * ceil_div(s.out[1], tile) * ceil_div(s.out[2], tile));
    const double taken =
        time_of(tiles * places * (columns * (c + kStart) / kMacs + lanes * kTransform), places * c * columns);
    if (taken >= best) continue;
    best = taken;
    out = tile;
  }
  return out;
}

WinogradPlan plan_winograd(const ConvF32& s, int32_t tile, int32_t slots) {
  WinogradPlan p;
  p.tile = tile;
  p.places = (p.tile + 2) * (p.tile + 2);
  p.tiles_y = ceil_div(s.out[1], tile);
  p.tiles_x = ceil_div(s.out[2], tile);
  p.tiles = at_least(s.n, 0) * p.tiles_y * p.tiles_x;
  if (empty(s)) {
    p.tiles = 0;
    return p;
  }
  const int64_t threads = slots < 1 ? 1 : slots, panels = ceil_div(s.out_channels, kPanelColumns);
  p.columns = at_most(kColumns, panels * kPanelColumns);
  const int64_t most = most_tiles(p, s.in_channels);
  // Filters that outweigh the tiles are read by one thread each.
  p.shared = threads > 1 && p.tiles <= threads * most &&
             (p.tiles < s.out_channels ? panels >= threads
                                       : p.tiles < kRegisterTiles * threads && panels > p.tiles / kRegisterTiles);
  int64_t blocks = ceil_div(p.tiles, most);
  if (threads > 1 && !p.shared) {
    blocks = at_least(at_most(ceil_div(blocks, threads) * threads, ceil_div(p.tiles, kRegisterTiles)), blocks);
  } else if (p.shared) {
    p.columns = at_most(p.columns, ceil_div(panels, threads) * kPanelColumns);
  }
  p.block = ceil_div(p.tiles, blocks);
  p.zeros = ceil_div(s.in_channels, 16) * 16;
  p.v_step = step_of((p.shared ? p.tiles : p.block) * s.in_channels);
  p.m_step = step_of(p.block * p.columns);
  p.v_floats = p.places * p.v_step;
  p.m_floats = p.places * p.m_step;
  return p;
}

size_t winograd_f32_scratch_bytes(const ConvF32& s, int32_t tile, int32_t slots, Sizes sizes) {
  WinogradPlan p = plan_winograd(s, tile, slots);
  if (p.tiles == 0) return 0;
  const int64_t threads = slots < 1 ? 1 : slots;
  int64_t floats = (p.shared ? 1 : threads) * p.v_floats + threads * p.m_floats;
  if (sizes == Sizes::kUpperBounds) {
    // Fewer tiles may come in larger blocks, or be shared; never more than `most` for each thread.
    p.columns = at_most(kColumns, ceil_div(s.out_channels, kPanelColumns) * kPanelColumns);
    const int64_t most = at_most(most_tiles(p, s.in_channels), p.tiles);
    floats = threads * p.places * (step_of(most * s.in_channels) + step_of(most * p.columns));
    floats += p.places * 16;  // pixels that are shared may take an odd line more than the threads' own
  }
  return static_cast<size_t>(p.zeros + floats) * sizeof(float);
}

int64_t winograd_f32_packed_floats(const ConvF32& s, int32_t tile) {
  if (!is_window(s)) return 0;
  return packed_floats(s.out_channels, s.in_channels) * (tile + 2) * (tile + 2);
}

void pack_winograd_f32(const ConvF32& s, int32_t tile, const float* weights, const Parallel& parallel, float* packed) {
  double g[6][3];
  filter_rows(tile == 4 ? kPoints4 : kPoints2, g);
  const int32_t edge = tile + 2;
  const int64_t channels = s.in_channels, step = channels * kPanelColumns, filter = channels * 9;
  const int64_t panels = ceil_div(s.out_channels, kPanelColumns);
  parallel.for_range(panels, at_least(1, 256 / channels), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanelColumns;
      const int64_t n = at_most(kPanelColumns, s.out_channels - first);
      float* const to = packed + panel * edge * edge * step;
      for (int64_t c = 0; c < channels; ++c)
        pack_column(g, edge, weights + first * filter + c * 9, filter, n, to + c * kPanelColumns, step);
    }
  });
}

}  // namespace vireo::cpu
