// vireo conformance: ONNX's backend cases, converted and run. Each case has a process of its own, so that one that
// crashes or hangs is a result like any other.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include "c_api/cli/compare.h"
#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/options.h"
#include "converter/cli/onnx_source.h"
#include "converter/cli/onnx_tensor.h"
#include "converter/cli/verbs.h"

namespace vireo::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What is done to each case's model. The answers stay the same.
struct Variant {
  bool exported = false;        // written as ONNX again; what is judged is that file
  bool symbolic = false;        // every extent of an input between bounds, known at run time alone
  bool runtime_values = false;  // constants are inputs
};

struct ConformanceOptions {
  std::vector<std::string> folders;
  std::string device;
  int jobs = 0;
  double timeout = 120;
  bool json = false;
  Variant variant;
};

struct Outcome {
  std::string result, code, reason, device;
};
Json to_json(const std::string& name, const Outcome& o) {
  return {{"name", name}, {"result", o.result}, {"code", o.code}, {"reason", o.reason}, {"device", o.device}};
}

bool is_case(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "model.onnx", ignored) && fs::is_directory(folder / "test_data_set_0", ignored);
}

// `folder` itself, or every case below it; sorted, so that two runs list the same order.
void find_cases(const fs::path& folder, std::vector<fs::path>* cases) {
  if (!fs::is_directory(folder))
    throw Failure(folder.string() + " is not a folder",
                  "give a folder with model.onnx and test_data_set_0, or one above such");
  if (is_case(folder)) return cases->push_back(folder);
  const size_t before = cases->size();
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && is_case(entry.path())) cases->push_back(entry.path());
  }
  if (cases->size() == before)
    throw Failure(folder.string() + " holds no case", "a case is a folder with model.onnx and test_data_set_0");
  std::sort(cases->begin() + static_cast<ptrdiff_t>(before), cases->end());
}

Tolerance tolerance_of(const fs::path& folder) {
  Tolerance tolerance{1e-7, 1e-3, true};  // ONNX's own defaults (onnx.backend.test.case)
  const fs::path file = folder / "case.json";
  if (!fs::exists(file)) return tolerance;
  const std::vector<uint8_t> bytes = read_file(file.string());
  const Json json = parse_json(bytes);
  if (json.is_discarded() || !json.is_object()) throw Failure(file.string() + " is not a JSON object");
  tolerance.atol = json.value("atol", tolerance.atol);
  tolerance.rtol = json.value("rtol", tolerance.rtol);
  return tolerance;
}

// Answers of 16 bits come out of a chain of roundings on both sides: two units in the last place, ONNX's own allowance
// for bfloat16.
Tolerance for_type(Tolerance tolerance, vireo_dtype dtype) {
  if (dtype == VIREO_BFLOAT16) tolerance.rtol = std::max(tolerance.rtol, 0x1p-6);
  if (dtype == VIREO_FLOAT16) tolerance.rtol = std::max(tolerance.rtol, 0x1p-9);
  return tolerance;
}

// What chance has a part in is judged by its type and shape.
Difference compare_shape(const Array& got, const Array& want) {
  Difference d;
  d.pass = got.dtype == want.dtype && got.dims == want.dims;
  if (!d.pass) {
    d.reason = std::string("is ") + vireo_dtype_text(got.dtype) + shape_text(got.dims) + ", expected " +
               vireo_dtype_text(want.dtype) + shape_text(want.dims);
  }
  return d;
}

std::vector<CaseValue> read_all(const fs::path& set, const std::string& kind, const std::vector<CaseType>& types) {
  std::vector<CaseValue> values;
  for (size_t i = 0; i < types.size(); ++i) {
    const fs::path file = set / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file))
      throw Failure(file.string() + " is missing; the model has " + std::to_string(types.size()) + " " + kind + "s");
    values.push_back(read_case_value(file.string(), types[i]));
  }
  return values;
}

// Elements of a sequence "x" are "x.0", "x.1"... in a converted model, the parts of a map "x.keys" and "x.values".
std::string element_name(const CaseType& type, size_t i) {
  if (type.map) return type.name + (i == 0 ? ".keys" : ".values");
  return type.sequence ? type.name + "." + std::to_string(i) : type.name;
}

