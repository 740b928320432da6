// The only file that includes CLI11.
#include "c_api/cli/command.h"

#include <math.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "c_api/cli/columns.h"
#include "c_api/cli/nearest.h"

namespace vireo::cli {
namespace {

constexpr size_t kHelpColumn = 34;  // where descriptions begin

// "INT in [1 - 8]" for "INT:INT in [1 - 8]": what checks a value often names its type again.
std::string value_type_text(const CLI::Option& option) {
  std::string text = option.get_type_name();
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return text;
  const std::string type = text.substr(0, colon), rest = text.substr(colon + 1);
  return rest.compare(0, type.size() + 1, type + " ") == 0 ? rest : text;
}

template <class Options>
std::string list_text(const char* heading, const Options& options) {
  std::string text;
  for (const CLI::Option* option : options) text += (text.empty() ? heading : " ") + option->get_name();
  return text;
}

std::string value_text(const CLI::Option& option) {
  std::string text;
  if (option.get_type_size() != 0) {
    const std::string type = value_type_text(option);
    if (!type.empty()) text += " " + type;
    if (!option.get_default_str().empty()) text += "=" + option.get_default_str();
    if (option.get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    if (option.get_required()) text += " REQUIRED";
  }
  return text + list_text(" Needs: ", option.get_needs()) + list_text(" Excludes: ", option.get_excludes());
}

std::string heading_text(const CLI::Option& option) {
  const bool positional = option.get_positional();
  return option.get_name(positional, !positional) + value_text(option);
}

// One name with its description beside it, or below it where the name is long.
std::string entry_text(const std::string& name, const std::string& description) {
  std::string text;
  std::vector<std::string> heads = wrapped(name, kHelpColumns - 2);
  for (const std::string& head : heads) text += (text.empty() ? "  " : "\n      ") + head;
  size_t column = columns_of(heads.back()) + (heads.size() == 1 ? 2 : 6);
  for (const std::string& line : wrapped(description, kHelpColumns - kHelpColumn)) {
    if (line.empty()) continue;
    if (column + 1 > kHelpColumn) {
      text += "\n";
      column = 0;
    }
    text += std::string(kHelpColumn - column, ' ') + line;
    column = kHelpColumns;  // the next one begins a line
  }
  return text + "\n";
}

// Those of no group first, then the groups, each in the order they were added.
template <class App>
auto in_groups(App& app) {
  auto options = app.get_options({});
  const std::string plain = app.get_help_ptr()->get_group();
  std::stable_partition(options.begin(), options.end(), [&](const auto* o) { return o->get_group() == plain; });
  return options;
}

std::string usage_text(const CLI::App& app, const std::string& name) {
  std::string text = name + " [OPTIONS]";
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    const std::string several = option->get_expected_max() > 1 ? "..." : "";
    const std::string word = option->get_name(true, false) + several;
    text += option->get_required() ? " " + word : " [" + word + "]";
  }
  return text + (app.get_subcommands({}).empty() ? "" : " VERB");
}

// The help text, whose lines have at most kHelpColumns whatever the terminal has: manual pages and documents hold it.
// Footers have the lines that their verbs give them.
std::string help_text(const CLI::App& app, const std::string& name) {
  std::string positionals, options, verbs, text, group = app.get_help_ptr()->get_group();
  for (const std::string& line : wrapped(app.get_description(), kHelpColumns)) text += line + "\n";
  for (const std::string& line : wrapped("Usage: " + usage_text(app, name), kHelpColumns)) text += line + "\n";
  for (const CLI::Option* option : in_groups(app)) {
    if (option->get_group() != group) options += "\n" + (group = option->get_group()) + ":\n";
    (option->get_positional() ? positionals : options) += entry_text(heading_text(*option), option->get_description());
  }
  for (const CLI::App* verb : app.get_subcommands({})) verbs += entry_text(verb->get_name(), verb->get_description());
  if (!positionals.empty()) text += "\nPositionals:\n" + positionals;
  if (!options.empty()) text += "\nOptions:\n" + options;
  if (!verbs.empty()) text += "\nVerbs:\n" + verbs;
  return text + "\n" + (app.get_footer().empty() ? "" : app.get_footer() + "\n");
}

class Help : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    return help_text(*app, name);
  }
};

// "vireo run"
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

