// The parser of the command line. Verbs describe themselves through it and never see the library behind it, whose
// templates cost some ten seconds in each file that includes them.
#ifndef VIREO_C_API_CLI_COMMAND_H_
#define VIREO_C_API_CLI_COMMAND_H_

#include <stdint.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vireo::cli {

// What the library does not keep of an option: what a shell may offer for its value.
struct Offers {
  std::vector<std::string> values;   // names; others may be allowed
  std::vector<std::string> endings;  // of files, ".npy"; a file of another ending may be allowed
  bool file = false, folder = false;
};
using AllOffers = std::map<const CLI::Option*, Offers>;

// An option, flag or positional argument of a verb. This is a handle: copies name the same option, which the
// CommandLine owns. Values are checked (`range`, `one_of`, ...) while the line is parsed, in the order of the calls.
class Option {
 public:
  Option() = default;  // names none; only `operator bool` may be called
  Option(CLI::Option* option, AllOffers* offers) : option_(option), offers_(offers) {}
  explicit operator bool() const { return option_ != nullptr; }

  Option required();
  // Shows in the help text what the variable holds now.
  Option show_default();
  // Bounds are included. Their type is the one that values are read as, and that the help text names.
  Option range(int least, int most);
  Option range(uint32_t least, uint32_t most);
  Option range(double least, double most);
  Option positive();
  Option non_negative();
  Option one_of(std::initializer_list<int> values);
  Option one_of(std::initializer_list<const char*> values);
  // The value names a file, whose usual endings these are, or a folder. Nothing is checked.
  Option file(std::initializer_list<const char*> endings = {});
  Option folder();
  // Help lists the option below the others, with those of the same heading.
  Option group(const std::string& heading);
  // Values that a shell may offer. Nothing is checked.
  Option offer(const std::vector<std::string>& values);
  // Replaces what was given before it is checked and stored.
  Option transform(const std::function<std::string(const std::string&)>& change);
  // Both options belong to the same verb.
  Option needs(Option other);
  Option excludes(Option other);

  // Once the line is parsed: whether it was on it.
  bool given() const;

  std::vector<std::string> long_names() const;   // without dashes
  std::vector<std::string> short_names() const;  // without dashes
  std::string description() const;
  std::string heading() const;  // as the help text has it: "-i,--input TEXT ..."
  bool takes_value() const;
  bool positional() const;
  Offers offers() const;

 private:
  CLI::Option* option_ = nullptr;
  AllOffers* offers_ = nullptr;
};

// The program itself or one of its verbs. A handle like Option: the CommandLine owns what it names.
// `names` are those of one option with commas between them, "-o,--output"; without dashes it is positional. A name that
// the command has already is a mistake of the program and throws.
// Variables are written while the line is parsed, only where the option was given, and outlive that.
class Command {
 public:
  Command(CLI::App* app, AllOffers* offers) : app_(app), offers_(offers) {}

  Command add_verb(const std::string& name, const std::string& description);

  Option add_option(const std::string& names, std::string& value, const std::string& description);
  Option add_option(const std::string& names, int& value, const std::string& description);
  Option add_option(const std::string& names, uint32_t& value, const std::string& description);
  Option add_option(const std::string& names, int64_t& value, const std::string& description);
  Option add_option(const std::string& names, uint64_t& value, const std::string& description);
  Option add_option(const std::string& names, double& value, const std::string& description);
  // Takes all values that follow.
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& description);
  // `take` gets the value when the line is parsed. What it throws passes through CommandLine::parse.
  Option add_option(const std::string& names, const std::function<void(const std::string&)>& take,
                    const std::string& description);
  // May be given often, with one value each time.
  Option add_repeated(const std::string& names, std::vector<std::string>& values, const std::string& description);
  // Takes two values.
  Option add_option(const std::string& names, std::pair<std::string, std::string>& values,
                    const std::string& description);
  // One of the choices' names, in any case, or its number. `take` gets the number.
  Option add_choice(const std::string& names, const std::map<std::string, int>& choices,
                    const std::function<void(int)>& take, const std::string& description);

  Option add_flag(const std::string& names, bool& value, const std::string& description);
  // A flag that may carry a value, --flag=VALUE. A bare one leaves "true".
  Option add_flag(const std::string& names, std::string& value, const std::string& description);

  // The text below the options in the help text.
  void footer(const std::string& text);
  // Runs once the whole line is parsed and this verb is on it. What it throws passes through CommandLine::parse.
  void callback(const std::function<void()>& run);

  std::string name() const;
  std::string description() const;
  std::vector<Command> verbs() const;                 // in the order they were added
  std::vector<Option> options() const;                // those of this command alone, --help too, groups last
  Option find_option(const std::string& name) const;  // "--name"; one that names none where there is no such option
  std::vector<std::string> verb_names() const;
  std::string help() const;   // what --help prints, in lines of at most kHelpColumns
  std::string usage() const;  // the line of it that begins with "Usage:", without that word
  std::string footer() const;

 private:
  Option keep(CLI::Option* option) const { return {option, offers_}; }

  CLI::App* app_;
  AllOffers* offers_;
};

// The line does not say what to do. what() is the parser's sentence.
class UsageError : public std::runtime_error {
 public:
  UsageError(const std::string& what, std::string verb, std::string hint = "")
      : std::runtime_error(what), verb_(std::move(verb)), hint_(std::move(hint)) {}
  const std::string& verb() const { return verb_; }  // the one that was being read; "" before any
  const std::string& hint() const { return hint_; }  // "did you mean --input? ", or ""

 private:
  std::string verb_, hint_;
};

// There is no verb of this name.
class UnknownVerb : public UsageError {
 public:
  UnknownVerb(const std::string& word, const Command& root);
};

// A program that does one verb at a time. The options of the program may stand behind the verb, too.
class CommandLine {
 public:
  // `version` is what --version answers.
  CommandLine(const std::string& program, const std::string& description, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command root();

  // Reads the line and runs the callback of its verb. Where help or the version was asked for, no verb runs and the
  // text is returned: of a verb that there is. Throws UsageError before any callback of a verb, and whatever a callback
  // throws.
  std::optional<std::string> parse(int argc, char** argv);

 private:
  AllOffers offers_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_COMMAND_H_
