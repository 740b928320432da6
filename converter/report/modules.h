// A graph in boxes: the modules that names of nodes tell ("/encoder/layer.0/attention/Add"), and where there are none,
// sections of a long list. A page shows boxes closed and opens what is asked for; each box has a layout of its own.
#ifndef VIREO_CONVERTER_REPORT_MODULES_H_
#define VIREO_CONVERTER_REPORT_MODULES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vireo::report {

struct Side;
struct SideGraph;

// "encoder/layer.0/attention" of "/encoder/layer.0/attention/Add", "layer1/0" of "layer1.0.Conv"; "": none.
std::string module_of(const std::string& node_name);
// What two modules have in common from the beginning on, in whole segments.
std::string common_module(const std::string& a, const std::string& b);
// What is left of a node's name inside of `module`.
std::string name_within(const std::string& node_name, const std::string& module);

// A line inside a box, between two of its ins, items and outs, numbered in this order.
struct BoxLine {
  int32_t from = 0, to = 0;
  std::vector<int32_t> values;  // that take this way, each once
};

// The model's graph, or a part of it. Box 0 is the whole.
struct Box {
  std::string name;  // within the box around it; of a section: its first and its last item
  std::string path;  // of the module; sections have that of the box around them
  int32_t parent = -1;
  int32_t nodes = 0;           // inside, at any depth
  std::vector<int32_t> items;  // nodes, or boxes as -number, in the order in which they run
  std::vector<int32_t> ins;    // values that come from outside
  std::vector<int32_t> outs;   // values made inside that the outside reads
  std::vector<BoxLine> lines;
};

constexpr size_t kMostItems = 48;  // of a box: more become sections

// A box of one node is none, and neither is one that holds nothing but another box. Every line of the graph is in the
// smallest box that holds both of its ends, and goes on from there over ins and outs.
std::vector<Box> boxes_of(const Side& side, const SideGraph& graph);

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_MODULES_H_