// The verb that was being read, or the program itself.
const CLI::App& last_of(const CLI::App& root) {
  const CLI::App* at = &root;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

// "did you mean convert? ", or "did you mean convert --quantize? " for a verb that is an option of another.
std::string hint_for(const std::string& verb, const Command& root) {
  std::string hint = did_you_mean(verb, root.verb_names());
  if (!hint.empty()) return hint;
  for (const Command& known : root.verbs()) {
    if (known.find_option("--" + verb)) return "did you mean " + known.name() + " --" + verb + "? ";
  }
  const bool is_file = verb.find_first_of("./") != std::string::npos;
  return is_file ? "a verb comes first: " + root.name() + " VERB " + verb + "; " : "";
}

// `range` with a message of its own: the parser's names the largest number, of 309 digits.
CLI::Validator plain_number(const CLI::Validator& range, const std::string& fault, const std::string& description) {
  return CLI::Validator(
      [range, fault](std::string& text) { return range(text).empty() ? std::string() : "Value " + text + " " + fault; },
      description);
}

// Options that stand where another one's value belongs are refused: --output --json would write a file "--json".
void refuse_options_as_values(CLI::App& root) {
  const auto names = [](const CLI::App& app) {
    std::vector<std::string> all;
    for (const CLI::Option* option : app.get_options({})) {
      for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
      for (const std::string& name : option->get_snames()) all.push_back("-" + name);
    }
    return all;
  };
  std::vector<CLI::App*> apps = root.get_subcommands({});
  apps.push_back(&root);
  for (CLI::App* app : apps) {
    std::vector<std::string> known = names(root);
    for (const std::string& name : names(*app)) known.push_back(name);
    for (CLI::Option* option : app->get_options([](const CLI::Option* o) { return !o->get_positional(); })) {
      if (option->get_items_expected_max() == 0) continue;
      option->check(CLI::Validator(
          [known](std::string& value) {
            const std::string word = value.substr(0, value.find('='));
            return std::find(known.begin(), known.end(), word) == known.end() ? "" : "no value before " + word;
          },
          ""));
    }
  }
}

// "did you mean --input? " for the first option of `words` that neither the verb nor the program has, or for a file
// that an option would take.
std::string hint_for(const std::vector<std::string>& words, const CLI::App& root, const CLI::App& verb) {
  std::vector<std::string> known;
  for (const CLI::App* app : {&verb, &root}) {
    for (const CLI::Option* option : app->get_options({})) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (const std::string& word : words) {
    std::string hint = word.rfind("--", 0) == 0 ? did_you_mean(word.substr(0, word.find('=')), known) : "";
    if (!hint.empty()) return hint;
  }
  // "run model.vireo x.npy": a file of data behind the model.
  if (words.empty() || words[0].empty() || words[0][0] == '-') return "";
  for (const CLI::Option* option : verb.get_options({})) {
    if (option->check_lname("data") || option->get_description().find("NAME=FILE") != std::string::npos)
      return "did you mean --" + option->get_lnames()[0] + " " + words[0] + "? ";
  }
  return "";
}

}  // namespace

UnknownVerb::UnknownVerb(const std::string& word, const Command& root)
    : UsageError("has no verb \"" + word + "\"", "", hint_for(word, root)) {}

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::range(uint32_t least, uint32_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::positive() {
  option_->check(plain_number(CLI::PositiveNumber, "is no number above 0", "POSITIVE"));
  return *this;
}

Option Option::non_negative() {
  option_->check(plain_number(CLI::NonNegativeNumber, "is no number from 0 on", "NONNEGATIVE"));
  return *this;
}

Option Option::one_of(std::initializer_list<int> values) {
  option_->check(CLI::IsMember(std::vector<int>(values)));
  return *this;
}

Option Option::one_of(std::initializer_list<const char*> values) {
  const std::vector<std::string> names(values.begin(), values.end());
  option_->check(CLI::IsMember(names));
  return offer(names);
}

Option Option::file(std::initializer_list<const char*> endings) {
  option_->type_name("FILE");
  Offers& offers = (*offers_)[option_];
  offers.file = true;
  offers.endings.assign(endings.begin(), endings.end());
  return *this;
}

Option Option::folder() {
  option_->type_name("FOLDER");
  (*offers_)[option_].folder = true;
  return *this;
}

Option Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option Option::offer(const std::vector<std::string>& values) {
  (*offers_)[option_].values = values;
  return *this;
}

Option Option::transform(const std::function<std::string(const std::string&)>& change) {
  option_->transform(change);
  return *this;
}

Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

bool Option::given() const { return option_->count() != 0; }
std::vector<std::string> Option::long_names() const { return option_->get_lnames(); }
std::vector<std::string> Option::short_names() const { return option_->get_snames(); }
std::string Option::description() const { return option_->get_description(); }
std::string Option::heading() const { return heading_text(*option_); }
bool Option::takes_value() const { return option_->get_items_expected_max() > 0; }
bool Option::positional() const { return option_->get_positional(); }

Offers Option::offers() const {
  const auto at = offers_->find(option_);
  return at == offers_->end() ? Offers() : at->second;
}

Command Command::add_verb(const std::string& name, const std::string& description) {
  return {app_->add_subcommand(name, description), offers_};
}

Option Command::add_option(const std::string& names, std::string& value, const std::string& description) {
  return keep(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, int& value, const std::string& description) {
  return keep(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, uint32_t& value, const std::string& description) {
  return keep(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, int64_t& value, const std::string& description) {
  return keep(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, uint64_t& value, const std::string& description) {
  CLI::Option* option = app_->add_option(names, value, description);
  option->check(CLI::Validator(  // the parser takes -1 for the largest number
      [](std::string& text) { return text.rfind('-', 0) == 0 ? "Value " + text + " is negative" : std::string(); },
      ""));
  return keep(option);
}

Option Command::add_option(const std::string& names, double& value, const std::string& description) {
  CLI::Option* option = app_->add_option(names, value, description);
  option->check(CLI::Validator(  // NaN is neither below the least number nor above the most
      [](std::string& text) { return isnan(atof(text.c_str())) ? "Value " + text + " is no number" : std::string(); },
      ""));
  return keep(option);
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& description) {
  return keep(app_->add_option(names, values, description));
}

Option Command::add_option(const std::string& names, std::pair<std::string, std::string>& values,
                           const std::string& description) {
  return keep(app_->add_option(names, values, description));
}

Option Command::add_option(const std::string& names, const std::function<void(const std::string&)>& take,
                           const std::string& description) {
  return keep(app_->add_option_function<std::string>(names, take, description));
}

Option Command::add_repeated(const std::string& names, std::vector<std::string>& values,
                             const std::string& description) {
  return keep(app_->add_option(names, values, description)->take_all()->allow_extra_args(false));
}

Option Command::add_choice(const std::string& names, const std::map<std::string, int>& choices,
                           const std::function<void(int)>& take, const std::string& description) {
  CLI::Option* option = app_->add_option_function<int>(
      names, [take](const int& number) { take(number); }, description);
  // The description names the choices; the validator's own would list their numbers, too.
  option->type_name("ENUM")->transform(CLI::CheckedTransformer(choices, CLI::ignore_case).description(""));
  std::vector<std::string> values;
  for (const auto& [choice, number] : choices) values.push_back(choice);
  return keep(option).offer(values);
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& description) {
  return keep(app_->add_flag(names, value, description));
}

Option Command::add_flag(const std::string& names, std::string& value, const std::string& description) {
  return keep(app_->add_flag(names, value, description));
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::callback(const std::function<void()>& run) { app_->callback(run); }
std::string Command::name() const { return app_->get_name(); }
std::string Command::description() const { return app_->get_description(); }

std::vector<Command> Command::verbs() const {
  std::vector<Command> verbs;
  for (CLI::App* verb : app_->get_subcommands({})) verbs.emplace_back(verb, offers_);
  return verbs;
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : in_groups(*app_)) options.push_back(keep(option));
  return options;
}

Option Command::find_option(const std::string& name) const { return keep(app_->get_option_no_throw(name)); }

std::vector<std::string> Command::verb_names() const {
  std::vector<std::string> names;
  for (const Command& verb : verbs()) names.push_back(verb.name());
  return names;
}

std::string Command::help() const { return help_text(*app_, full_name(*app_)); }
std::string Command::usage() const { return usage_text(*app_, full_name(*app_)); }
std::string Command::footer() const { return app_->get_footer(); }

CommandLine::CommandLine(const std::string& program, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, program)) {
  // Verbs copy these when they are added, so they are set first.
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
  app_->formatter(std::make_shared<Help>());
  app_->fallthrough();
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return {app_.get(), &offers_}; }

std::optional<std::string> CommandLine::parse(int argc, char** argv) {
  const auto require_verb = [this] {
    if (!app_->get_subcommands().empty()) return;
    for (const std::string& word : app_->remaining()) {
      if (word[0] != '-') throw UnknownVerb(word, root());
    }
  };
  refuse_options_as_values(*app_);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForVersion& asked) {
    return std::string(asked.what()) + "\n";
  } catch (const CLI::Success&) {  // --help
    require_verb();
    const CLI::App& verb = last_of(*app_);
    return help_text(verb, full_name(verb));
  } catch (const CLI::ParseError& error) {
    require_verb();
    const CLI::App& verb = last_of(*app_);
    const bool bare = &verb == app_.get() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    throw UsageError(bare ? "a verb is missing" : error.what(), &verb == app_.get() ? "" : verb.get_name(),
                     hint_for(app_->remaining(true), *app_, verb));
  }
  return std::nullopt;
}

}  // namespace vireo::cli
