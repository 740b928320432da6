// vireo completion: scripts that let a shell complete verbs, flags and files. Built from the parser itself, so they
// cannot fall behind it.
#include <iostream>

#include "c_api/tool/app.h"

namespace vireo::tool {
namespace {

std::vector<std::string> flags_of(const Command& verb) {
  std::vector<std::string> flags;
  for (const Option& option : verb.options()) {
    for (const std::string& name : option.long_names()) flags.push_back("--" + name);
    for (const std::string& name : option.short_names()) flags.push_back("-" + name);
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

std::string bash(const Command& app) {
  std::vector<std::string> verbs;
  std::string cases;
  for (const Command& verb : app.verbs()) {
    verbs.push_back(verb.name());
    cases += "    " + verb.name() + ") flags=\"" + joined(flags_of(verb)) + "\" ;;\n";
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

std::string zsh(const Command& app) {
  std::string verbs, cases;
  for (const Command& verb : app.verbs()) {
    verbs += "    " + quoted(verb.name() + ":" + verb.description()) + "\n";
    cases += "    " + verb.name() + ") flags=(" + joined(flags_of(verb)) + ") ;;\n";
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

std::string fish(const Command& app) {
  std::string text = "# Completion of vireo for fish: put this file as vireo.fish into ~/.config/fish/completions.\n";
  for (const Command& verb : app.verbs()) {
    text +=
        "complete -c vireo -n __fish_use_subcommand -f -a " + verb.name() + " -d " + quoted(verb.description()) + "\n";
    for (const Option& option : verb.options()) {
      std::string names;
      for (const std::string& name : option.long_names()) names += " -l " + name;
      for (const std::string& name : option.short_names()) names += " -s " + name;
      if (names.empty()) continue;
      const bool takes_value = option.takes_value();
      text += "complete -c vireo -n '__fish_seen_subcommand_from " + verb.name() + "'" + names +
              (takes_value ? " -r" : "") + " -d " + quoted(option.description()) + "\n";
    }
  }
  return text;
}

}  // namespace

void add_completion(Command app, Context&) {
  auto shell = std::make_shared<std::string>();
  Command verb = app.add_verb("completion", "Print a completion script for a shell");
  verb.add_option("shell", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  verb.footer(
      "Examples:\n"
      "  source <(vireo completion bash)\n"
      "  vireo completion zsh > ~/.zfunc/_vireo\n"
      "  vireo completion fish > ~/.config/fish/completions/vireo.fish");
  verb.callback([shell, app] { std::cout << (*shell == "bash" ? bash(app) : *shell == "zsh" ? zsh(app) : fish(app)); });
}

}  // namespace vireo::tool
