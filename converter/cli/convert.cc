// vireo convert and vireo check.
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "c_api/cli/file.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/options.h"
#include "c_api/cli/reference.h"
#include "converter/cli/firmware.h"
#include "converter/cli/import_options.h"
#include "converter/cli/int4.h"
#include "converter/cli/int8.h"
#include "converter/cli/limits.h"
#include "converter/cli/onnx_source.h"
#include "converter/cli/report_data.h"
#include "converter/cli/session_evaluator.h"
#include "converter/cli/targets.h"
#include "converter/cli/verbs.h"
#include "converter/report/recorder.h"
#include "quant/schemes/scheme.h"

namespace vireo::cli {
namespace {

struct ConvertOptions_here {
  std::string model, output, onnx, check, report, tests, signature, quantize, reproduce;
  Limits limits;
  std::vector<std::string> shapes, bounds, skip, states, targets;
  ImportOptions import;
  QuantizeRequest by_data;
  std::pair<std::string, std::string> emit;  // what, and the folder; "": nothing
  bool add = false;                          // to the folder's models
  double test_atol = -1, test_rtol = -1;
  double bench_seconds = 0;
  bool no_optimize = false, json = false;
  Option check_given;
};

void fill_shapes(const std::vector<std::string>& shapes, ConvertOptions* convert) {
  for (const std::string& text : shapes) {
    ShapeOption shape;
    std::string error;
    if (!parse_shape_option(text, &shape, &error))
      throw Failure("--shape " + text + ": " + error,
                    "write --shape NAME=1,3,224,224, NAME=1..8,3,224,224 or NAME=n,3,224,224");
    convert->shapes.push_back(std::move(shape));
  }
}

void fill_bounds(const std::vector<std::string>& texts, ConvertOptions* convert) {
  for (const std::string& text : texts) {
    if (!parse_bound_option(text, &convert->bounds.emplace_back()))
      throw Failure("--bound " + text + " is not understood", "write --bound DIMENSION=8 or DIMENSION=1..8");
  }
}

void finish(const std::string& what, const ConvertOptions_here& options, const ConvertReport& report,
            const Diagnostics& diagnostics, bool good, bool checked, const std::vector<TargetReport>& targets,
            bool each_node, const Quantization* quantization, Context& context, bool file_stays = false) {
  if (!good) context.exit_status = 1;
  if (options.json) {
    Json json = {{"model", options.model}, {"ok", good}};
    if (!options.output.empty()) json["output"] = options.output;
    if (!options.onnx.empty()) json["onnx"] = options.onnx;
    json["diagnostics"] = diagnostics_json(diagnostics);
    if (!good) json["gaps"] = gaps_json(diagnostics);
    if (!good) json["nodes_passed_over"] = report.nodes_passed_over;
    if (good) json.update(report_json(report));
    if (good && quantization != nullptr) json["quantization"] = quantization->json();
    for (const TargetReport& target : targets) json["targets"].push_back(json_of(target, each_node));
    return print_json(json);
  }
  std::cerr << diagnostics.summary();
  if (!good) {
    std::cerr << options.model << ": " << diagnostics.error_count()
              << (diagnostics.error_count() == 1 ? " error" : " errors") << ", nothing was written"
              << (file_stays ? " but " + options.output : "");
    if (report.nodes_passed_over != 0)
      std::cerr << "; not looked at, because they read what these make: " << report.nodes_passed_over
                << (report.nodes_passed_over == 1 ? " node" : " nodes");
    std::cerr << "\n";
    return;
  }
  size_t steps = 0;  // what runs: a fused node is one, whatever its body holds
  for (const auto& [op, count] : report.ops) steps += count;
  std::cout << what << ": " << report.nodes_imported << " nodes became " << steps << ", weights "
            << bytes_text(report.constant_bytes);
  if (report.planned) {
    std::cout << ", tensors " << bytes_text(report.arena_bytes) << " (lower bound "
              << bytes_text(report.arena_lower_bound) << ")";
  }
  std::cout << "\n";
  for (const auto& [side, list] :
       {std::make_pair("  input   ", &report.inputs), std::make_pair("  output  ", &report.outputs)}) {
    for (const ValueReport& v : *list) std::cout << side << v.name << ": " << shortened(v.type, kTypeColumns) << "\n";
  }
  for (const TargetReport& target : targets) std::cout << text_of(target);
  for (const PassLog& pass : report.passes) {
    if (pass.unit == nullptr) continue;
    std::string unit = pass.unit;
    if (pass.changes == 1) unit.pop_back();  // "products"
    std::cout << "  " << options.quantize << "    " << pass.changes << " " << unit;
    std::map<std::string, size_t> reasons;
    for (const auto& [node, reason] : pass.declined) ++reasons[reason];
    for (const auto& [reason, count] : reasons) std::cout << "; " << count << " left: " << reason;
    std::cout << "\n";
    const auto worst = std::min_element(pass.errors.begin(), pass.errors.end(),
                                        [](const auto& a, const auto& b) { return a.sqnr_db < b.sqnr_db; });
    if (worst == pass.errors.end()) continue;
    std::cout << formatted("  weights %zu quantized, signal to noise %.1f dB at least (\"%s\")\n", pass.errors.size(),
                           worst->sqnr_db, worst->tensor.c_str());
  }
  if (quantization != nullptr) std::cout << quantization->text();
  if (!report.open_dimensions.empty()) {
    std::cout << "  open    ";
    for (const std::string& name : report.open_dimensions) std::cout << name << " ";
    std::cout << "(a session needs a bound for each; --bound NAME=8 puts one into the file)\n";
  }
  if (!checked) return;
  for (const PassLog& pass : report.passes) {
    if (pass.changes != 0 && pass.checked)
      std::cout << formatted("  checked %s: %zu change%s, largest difference %.3g of the largest output value\n",
                             pass.name.c_str(), pass.changes, pass.changes == 1 ? "" : "s", pass.max_difference);
  }
}

// Every option as it was typed, for the file's provenance.
std::vector<std::string> texts_of(const ConvertOptions_here& options) {
  std::vector<std::string> texts;
  for (const std::string& s : options.shapes) texts.push_back("--shape " + s);
  for (const std::string& s : options.bounds) texts.push_back("--bound " + s);
  add_texts(options.import, &texts);
  for (const std::string& s : options.skip) texts.push_back("--skip " + s);
  for (const std::string& s : options.states) texts.push_back("--state " + s);
  if (options.no_optimize) texts.push_back("--no-optimize");
  if (!options.quantize.empty()) texts.push_back("--quantize " + options.quantize);
  if (!options.signature.empty()) texts.push_back("--signature");
  if (!options.tests.empty()) texts.push_back("--embed-tests");
  for (const std::string& s : options.targets) texts.push_back("--target " + s);
  return texts;
}

// The scheme that needs sample data.
constexpr char kInt8[] = "int8";
// The one in integers that needs none; for the verb quantize a format beside those of recipes.
constexpr char kInt8Dynamic[] = "int8-dynamic";
// The one that can do with and without, and its format in recipes.
constexpr char kInt4[] = "int4", kInt4Format[] = "w4/32";

std::vector<std::string> all_schemes() {
  std::vector<std::string> names = quant::scheme_list();
  names.emplace_back(kInt8);
  return names;
}

// What to use in place of a scheme that there is not.
std::string scheme_help(const std::string& name) {
  if (name == "uint8" || name == "qdq") return "did you mean int8? It needs sample data: --calibrate FILE.npz";
  return did_you_mean(name, all_schemes()) + "schemes: " + quant::scheme_names() + ", " + kInt8;
}

void fill_scheme(const std::string& name, const std::string& model, ConvertOptions* convert, Progress* progress) {
  if (name.empty() || name == kInt8) return;
  const quant::Scheme* scheme = quant::find_scheme(name);
  if (scheme == nullptr) throw Failure("--quantize " + name + ": there is no such scheme", scheme_help(name));
  convert->stages =
      quant::stages_of(*scheme, [progress, model](const Stage& stage, const std::string& tensor, double share) {
        progress->show(model + ": " + stage.title(), share, tensor);
      });
}

// What the option's help says of them.
std::string schemes_text() {
  std::string out;
  for (const quant::Scheme* s : quant::schemes()) out += std::string(s->name) + ": " + s->about + "; ";
  return out + kInt8 +
         ": values and weights in 8 bits, integer arithmetic, with --calibrate; each is less exact than float32";
}

ConvertOptions common_options(const ConvertOptions_here& options, const std::vector<target::Profile>& profiles,
                              Progress* progress) {
  ConvertOptions convert;
  fill_shapes(options.shapes, &convert);
  fill_bounds(options.bounds, &convert);
  fill_import(options.import, &convert);
  convert.optimize = !options.no_optimize;
  convert.skip = options.skip;
  convert.emit_onnx = options.onnx;
  fill_scheme(options.quantize, options.model, &convert, progress);
  if (!profiles.empty()) convert.costs = &target::costs_of(profiles[0]);  // one graph serves all of them
  for (const std::string& state : options.states) {
    const size_t at = state.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == state.size())
      throw Failure("--state " + state + " is not OUTPUT=INPUT");
    convert.states.emplace_back(state.substr(0, at), state.substr(at + 1));
  }
  if (!options.signature.empty()) read_signature(options.signature, &convert);
  convert.option_texts = texts_of(options);
  convert.progress = [progress, model = options.model](const std::string& stage, double share) {
    progress->show(model + ": " + stage, share);
  };
  return convert;
}

// What the targets say where the user says nothing, and the passes that they leave out.
ConvertOptions_here for_targets(const ConvertOptions_here& given, const std::vector<target::Profile>& profiles) {
  ConvertOptions_here options = given;
  options.quantize = common_precision(profiles, options.quantize);
  for (const target::Profile& profile : profiles) {
    for (const std::string& pass : profile.skip) {
      if (std::find(options.skip.begin(), options.skip.end(), pass) == options.skip.end()) options.skip.push_back(pass);
    }
  }
  return options;
}

// The recipe, where sample data or a recipe are given; the scheme is what it says.
std::optional<quant::Recipe> settle_recipe(ConvertOptions_here* options) {
  QuantizeRequest& request = options->by_data;
  std::string& scheme = options->quantize;
  const bool in_four_bits = scheme == kInt4;
  if (!request.stats.empty() && request.data.empty())
    throw Failure("--stats keeps what sample data show for int8, and no data are given",
                  "give the data as well (--calibrate, --data), or leave --stats out");
  if (!request.asked() && (request.save_recipe.empty() || scheme.empty() || scheme == kInt8)) return std::nullopt;
  if (!scheme.empty() && scheme != kInt8 && !in_four_bits)
    throw Failure("sample data and recipes are for int8 and int4, and --quantize is " + scheme,
                  "say --quantize int8 or int4, or leave --calibrate and --recipe out");
  if (in_four_bits) request.format = kInt4Format;
  quant::Recipe recipe = recipe_of(request, options->model);
  const bool means_four_bits = recipe.format == quant::Format::kW4;
  if (scheme == kInt8 && means_four_bits)
    throw Failure(request.recipe + " is for " + kInt4Format + ", and --quantize is int8",
                  "say --quantize int4, or leave it to the recipe");
  scheme = means_four_bits ? kInt4 : kInt8;
  if (means_four_bits && !request.qdq.empty()) std::swap(options->onnx, request.qdq);  // the graph is the file
  if (!request.stats.empty() && means_four_bits)
    throw Failure(std::string("--stats keeps what sample data show for int8, and ") + kInt4Format + " is asked for",
                  "leave --stats out");
  return recipe;
}

// By sample data; null where the conversion is another one.
std::unique_ptr<Quantization> quantization_of(const ConvertOptions_here& options, std::optional<quant::Recipe> recipe,
                                              Progress* progress, ConvertOptions* convert) {
  if (!recipe) {
    if (options.quantize != kInt8) return nullptr;
    throw Failure(
        "int8 needs sample data, by which the ranges of values are found",
        "give --calibrate DATA (vireo quantize: --data): an .npz file with one array for each input, samples along "
        "the first dimension, or a folder of pictures or sounds; or convert with --quantize int8-weights, which needs "
        "none and computes in float32");
  }
  ConvertOptions plain = *convert;
  plain.emit_onnx.clear();
  plain.stages.clear();
  const auto in_float = [plain, path = options.model] {
    Diagnostics diagnostics;
    FileBytes bytes;
    if (!convert_to_memory(path, plain, &bytes, &diagnostics, nullptr)) throw refusal(path, diagnostics);
    return Model(share(std::move(bytes)), path, 1);
  };
  std::unique_ptr<Quantization> run;
  if (recipe->format == quant::Format::kW4) {
    run = std::make_unique<Int4Run>(options.by_data, *std::move(recipe), options.model, in_float, progress);
  } else {
    run = std::make_unique<Int8Run>(options.by_data, *std::move(recipe), options.model, in_float, progress);
  }
  convert->stages = run->stages();
  return run;
}

// The verb quantize with a scheme that finds the ranges of values in the run.
ConvertOptions_here without_data(const ConvertOptions_here& given) {
  const QuantizeRequest& request = given.by_data;
  const std::pair<const char*, bool> unused[] = {{"--data", !request.data.empty()},
                                                 {"--recipe", !request.recipe.empty()},
                                                 {"--save-recipe", !request.save_recipe.empty()}};
  for (const auto& [option, is_given] : unused) {
    if (is_given)
      throw Failure(std::string("--scheme ") + kInt8Dynamic + " takes no " + option +
                        ": the ranges of values are found in each run",
                    std::string("leave ") + option + " out, or take --scheme w8a8");
  }
  ConvertOptions_here options = given;
  options.quantize = kInt8Dynamic;
  options.onnx = request.qdq;
  options.by_data = QuantizeRequest();
  return options;
}

bool asks_for_help(const ConvertOptions_here& options) {
  return std::find(options.targets.begin(), options.targets.end(), "help") != options.targets.end();
}

// The converted file with what its targets need.
std::vector<uint8_t> add_to(const FileBytes& file, const ConvertOptions_here& options,
                            const std::vector<target::Profile>& profiles, std::vector<TargetReport>* reports) {
  return with_targets({file.data(), file.size()}, options.model, profiles, {}, "", reports);
}

Emission emission_of(const ConvertOptions_here& o) { return {o.emit.first, o.emit.second, o.add}; }

void convert(const ConvertOptions_here& given, Context& context) {
  if (asks_for_help(given)) return list_targets(given.json);
  apply_limits(given.limits, given.model, given.json);
  const std::vector<target::Profile> profiles = read_profiles(given.targets);
  ConvertOptions_here settled = given;
  std::optional<quant::Recipe> recipe = settle_recipe(&settled);
  const ConvertOptions_here options = for_targets(settled, profiles);
  const bool emits = !options.emit.first.empty();
  if (!profiles.empty() && options.output.empty() && !emits)
    throw Failure("--target needs a .vireo file to write to", "name it with -o, or a folder with --emit firmware DIR");
  const QuantizeRequest& by_data = options.by_data;
  const target::Profile* const board = emits ? &firmware_profile(emission_of(options), profiles) : nullptr;
  if (options.add && !emits) throw Failure("--add is for --emit firmware", "write --emit firmware DIR --add");
  if (options.output.empty() && options.onnx.empty() && by_data.qdq.empty() && !emits)
    throw Failure("there is nothing to write", "name a .vireo file with -o, or an .onnx file with --emit-onnx");
  require_apart({options.model, options.tests, options.signature, options.check, by_data.data, by_data.recipe},
                {options.output, options.onnx, options.report, by_data.save_recipe, by_data.qdq, by_data.stats});
  if (ends_with(options.output, ".onnx"))
    throw Failure(options.output + ": -o writes a .vireo file",
                  "name it model.vireo, or write the graph as ONNX with --emit-onnx " + options.output);
  for (const std::string& path : {options.output, options.onnx, by_data.save_recipe, by_data.qdq, by_data.stats}) {
    if (!path.empty()) require_writable(path);
  }
  if (options.tests.empty() && (options.test_atol >= 0 || options.test_rtol >= 0))
    throw Failure("--test-atol and --test-rtol are for the tests that --embed-tests puts into the file",
                  "add --embed-tests REF.npz");
  if (options.bench_seconds > 0 && options.report.empty())
    throw Failure("--bench measures for the report, and none is asked for",
                  "add --report OUT.html, or use vireo bench");
  if (!options.report.empty()) require_report(options.report);
  Progress progress;
  ConvertOptions convert = common_options(options, profiles, &progress);
  const std::unique_ptr<Quantization> quantization = quantization_of(options, std::move(recipe), &progress, &convert);
  if (!options.tests.empty()) convert.tests = read_tests(options.tests, options.test_atol, options.test_rtol);
  SessionEvaluator evaluator;
  const bool checked = options.check_given && options.check_given.given();
  if (checked) {
    convert.check = &evaluator;
    convert.check_layers = !options.report.empty();
    if (options.check != "true") {  // what a bare flag leaves
      for (TestCaseOption& test : read_tests(options.check, -1, -1))
        convert.check_inputs.push_back(std::move(test.inputs));
    }
  }
  report::Recorder recorder;
  if (!options.report.empty()) recorder.watch(&convert);
  Diagnostics diagnostics;
  ConvertReport report;
  FileBytes unwritten;  // what a report is made from where no file is wanted
  bool good = !options.output.empty() && profiles.empty()
                  ? convert_file(options.model, options.output, convert, &diagnostics, &report)
              : options.report.empty() && profiles.empty()
                  ? check_model(options.model, convert, &diagnostics, &report)
                  : convert_to_memory(options.model, convert, &unwritten, &diagnostics, &report);
  progress.show("");
  if (!good) explain_refusals(options.reproduce, &diagnostics);
  const bool file_stays = good && !options.output.empty() && profiles.empty();
  if (good && quantization != nullptr) good = quantization->write(&diagnostics);
  std::vector<TargetReport> targets;
  if (good && !profiles.empty()) {
    const std::vector<uint8_t> file = add_to(unwritten, options, profiles, &targets);
    check_limits(targets);
    for (size_t i = 0; i < profiles.size(); ++i) {
      if (&profiles[i] == board)
        write_firmware(emission_of(options), options.model, options.output, file, *targets[i].plan, profiles[i]);
    }
    if (!options.output.empty()) write_file(options.output, file.data(), file.size());
    report.file_bytes = file.size();
  }
  if (good && !options.report.empty()) {
    const ModelBytes file = options.output.empty() ? share(std::move(unwritten)) : mapped(options.output);
    Json data = conversion_report(options.model, file, recorder, report, diagnostics, options.bench_seconds);
    for (const TargetReport& target : targets) data["targets"].push_back(json_of(target, false));
    if (quantization != nullptr && quantization->has_page()) add_quantization(quantization->json(), &data);
    write_report(options.report, data);
  }
  std::string wrote = "wrote ";
  if (!options.output.empty()) wrote += options.output + " (" + bytes_text(report.file_bytes) + ")";
  for (const std::string& path : {options.emit.second, options.onnx, by_data.qdq, by_data.save_recipe}) {
    if (!path.empty()) wrote += (wrote.back() == ' ' ? "" : " and ") + path;
  }
  finish(wrote, options, report, diagnostics, good, checked, targets, false, quantization.get(), context, file_stays);
}

void check_only(const ConvertOptions_here& given, Context& context) {
  if (asks_for_help(given)) return list_targets(given.json);
  apply_limits(given.limits, given.model, given.json);
  const std::vector<target::Profile> profiles = read_profiles(given.targets);
  const ConvertOptions_here options = for_targets(given, profiles);
  Progress progress;
  const ConvertOptions convert = common_options(options, profiles, &progress);
  Diagnostics diagnostics;
  ConvertReport report;
  FileBytes file;
  const bool good = profiles.empty() ? check_model(options.model, convert, &diagnostics, &report)
                                     : convert_to_memory(options.model, convert, &file, &diagnostics, &report);
  progress.show("");
  if (!good) explain_refusals(options.reproduce, &diagnostics);
  std::vector<TargetReport> targets;
  if (good && !profiles.empty()) (void)add_to(file, options, profiles, &targets);
  for (const TargetReport& target : targets) {
    if (!target.broken.empty() || !target.troubles.empty() || !target.refused.empty()) context.exit_status = 1;
  }
  finish(options.model + " converts", options, report, diagnostics, good, false, targets, true, nullptr, context);
  if (good && !options.json) {
    std::cout << "  nodes   ";
    const char* separator = "";
    for (const auto& [op, count] : report.ops) {
      std::cout << separator << op << " " << count;
      separator = ", ";
    }
    std::cout << "\n";
    for (const TargetReport& target : targets) std::cout << table_of_nodes(target);
  }
}

void add_common(Command verb, ConvertOptions_here* options) {
  verb.add_option("model", options->model, "an .onnx file").required().file({".onnx"});
  verb.add_repeated("--shape", options->shapes,
                    "NAME=1,3,224,224 fixes an input's shape; NAME=1..8,3,224,224 bounds it; NAME=n,3,224,224 "
                    "leaves a dimension open and names it n");
  add_bounds(verb, &options->bounds);
  add_import_options(verb, &options->import);
  verb.add_option("--reproduce", options->reproduce,
                  "write each node that is refused to this folder, as a model with only that node")
      .folder();
  add_profiles(verb, "--target", &options->targets,
               "a name (vireo targets lists them) or PATH.json: place nodes on the devices of this target, reorder "
               "weights for their kernels and compile parts for them; may be repeated");
  add_limits(verb, &options->limits);
}

void add_emit(Command verb, ConvertOptions_here* options) {
  verb.add_option("--emit", options->emit,
                  "KIND DIR: firmware: writes C sources of the model and of all that runs it to this folder, which "
                  "builds with a compiler alone; static-lib: builds them, and keeps the library and its headers; "
                  "--target says for which microcontroller");
  verb.add_flag("--add", options->add,
                "with --emit firmware: adds the model to those that the folder has, for one image with one copy of "
                "the kernels");
}

void add_signature(Command verb, ConvertOptions_here* options) {
  verb.add_option("--signature", options->signature,
                  "a .json file that says what inputs mean: picture, sound, range, mean, std (not a cryptographic "
                  "signature: vireo sign makes that)")
      .file({".json"});
}

void add_recipe_options(Command verb, QuantizeRequest* by_data) {
  verb.add_repeated("-i,--input", by_data->inputs, "NAME=KEY: input NAME is array KEY of the sample data");
  verb.add_option("--tokenizer", by_data->tokenizer, "tokenizer.json of a language model, for a text").file({".json"});
  verb.add_option("--window", by_data->window, "the sample data are tokens: a sample is this many of them")
      .range(1.0, 1e9);
  verb.add_option("--recipe", by_data->recipe,
                  "quantize each layer as this .json file says, which --save-recipe wrote and you may have edited")
      .file({".json"});
  verb.add_option("--save-recipe", by_data->save_recipe,
                  "write the format of each layer, and the accuracy that it lost, to this .json file")
      .file({".json"});
  verb.add_option("--stats", by_data->stats,
                  "keep what the sample data show of the model in this file, so that another recipe for the same model "
                  "and data need not run them again");
  verb.add_option("--memory", by_data->memory,
                  "most memory that the program may hold while it runs the sample data (--max-memory: the conversion): "
                  "2G, 500M; default: twice the model, at least 512M");
}

}  // namespace

