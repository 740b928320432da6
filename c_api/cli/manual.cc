#include "c_api/cli/manual.h"

#include "c_api/cli/app.h"

namespace vireo::cli {
namespace {

// Text that troff prints as it stands: a backslash, a dash that can be copied, and a line that begins like a request.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string entry(const std::string& name, const std::string& description) {
  return ".TP\n.B " + plain(name) + "\n" + plain(description) + "\n";
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string options(const Command& command, bool positional) {
  std::string text;
  for (const Option& option : command.options()) {
    if (option.positional() == positional) text += entry(option.heading(), option.description());
  }
  return text;
}

std::string section(const std::string& name, const std::string& text) {
  return text.empty() ? "" : ".SH " + name + "\n" + text;
}

// Lines as they are.
std::string notes(const std::string& text) { return text.empty() ? "" : ".nf\n" + plain(text) + "\n.fi\n"; }

}  // namespace

std::string manual_page(const Command& app, const Command& verb) {
  const bool whole = verb.verbs().size() == app.verbs().size();
  const std::string name = whole ? app.name() : app.name() + "-" + verb.name();
  std::string verbs, pages;
  for (const Command& one : verb.verbs()) {
    verbs += entry(one.name(), one.description());
    pages += (pages.empty() ? ".BR " : ",\n.BR ") + plain(app.name() + "-" + one.name()) + " (1)";
  }
  return ".TH " + upper(plain(name)) + " 1 \"\" \"Vireo " + version_number() + "\" \"Vireo\"\n" +
         section("NAME", plain(name) + " \\- " + plain(verb.description()) + "\n") +
         section("SYNOPSIS", ".B " + plain(verb.usage()) + "\n") + section("ARGUMENTS", options(verb, true)) +
         section("OPTIONS", options(verb, false)) + section("VERBS", verbs) +
         section("NOTES AND EXAMPLES", notes(verb.footer())) +
         section("EXIT STATUS",
                 "0: success. 1: the verb failed, or found a difference. 2: the command line was not understood.\n") +
         section("SEE ALSO", whole ? pages + "\n" : ".BR " + plain(app.name()) + " (1)\n");
}

}  // namespace vireo::cli
