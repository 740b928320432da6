#include "c_api/cli/command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "c_api/cli/columns.h"

namespace vireo::cli::command_test {
namespace {

// A program with one verb, "draw", whose values the test reads.
struct Program {
  CommandLine line{"paint", "Paints.", "paint 1.2"};
  std::string shape, style;
  std::vector<std::string> colors, inputs;
  int width = 1, mode = -1;
  bool json = false, ran = false;
  Option width_option;

  Program() {
    Command draw = line.root().add_verb("draw", "Draw a shape");
    draw.add_option("shape", shape, "what to draw").required();
    width_option = draw.add_option("-w,--width", width, "of the pen").range(1, 9).show_default();
    draw.add_repeated("--color", colors, "of the lines");
    draw.add_repeated("-i,--input", inputs, "NAME=FILE: to draw over");
    draw.add_choice(
        "--mode", {{"fast", 0}, {"fine", 7}}, [this](int choice) { mode = choice; }, "how");
    draw.add_flag("--style", style, "of the pen").needs(width_option);
    draw.add_flag("--json", json, "print as JSON");
    draw.callback([this] { ran = true; });
  }

  std::optional<std::string> parse(std::vector<std::string> words) {
    words.insert(words.begin(), "paint");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return line.parse(static_cast<int>(argv.size()), argv.data());
  }

  std::string fault(const std::vector<std::string>& words, const std::string& verb = "draw") {
    try {
      (void)parse(words);
    } catch (const UsageError& error) {
      EXPECT_EQ(error.verb(), verb);
      EXPECT_FALSE(ran);
      return error.what();
    }
    return "none";
  }
};

TEST(Command, ValuesReachTheirVariables) {
  Program p;
  EXPECT_FALSE(p.parse({"draw", "--color", "red", "line", "--color", "blue", "-w", "3", "--json", "--style=dashed"}));
  EXPECT_TRUE(p.ran && p.json && p.width_option.given());
  EXPECT_EQ(p.shape, "line");  // an option that repeats takes one value each time
  EXPECT_EQ(p.colors, (std::vector<std::string>{"red", "blue"}));
  EXPECT_EQ(p.width, 3);
  EXPECT_EQ(p.style, "dashed");
  EXPECT_EQ(p.mode, -1);
}

TEST(Command, AChoiceIsANameInAnyCaseOrItsNumber) {
  for (const char* word : {"fine", "FINE", "7"}) {
    Program p;
    EXPECT_FALSE(p.parse({"draw", "line", "--mode", word}));
    EXPECT_EQ(p.mode, 7) << word;
  }
  EXPECT_NE(Program().fault({"draw", "line", "--mode", "8"}), "none");
}

// Versions of the library word their sentences differently, so tests look for what each has to name.
bool names(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(Command, FaultsNameTheVerbAndRunNothing) {
  EXPECT_TRUE(names(Program().fault({"draw"}), "shape"));
  EXPECT_TRUE(names(Program().fault({"draw", "line", "--width", "10"}), "--width"));
  EXPECT_TRUE(names(Program().fault({"draw", "line", "--style"}), "--width"));  // which it needs
  EXPECT_EQ(Program().fault({}, ""), "a verb is missing");
}

TEST(Command, AnOptionIsNoValueOfAnother) {
  for (const char* word : {"--json", "--style=dashed", "-w", "--mode"}) {
    const std::string fault = Program().fault({"draw", "line", "--color", word});
    EXPECT_TRUE(names(fault, "--color") && names(fault, "no value before")) << fault;
  }
  Program p;
  EXPECT_FALSE(p.parse({"draw", "line", "--color", "--blue"}));  // none of its options
  EXPECT_EQ(p.colors, (std::vector<std::string>{"--blue"}));
}

TEST(Command, CountsAreNotNegative) {
  uint64_t count = 0;
  double length = 0;
  const auto fault = [&](const std::vector<std::string>& words) {
    Program p;
    Command draw = p.line.root().verbs()[0];
    draw.add_option("--count", count, "of the lines");
    draw.add_option("--length", length, "of the lines").non_negative();
    draw.add_option("--weight", length, "of the lines").positive();
    return p.fault(words);
  };
  EXPECT_TRUE(names(fault({"draw", "line", "--count", "-1"}), "-1 is negative"));
  EXPECT_EQ(fault({"draw", "line", "--count", "18446744073709551615", "--length", "0.5"}), "none");
  EXPECT_EQ(count, UINT64_MAX);
  for (const char* option : {"--length", "--weight"}) {
    const std::string text = fault({"draw", "line", option, "-0.5"});
    EXPECT_TRUE(names(text, option) && names(text, "-0.5") && text.size() < 80) << text;
    EXPECT_TRUE(names(fault({"draw", "line", option, "nan"}), "nan is no number"));
  }
}

TEST(Command, FaultsSayWhatWasMeant) {
  const auto hint = [](const std::vector<std::string>& words) -> std::string {
    try {
      (void)Program().parse(words);
    } catch (const UsageError& error) {
      return error.hint();
    }
    return "none";
  };
  EXPECT_EQ(hint({"drwa", "line"}), "did you mean draw? ");
  EXPECT_EQ(hint({"draw", "line", "--witdh", "3"}), "did you mean --width? ");
  EXPECT_EQ(hint({"draw", "line", "--colr=red"}), "did you mean --color? ");
  EXPECT_EQ(hint({"draw", "line", "--frobnicate"}), "");
  EXPECT_EQ(hint({"style", "line"}), "did you mean draw --style? ");
  EXPECT_EQ(hint({"frobnicate"}), "");
  EXPECT_EQ(hint({"draw", "line", "paper.png"}), "did you mean --input paper.png? ");
  EXPECT_EQ(hint({"paper.png"}), "a verb comes first: paint VERB paper.png; ");
}

TEST(Command, AnUnknownVerbIsNoMatterOfHelp) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"drwa", "--help"}, {"--help", "drwa"}, {"drwa"}}) {
    Program p;
    EXPECT_THROW((void)p.parse(words), UnknownVerb);
    EXPECT_FALSE(p.ran);
  }
}

