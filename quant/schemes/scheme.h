// What a scheme is, and the table of them.
#ifndef VIREO_QUANT_SCHEMES_SCHEME_H_
#define VIREO_QUANT_SCHEMES_SCHEME_H_

#include <functional>
#include <string>
#include <vector>

#include "converter/stage/stage.h"
#include "sdk/base/span.h"

namespace vireo::quant {

// Changes one graph whose patterns are recognised and, at its usual place, whose layouts are chosen; operators are
// fused after it. It says of each node that it looked at and left why.
struct Scheme {
  const char* name;   // as the command line has it
  const char* about;  // one line for its help
  void (*run)(ir::Graph& graph, PassLog& log);
  double check_atol;  // of an output's largest value: what a comparison with the unchanged graph must allow at least
  // What it changes when operators are fused; null: nothing.
  void (*after)(ir::Graph& graph, PassLog& log) = nullptr;
  StagePlace place = StagePlace::kBeforeFusion;  // of `run`
};

Span<const Scheme* const> schemes();
const Scheme* find_scheme(const std::string& name);  // null if no scheme has this name
std::vector<std::string> scheme_list();
std::string scheme_names();  // for messages: "bf16, int4"
// Is called before a tensor is changed, with its name and the share of the stage's work that is behind.
using TellTensor = std::function<void(const Stage& stage, const std::string& tensor, double share)>;
// What ConvertOptions takes: "quantize_bf16", and "quantize_bf16_between" where the scheme has an `after`.
Stages stages_of(const Scheme& scheme, const TellTensor& tell = {});

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_SCHEME_H_
