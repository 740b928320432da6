// Options that mean the same in every verb, with one text each.
#ifndef VIREO_C_API_TOOL_OPTIONS_H_
#define VIREO_C_API_TOOL_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "vireo/vireo.h"

namespace vireo::tool {

// A positional model; `onnx`: this binary takes .onnx files too.
void add_model(CLI::App* verb, bool onnx, std::string* model);
void add_device(CLI::App* verb, std::string* device);
void add_target(CLI::App* verb, std::string* target);
void add_require(CLI::App* verb, std::string* require);
void add_threads(CLI::App* verb, int* threads);
void add_packing(CLI::App* verb, vireo_packing* packing);
// The folder that packed weights are kept in, "" for none; "auto" has become the one in the user's cache.
void add_cache(CLI::App* verb, std::string* folder);
// Where `vireo tune` wrote down which kernels are fastest; "" unless given.
void add_tuning(CLI::App* verb, std::string* tuning);
// Milliseconds to measure in before the session is created; 0: none. Goes with add_tuning.
void add_tune_at_load(CLI::App* verb, double* budget_ms);
// What --tuning names, or the user's cache where it names nothing and something is to be kept.
std::string tuning_file(const std::string& given, double tune_at_load_ms);
// The shapes that open inputs get, 1 for each open dimension otherwise.
void add_shapes(CLI::App* verb, std::vector<std::string>* shapes);
void add_bounds(CLI::App* verb, std::vector<std::string>* bounds);
// An option that may be given often, with one value each time.
void add_repeated(CLI::App* verb, const std::string& names, std::vector<std::string>* values, const std::string& text);

}  // namespace vireo::tool

#endif  // VIREO_C_API_TOOL_OPTIONS_H_
