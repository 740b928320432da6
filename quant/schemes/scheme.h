// What a scheme is, and the table of them.
#ifndef VIREO_QUANT_SCHEMES_SCHEME_H_
#define VIREO_QUANT_SCHEMES_SCHEME_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// How near quantized weights are to what they were.
struct TensorError {
  std::string tensor;
  double sqnr_db = 0;  // 10 log10(sum w^2 / sum (w - w')^2)
  // sqrt(sum (w - w')^2 / sum w^2) over the weights of one output, at worst; 0: within what the type's digits promise.
  double lost = 0;
};

struct SchemeLog {
  // Is called before a tensor is changed, with its name and the share of the work that is behind. May be empty.
  std::function<void(const std::string& tensor, double share)> progress;
  size_t changes = 0;
  std::vector<std::pair<std::string, std::string>> declined;  // node, reason
  std::vector<TensorError> errors;                            // of schemes that measure them
};

// Changes one graph whose patterns are recognised and whose layouts are chosen; operators are fused after it. It says
// of each node that it looked at and left why.
struct Scheme {
  const char* name;   // as the command line has it
  const char* about;  // one line for its help
  void (*run)(ir::Graph& graph, SchemeLog& log);
  double check_atol;  // of an output's largest value: what a comparison with the unchanged graph must allow at least
  // What it changes when operators are fused; null: nothing.
  void (*after)(ir::Graph& graph, SchemeLog& log) = nullptr;
};

const Scheme* find_scheme(const std::string& name);
std::vector<std::string> scheme_list();
std::string scheme_names();  // for messages: "bf16, int4"

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_SCHEME_H_