void add_convert(Command app, Context& context) {
  auto options = std::make_shared<ConvertOptions_here>();
  Command verb = app.add_verb("convert", "Turn an ONNX model into a .vireo file");
  add_common(verb, options.get());
  verb.add_option("-o,--output", options->output, "the .vireo file to write").file({".vireo"});
  verb.add_option("--emit-onnx", options->onnx,
                  "write the optimised graph as a standard .onnx file, for other tools to check; needs no -o")
      .file({".onnx"});
  // A flag, so that a path behind a bare --check is not taken for its value.
  options->check_given =
      verb.add_flag("--check", options->check,
                    "compare the graph before and after each pass, on random inputs; --check=REF.npz: on its inputs");
  verb.add_option("--report", options->report,
                  "write a page (.html) with graphs, passes and memory, or the same data as .json")
      .file({".html", ".json"});
  verb.add_option("--bench", options->bench_seconds,
                  "run the result for N seconds and put each node's time into the report")
      .range(0.0, 3600.0);
  verb.add_option(
          "--embed-tests", options->tests,
          "put the inputs and expected outputs of this REF.npz (arrays c0_in0, c0_out0, ...) into the file, for "
          "vireo selftest")
      .file({".npz"});
  verb.add_option("--test-atol", options->test_atol,
                  "tolerance of embedded tests, a share of the largest value; default 1e-5, 16-bit floats 1e-2")
      .non_negative();
  verb.add_option("--test-rtol", options->test_rtol, "tolerance of embedded tests, a share of each value; default 1e-4")
      .non_negative();
  add_emit(verb, options.get());
  add_signature(verb, options.get());
  verb.add_repeated("--state", options->states, "OUTPUT=INPUT: carry an output to an input of the next run");
  verb.add_repeated("--skip", options->skip, "leave out a pass, by name (the report lists them)");
  verb.add_option("--quantize", options->quantize, schemes_text()).offer(all_schemes());
  verb.add_option("--calibrate", options->by_data.data,
                  "sample data for int8 and int4, as vireo quantize takes them with --data")
      .file({".npz", ".json", ".txt"});
  add_recipe_options(verb, &options->by_data);
  verb.add_flag("--no-optimize", options->no_optimize, "import only: fold and fuse nothing");
  add_json(verb, &options->json, "print the report as JSON");
  verb.footer(
      "Examples:\n"
      "  vireo convert model.onnx -o model.vireo\n"
      "  vireo convert model.onnx --emit-onnx optimised.onnx\n"
      "  vireo convert model.onnx -o model.vireo --shape image=1..8,3,224,224 --check\n"
      "  vireo convert model.onnx -o model.vireo --quantize bf16\n"
      "  vireo convert model.onnx -o model.vireo --target cpu --target npu --plugins libvireo_npu.so\n"
      "  vireo convert int8.onnx --target cortex-m4 --emit firmware image\n"
      "  vireo convert model.onnx -o model.vireo --quantize int4 --report model.html\n"
      "  vireo convert model.onnx -o model.vireo --check --bench 2 --report model.html\n"
      "  vireo convert model.onnx -o model.vireo --signature model.json --embed-tests reference.npz\n"
      "A signature file:\n"
      "  {\"inputs\": [{\"name\": \"image\", \"meaning\": \"image\", \"layout\": \"NCHW\", \"color\": \"RGB\",\n"
      "               \"range\": [0, 1], \"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225],\n"
      "               \"resize\": \"letterbox\"}]}");
  verb.callback([options, &context] { convert(*options, context); });
}