TEST(Command, HelpIsNoWiderThanItSays) {
  Program p;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "words ";
  bool flag = false;
  Command verb = p.line.root().add_verb("talk", text);
  verb.add_flag("--a-very-long-name-of-an-option-which-leaves-no-room", flag, text);
  std::istringstream lines(verb.help() + p.line.root().help());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), kHelpColumns) << line;
}

TEST(Command, HelpListsGroupsLast) {
  Program p;
  bool rare = false, plain = false;
  Command draw = p.line.root().verbs()[0];
  draw.add_flag("--rare", rare, "seldom").group("For old paper");
  draw.add_flag("--plain", plain, "often");
  const std::string help = draw.help();
  const size_t heading = help.find("\nFor old paper:\n"), option = help.find("--rare");
  EXPECT_LT(help.find("--plain"), heading);
  EXPECT_LT(heading, option);
  EXPECT_NE(option, std::string::npos);
  EXPECT_EQ(draw.options().back().long_names(), (std::vector<std::string>{"rare"}));
}

TEST(Command, OffersWhatAValueMayBe) {
  Program p;
  const Command draw = p.line.root().verbs()[0];
  EXPECT_EQ(draw.find_option("--mode").offers().values, (std::vector<std::string>{"fast", "fine"}));
  EXPECT_TRUE(draw.find_option("--width").offers().values.empty());
  std::string path;
  Command copy = draw;
  const Option file = copy.add_option("--paper", path, "to draw on").file({".svg", ".png"});
  EXPECT_TRUE(file.offers().file);
  EXPECT_EQ(copy.find_option("--paper").offers().endings, (std::vector<std::string>{".svg", ".png"}));
}

TEST(Command, HelpAndVersionAreReturnedAndRunNothing) {
  Program p;
  EXPECT_EQ(p.parse({"--version"}), "paint 1.2\n");
  const std::string help = p.parse({"draw", "--help"}).value_or("");
  EXPECT_TRUE(names(help, "--width") && names(help, "of the pen") && names(help, "1 - 9")) << help;
  EXPECT_FALSE(p.ran);
}

TEST(Command, ListsWhatWasAdded) {
  Program p;
  const std::vector<Command> verbs = p.line.root().verbs();
  ASSERT_EQ(verbs.size(), 1u);
  EXPECT_EQ(verbs[0].name(), "draw");
  const Option width = verbs[0].find_option("--width"), json = verbs[0].find_option("--json");
  ASSERT_TRUE(width && json);
  EXPECT_EQ(width.short_names(), std::vector<std::string>{"w"});
  EXPECT_TRUE(width.takes_value());
  EXPECT_FALSE(json.takes_value());
  EXPECT_FALSE(verbs[0].find_option("--height"));
  std::vector<std::string> listed;
  for (const Option& option : verbs[0].options())
    for (const std::string& name : option.long_names()) listed.push_back(name);
  for (const char* name : {"help", "width", "color", "mode", "style", "json"})
    EXPECT_EQ(std::count(listed.begin(), listed.end(), name), 1) << name;
}

}  // namespace
}  // namespace vireo::cli::command_test
