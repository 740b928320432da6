#include "converter/report/modules.h"

#include <algorithm>
#include <tuple>

#include "converter/report/side.h"

namespace vireo::report {
namespace {

std::vector<std::string> segments_of(const std::string& path, char separator) {
  std::vector<std::string> out(1);
  for (const char c : path) {
    if (c == separator) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  out.erase(std::remove(out.begin(), out.end(), ""), out.end());
  return out;
}

std::string joined(const std::vector<std::string>& segments, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : "/") + segments[i];
  return out;
}

size_t place(int32_t n) { return static_cast<size_t>(n); }

class Boxes {
 public:
  Boxes(const Side& side, const SideGraph& graph) : side_(side), graph_(graph) {}

  std::vector<Box> make() {
    gather();
    simplify_root();
    for (size_t b = 0; b < made_.size(); ++b) divide(b);
    number();
    draw_lines();
    return std::move(out_);
  }

 private:
  // A box for each module, whatever is in it.
  void gather() {
    made_.push_back({});
    std::map<std::string, int32_t> known = {{"", 0}};
    for (const int32_t id : graph_.nodes) {
      const std::vector<std::string> path = segments_of(side_.nodes[place(id)].module, '/');
      int32_t box = 0;
      for (size_t depth = 1; depth <= path.size(); ++depth) {
        const std::string here = joined(path, depth);
        const auto [at, fresh] = known.emplace(here, static_cast<int32_t>(made_.size()));
        if (fresh) {
          Box inner;
          inner.name = name_of(path, depth);
          inner.path = here;
          inner.parent = box;
          made_.push_back(std::move(inner));
          made_[place(box)].items.push_back(-at->second);
        }
        box = at->second;
      }
      made_[place(box)].items.push_back(id);
    }
    // Inner boxes come behind outer ones.
    for (size_t b = made_.size(); b-- > 0;) simplify(b);
  }

  // "layers.0", also where the exporter divides the two: a number alone says nothing.
  static std::string name_of(const std::vector<std::string>& path, size_t depth) {
    const std::string& last = path[depth - 1];
    const bool number = last.find_first_not_of("0123456789") == std::string::npos;
    return number && depth > 1 ? path[depth - 2] + "." + last : last;
  }

  static bool is_box(int32_t item) { return item < 0; }

  // Items that are boxes of a single item give way to it.
  void simplify(size_t b) {
    for (int32_t& item : made_[b].items) {
      if (!is_box(item)) continue;
      const Box& inner = made_[place(-item)];
      if (inner.items.size() != 1) continue;
      const int32_t only = inner.items[0];
      if (is_box(only)) {
        made_[place(-only)].name = inner.name + "/" + made_[place(-only)].name;
        made_[place(-only)].parent = static_cast<int32_t>(b);
      }
      item = only;
    }
  }

  // One box for everything is the graph itself.
  void simplify_root() {
    while (made_[0].items.size() == 1 && is_box(made_[0].items[0])) {
      Box& inner = made_[place(-made_[0].items[0])];
      made_[0].path = inner.path;
      made_[0].items = std::exchange(inner.items, {});
      for (const int32_t item : made_[0].items) {
        if (is_box(item)) made_[place(-item)].parent = 0;
      }
    }
  }

  std::string title_of(int32_t item, const std::string& path) const {
    if (is_box(item)) return made_[place(-item)].name;
    const SideNode& n = side_.nodes[place(item)];
    return n.name.empty() ? n.kind : name_within(n.name, path);
  }

  // Too many items become sections, cut where the fewest lines cross.
  void divide(size_t b) {
    const std::vector<int32_t> items = made_[b].items;
    if (items.size() <= kMostItems) return;
    const std::vector<int64_t> crossing = lines_over(items);
    const size_t count = std::min(kMostItems, (items.size() + 23) / 24);
    std::vector<size_t> cuts = {0};
    for (size_t k = 1; k < count; ++k) {
      const size_t middle = k * items.size() / count, reach = items.size() / count / 3;
      size_t best = middle;
      for (size_t d = 1; d <= reach; ++d) {
        for (const size_t at : {middle - d, middle + d}) {
          if (crossing[at] < crossing[best]) best = at;
        }
      }
      cuts.push_back(best);
    }
    cuts.push_back(items.size());
    made_[b].items.clear();
    for (size_t k = 0; k + 1 < cuts.size(); ++k) {
      const auto number = static_cast<int32_t>(made_.size());
      Box section;
      section.path = made_[b].path;
      section.name = title_of(items[cuts[k]], section.path) + " … " + title_of(items[cuts[k + 1] - 1], section.path);
      section.parent = static_cast<int32_t>(b);
      section.items.assign(items.begin() + static_cast<std::ptrdiff_t>(cuts[k]),
                           items.begin() + static_cast<std::ptrdiff_t>(cuts[k + 1]));
      for (const int32_t item : section.items) {
        if (is_box(item)) made_[place(-item)].parent = number;
      }
      made_.push_back(std::move(section));
      made_[b].items.push_back(-number);
    }
  }

