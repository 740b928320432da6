// The only file that includes CLI11.
#include "c_api/tool/command.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace vireo::tool {
namespace {

constexpr size_t kHelpColumn = 34;  // where descriptions begin

}  // namespace

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
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option Option::non_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::one_of(std::initializer_list<int> values) {
  option_->check(CLI::IsMember(std::vector<int>(values)));
  return *this;
}

Option Option::one_of(std::initializer_list<const char*> values) {
  option_->check(CLI::IsMember(std::vector<std::string>(values.begin(), values.end())));
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
bool Option::takes_value() const { return option_->get_items_expected_max() > 0; }

Command Command::add_verb(const std::string& name, const std::string& description) {
  return Command(app_->add_subcommand(name, description));
}

Option Command::add_option(const std::string& names, std::string& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, int& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, uint32_t& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, int64_t& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, uint64_t& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, double& value, const std::string& description) {
  return Option(app_->add_option(names, value, description));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& description) {
  return Option(app_->add_option(names, values, description));
}

Option Command::add_option(const std::string& names, const std::function<void(const std::string&)>& take,
                           const std::string& description) {
  return Option(app_->add_option_function<std::string>(names, take, description));
}

Option Command::add_repeated(const std::string& names, std::vector<std::string>& values,
                             const std::string& description) {
  return Option(app_->add_option(names, values, description)->take_all()->allow_extra_args(false));
}

Option Command::add_choice(const std::string& names, const std::map<std::string, int>& choices,
                           const std::function<void(int)>& take, const std::string& description) {
  CLI::Option* option = app_->add_option_function<int>(
      names, [take](const int& number) { take(number); }, description);
  // The description names the choices; the validator's own would list their numbers, too.
  option->type_name("ENUM")->transform(CLI::CheckedTransformer(choices, CLI::ignore_case).description(""));
  return Option(option);
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}

Option Command::add_flag(const std::string& names, std::string& value, const std::string& description) {
  return Option(app_->add_flag(names, value, description));
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::callback(const std::function<void()>& run) { app_->callback(run); }
std::string Command::name() const { return app_->get_name(); }
std::string Command::description() const { return app_->get_description(); }

std::vector<Command> Command::verbs() const {
  std::vector<Command> verbs;
  for (CLI::App* verb : app_->get_subcommands({})) verbs.emplace_back(verb);
  return verbs;
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) options.emplace_back(option);
  return options;
}

Option Command::find_option(const std::string& name) const { return Option(app_->get_option_no_throw(name)); }

CommandLine::CommandLine(const std::string& program, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, program)) {
  // Verbs copy these when they are added, so they are set first.
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
  app_->get_formatter()->column_width(kHelpColumn);
  app_->fallthrough();
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(app_.get()); }

std::optional<std::string> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    (void)app_->exit(asked, text);
    return text.str();
  } catch (const CLI::ParseError& error) {
    const CLI::App* at = app_.get();
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    throw UsageError(error.what(), at == app_.get() ? "" : at->get_name());
  }
  return std::nullopt;
}

}  // namespace vireo::tool
