#include "c_api/tool/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <new>

#include "c_api/tool/failure.h"
#include "c_api/tool/keys.h"
#include "c_api/tool/plain_text.h"

namespace vireo::tool {
namespace {

// Names what is wrong with a flag, and nothing else: the whole help would bury it.
int report_usage(const UsageError& error, const std::string& first, bool whole) {
  if (error.verb().empty() && !first.empty() && first[0] != '-') {
    std::cerr << "error: vireo has no verb \"" << first << "\""
              << (whole ? "" : " in this build, which has no converter") << "\n  help: see vireo --help\n";
    return 2;
  }
  const std::string verb = error.verb().empty() ? "" : " " + error.verb();
  std::cerr << "error: vireo" << verb << ": " << error.what() << "\n  help: see vireo" << verb << " --help\n";
  return 2;
}

void print_failure(const std::string& what, const std::string& help) {
  // Diagnostics of the converter come with their own heading.
  std::cerr << (what.rfind("error", 0) == 0 ? "" : "error: ") << what;
  if (what.empty() || what.back() != '\n') std::cerr << "\n";
  if (!help.empty()) std::cerr << "  help: " << help << "\n";
}

std::string version_text() {
  const uint32_t v = vireo_version();
  return "vireo " + std::to_string(v >> 16) + "." + std::to_string(v >> 8 & 255) + "." + std::to_string(v & 255);
}

}  // namespace

int run_app(int argc, char** argv, Extensions extensions) {
  const PlainText out(std::cout), err(std::cerr);
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
                     "  vireo VERB --help                           what a verb does, with examples"
                   : "Start here:\n"
                     "  vireo run model.vireo --input image=cat.png run a model once on a picture\n"
                     "  vireo VERB --help                           what a verb does, with examples");
  app.add_option(
      "--plugins", [](const std::string& list) { (void)setenv("VIREO_PLUGINS", list.c_str(), 1); },
      "delegates in shared libraries: files and folders with colons between them (or VIREO_PLUGINS)");
  app.add_option(
      "--trust",
      [](const std::string& list) {
        require_keys("--trust", list);
        (void)setenv("VIREO_TRUSTED", list.c_str(), 1);
      },
      "public keys' files: take only models that one of them signed (or VIREO_TRUSTED); none: take any model; a build "
      "that cannot check signatures needs it for signed ones");
  app.add_option(
      "--keys",
      [](const std::string& list) {
        require_keys("--keys", list);
        (void)setenv("VIREO_KEYS", list.c_str(), 1);
      },
      "secret keys' files, for encrypted models (or VIREO_KEYS)");
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

  try {
    if (const std::optional<std::string> asked = line.parse(argc, argv)) {
      std::cout << *asked << std::flush;
      return std::cout ? 0 : 1;
    }
  } catch (const UsageError& error) {
    return report_usage(error, argc > 1 ? argv[1] : "", whole);
  } catch (const Failure& failure) {
    print_failure(failure.what(), failure.help());
    return 1;
  } catch (const std::bad_alloc&) {
    print_failure("this machine has not enough memory for that",
                  "use a smaller input or model, or allow more (--max-memory)");
    return 1;
  } catch (const std::exception& error) {
    print_failure(error.what(), "");
    return 1;
  }
  std::cout.flush();
  if (!std::cout || fflush(stdout) != 0) {
    print_failure("cannot write to the standard output", "free some space, or send it elsewhere");
    return 1;
  }
  return context.exit_status;
}

void add_model(Command verb, const Context& context, std::string* model) {
  const Extensions& extensions = context.extensions;
  verb.add_option("model", *model, extensions.convert ? "a .vireo file, or an .onnx file" : "a .vireo file").required();
  if (extensions.convert) extensions.import_options(verb);
}

void print_json(const Json& json) { std::cout << json_text(json, 2) << "\n"; }

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { show(""); }

void Progress::show(const std::string& text) {
  if (!terminal_) return;
  std::string line = text.substr(0, 100);
  const size_t length = line.size();
  line.resize(std::max(shown_, length), ' ');
  shown_ = length;
  fprintf(stderr, "\r%s%s", line.c_str(), text.empty() ? "\r" : "");
  fflush(stderr);
}

std::string bytes_text(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  char text[32];
  snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line.append(widths[c] - row[c].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace vireo::tool
