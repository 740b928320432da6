// What choose_layout reckons with: the time of nodes in either layout, for check.py.
//   layout_times [NAME=NUMBER ...]   reads graphs from standard input, each followed by an empty line, and prints the
//                                    times of each last node, channels first and last, in ns. NUMBER stands for a row.
//   layout_times --rows              prints the table: name, value, rate or limit, bench, with tabs between them
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "converter/ir/text.h"
#include "converter/passes/layout/layout_roles.h"

namespace vireo {
namespace {

bool set(const std::string& text, target::KernelCosts* costs) {
  const size_t equals = text.find('=');
  for (const target::CostRow& row : target::cost_rows()) {
    if (equals == std::string::npos || text.compare(0, equals, row.name) != 0) continue;
    costs->*row.member = std::strtod(text.c_str() + equals + 1, nullptr);
    return true;
  }
  std::fprintf(stderr, "layout_times: \"%s\" is not NAME=NUMBER with the name of a row (--rows lists them)\n",
               text.c_str());
  return false;
}

int print_rows() {
  for (const target::CostRow& row : target::cost_rows()) {
    std::printf("%s\t%.17g\t%s\t%s\n", row.name, target::default_costs().*row.member, row.is_rate ? "rate" : "limit",
                row.bench);
  }
  return 0;
}

bool print_times(const std::string& text, const target::KernelCosts& costs) {
  std::string error;
  const std::unique_ptr<ir::Graph> g = ir::parse_graph(text, &error);
  if (g == nullptr || g->nodes().empty()) {
    std::fprintf(stderr, "layout_times: %s in\n%s", error.empty() ? "there is no node" : error.c_str(), text.c_str());
    return false;
  }
  const passes::LayoutCost cost = passes::layout_cost(g->nodes().back(), passes::LayoutRates(*g, costs));
  std::printf("%lld %lld\n", static_cast<long long>(cost.first), static_cast<long long>(cost.last));
  return true;
}

int run(int argc, char** argv) {
  target::KernelCosts costs = target::default_costs();
  if (argc == 2 && std::strcmp(argv[1], "--rows") == 0) return print_rows();
  for (int i = 1; i < argc; ++i) {
    if (!set(argv[i], &costs)) return 1;
  }
  std::string line, text;
  while (std::getline(std::cin, line)) {
    if (!line.empty()) {
      text += line + "\n";
    } else if (!text.empty()) {
      if (!print_times(text, costs)) return 1;
      text.clear();
    }
  }
  return text.empty() || print_times(text, costs) ? 0 : 1;
}

}  // namespace
}  // namespace vireo

int main(int argc, char** argv) { return vireo::run(argc, argv); }
