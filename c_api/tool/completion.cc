// vireo completion: scripts that let a shell complete verbs, flags and files. Built from the parser itself, so they
// cannot fall behind it.
#include <CLI/CLI.hpp>
#include <iostream>

#include "c_api/tool/app.h"

namespace vireo::tool {
namespace {

std::vector<std::string> flags_of(const CLI::App& verb) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

// A description inside single quotes of a shell.
std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string bash(const CLI::App& app) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const CLI::App* verb : app.get_subcommands({})) {
    verbs.push_back(verb->get_name());
    cases += "    " + verb->get_name() + ") flags=\"" + joined(flags_of(*verb)) + "\" ;;\n";
  }
  return "# Completion of vireo for bash: source this file, or put it into /etc/bash_completion.d.\n"
         "_vireo() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} flags=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         joined(verbs) +
         " --help --version\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _vireo vireo\n";
}

std::string zsh(const CLI::App& app) {
  std::string verbs, cases;
  for (const CLI::App* verb : app.get_subcommands({})) {
    verbs += "    " + quoted(verb->get_name() + ":" + verb->get_description()) + "\n";
    cases += "    " + verb->get_name() + ") flags=(" + joined(flags_of(*verb)) + ") ;;\n";
  }
  return "#compdef vireo\n"
         "# Completion of vireo for zsh: put this file as _vireo into a folder of $fpath.\n"
         "_vireo() {\n"
         "  local -a verbs flags\n"
         "  verbs=(\n" +
         verbs +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe 'verb' verbs\n"
         "    return\n"
         "  fi\n"
         "  case ${words[2]} in\n" +
         cases +
         "  esac\n"
         "  if [[ ${words[CURRENT]} == -* ]]; then\n"
         "    compadd -- $flags\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_vireo \"$@\"\n";
}

std::string fish(const CLI::App& app) {
  std::string text = "# Completion of vireo for fish: put this file as vireo.fish into ~/.config/fish/completions.\n";
  for (const CLI::App* verb : app.get_subcommands({})) {
    text += "complete -c vireo -n __fish_use_subcommand -f -a " + verb->get_name() + " -d " +
            quoted(verb->get_description()) + "\n";
    for (const CLI::Option* option : verb->get_options()) {
      std::string names;
      for (const std::string& name : option->get_lnames()) names += " -l " + name;
      for (const std::string& name : option->get_snames()) names += " -s " + name;
      if (names.empty()) continue;
      const bool takes_value = option->get_items_expected_max() > 0;
      text += "complete -c vireo -n '__fish_seen_subcommand_from " + verb->get_name() + "'" + names +
              (takes_value ? " -r" : "") + " -d " + quoted(option->get_description()) + "\n";
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app, Context&) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "Print a completion script for a shell");
  verb->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer(
      "Examples:\n"
      "  source <(vireo completion bash)\n"
      "  vireo completion zsh > ~/.zfunc/_vireo\n"
      "  vireo completion fish > ~/.config/fish/completions/vireo.fish");
  verb->callback([shell, &app] {
    std::cout << (*shell == "bash" ? bash(app) : *shell == "zsh" ? zsh(app) : fish(app));
  });
}

}  // namespace vireo::tool
