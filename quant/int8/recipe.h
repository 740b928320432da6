// What a quantization does, as a file that people edit: the report is the recipe. Version 1.
#ifndef VIREO_QUANT_INT8_RECIPE_H_
#define VIREO_QUANT_INT8_RECIPE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quant/int8/ranges.h"
#include "sdk/json/json.h"

namespace vireo::quant {

struct Recipe {
  std::string model;  // "sha256:..." of the .onnx file that it is for; "": of any
  std::string data_file, data_digest;
  bool per_channel = true;
  RangeMethod range = RangeMethod::kMse;
  bool equalise = true;
  bool descend = true;  // round weights by what their products lose
  bool correct_bias = true;
  std::vector<std::pair<std::string, bool>> rules;  // pattern, keep: the last one that matches decides
  std::map<std::string, ValueRange> ranges;         // of values by name: no data decide them
};

// Reads a recipe. False with `error` and `help`: an unknown key is named with the nearest known one, keys of searching
// and pruning are refused by name.
bool read_recipe(const Json& json, Recipe* out, std::string* error, std::string* help);
Json write_recipe(const Recipe& recipe);

// Whether `pattern`, with * and ?, stands for `name`.
bool matches(const std::string& pattern, const std::string& name);
bool kept(const Recipe& recipe, const std::string& name);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_RECIPE_H_
