// RE2's syntax (github.com/google/re2/wiki/Syntax) to a tree, the tree to states over UTF-8 bytes. Greedy or not is the
// same for a match of the whole text. Refused by name: \p and \P (classes of Unicode, whose tables would be larger than
// all else here). Invalid in RE2, and so here: references back, looking ahead and behind, possessive repeats.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sdk/ops/regex/nfa_import.h"
#include "sdk/ops/shared/text.h"
#include "sdk/ops/text/case_mapping.h"

namespace vireo::regex {
namespace {

using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;  // both ends inside
constexpr uint32_t kLast = 0x10FFFF;

struct Tree {
  enum Kind : uint8_t { kEmpty, kSet, kByte, kAssert, kSequence, kChoice, kRepeat } kind = kEmpty;
  Ranges set;
  uint8_t assertion = 0;
  int least = 0, most = -1;  // kRepeat; -1: any number
  std::vector<Tree> parts;
};

struct Flags {
  bool fold = false, many_lines = false, dot_all = false;
};

Ranges sorted(Ranges r) {
  std::sort(r.begin(), r.end());
  Ranges out;
  for (const auto& [low, high] : r) {
    if (!out.empty() && low <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, high);
    } else {
      out.emplace_back(low, high);
    }
  }
  return out;
}

Ranges complement(const Ranges& r) {
  Ranges out;
  uint32_t from = 0;
  for (const auto& [low, high] : sorted(r)) {
    if (low > from) out.emplace_back(from, low - 1);
    from = high + 1;
  }
  if (from <= kLast) out.emplace_back(from, kLast);
  return out;
}

// Code points that differ in case alone, by what they have in common.
const std::map<uint32_t, std::vector<uint32_t>>& orbits() {
  static const auto* const made = [] {
    std::set<uint32_t> cased;
    const auto take = [&](const CaseRun& r) {
      for (uint32_t k = 0; k < r.count; ++k) {
        cased.insert(r.first + k * r.step);
        cased.insert(r.first + k * r.step + static_cast<uint32_t>(r.distance));
      }
    };
    for (const CaseRun& r : kUpperRuns) take(r);
    for (const CaseRun& r : kLowerRuns) take(r);
    auto* map = new std::map<uint32_t, std::vector<uint32_t>>;
    for (const uint32_t c : cased) (*map)[case_key(c)].push_back(c);
    return map;
  }();
  return *made;
}

Ranges folded(const Ranges& r) {
  const Ranges set = sorted(r);
  const auto holds = [&](uint32_t c) {
    return std::any_of(set.begin(), set.end(), [&](const auto& s) { return s.first <= c && c <= s.second; });
  };
  Ranges out = set;
  for (const auto& [key, members] : orbits()) {
    if (!std::any_of(members.begin(), members.end(), holds)) continue;
    for (const uint32_t c : members) out.emplace_back(c, c);
  }
  return sorted(std::move(out));
}

struct NamedClass {
  const char* name;
  Ranges set;
};

const std::vector<NamedClass>& named_classes() {
  static const auto* const kClasses = new std::vector<NamedClass>{
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 127}}},
      {"blank", {{9, 9}, {32, 32}}},
      {"cntrl", {{0, 31}, {127, 127}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{33, 126}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{32, 126}}},
      {"punct", {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
      {"space", {{9, 13}, {32, 32}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  return *kClasses;
}

// \d, \s, \w and their opposites; false: another letter. Case is folded before the opposite is taken: the sign of
// Kelvin is no \W where it stands for k.
bool perl_class(char letter, bool fold, Ranges* out) {
  switch (letter | 0x20) {
    case 'd':
      *out = {{'0', '9'}};
      break;
    case 's':
      *out = {{9, 10}, {12, 13}, {32, 32}};
      break;
    case 'w':
      *out = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      break;
    default:
      return false;
  }
  if (fold) *out = folded(*out);
  if (letter < 'a') *out = complement(*out);
  return true;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  RegexResult run(Tree* out, std::string* message) {
    for (size_t i = 0; i < text_.size();) {
      const CodePoint c = read_code_point(text_.data() + i, text_.size() - i);
      if (!c.good()) fail("it is not UTF-8");
      i += c.size;
    }
    if (result_ == RegexResult::kOk) *out = choice(0);
    if (result_ == RegexResult::kOk && at_ < text_.size()) fail("a ) without (");
    *message = message_;
    return result_;
  }

 private:
  bool good() const { return result_ == RegexResult::kOk; }
  bool more() const { return good() && at_ < text_.size(); }
  bool next_is(const char* what) const { return text_.compare(at_, std::char_traits<char>::length(what), what) == 0; }
  bool take(const char* what) {
    if (!good() || !next_is(what)) return false;
    at_ += std::char_traits<char>::length(what);
    return true;
  }
  uint32_t take_code_point() {
    const CodePoint c = read_code_point(text_.data() + at_, text_.size() - at_);
    at_ += c.size;
    return c.value;
  }
  void fail(const std::string& what, RegexResult result = RegexResult::kInvalid) {
    if (!good()) return;
    result_ = result;
    message_ = what;
  }

  static Tree set_of(Ranges r) {
    Tree t;
    t.kind = Tree::kSet;
    t.set = sorted(std::move(r));
    return t;
  }
  Tree literal(uint32_t c) const { return set_of(flags_.fold ? folded({{c, c}}) : Ranges{{c, c}}); }
  static Tree assertion(uint8_t which) {
    Tree t;
    t.kind = Tree::kAssert;
    t.assertion = which;
    return t;
  }

  Tree choice(int depth) {
    Tree t;
    t.kind = Tree::kChoice;
    if (depth > 200) fail("its groups are nested more than 200 deep", RegexResult::kUnsupported);
    const Flags kept = flags_;
    t.parts.push_back(sequence(depth));
    while (take("|")) t.parts.push_back(sequence(depth));
    flags_ = kept;
    return t;
  }

  Tree sequence(int depth) {
    Tree t;
    t.kind = Tree::kSequence;
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      const size_t begin = at_;
      const size_t before = t.parts.size();
      atom(depth, &t.parts);
      int least = 0, most = 0;
      const bool repeats = repeat(&least, &most);
      if (!repeats || !good()) continue;
      if (t.parts.size() == before) fail("nothing to repeat at " + text_.substr(begin, 10));
      if (!good()) return t;
      Tree r;
      r.kind = Tree::kRepeat;
      r.least = least;
      r.most = most;
      r.parts.push_back(std::move(t.parts.back()));
      t.parts.back() = std::move(r);
      const size_t behind = at_;
      if (repeat(&least, &most)) fail("a repeat of a repeat: " + text_.substr(begin, at_ - begin));
      at_ = behind;
    }
    return t;
  }

  bool number(int* out) {
    int value = -1;
    while (more() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = std::min((value < 0 ? 0 : value) * 10 + (text_[at_] - '0'), 1000000);
      ++at_;
    }
    *out = value;
    return value >= 0;
  }

  // *, +, ? or {n,m}, with or without ? behind it.
  bool repeat(int* least, int* most) {
    const size_t begin = at_;
    if (take("*")) {
      *least = 0, *most = -1;
    } else if (take("+")) {
      *least = 1, *most = -1;
    } else if (take("?")) {
      *least = 0, *most = 1;
    } else if (take("{")) {
      bool right = number(least);
      *most = *least;
      if (right && take(",")) {
        if (!number(most)) *most = -1;
      }
      right = right && take("}");
      if (!right) {  // then it means itself
        at_ = begin;
        return false;
      }
      if (*least > 1000 || *most > 1000 || (*most >= 0 && *most < *least))
        fail("the repeat " + text_.substr(begin, at_ - begin));
    } else {
      return false;
    }
    take("?");
    return true;
  }

  void atom(int depth, std::vector<Tree>* out) {
    if (take("(")) return group(depth, out);
    if (take("[")) return out->push_back(set_of(bracket()));
    if (take(".")) return out->push_back(set_of(flags_.dot_all ? Ranges{{0, kLast}} : complement({{'\n', '\n'}})));
    if (take("^")) return out->push_back(assertion(flags_.many_lines ? kLineBegin : kTextBegin));
    if (take("$")) return out->push_back(assertion(flags_.many_lines ? kLineEnd : kTextEnd));
    if (take("\\Q")) {
      while (more() && !take("\\E")) out->push_back(literal(take_code_point()));
      return;
    }
    if (next_is("\\")) return escape(out);
    if (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?')
      return fail("nothing to repeat at " + text_.substr(at_, 10));
    out->push_back(literal(take_code_point()));
  }

  void group(int depth, std::vector<Tree>* out) {
    const Flags kept = flags_;
    if (take("?")) {
      if (take("P<") || (next_is("<") && !next_is("<=") && !next_is("<!") && take("<"))) {
        const size_t end = text_.find('>', at_);
        const std::string name = end == std::string::npos ? "" : text_.substr(at_, end - at_);
        const bool right = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
          return is_word(static_cast<uint8_t>(c)) || static_cast<uint8_t>(c) >= 0x80;
        });
        if (!right || !names_.insert(name).second) return fail("the name of a group: " + name);
        at_ = end + 1;
      } else {
        const size_t begin = at_;
        bool on = true, any = false;
        for (; more() && text_[at_] != ':' && text_[at_] != ')'; ++at_) {
          const char c = text_[at_];
          if (c == '-' && on) {
            on = any = false;
            continue;
          }
          if (c != 'i' && c != 'm' && c != 's' && c != 'U') return fail("(?" + text_.substr(begin, at_ + 1 - begin));
          any = true;
          if (c == 'i') flags_.fold = on;
          if (c == 'm') flags_.many_lines = on;
          if (c == 's') flags_.dot_all = on;
        }
        if (!on && !any) return fail("flags without a flag");
        if (take(")")) {
          if (!any) fail("(?)");
          return;  // to the end of the group around
        }
        if (!take(":")) return fail("a ( without )");
      }
    }
    out->push_back(choice(depth + 1));
    flags_ = kept;
    if (!take(")")) fail("a ( without )");
  }

  // A character behind a backslash that is already taken.
  bool escaped(uint32_t* out) {
    if (!more()) {
      fail("it ends with \\");
      return false;
    }
    const size_t begin = at_;
    const uint32_t c = take_code_point();
    const auto octal = [&] { return more() && text_[at_] >= '0' && text_[at_] <= '7'; };
    switch (c) {
      case 'a':
        *out = 7;
        return true;
      case 'f':
        *out = 12;
        return true;
      case 'n':
        *out = 10;
        return true;
      case 'r':
        *out = 13;
        return true;
      case 't':
        *out = 9;
        return true;
      case 'v':
        *out = 11;
        return true;
      case 'x':
        return hex(out);
      default:
        break;
    }
    if (c >= '0' && c <= '7' && (c == '0' || octal())) {
      *out = c - '0';
      for (int k = 0; k < 2 && octal(); ++k) *out = *out * 8 + static_cast<uint32_t>(text_[at_++] - '0');
      return true;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c >= 0x80 || letter) {
      fail("the escape \\" + text_.substr(begin, at_ - begin));
      return false;
    }
    *out = c;
    return true;
  }

  bool hex(uint32_t* out) {
    const bool braces = take("{");
    uint32_t value = 0;
    int digits = 0;
    for (; more() && (braces || digits < 2); ++digits, ++at_) {
      const char c = text_[at_];
      const char low = static_cast<char>(c | 0x20);
      const int digit = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
      if (digit < 0) break;
      value = value * 16 + static_cast<uint32_t>(digit);
      if (value > kLast) break;
    }
    if (value > kLast || (braces ? digits == 0 || !take("}") : digits != 2)) fail("the escape \\x");
    *out = value;
    return good();
  }

  void escape(std::vector<Tree>* out) {
    ++at_;
    const char c = more() ? text_[at_] : '\0';
    Ranges set;
    if (perl_class(c, flags_.fold, &set)) {
      ++at_;
      return out->push_back(set_of(set));
    }
    constexpr std::pair<char, uint8_t> kAssertions[] = {
        {'A', kTextBegin}, {'z', kTextEnd}, {'b', kWordBorder}, {'B', kNoWordBorder}};
    for (const auto& [letter, which] : kAssertions) {
      if (c != letter) continue;
      ++at_;
      return out->push_back(assertion(which));
    }
    if (c == 'C') {
      ++at_;
      Tree t;
      t.kind = Tree::kByte;
      return out->push_back(std::move(t));
    }
    if (c == 'p' || c == 'P') return refuse_unicode_class();
    uint32_t value = 0;
    if (escaped(&value)) out->push_back(literal(value));
  }

  void refuse_unicode_class() {
    fail("the class of Unicode \\" + text_.substr(at_, text_[at_ + 1] == '{' ? text_.find('}', at_) - at_ + 1 : 2),
         RegexResult::kUnsupported);
  }

  // Behind its [.
  Ranges bracket() {
    Ranges set;
    const bool inverse = take("^");
    for (bool first = true; more() && (first || text_[at_] != ']'); first = false) {
      if (take("[:")) {
        const bool other = take("^");
        const size_t end = text_.find(":]", at_);
        const std::string name = end == std::string::npos ? "" : text_.substr(at_, end - at_);
        const auto& all = named_classes();
        const auto it = std::find_if(all.begin(), all.end(), [&](const NamedClass& n) { return name == n.name; });
        if (it == all.end()) {
          fail("the class [:" + name + ":]");
          return {};
        }
        at_ = end + 2;
        const Ranges named = other ? complement(flags_.fold ? folded(it->set) : it->set) : it->set;
        set.insert(set.end(), named.begin(), named.end());
        continue;
      }
      Ranges perl;
      if (next_is("\\") && at_ + 1 < text_.size()) {
        if (perl_class(text_[at_ + 1], flags_.fold, &perl)) {
          at_ += 2;
          set.insert(set.end(), perl.begin(), perl.end());
          continue;
        }
        if ((text_[at_ + 1] | 0x20) == 'p') {
          ++at_;
          refuse_unicode_class();
          return {};
        }
      }
      uint32_t low = 0;
      if (!one(&low)) return {};
      uint32_t high = low;
      if (next_is("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        if (!one(&high)) return {};
        if (high < low) fail("a range that ends before it begins");
      }
      set.emplace_back(low, high);
    }
    if (!take("]")) fail("a [ without ]");
    if (flags_.fold) set = folded(set);
    return inverse ? complement(set) : sorted(std::move(set));
  }
  bool one(uint32_t* out) {
    if (take("\\")) return escaped(out);
    if (!more()) {
      fail("a [ without ]");
      return false;
    }
    *out = take_code_point();
    return true;
  }

  const std::string& text_;
  size_t at_ = 0;
  Flags flags_;
  std::set<std::string> names_;
  RegexResult result_ = RegexResult::kOk;
  std::string message_;
};

// Writes states from the end to the beginning: `behind` is where each goes on.
class Writer {
 public:
  explicit Writer(Nfa* nfa) : nfa_(*nfa) {}
  bool full() const { return nfa_.states.size() > kMostNfaStates; }

  int add(State s) {
    nfa_.states.push_back(s);
    return static_cast<int>(nfa_.states.size()) - 1;
  }
  int write(const Tree& t, int behind) {
    if (full()) return behind;
    switch (t.kind) {
      case Tree::kEmpty:
        return behind;
      case Tree::kSet:
        return write_set(t.set, behind);
      case Tree::kByte:
        return bytes(0, 255, behind);
      case Tree::kAssert:
        return add({State::kAssert, 0, 0, t.assertion, behind, -1});
      case Tree::kSequence:
        for (size_t k = t.parts.size(); k-- > 0;) behind = write(t.parts[k], behind);
        return behind;
      case Tree::kChoice: {
        int at = write(t.parts.back(), behind);
        for (size_t k = t.parts.size() - 1; k-- > 0;) at = fork(write(t.parts[k], behind), at);
        return at;
      }
      case Tree::kRepeat:
        break;
    }
    int at = behind;
    if (t.most < 0) {
      at = fork(-1, behind);
      const int loop = write(t.parts[0], at);
      nfa_.states[static_cast<size_t>(at)].next = loop;
    }
    for (int k = t.least; k < t.most; ++k) at = fork(write(t.parts[0], at), behind);
    for (int k = 0; k < t.least; ++k) at = write(t.parts[0], at);
    return at;
  }

 private:
  int fork(int a, int b) { return add({State::kFork, 0, 0, 0, a, b}); }
  int bytes(uint32_t low, uint32_t high, int behind) {
    return add({State::kBytes, static_cast<uint8_t>(low), static_cast<uint8_t>(high), 0, behind, -1});
  }
  int write_set(const Ranges& set, int behind) {
    int at = -1;
    const auto choose = [&](int other) { at = at < 0 ? other : fork(other, at); };
    constexpr std::pair<uint32_t, uint32_t> kLengths[] = {
        {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, kLast}};
    for (const auto& [low, high] : set) {
      for (const auto& [first, last] : kLengths) {
        if (low <= last && high >= first) write_range(std::max(low, first), std::min(high, last), behind, choose);
      }
    }
    return at < 0 ? fork(-1, -1) : at;  // the empty set matches nothing
  }
  // A range of code points that take equally many bytes: cut until each byte runs through a range of its own.
  template <class F>
  void write_range(uint32_t low, uint32_t high, int behind, const F& choose) {
    const uint32_t size = code_point_size(low);
    for (uint32_t tail = 1; tail < size; ++tail) {
      const uint32_t mask = (1u << (6 * tail)) - 1;
      if ((low & ~mask) == (high & ~mask)) continue;
      if ((low & mask) != 0) {
        write_range(low, low | mask, behind, choose);
        return write_range((low | mask) + 1, high, behind, choose);
      }
      if ((high & mask) != mask) {
        write_range(low, (high & ~mask) - 1, behind, choose);
        return write_range(high & ~mask, high, behind, choose);
      }
    }
    char a[4], b[4];
    write_code_point(low, a);
    write_code_point(high, b);
    int at = behind;
    for (uint32_t k = size; k-- > 0;) at = bytes(static_cast<uint8_t>(a[k]), static_cast<uint8_t>(b[k]), at);
    choose(at);
  }

  Nfa& nfa_;
};

}  // namespace

RegexResult parse(const std::string& pattern, Nfa* out, std::string* message) {
  Tree tree;
  const RegexResult result = Parser(pattern).run(&tree, message);
  if (result != RegexResult::kOk) return result;
  Writer writer(out);
  out->first = writer.write(tree, writer.add({State::kMatch, 0, 0, 0, -1, -1}));
  if (!writer.full()) return RegexResult::kOk;
  *message = "its repeats written out have more than " + std::to_string(kMostNfaStates) + " states";
  return RegexResult::kUnsupported;
}

}  // namespace vireo::regex
