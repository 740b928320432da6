// vireo completion: scripts that let a shell complete verbs, flags, values and files. Built from the parser itself, so
// they cannot fall behind it.
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/folded_text.h"

namespace vireo::cli {
namespace {

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.long_names()) names.push_back("--" + name);
  for (const std::string& name : option.short_names()) names.push_back("-" + name);
  return names;
}

// The options that may stand behind `verb`: its own and those of the program.
std::vector<Option> options_of(const Command& app, const Command& verb) {
  std::vector<Option> options = verb.options();
  for (const Option& option : app.options()) {
    const std::vector<std::string> names = option.long_names();
    if (!names.empty() && !verb.find_option("--" + names[0])) options.push_back(option);
  }
  return options;
}

std::vector<std::string> flags_of(const Command& app, const Command& verb) {
  std::vector<std::string> flags;
  for (const Option& option : options_of(app, verb)) {
    for (const std::string& name : names_of(option)) flags.push_back(name);
  }
  return flags;
}

std::string joined(const std::vector<std::string>& parts, const std::string& between = " ") {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

// What the arguments of `verb` that are no options may be.
Offers arguments_of(const Command& verb) {
  Offers all;
  for (const Option& option : verb.options()) {
    if (!option.positional()) continue;
    const Offers offers = option.offers();
    all.values.insert(all.values.end(), offers.values.begin(), offers.values.end());
    all.endings.insert(all.endings.end(), offers.endings.begin(), offers.endings.end());
  }
  return all;
}

// A description inside single quotes of a shell.
std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

// Statements of bash that say what a value may be.
std::string bash_offers(const Offers& offers) {
  std::string text;
  if (!offers.values.empty()) text += " values=\"" + joined(offers.values) + "\"";
  if (!offers.endings.empty()) text += " endings=\"" + joined(offers.endings) + "\"";
  if (offers.folder) text += " folders=1";
  return text;
}

std::string bash(const Command& app) {
  std::string cases;
  for (const Command& verb : app.verbs()) {
    cases += "    " + verb.name() + ")\n      flags=\"" + joined(flags_of(app, verb)) + "\"\n      case $before in\n";
    for (const Option& option : options_of(app, verb)) {
      if (option.takes_value() && !option.positional())
        cases += "        " + joined(names_of(option), "|") + ") taken=1" + bash_offers(option.offers()) + " ;;\n";
    }
    cases += "        *)" + bash_offers(arguments_of(verb)) + " ;;\n      esac ;;\n";
  }
  return "# Completion of vireo for bash: source this file, or put it into a folder of bash-completion.\n"
         "_vireo() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local flags=\"\" values=\"\" endings=\"\" folders=\"\" taken=\"\" ending\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         joined(app.verb_names()) +
         " --help --version\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  if [ \"$word\" = = ]; then word=\"\"; elif [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; "
         "fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* && -z $taken ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  if [ -n \"$values\" ]; then COMPREPLY=($(compgen -W \"$values\" -- \"$word\")); fi\n"
         "  if [[ -n $values && -z $endings ]]; then return; fi\n"
         "  if [ -n \"$folders\" ]; then COMPREPLY=($(compgen -d -- \"$word\")); return; fi\n"
         "  for ending in $endings; do\n"
         "    local IFS=$'\\n'\n"
         "    COMPREPLY+=($(compgen -f -X \"!*$ending\" -- \"$word\"))\n"
         "  done\n"
         "  local IFS=$'\\n'\n"
         "  if [ -n \"$endings\" ]; then COMPREPLY+=($(compgen -d -- \"$word\")); fi\n"
         "  if [ ${#COMPREPLY[@]} -eq 0 ]; then COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
         "}\n"
         "complete -o filenames -F _vireo vireo\n";
}

// What zsh does to complete such a value.
std::string zsh_offers(const Offers& offers) {
  std::string text;
  if (!offers.values.empty()) text = "compadd -- " + joined(offers.values);
  if (!offers.values.empty() && offers.endings.empty()) return text;
  if (!text.empty()) text += "; ";
  if (offers.folder) return text + "_files -/";
  if (offers.endings.empty()) return text + "_files";
  std::vector<std::string> kinds;
  for (const std::string& ending : offers.endings) kinds.push_back(ending.substr(1));
  return text + "_files -g '*.(" + joined(kinds, "|") + ")'";
}

std::string zsh(const Command& app) {
  std::string verbs, cases;
  for (const Command& verb : app.verbs()) {
    verbs += "    " + quoted(verb.name() + ":" + verb.description()) + "\n";
    cases += "    " + verb.name() + ")\n      flags=(" + joined(flags_of(app, verb)) + ")\n      case $before in\n";
    for (const Option& option : options_of(app, verb)) {
      if (option.takes_value() && !option.positional())
        cases += "        " + joined(names_of(option), "|") + ") compset -P '*='; " + zsh_offers(option.offers()) +
                 "; return ;;\n";
    }
    cases += "      esac\n      if [[ $word != -* ]]; then " + zsh_offers(arguments_of(verb)) + "; return; fi ;;\n";
  }
  return "#compdef vireo\n"
         "# Completion of vireo for zsh: put this file as _vireo into a folder of $fpath.\n"
         "_vireo() {\n"
         "  local -a verbs flags\n"
         "  local word=${words[CURRENT]} before=${words[CURRENT-1]}\n"
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
         "  compadd -- $flags\n"
         "}\n"
         "_vireo \"$@\"\n";
}

// What fish offers for such a value.
std::string fish_offers(const Offers& offers) {
  std::string files;
  for (const std::string& ending : offers.endings)
    files += (files.empty() ? "" : "; ") + ("__fish_complete_suffix " + ending);
  std::string text;
  if (!offers.values.empty()) text += " -a " + quoted(joined(offers.values));
  if (!offers.values.empty() && files.empty()) text += " -f";
  if (offers.folder) text += " -f -a '(__fish_complete_directories)'";
  if (!files.empty()) text += " -k -a '(" + files + ")'";
  return text;
}

std::string fish(const Command& app) {
  std::string text = "# Completion of vireo for fish: put this file as vireo.fish into ~/.config/fish/completions.\n";
  for (const Command& verb : app.verbs()) {
    text +=
        "complete -c vireo -n __fish_use_subcommand -f -a " + verb.name() + " -d " + quoted(verb.description()) + "\n";
    const std::string behind = "complete -c vireo -n '__fish_seen_subcommand_from " + verb.name() + "'";
    const std::string arguments = fish_offers(arguments_of(verb));
    if (!arguments.empty()) text += behind + arguments + "\n";
    for (const Option& option : options_of(app, verb)) {
      std::string names;
      for (const std::string& name : option.long_names()) names += " -l " + name;
      for (const std::string& name : option.short_names()) names += " -s " + name;
      if (names.empty()) continue;
      const std::string value = option.takes_value() ? " -r" + fish_offers(option.offers()) : "";
      text += behind + names + value + " -d " + quoted(option.description()) + "\n";
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
  verb.callback([shell, app] {
    std::cout << as_is << (*shell == "bash" ? bash(app) : *shell == "zsh" ? zsh(app) : fish(app));
  });
}

}  // namespace vireo::cli
