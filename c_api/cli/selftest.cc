// vireo selftest: does this device compute what the original model computed?
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/growing.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/options.h"

namespace vireo::cli {
namespace {

struct SelftestOptions {
  std::string model, device;
  std::vector<std::string> shapes;
  int threads = 0;
  bool json = false;
  std::vector<std::string> bounds;
};

void selftest(const SelftestOptions& options, Context& context) {
  const Model model(options.model, options.threads, nullptr);
  const uint32_t count = vireo_model_test_count(model.get());
  if (count == 0) {
    throw Failure(options.model + " carries no tests", "convert it with --embed-tests REF.npz");
  }
  Bounds bounds;
  apply_shapes(model, options.shapes, &bounds);
  apply_bounds(options.bounds, &bounds);
  SessionChoice choice{options.device, options.threads, false};
  choice.failover = VIREO_FAILOVER_NEVER;  // no other device puts right what this one computes
  GrowingSession session(model, choice, bounds);
  Json result = {
      {"model", options.model}, {"device", devices_of(session.get())}, {"pass", true}, {"tests", Json::array()}};
  Progress progress;
  for (uint32_t i = 0; i < count; ++i) {
    progress.show("selftest " + model.name(), i, count);
    vireo_error error = VIREO_ERROR_INIT;
    vireo_status status = VIREO_OK;
    do {
      status = vireo_session_selftest(session.get(), i, &error);
    } while (session.grow(status));
    Json test = {{"test", i}, {"pass", status == VIREO_OK}};
    if (status != VIREO_OK) {
      test["reason"] = error.message[0] != 0 ? error.message : vireo_status_text(status);
      if (error.tensor[0] != 0) test["tensor"] = error.tensor;
      result["pass"] = false;
      context.exit_status = 1;
    }
    progress.show("");
    if (!options.json) {
      std::cout << "test " << i << ": " << (status == VIREO_OK ? "pass" : "FAIL " + test["reason"].get<std::string>())
                << "\n";
    }
    result["tests"].push_back(test);
  }
  if (options.json) return print_json(result);
  std::cout << (context.exit_status == 0 ? "pass" : "FAIL") << ": " << options.model << " on "
            << devices_of(session.get()) << "\n";
}

}  // namespace

void add_selftest(Command app, Context& context) {
  auto options = std::make_shared<SelftestOptions>();
  Command verb = app.add_verb("selftest", "Run the tests that a .vireo file carries on this device");
  verb.add_option("model", options->model, "a .vireo file converted with --embed-tests").required().file({".vireo"});
  add_device(verb, &options->device);
  add_threads(verb, &options->threads);
  verb.add_repeated("--shape", options->shapes,
                    "NAME=1..8,3,224,224: bounds for the tests of a model with open dimensions");
  add_bounds(verb, &options->bounds);
  add_json(verb, &options->json);
  verb.footer("Example:\n  vireo selftest model.vireo --device cpu");
  verb.callback([options, &context] { selftest(*options, context); });
}

}  // namespace vireo::cli
