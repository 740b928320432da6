// The command line: what all verbs share, and the list of them.
#ifndef VIREO_C_API_CLI_APP_H_
#define VIREO_C_API_CLI_APP_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "c_api/cli/columns.h"
#include "c_api/cli/command.h"
#include "c_api/cli/handles.h"
#include "c_api/cli/progress.h"
#include "sdk/json/json.h"

namespace vireo::cli {

// What a binary with the converter adds to the device verbs.
struct Extensions {
  ConvertOnnx convert;                          // empty: .onnx files are refused
  std::function<void(Command)> import_options;  // adds to a verb what `convert` may be told of a model; with `convert`
  std::vector<std::function<void(Command, struct Context&)>> verbs;
  // Facts of a .vireo file that the C API does not tell (passes, segments, expressions), for inspect. May be empty.
  std::function<void(const std::string& path, Json* facts)> inspect_file;
  // inspect --kernels: the operators of a .vireo file, as VIREO_KERNELS names them. May be empty.
  std::function<std::vector<std::string>(const std::string& path)> kernels_of;
  // bench --report: writes the page of a model to `path`, with `latency` (latency.h) in it. May be empty.
  std::function<void(const Model& model, const std::string& path, const SessionChoice& choice, const Bounds& bounds,
                     const Json& latency)>
      report;
};

struct Context {
  Extensions extensions;
  int exit_status = 0;  // a verb that finds a difference sets 1
};

// The whole program. Exit status: 0 success, 1 a verb failed, 2 the command line was not understood.
int run_app(int argc, char** argv, Extensions extensions);

// A positional model, and what may be said of an .onnx file in a binary that takes those too.
void add_model(Command verb, const Context& context, std::string* model);

void add_run(Command app, Context& context);
void add_verify(Command app, Context& context);
void add_bench(Command app, Context& context);
void add_tune(Command app, Context& context);
void add_inspect(Command app, Context& context);
void add_explain(Command app, Context& context);
void add_devices(Command app, Context& context);
void add_delegate_test(Command app, Context& context);
void add_selftest(Command app, Context& context);
void add_verify_signature(Command app, Context& context);
void add_completion(Command app, Context& context);
void add_help(Command app, Context& context);
void add_version(Command app, const std::string& version);

std::string version_number();  // "1.2.3"

void print_json(const Json& json);
Json error_json(const ErrorFacts& facts);  // what --json prints of an error: README.md

std::string bytes_text(uint64_t bytes);  // "1.2 MiB"

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_APP_H_
