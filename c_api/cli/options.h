// Options that mean the same in every verb, with one text each.
#ifndef VIREO_C_API_CLI_OPTIONS_H_
#define VIREO_C_API_CLI_OPTIONS_H_

#include <string>
#include <vector>

#include "c_api/cli/command.h"
#include "c_api/cli/handles.h"
#include "vireo/vireo.h"

namespace vireo::cli {

// What every verb that makes a session, or says how one would be, may be told of it.
struct SessionRequest {
  std::string device, target, require;
  int threads = 0;
  vireo_math math = VIREO_MATH_EXACT;
  vireo_priority priority = VIREO_PRIORITY_NORMAL;
  double slice_ms = 0;
  std::vector<std::string> shapes, bounds;
};
// --device, --math, --priority, --slice-ms, --target, --require, --threads, --shape and --bound.
void add_session(Command verb, SessionRequest* request);
SessionChoice choice_of(const SessionRequest& request);

void add_device(Command verb, std::string* device);
void add_threads(Command verb, int* threads);
void add_packing(Command verb, vireo_packing* packing);
// The folder that packed weights are kept in, "" for none; "auto" has become the one in the user's cache.
void add_cache(Command verb, std::string* folder);
// Where `vireo tune` wrote down which kernels are fastest; "" unless given.
void add_tuning(Command verb, std::string* tuning);
// Milliseconds to measure in before the session is created; 0: none. Goes with add_tuning.
void add_tune_at_load(Command verb, double* budget_ms);
// What --tuning names, or the user's cache where it names nothing and something is to be kept.
std::string tuning_file(const std::string& given, double tune_at_load_ms);
// -i, --input NAME=FILE; `description` says what the files are for.
void add_inputs(Command verb, std::vector<std::string>* inputs, const std::string& description);
void add_json(Command verb, bool* json, const std::string& description = "print as JSON");
// The shapes that open inputs get, 1 for each open dimension otherwise.
void add_shapes(Command verb, std::vector<std::string>* shapes);
void add_bounds(Command verb, std::vector<std::string>* bounds);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_OPTIONS_H_