// What a conversion must be told of sequences and optionals: how many elements, and their shapes.
void declare(const std::vector<CaseType>& types, const std::vector<CaseValue>& values, bool shapes,
             ConvertOptions* convert) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].map || (!types[i].sequence && !types[i].optional)) continue;
    const CaseValue& v = values[i];
    convert->elements.push_back({types[i].name, v.present ? static_cast<int64_t>(v.tensors.size()) : -1});
    for (size_t k = 0; shapes && v.sequence && k < v.tensors.size(); ++k) {
      ShapeOption shape{element_name(types[i], k), {}};
      for (const int64_t d : v.tensors[k].dims) shape.dims.push_back({d, d});
      convert->shapes.push_back(std::move(shape));
    }
  }
}

// By name, as a converted model has them.
std::map<std::string, const Array*> by_name(const std::vector<CaseType>& types, const std::vector<CaseValue>& values) {
  std::map<std::string, const Array*> arrays;
  for (size_t i = 0; i < types.size(); ++i) {
    for (size_t k = 0; k < values[i].tensors.size(); ++k) arrays[element_name(types[i], k)] = &values[i].tensors[k];
  }
  return arrays;
}

// Every extent of the inputs that are tensors: from 1 (0 where it is that) to twice what the case has. `lists`: but the
// last one of integers, because how long a list of axes or extents is decides the rank of something.
void open_extents(const std::map<std::string, const Array*>& inputs, bool lists, ConvertOptions* convert) {
  for (const auto& [name, array] : inputs) {
    ShapeOption shape{name, {}};
    for (const int64_t d : array->dims) shape.dims.push_back({std::min<int64_t>(d, 1), 2 * d});
    const bool integers = array->dtype == VIREO_INT64 || array->dtype == VIREO_INT32;
    if (lists && integers && !shape.dims.empty()) shape.dims.back() = {array->dims.back(), array->dims.back()};
    convert->shapes.push_back(std::move(shape));
  }
}

// A file that goes when its owner does.
struct Scratch {
  explicit Scratch(const std::string& kind)
      : path(fs::temp_directory_path() / ("vireo-conformance-" + std::to_string(getpid()) + kind + ".onnx")) {}
  ~Scratch() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  fs::path path;
};

// "" when every output is what is wanted.
std::string compare_outputs(const Model& model, const ConvertReport& report, std::vector<Array> outputs,
                            const std::vector<CaseType>& types, const std::vector<CaseValue>& wanted,
                            const Tolerance& tolerance) {
  std::map<std::string, size_t> at;
  for (size_t j = 0; j < outputs.size(); ++j) at[model.outputs()[j].name] = j;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string quoted = "output '" + types[i].name + "'";
    const auto present = at.find(types[i].name + ".present"), length = at.find(types[i].name + ".length");
    const bool holds = present == at.end() || real_at(outputs[present->second], 0) != 0;
    if (holds != wanted[i].present) return quoted + (holds ? " holds something" : " is empty");
    if (!holds) continue;
    if (types[i].map) {
      const auto keys = at.find(element_name(types[i], 0)), values = at.find(element_name(types[i], 1));
      if (keys != at.end() && values != at.end() && !sort_by_key(&outputs[keys->second], &outputs[values->second]))
        return quoted + " has keys that are not those of its values";
    } else if (types[i].sequence) {
      size_t count = 0;
      while (at.count(element_name(types[i], count)) != 0) ++count;
      if (length != at.end()) count = static_cast<size_t>(real_at(outputs[length->second], 0));
      if (count != wanted[i].tensors.size()) return quoted + " has " + std::to_string(count) + " elements";
    }
    for (size_t k = 0; k < wanted[i].tensors.size(); ++k) {
      const std::string name = element_name(types[i], k);
      if (at.count(name) == 0) return "output '" + name + "' is missing";
      const size_t j = at[name];
      const Array& want = wanted[i].tensors[k];
      const Difference d = report.outputs[j].random ? compare_shape(outputs[j], want)
                                                    : compare(outputs[j], want, for_type(tolerance, want.dtype));
      if (!d.pass) return "output '" + name + "': " + d.reason;
    }
  }
  return "";
}

