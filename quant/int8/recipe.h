// What a quantization does, as a file that people edit: the report is the recipe. Version 1.
#ifndef VIREO_QUANT_INT8_RECIPE_H_
#define VIREO_QUANT_INT8_RECIPE_H_

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"
#include "quant/int8/ranges.h"
#include "sdk/json/json.h"

namespace vireo::quant {

// What codes values and weights have; the first is the default.
enum class Format : uint8_t {
  kW8A8,
  kW8A16,  // values in 16 bits, for what 8 do not hold
  kW4A8,   // weights in 4 bits, for what has to be small
  kW4,     // matrices in 4 bits, a scale for each 32 weights, and values in float: of all layers or of none
};
const std::vector<std::string>& format_names();             // in the order of Format
bool find_format(const std::string& name, Format* format);  // false: there is no such format
inline int weight_bits(Format f) { return f == Format::kW4A8 || f == Format::kW4 ? 4 : 8; }

// What a pattern says of the layers that it matches.
struct LayerRule {
  std::optional<bool> keep;  // in float
  std::optional<Format> format;
};

struct Recipe {
  std::string model;  // "sha256:..." of the .onnx file that it is for; "": of any
  std::string data_file, data_digest;
  Format format = Format::kW8A8;
  bool per_channel = true;
  RangeMethod range = RangeMethod::kMse;
  bool equalise = true;
  bool scale_gains = true;  // w4/32: factors between normalisations and weights
  bool descend = true;      // round weights by what their products lose
  // Absent: yes, but for results that are joined at the model's outputs.
  std::optional<bool> correct_bias;
  std::vector<std::pair<std::string, LayerRule>> rules;  // by pattern: the last one that matches and says so decides
  std::map<std::string, ValueRange> ranges;              // of values by name: no data decide them
  // By name, values of 16 bits; in w4/32 layers whose matrix has 8. Absent: w8a8 and w4/32 ask the data for them.
  std::optional<std::vector<std::string>> wide;
};

// Reads a recipe. False with `error` and `help`: an unknown key is named with the nearest known one, keys of searching
// and pruning are refused by name.
bool read_recipe(const Json& json, Recipe* out, std::string* error, std::string* help);
Json write_recipe(const Recipe& recipe);

// Whether `pattern`, with * and ?, stands for `name`, or for the product that it is a part of (attention.h).
bool matches(const std::string& pattern, const std::string& name);
bool kept(const Recipe& recipe, const std::string& name);
Format format_of(const Recipe& recipe, const std::string& name);
bool has_format(const Recipe& recipe, const std::string& name);  // of its own, by a pattern
// Whether every pattern of the recipe stands for a node of one of the graphs; if not, `unknown` is the first that does
// not.
bool knows_patterns(std::initializer_list<const ir::Graph*> graphs, const Recipe& recipe, std::string* unknown);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_RECIPE_H_
