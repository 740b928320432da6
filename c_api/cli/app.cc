#include "c_api/cli/app.h"
#include "c_api/cli/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>

#include "c_api/cli/failure.h"
#include "c_api/cli/folded_text.h"
#include "c_api/cli/keys.h"
#include "c_api/cli/plain_text.h"
#include "c_api/cli/plugins_beside.h"

namespace vireo::cli {
namespace {

// Says what went wrong: to people on standard error and, with --json, to programs as the one object of this call.
class Errors {
 public:
  explicit Errors(bool json) : json_(json) {}

  void print(const Failure& failure) const {
    const std::string what = failure.what();
    if (json_) print_json(error_json(failure.facts()));
    // Diagnostics of the converter come with their own heading.
    std::cerr << (what.rfind("error", 0) == 0 ? "" : "error: ") << what;
    if (what.empty() || what.back() != '\n') std::cerr << "\n";
    if (!failure.help().empty()) std::cerr << "  help: " << failure.help() << "\n";
  }
  void print(const std::string& code, const std::string& what, const std::string& help) const {
    print(Failure(what, help, {code, "", "", "", "", ""}));
  }

 private:
  bool json_;
};

// Names what is wrong with a flag, and nothing else: the whole help would bury it.
int report_usage(const UsageError& error, bool whole, const Errors& errors) {
  const std::string verb = error.verb().empty() ? "" : " " + error.verb();
  const bool unknown = dynamic_cast<const UnknownVerb*>(&error) != nullptr;
  const std::string what = "vireo" + verb + (unknown ? " " : ": ") + error.what() +
                           (unknown && !whole ? " in this build, which has no converter" : "");
  errors.print("usage", what, error.hint() + "see vireo" + verb + " --help");
  return 2;
}

bool has_word(int argc, char** argv, const char* word) {
  return std::find(argv, argv + argc, std::string(word)) != argv + argc;
}

// A device that the call names may be a plug-in beside the program, unless the caller says where plug-ins are.
void find_plugins(int argc, char** argv) {
  if (VIREO_PLUGINS == 0 || getenv("VIREO_PLUGINS") != nullptr) return;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const std::string found = plugins_beside({argv, argv + argc}, program);
  if (!found.empty()) (void)setenv("VIREO_PLUGINS", found.c_str(), 1);
}

}  // namespace

int run_app(int argc, char** argv, Extensions extensions) {
  const PlainText out(std::cout), err(std::cerr);
  const FoldedText lines(std::cout, kOutputColumns);
  const Errors errors(has_word(argc, argv, "--json"));
  Context context;
  context.extensions = std::move(extensions);
  const bool whole = static_cast<bool>(context.extensions.convert);
  CommandLine line("vireo",
                   whole ? "Vireo turns ONNX models into .vireo files and runs them."
                         : "Vireo runs .vireo files on this device. (This build has no converter.)",
                   version_text());
  Command app = line.root();
  app.footer(whole ? "Start here:\n"
                     "  vireo convert model.onnx -o model.vireo     turn a model into a file for devices\n"
                     "  vireo run model.vireo --input image=cat.png run it once on a picture\n"
                     "  vireo help VERB                             what a verb does, with examples"
                   : "Start here:\n"
                     "  vireo run model.vireo --input image=cat.png run a model once on a picture\n"
                     "  vireo help VERB                             what a verb does, with examples");
  app.add_option(
         "--plugins", [](const std::string& list) { (void)setenv("VIREO_PLUGINS", list.c_str(), 1); },
         "delegates in shared libraries: files and folders with colons between them (or VIREO_PLUGINS); without it, "
         "device NAME is looked for in plugins/libvireo_NAME.so beside the program's folder")
      .file({".so"});
  app.add_option(
         "--trust",
         [](const std::string& list) {
           require_keys("--trust", list);
           (void)setenv("VIREO_TRUSTED", list.c_str(), 1);
         },
         "files of public keys: load only models that one of them signed (or VIREO_TRUSTED); none: load any model, "
         "also a "
         "signed one in a build that cannot check signatures")
      .file({".pub"})
      .offer({"none"});
  app.add_option(
         "--keys",
         [](const std::string& list) {
           require_keys("--keys", list);
           (void)setenv("VIREO_KEYS", list.c_str(), 1);
         },
         "files of secret keys, for encrypted models (or VIREO_KEYS)")
      .file({".key"});
  for (const auto& add : context.extensions.verbs) add(app, context);
  add_run(app, context);
  add_verify(app, context);
  add_bench(app, context);
  add_tune(app, context);
  add_inspect(app, context);
  add_explain(app, context);
  add_devices(app, context);
#if VIREO_PLUGINS
  add_delegate_test(app, context);
#endif
  add_selftest(app, context);
  add_verify_signature(app, context);
  add_completion(app, context);
  add_help(app, context);
  add_version(app, version_text());

  find_plugins(argc, argv);
  try {
    if (const std::optional<std::string> asked = line.parse(argc, argv)) {
      std::cout << *asked << std::flush;
      return std::cout ? 0 : 1;
    }
  } catch (const UsageError& error) {
    return report_usage(error, whole, errors);
  } catch (const Failure& failure) {
    errors.print(failure);
    return 1;
  } catch (const std::bad_alloc&) {
    errors.print("no_memory", "this machine has not enough memory for that",
                 "use a smaller input or model, or allow more (--max-memory)");
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = error.path1().string();
    errors.print(Failure("cannot read " + path + ": " + error.code().message(), "check that you may read it",
                         {"VIREO_IO", path, "", "", "", ""}));
    return 1;
  } catch (const std::exception& error) {
    errors.print("failed", error.what(), "");
    return 1;
  }
  std::cout.flush();
  if (!std::cout || fflush(stdout) != 0) {
    errors.print("VIREO_IO", "cannot write to the standard output", "free some space, or send it elsewhere");
    return 1;
  }
  return context.exit_status;
}

void add_model(Command verb, const Context& context, std::string* model) {
  if (context.extensions.convert) {
    verb.add_option("model", *model, "a .vireo file, or an .onnx file").required().file({".vireo", ".onnx"});
    context.extensions.import_options(verb);
  } else {
    verb.add_option("model", *model, "a .vireo file").required().file({".vireo"});
  }
}

Json error_json(const ErrorFacts& facts) {
  const auto text = [](const std::string& s) { return s.empty() ? Json() : Json(s); };
  return {{"error",
           {{"code", facts.code},
            {"file", text(facts.file)},
            {"node", text(facts.node)},
            {"tensor", text(facts.tensor)},
            {"message", facts.message},
            {"help", text(facts.help)}}}};
}

std::string version_number() {
  const uint32_t v = vireo_version();
  return formatted("%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
}

void print_json(const Json& json) { std::cout << as_is << json_text(json, 2) << "\n"; }

std::string bytes_text(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  char text[32];
  snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

}  // namespace vireo::cli