  // Before each item: how many values go from those in front of it to it and those behind it.
  std::vector<int64_t> lines_over(const std::vector<int32_t>& items) const {
    std::map<int32_t, size_t> maker, last;  // of a value: the item that makes it, the last that reads it
    std::vector<int64_t> change(items.size() + 2, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      each_node(items[i], [&](int32_t id) {
        for (const int32_t v : side_.nodes[place(id)].inputs) {
          if (maker.count(v) != 0) last[v] = i;
        }
        for (const int32_t v : side_.nodes[place(id)].outputs) maker.emplace(v, i);
      });
    }
    for (const auto& [v, reader] : last) {
      ++change[maker.at(v) + 1];
      --change[reader + 1];
    }
    for (size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
    return change;
  }

  template <class Visit>
  void each_node(int32_t item, const Visit& visit) const {
    if (!is_box(item)) return visit(item);
    for (const int32_t inner : made_[place(-item)].items) each_node(inner, visit);
  }

  // Only boxes that are left get numbers, outer ones first.
  void number() {
    std::vector<size_t> order = {0};
    for (size_t i = 0; i < order.size(); ++i) {
      Box box = made_[order[i]];
      for (int32_t& item : box.items) {
        if (!is_box(item)) continue;
        made_[place(-item)].parent = static_cast<int32_t>(i);
        order.push_back(place(-item));
        item = -static_cast<int32_t>(order.size() - 1);
      }
      out_.push_back(std::move(box));
    }
    for (size_t b = out_.size(); b-- > 0;) {
      for (size_t i = 0; i < out_[b].items.size(); ++i) {
        const int32_t item = out_[b].items[i];
        if (is_box(item)) {
          out_[b].nodes += out_[place(-item)].nodes;
          seat_of_box_[-item] = i;
        } else {
          out_[b].nodes += 1;
          home_[item] = {static_cast<int32_t>(b), i};
        }
      }
    }
  }

  // ---- lines ----

  enum class Kind { kIn, kItem, kOut };
  struct End {
    Kind kind;
    size_t at;
  };
  struct Step {  // from the graph inwards: which item of which box
    int32_t box;
    size_t item;
  };

  std::vector<Step> way_to(int32_t node) const {
    const auto [box, item] = home_.at(node);
    std::vector<Step> way = {{box, item}};
    for (int32_t b = box; b != 0; b = out_[place(b)].parent) way.push_back({out_[place(b)].parent, seat_of_box_.at(b)});
    std::reverse(way.begin(), way.end());
    return way;
  }

  End port(int32_t box, bool in, int32_t value) {
    std::vector<int32_t>& list = in ? out_[place(box)].ins : out_[place(box)].outs;
    const auto [at, fresh] = ports_[place(box)].emplace(std::pair(in, value), list.size());
    if (fresh) list.push_back(value);
    return {in ? Kind::kIn : Kind::kOut, at->second};
  }

  void connect(int32_t box, End from, End to, int32_t value) {
    std::vector<Loose>& list = loose_[place(box)];
    const auto key = std::tuple(from.kind, from.at, to.kind, to.at);
    const auto [at, fresh] = known_[place(box)].emplace(key, list.size());
    if (fresh) list.push_back({from, to, {}});
    std::vector<int32_t>& values = list[at->second].values;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }

  // Over the borders on `way` behind `step`, from outside to the node that reads, or from the one that makes outwards.
  void inwards(const std::vector<Step>& way, size_t step, int32_t value) {
    for (size_t k = step; k < way.size(); ++k)
      connect(way[k].box, port(way[k].box, true, value), {Kind::kItem, way[k].item}, value);
  }
  void outwards(const std::vector<Step>& way, size_t step, int32_t value) {
    for (size_t k = step; k < way.size(); ++k)
      connect(way[k].box, {Kind::kItem, way[k].item}, port(way[k].box, false, value), value);
  }

  void draw_lines() {
    loose_.resize(out_.size());
    known_.resize(out_.size());
    ports_.resize(out_.size());
    for (const int32_t v : graph_.inputs) port(0, true, v);
    std::map<int32_t, int32_t> maker;
    for (const int32_t id : graph_.nodes) {
      const SideNode& n = side_.nodes[place(id)];
      for (const int32_t v : n.inputs) {
        const auto from = maker.find(v);
        if (from != maker.end()) {
          join(way_to(from->second), way_to(id), v);
        } else if (ports_[0].count({true, v}) != 0) {
          inwards(way_to(id), 0, v);
        }
      }
      for (const int32_t v : n.outputs) {
        if (v >= 0) maker[v] = id;
      }
    }
    for (const int32_t v : graph_.outputs) {
      const auto from = maker.find(v);
      if (from != maker.end()) {
        outwards(way_to(from->second), 0, v);
      } else {
        const End out = port(0, false, v);
        if (ports_[0].count({true, v}) != 0) connect(0, port(0, true, v), out, v);
      }
    }
    for (size_t b = 0; b < out_.size(); ++b) {
      const size_t ins = out_[b].ins.size(), items = out_[b].items.size();
      const auto number = [&](const End& e) {
        return static_cast<int32_t>(e.at + (e.kind == Kind::kIn ? 0 : e.kind == Kind::kItem ? ins : ins + items));
      };
      for (Loose& line : loose_[b])
        out_[b].lines.push_back({number(line.from), number(line.to), std::move(line.values)});
    }
  }

  void join(const std::vector<Step>& from, const std::vector<Step>& to, int32_t value) {
    size_t meet = 0;  // the last box that holds both
    while (meet + 1 < from.size() && meet + 1 < to.size() && from[meet].item == to[meet].item) ++meet;
    connect(from[meet].box, {Kind::kItem, from[meet].item}, {Kind::kItem, to[meet].item}, value);
    outwards(from, meet + 1, value);
    inwards(to, meet + 1, value);
  }

  struct Loose {
    End from, to;
    std::vector<int32_t> values;
  };
  const Side& side_;
  const SideGraph& graph_;
  std::vector<Box> made_, out_;
  std::map<int32_t, std::pair<int32_t, size_t>> home_;  // of a node: its box, its place there
  std::map<int32_t, size_t> seat_of_box_;               // of a box: its place in its parent
  std::vector<std::vector<Loose>> loose_;
  std::vector<std::map<std::tuple<Kind, size_t, Kind, size_t>, size_t>> known_;
  std::vector<std::map<std::pair<bool, int32_t>, size_t>> ports_;
};

}  // namespace

std::vector<Box> boxes_of(const Side& side, const SideGraph& graph) { return Boxes(side, graph).make(); }

std::string module_of(const std::string& node_name) {
  const char separator = node_name.find('/') != std::string::npos ? '/' : '.';
  const std::vector<std::string> segments = segments_of(node_name, separator);
  return segments.empty() ? "" : joined(segments, segments.size() - 1);
}

std::string common_module(const std::string& a, const std::string& b) {
  const std::vector<std::string> x = segments_of(a, '/'), y = segments_of(b, '/');
  size_t same = 0;
  while (same < x.size() && same < y.size() && x[same] == y[same]) ++same;
  return joined(x, same);
}

std::string name_within(const std::string& node_name, const std::string& module) {
  const size_t begin = !node_name.empty() && node_name[0] == '/' ? 1 : 0, end = begin + module.size();
  const bool inside = !module.empty() && node_name.size() > end + 1 && (node_name[end] == '/' || node_name[end] == '.');
  for (size_t i = 0; inside && i < module.size(); ++i) {
    const char c = node_name[begin + i];
    if (c != module[i] && !(c == '.' && module[i] == '/')) return node_name;
  }
  return inside ? node_name.substr(end + 1) : node_name;
}

}  // namespace vireo::report
