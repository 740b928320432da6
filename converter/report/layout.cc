#include "converter/report/layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace vireo::report {
namespace {

constexpr int32_t kBendWidth = 10;  // of a line that passes through a layer
constexpr int kSweeps = 12;         // over the orders of layers: more seldom change the picture
constexpr int kMoves = 10;          // over the places in them

// What stands in a layer: an item, or a bend of a line. Lines that leave one item share their bends as far as they go,
// which draws what many nodes read (a mask, a table) as one trunk.
struct Cell {
  int32_t item = -1;  // -1: a bend
  int32_t layer = 0;
  int32_t width = kBendWidth;
  double x = 0;
  std::vector<int32_t> up, down;  // cells of the neighbouring layers
};

class Picture {
 public:
  Picture(const std::vector<int32_t>& widths, std::vector<LayoutEdge>* edges) : widths_(widths), edges_(*edges) {}

  Layout draw() {
    rank();
    place_cells();
    order();
    move();
    return finish();
  }

 private:
  void rank() {
    const size_t n = widths_.size();
    rank_.assign(n, 0);
    std::vector<std::vector<int32_t>> next(n);
    std::vector<int32_t> before(n, 0);
    for (const LayoutEdge& e : edges_) {
      if (e.from >= e.to) continue;
      next[static_cast<size_t>(e.from)].push_back(e.to);
      ++before[static_cast<size_t>(e.to)];
    }
    for (size_t i = 0; i < n; ++i) {
      for (const int32_t to : next[i])
        rank_[static_cast<size_t>(to)] = std::max(rank_[static_cast<size_t>(to)], rank_[i] + 1);
    }
    // What nothing stands above goes down to its first reader.
    for (size_t i = 0; i < n; ++i) {
      if (before[i] != 0 || next[i].empty()) continue;
      int32_t least = INT32_MAX;
      for (const int32_t to : next[i]) least = std::min(least, rank_[static_cast<size_t>(to)]);
      rank_[i] = least - 1;
    }
    for (const int32_t r : rank_) layers_ = std::max(layers_, r + 1);
  }

  int32_t add(int32_t item, int32_t layer, int32_t width) {
    cells_.push_back({item, layer, width, 0, {}, {}});
    return static_cast<int32_t>(cells_.size() - 1);
  }

  void place_cells() {
    for (size_t i = 0; i < widths_.size(); ++i) add(static_cast<int32_t>(i), rank_[i], widths_[i]);
    std::vector<std::vector<size_t>> leaving(widths_.size());
    for (size_t e = 0; e < edges_.size(); ++e) leaving[static_cast<size_t>(edges_[e].from)].push_back(e);
    // Trunks, the shortest first, as long as they do not outnumber the items by far.
    std::vector<std::pair<int32_t, size_t>> trunks;
    for (size_t i = 0; i < leaving.size(); ++i) {
      int32_t longest = 0;
      for (const size_t e : leaving[i])
        longest = std::max(longest, rank_[static_cast<size_t>(edges_[e].to)] - rank_[i]);
      trunks.emplace_back(longest, i);
    }
    std::sort(trunks.begin(), trunks.end());
    int64_t room = 2000 + 4 * static_cast<int64_t>(widths_.size());
    chains_.resize(widths_.size());
    for (const auto& [longest, i] : trunks) {
      const bool whole = longest - 1 <= room;
      if (whole && longest > 1) room -= longest - 1;
      int32_t last = static_cast<int32_t>(i);
      for (int32_t r = 1; whole && r < longest; ++r) {
        const int32_t bend = add(-1, rank_[i] + r, kBendWidth);
        link(last, bend);
        chains_[i].push_back(bend);
        last = bend;
      }
      for (const size_t e : leaving[i]) {
        const int32_t span = rank_[static_cast<size_t>(edges_[e].to)] - rank_[i];
        edges_[e].cut = span <= 0 || (span > 1 && !whole);
        if (!edges_[e].cut)
          link(span == 1 ? static_cast<int32_t>(i) : chains_[i][static_cast<size_t>(span - 2)], edges_[e].to);
      }
    }
  }

