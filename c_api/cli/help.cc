// vireo help and vireo version: what --help and --version print, for those who look for a verb; manual pages of it.
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/file.h"
#include "c_api/cli/manual.h"

namespace vireo::cli {
namespace {

// The verb of this name; the program itself for "". Throws UnknownVerb.
Command find_verb(const Command& app, const std::string& name) {
  if (name.empty()) return app;
  for (const Command& verb : app.verbs()) {
    if (verb.name() == name) return verb;
  }
  throw UnknownVerb(name, app);
}

void write_manual(const Command& app, const std::string& folder) {
  write_file(folder + "/" + app.name() + ".1", manual_page(app, app));
  for (const Command& verb : app.verbs())
    write_file(folder + "/" + app.name() + "-" + verb.name() + ".1", manual_page(app, verb));
}

}  // namespace

void add_help(Command app, Context&) {
  auto name = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  Command verb = app.add_verb("help", "Show what a verb does, with examples");
  verb.add_option("verb", *name, "the verb; without one, all of them are listed").offer(app.verb_names());
  verb.add_option("--man", *folder, "write manual pages for man(1) into this folder: vireo.1, and one for each verb")
      .folder();
  verb.footer("Examples:\n  vireo help\n  vireo help convert\n  vireo help --man ~/.local/share/man/man1");
  verb.callback([name, folder, app] {
    if (!folder->empty()) return write_manual(app, *folder);
    std::cout << find_verb(app, *name).help();
  });
}

void add_version(Command app, const std::string& version) {
  Command verb = app.add_verb("version", "Print the version of this program");
  verb.callback([version] { std::cout << version << "\n"; });
}

}  // namespace vireo::cli