Outcome run_case(const fs::path& folder, const std::string& device, const Variant& variant) try {
  ConvertOptions convert;
  const Scratch written(""), opened("-inputs");
  if (variant.exported) convert.emit_onnx = written.path.string();
  std::string path = (folder / "model.onnx").string();
  const CaseTypes types = read_case_types(path);
  std::map<std::string, Array> constants;
  if (variant.runtime_values) {
    constants = constants_to_inputs(path, opened.path.string());
    path = opened.path.string();
  }
  {
    const fs::path set = folder / "test_data_set_0";
    const std::vector<CaseValue> given = read_all(set, "input", types.inputs);
    declare(types.inputs, given, !variant.symbolic, &convert);
    declare(types.outputs, read_all(set, "output", types.outputs), false, &convert);
    if (variant.symbolic) {
      const std::map<std::string, const Array*> arrays = by_name(types.inputs, given);
      ConvertOptions open = convert;
      open_extents(arrays, false, &open);
      Diagnostics unheard;
      ConvertReport unread;
      const bool all = check_model(path, open, &unheard, &unread);
      open_extents(arrays, !all, &convert);
    }
  }
  Diagnostics diagnostics;
  FileBytes converted;
  ConvertReport report;
  if (!convert_to_memory(path, convert, &converted, &diagnostics, &report)) {
    Outcome refused{"refused", "", diagnostics.text(), ""};
    for (const Diagnostic& d : diagnostics.all()) {
      if (d.severity != Severity::kError) continue;
      char code[16];
      snprintf(code, sizeof(code), "VC%04d", static_cast<int>(d.code));
      refused.code = code;
      refused.reason = (d.op.empty() ? "" : d.op + ": ") + d.what;
      break;
    }
    return refused;
  }
  if (variant.exported) {
    Diagnostics again;
    if (!convert_to_memory(convert.emit_onnx, ConvertOptions{}, &converted, &again, &report))
      return {"fail", "export", "what was written does not convert: " + again.text(), ""};
  }
  const Model model(share(std::move(converted)), path, 1);
  const Tolerance tolerance = tolerance_of(folder);
  Outcome outcome{"pass", "", "", ""};
  for (int k = 0;; ++k) {
    const fs::path set = folder / ("test_data_set_" + std::to_string(k));
    if (!fs::is_directory(set)) break;
    const std::vector<CaseValue> given = read_all(set, "input", types.inputs);
    const std::vector<CaseValue> wanted = read_all(set, "output", types.outputs);
    std::map<std::string, const Array*> ins = by_name(types.inputs, given), outs = by_name(types.outputs, wanted);
    for (const auto& [name, array] : constants) ins[name] = &array;
    Bounds bounds;
    std::vector<Array> inputs;
    for (const vireo_value_info& info : model.inputs()) {
      const auto at = ins.find(info.name);
      if (at == ins.end()) throw Failure(set.string() + " has no value for input '" + info.name + "'");
      require_dtype(info, *at->second, set.string());
      bounds.add(info, at->second->dims, set.string());
      inputs.push_back(*at->second);
    }
    for (const vireo_value_info& info : model.outputs()) {
      const auto at = outs.find(info.name);
      if (at != outs.end()) bounds.add_output(info, at->second->dims);
    }
    SessionChoice choice{device, 1, false};
    choice.failover = VIREO_FAILOVER_NEVER;  // no other device puts right what this one computes
    const Session session = make_session(model, choice, bounds);
    outcome.device = devices_of(session.get());
    const std::string wrong =
        compare_outputs(model, report, run_once(model, session.get(), inputs), types.outputs, wanted, tolerance);
    if (wrong.empty()) continue;
    outcome.result = "fail";
    outcome.code = "mismatch";
    outcome.reason = "set " + std::to_string(k) + ", " + wrong;
    return outcome;
  }
  return outcome;
} catch (const ApiFailure& failure) {
  return {failure.status() == VIREO_UNSUPPORTED ? "refused" : "fail", vireo_status_text(failure.status()),
          failure.what(), ""};
} catch (const std::exception& failure) {
  return {"fail", "error", failure.what(), ""};
}

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  size_t index = 0;
  std::string text;
  Clock::time_point start;
  bool timed_out = false;
};

Child start_case(const fs::path& folder, size_t index, const ConformanceOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) throw Failure(std::string("cannot make a pipe: ") + strerror(errno));
  std::cout.flush();
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw Failure(std::string("cannot start a process: ") + strerror(errno));
  if (pid == 0) {
    close(ends[0]);
    const std::string text = json_text(to_json("", run_case(folder, options.device, options.variant)), -1);
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(ends[1], text.data() + done, text.size() - done);
      if (n <= 0 && errno != EINTR) break;
      if (n > 0) done += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  Child child;
  child.pid = pid;
  child.pipe = ends[0];
  child.index = index;
  child.start = Clock::now();
  return child;
}

Outcome finish_case(const Child& child, double timeout) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (child.timed_out)
    return {"fail", "timeout", "ran longer than " + std::to_string(static_cast<int>(timeout)) + " s", ""};
  if (WIFSIGNALED(status)) {
    return {
        "fail", "crash",
        std::string("killed by signal ") + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")",
        ""};
  }
  const Json json = parse_json(child.text);
  if (json.is_discarded() || !json.is_object())
    return {"fail", "crash", "ended with status " + std::to_string(WEXITSTATUS(status)) + " without a result", ""};
  return {json["result"].get<std::string>(), json["code"].get<std::string>(), json["reason"].get<std::string>(),
          json["device"].get<std::string>()};
}