  void link(int32_t above, int32_t below) {
    cells_[static_cast<size_t>(above)].down.push_back(below);
    cells_[static_cast<size_t>(below)].up.push_back(above);
  }

  // Neighbours' mean place decides, layer by layer, down and up again; the order with the fewest crossings is kept.
  void order() {
    rows_.resize(static_cast<size_t>(layers_));
    // At first as a walk in depth meets them, so that branches lie beside each other from the beginning.
    std::vector<bool> seen(cells_.size(), false);
    std::vector<int32_t> stack;
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (!cells_[i].up.empty()) continue;
      stack.push_back(static_cast<int32_t>(i));
      while (!stack.empty()) {
        const size_t c = static_cast<size_t>(stack.back());
        stack.pop_back();
        if (seen[c]) continue;
        seen[c] = true;
        rows_[static_cast<size_t>(cells_[c].layer)].push_back(static_cast<int32_t>(c));
        for (auto it = cells_[c].down.rbegin(); it != cells_[c].down.rend(); ++it) stack.push_back(*it);
      }
    }
    number();
    std::vector<std::vector<int32_t>> best = rows_;
    int64_t least = crossings();
    for (int sweep = 0; sweep < kSweeps && least > 0; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t k = 0; k < rows_.size(); ++k) {
        std::vector<int32_t>& row = rows_[down ? k : rows_.size() - 1 - k];
        std::stable_sort(row.begin(), row.end(), [&](int32_t a, int32_t b) { return wish(a, down) < wish(b, down); });
        for (size_t i = 0; i < row.size(); ++i) cells_[static_cast<size_t>(row[i])].x = static_cast<double>(i);
      }
      const int64_t now = crossings();
      if (now >= least) continue;
      least = now;
      best = rows_;
    }
    rows_ = std::move(best);
    number();
  }

  void number() {
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) cells_[static_cast<size_t>(row[i])].x = static_cast<double>(i);
    }
  }

  double wish(int32_t c, bool down) const {
    const Cell& cell = cells_[static_cast<size_t>(c)];
    const std::vector<int32_t>& near = down ? cell.up : cell.down;
    if (near.empty()) return cell.x;
    double sum = 0;
    for (const int32_t k : near) sum += cells_[static_cast<size_t>(k)].x;
    return sum / static_cast<double>(near.size());
  }

  // Pairs of lines that cross, by counting inversions with a Fenwick tree: Barth et al., "Simple and Efficient Bilayer
  // Cross Counting", 2004.
  int64_t crossings() const {
    int64_t total = 0;
    std::vector<int32_t> ends, tree;
    for (const auto& row : rows_) {
      ends.clear();
      int32_t most = 0;
      for (const int32_t c : row) {
        const size_t from = ends.size();
        for (const int32_t d : cells_[static_cast<size_t>(c)].down) {
          ends.push_back(static_cast<int32_t>(cells_[static_cast<size_t>(d)].x));
          most = std::max(most, ends.back());
        }
        std::sort(ends.begin() + static_cast<std::ptrdiff_t>(from), ends.end());
      }
      tree.assign(static_cast<size_t>(most) + 2, 0);
      for (size_t i = 0; i < ends.size(); ++i) {
        int32_t behind = static_cast<int32_t>(i);
        for (int32_t k = ends[i] + 1; k > 0; k -= k & -k) behind -= tree[static_cast<size_t>(k)];
        total += behind;
        for (int32_t k = ends[i] + 1; k < static_cast<int32_t>(tree.size()); k += k & -k)
          ++tree[static_cast<size_t>(k)];
      }
    }
    return total;
  }

  // Places inside the orders: each layer takes those nearest to what its neighbours ask for, exactly, by pooling
  // adjacent violators (Barlow et al., 1972). Bends weigh more, so that long lines are straight.
  void move() {
    for (auto& row : rows_) settle(row, [](const Cell&) { return 0.0; });
    for (int i = 0; i < kMoves; ++i) {
      const bool down = i % 2 == 0;
      for (size_t k = 0; k < rows_.size(); ++k) {
        settle(rows_[down ? k : rows_.size() - 1 - k], [&](const Cell& c) {
          double sum = 0, weight = 0;
          const auto ask = [&](const std::vector<int32_t>& near, double share) {
            for (const int32_t n : near) {
              const Cell& other = cells_[static_cast<size_t>(n)];
              const double w = share * (other.item < 0 && c.item < 0 ? 8 : 1);
              sum += w * other.x;
              weight += w;
            }
          };
          ask(c.up, down ? 4 : 1);
          ask(c.down, down ? 1 : 4);
          return weight > 0 ? sum / weight : c.x;
        });
      }
    }
  }

  template <class Ask>
  void settle(const std::vector<int32_t>& row, const Ask& ask) {
    struct Block {
      double sum, weight, offset_end;
      size_t begin;
    };
    std::vector<double> offset(row.size(), 0);
    std::vector<Block> blocks;
    for (size_t i = 0; i < row.size(); ++i) {
      const Cell& c = cells_[static_cast<size_t>(row[i])];
      if (i > 0) offset[i] = offset[i - 1] + (cells_[static_cast<size_t>(row[i - 1])].width + c.width) / 2.0 + kGap;
      const double w = c.item < 0 ? 2 : 1;
      blocks.push_back({w * (ask(c) - offset[i]), w, 0, i});
      while (blocks.size() > 1) {
        const Block &b = blocks.back(), &a = blocks[blocks.size() - 2];
        if (a.sum / a.weight <= b.sum / b.weight) break;
        blocks[blocks.size() - 2] = {a.sum + b.sum, a.weight + b.weight, 0, a.begin};
        blocks.pop_back();
      }
    }
    for (size_t k = 0; k < blocks.size(); ++k) {
      const size_t end = k + 1 < blocks.size() ? blocks[k + 1].begin : row.size();
      for (size_t i = blocks[k].begin; i < end; ++i)
        cells_[static_cast<size_t>(row[i])].x = blocks[k].sum / blocks[k].weight + offset[i];
    }
  }

  Layout finish() {
    Layout out;
    double left = 0, right = 0;
    bool first = true;
    for (const Cell& c : cells_) {
      left = first ? c.x - c.width / 2.0 : std::min(left, c.x - c.width / 2.0);
      right = first ? c.x + c.width / 2.0 : std::max(right, c.x + c.width / 2.0);
      first = false;
    }
    const auto point = [&](const Cell& c) {
      return Point{static_cast<int32_t>(std::lround(c.x - left)), c.layer * kRowHeight};
    };
    for (size_t i = 0; i < widths_.size(); ++i) out.at.push_back(point(cells_[i]));
    for (LayoutEdge& e : edges_) {
      e.by.clear();
      const int32_t bends = rank_[static_cast<size_t>(e.to)] - rank_[static_cast<size_t>(e.from)] - 1;
      for (int32_t k = 0; k < bends && !e.cut; ++k) {
        Point p = point(cells_[static_cast<size_t>(chains_[static_cast<size_t>(e.from)][static_cast<size_t>(k)])]);
        p.y += kItemHeight / 2;
        // A straight piece of line needs no bend.
        if (e.by.size() > 1 && e.by.back().x == p.x && e.by[e.by.size() - 2].x == p.x) e.by.pop_back();
        e.by.push_back(p);
      }
    }
    out.width = static_cast<int32_t>(right - left + 1);
    out.height = layers_ > 0 ? (layers_ - 1) * kRowHeight + kItemHeight : 0;
    return out;
  }

  const std::vector<int32_t>& widths_;
  std::vector<LayoutEdge>& edges_;
  std::vector<int32_t> rank_;
  int32_t layers_ = 0;
  std::vector<Cell> cells_;  // items first
  std::vector<std::vector<int32_t>> chains_, rows_;
};

}  // namespace

Layout lay_out(const std::vector<int32_t>& widths, std::vector<LayoutEdge>* edges) {
  return Picture(widths, edges).draw();
}

}  // namespace vireo::report