void add_quantize(Command app, Context& context) {
  auto options = std::make_shared<ConvertOptions_here>();
  Command verb = app.add_verb("quantize", "Turn an ONNX model into a .vireo file that computes in integers");
  add_common(verb, options.get());
  verb.add_option("-o,--output", options->output, "the .vireo file to write").file({".vireo"});
  verb.add_option(
          "--data", options->by_data.data,
          "sample data: an .npz file with one array for each input, samples along the first dimension; a folder "
          "of pictures or sounds; COCO's .json; or a text")
      .file({".npz", ".json", ".txt"});
  verb.add_option("--scheme", options->by_data.format,
                  "bits of weights and of values (activations): w8a8: 8 and 8; w8a16: 8 and 16; w4a8: 4 and 8; w4/32: "
                  "matrices in 4 bits and values in float, for language models; int8-dynamic: products in 8 and 8, "
                  "ranges of values found in each run, without --data; default: what the recipe says, else w8a8")
      .one_of({"w8a8", "w8a16", "w4a8", "w4/32", kInt8Dynamic});
  add_emit(verb, options.get());
  add_signature(verb, options.get());
  add_recipe_options(verb, &options->by_data);
  verb.add_option("--emit-onnx", options->by_data.qdq,
                  "write the quantized model as a standard .onnx file with QuantizeLinear and DequantizeLinear, for "
                  "other tools; needs no -o")
      .file({".onnx"});
  verb.add_option("--report", options->report,
                  "write a page (.html) with graphs, passes and memory, or the same data as .json")
      .file({".html", ".json"});
  verb.add_repeated("--skip", options->skip, "leave out a pass, by name (the report lists them)");
  add_json(verb, &options->json, "print the report as JSON");
  verb.footer(
      "Examples:\n"
      "  vireo quantize model.onnx -o model.vireo --data samples.npz\n"
      "  vireo quantize model.onnx -o model.vireo --data pictures/ --signature model.json\n"
      "  vireo quantize model.onnx -o model.vireo --data samples.npz --save-recipe recipe.json\n"
      "  vireo quantize model.onnx -o model.vireo --data samples.npz --recipe recipe.json\n"
      "  vireo quantize model.onnx --data samples.npz --emit-onnx model_qdq.onnx\n"
      "  vireo quantize model.onnx --data samples.npz --target cortex-m4 --emit firmware image\n"
      "  vireo quantize lm.onnx -o lm.vireo --data book.txt --tokenizer tokenizer.json --scheme w4/32\n"
      "  vireo quantize model.onnx -o model.vireo --scheme int8-dynamic\n"
      "In the recipe, \"layers\": {\"head.*\": {\"keep\": true}} keeps layers in float.\n"
      "The last pattern that matches a name counts.");
  verb.callback([options, &context] {
    if (options->by_data.format == kInt8Dynamic) return convert(without_data(*options), context);
    if (!options->by_data.asked()) options->quantize = kInt8;  // which says what it needs
    convert(*options, context);
  });
}

void add_check(Command app, Context& context) {
  auto options = std::make_shared<ConvertOptions_here>();
  Command verb = app.add_verb("check", "Tell whether an ONNX model converts, and every reason why not");
  add_common(verb, options.get());
  add_json(verb, &options->json);
  verb.footer("Examples:\n  vireo check model.onnx\n  vireo check model.onnx --target mcu");
  verb.callback([options, &context] { check_only(*options, context); });
}

}  // namespace vireo::cli