void conformance(const ConformanceOptions& options, Context& context) {
  std::vector<fs::path> cases;
  for (const std::string& folder : options.folders) find_cases(folder, &cases);
  std::vector<Outcome> outcomes(cases.size());
  const size_t jobs =
      options.jobs > 0 ? static_cast<size_t>(options.jobs) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<Child> running;
  size_t next = 0, done = 0;
  Progress progress;
  while (done < cases.size()) {
    while (running.size() < jobs && next < cases.size()) {
      running.push_back(start_case(cases[next], next, options));
      ++next;
    }
    std::vector<pollfd> waiting;
    for (const Child& child : running) waiting.push_back({child.pipe, POLLIN, 0});
    poll(waiting.data(), waiting.size(), 200);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      bool ended = false;
      if (waiting[i].revents != 0) {
        char text[4096];
        const ssize_t got = read(child.pipe, text, sizeof(text));
        if (got > 0) child.text.append(text, static_cast<size_t>(got));
        ended = got == 0 || (got < 0 && errno != EINTR);
      }
      if (!ended && std::chrono::duration<double>(Clock::now() - child.start).count() > options.timeout) {
        kill(child.pid, SIGKILL);
        child.timed_out = ended = true;
      }
      if (!ended) continue;
      outcomes[child.index] = finish_case(child, options.timeout);
      running.erase(running.begin() + static_cast<ptrdiff_t>(i));
      progress.show("conformance", ++done, cases.size());
    }
  }
  progress.show("");

  size_t passed = 0, failed = 0, refused = 0;
  std::map<std::string, size_t> devices;  // of those that passed
  Json list = Json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome& o = outcomes[i];
    ++(o.result == "pass" ? passed : o.result == "refused" ? refused : failed);
    if (o.result == "pass") ++devices[o.device];
    const fs::path clean = cases[i].lexically_normal();
    const std::string name = (clean.has_filename() ? clean.filename() : clean.parent_path().filename()).string();
    if (options.json) {
      list.push_back(to_json(name, o));
    } else if (o.result != "pass") {
      std::cout << o.result << " " << name << ": " << (o.code.empty() ? "" : o.code + ": ") << o.reason << "\n";
    }
  }
  if (failed != 0) context.exit_status = 1;
  if (options.json) return print_json({{"cases", list}});
  std::cout << passed << " passed, " << failed << " failed, " << refused << " refused, of " << cases.size() << "\n";
  if (options.device.empty()) return;
  std::cout << "passed by device:";
  for (const auto& [device, count] : devices) std::cout << " " << (device.empty() ? "none" : device) << " " << count;
  std::cout << "\n";
}

}  // namespace

void add_conformance(Command app, Context& context) {
  auto options = std::make_shared<ConformanceOptions>();
  Command verb = app.add_verb("conformance", "Run ONNX test cases: model.onnx with inputs and expected outputs");
  verb.add_option("folders", options->folders, "a case, or folders that are searched for cases").required().folder();
  add_device(verb, &options->device);
  verb.add_option("-j,--jobs", options->jobs, "cases at a time; default: one per core").range(1, 1024);
  verb.add_option("--timeout", options->timeout, "seconds after which a case counts as failed")
      .positive()
      .show_default();
  verb.add_flag("--exported", options->variant.exported, "judge what --emit-onnx makes of each model, converted again");
  verb.add_flag("--symbolic", options->variant.symbolic, "make every extent of the inputs one that a run brings");
  verb.add_flag("--runtime-values", options->variant.runtime_values, "make each model's constants inputs");
  add_json(verb, &options->json, "print every case as JSON");
  verb.footer(
      "A case is a folder with model.onnx, test_data_set_0/input_0.pb, .., output_0.pb and perhaps\n"
      "case.json with rtol and atol (|d| <= atol + rtol |ref|). 16-bit floats may differ by two units in\n"
      "the last place; an output that random operators have a part in is judged by its type and shape. A\n"
      "model that the converter refuses with a reason counts as refused; the exit status is 0 when no case\n"
      "failed.\n"
      "Example:\n  vireo conformance onnx-cases/node --jobs 8 --json");
  verb.callback([options, &context] { conformance(*options, context); });
}

}  // namespace vireo::cli
