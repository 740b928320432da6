#include "sdk/ops/regex/regex_import.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "sdk/ops/regex/nfa_import.h"

namespace vireo {
namespace {

using regex::Nfa;
using regex::State;

// What stands before a place: decides assertions together with the byte behind it.
enum Before : uint8_t { kNothing, kWord, kNewline, kOther };
constexpr int kEnd = 256;  // behind the last byte

Before before(int byte) {
  if (byte == '\n') return kNewline;
  return regex::is_word(static_cast<unsigned>(byte)) ? kWord : kOther;
}

uint8_t held(Before b, int byte) {
  const bool border = (b == kWord) != (byte != kEnd && regex::is_word(static_cast<unsigned>(byte)));
  return static_cast<uint8_t>((b == kNothing ? regex::kTextBegin : 0) | (byte == kEnd ? regex::kTextEnd : 0) |
                              (b == kNothing || b == kNewline ? regex::kLineBegin : 0) |
                              (byte == kEnd || byte == '\n' ? regex::kLineEnd : 0) |
                              (border ? regex::kWordBorder : regex::kNoWordBorder));
}

class Builder {
 public:
  explicit Builder(const Nfa& nfa) : nfa_(nfa), seen_(nfa.states.size(), 0) {}

  // False: too many states.
  bool build() {
    make_classes();
    add_set(reach({nfa_.first}, 0), kNothing);
    for (size_t s = 0; s < sets_.size(); ++s) {
      if (sets_.size() > kMostRegexStates) return false;
      for (const int byte : representatives_) next_.push_back(step(s, byte));
      accepts_.push_back(accepts(s));
    }
    return true;
  }

  RegexTable table() const {
    const size_t n = representatives_.size(), count = sets_.size();
    std::vector<size_t> part = merge();
    std::vector<size_t> first;  // a state of each part
    for (size_t s = 0; s < count; ++s) {
      if (part[s] == first.size()) first.push_back(s);
    }
    // Bytes that no state tells apart are one class.
    std::map<std::vector<size_t>, uint8_t> columns;
    std::vector<uint8_t> column_of(n);
    std::vector<size_t> kept;
    for (size_t c = 0; c < n; ++c) {
      std::vector<size_t> column;
      for (const size_t s : first) column.push_back(part[next_[s * n + c]]);
      const auto [it, fresh] = columns.emplace(std::move(column), static_cast<uint8_t>(columns.size()));
      if (fresh) kept.push_back(c);
      column_of[c] = it->second;
    }
    RegexTable t;
    for (const uint8_t c : classes_) t.classes.push_back(column_of[c]);
    for (const size_t s : first) {
      for (const size_t c : kept) t.next.push_back(static_cast<uint16_t>(part[next_[s * n + c]]));
      t.accepts.push_back(accepts_[s] ? 1 : 0);
    }
    return t;
  }

 private:
  using Set = std::vector<int>;

  // Bytes that no state of the automaton tells apart.
  void make_classes() {
    std::array<bool, 257> cut{};
    cut[0] = true;
    const auto range = [&](unsigned low, unsigned high) { cut[low] = cut[high + 1] = true; };
    for (const State& s : nfa_.states) {
      if (s.kind == State::kBytes) range(s.low, s.high);
      asserts_ = asserts_ || s.kind == State::kAssert;
    }
    for (unsigned b = 0; asserts_ && b < 256; ++b) {
      if (regex::is_word(b) || b == '\n') range(b, b);
    }
    for (unsigned b = 0; b < 256; ++b) {
      if (cut[b]) representatives_.push_back(static_cast<int>(b));
      classes_[b] = static_cast<uint8_t>(representatives_.size() - 1);
    }
  }

  // All that is reached without a byte. Assertions are passed where they hold, and stay in the set otherwise.
  Set reach(Set from, uint8_t holds) {
    ++mark_;
    Set out;
    while (!from.empty()) {
      const int s = from.back();
      from.pop_back();
      if (s < 0 || seen_[static_cast<size_t>(s)] == mark_) continue;
      seen_[static_cast<size_t>(s)] = mark_;
      const State& state = nfa_.states[static_cast<size_t>(s)];
      if (state.kind == State::kFork) {
        from.push_back(state.next);
        from.push_back(state.other);
        continue;
      }
      out.push_back(s);
      if (state.kind == State::kAssert && (state.assertion & holds) != 0) from.push_back(state.next);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  bool waits(const Set& set) const {
    return asserts_ && std::any_of(set.begin(), set.end(),
                                   [&](int s) { return nfa_.states[static_cast<size_t>(s)].kind == State::kAssert; });
  }
  uint16_t add_set(Set set, Before b) {
    if (!waits(set)) b = kOther;
    const auto [it, fresh] = known_.emplace(std::make_pair(set, b), sets_.size());
    if (fresh) sets_.emplace_back(std::move(set), b);
    // Above the limit the numbers are not used.
    return static_cast<uint16_t>(std::min(it->second, kMostRegexStates));
  }
  uint16_t step(size_t s, int byte) {
    const auto& [set, b] = sets_[s];
    const Set from = waits(set) ? reach(set, held(b, byte)) : set;
    Set to;
    for (const int k : from) {
      const State& state = nfa_.states[static_cast<size_t>(k)];
      if (state.kind == State::kBytes && state.low <= byte && byte <= state.high) to.push_back(state.next);
    }
    return add_set(reach(std::move(to), 0), before(byte));
  }
  bool accepts(size_t s) {
    const auto& [set, b] = sets_[s];
    for (const int k : reach(set, held(b, kEnd))) {
      if (nfa_.states[static_cast<size_t>(k)].kind == State::kMatch) return true;
    }
    return false;
  }

  // The part of each state: states of one part cannot be told apart by any text. Part 0 is the first state's.
  std::vector<size_t> merge() const {
    const size_t n = representatives_.size(), count = sets_.size();
    std::vector<size_t> part(count);
    for (size_t s = 0; s < count; ++s) part[s] = accepts_[s] == accepts_[0] ? 0 : 1;
    for (size_t parts = 0;;) {
      std::map<std::vector<size_t>, size_t> found;
      std::vector<size_t> finer(count);
      for (size_t s = 0; s < count; ++s) {
        std::vector<size_t> key = {part[s]};
        for (size_t c = 0; c < n; ++c) key.push_back(part[next_[s * n + c]]);
        finer[s] = found.emplace(std::move(key), found.size()).first->second;
      }
      part = std::move(finer);
      if (found.size() == parts) return part;
      parts = found.size();
    }
  }

  const Nfa& nfa_;
  std::vector<unsigned> seen_;
  unsigned mark_ = 0;
  bool asserts_ = false;
  std::array<uint8_t, 256> classes_{};
  std::vector<int> representatives_;  // a byte of each class
  std::map<std::pair<Set, Before>, size_t> known_;
  std::vector<std::pair<Set, Before>> sets_;
  std::vector<uint16_t> next_;
  std::vector<bool> accepts_;
};

}  // namespace

RegexResult compile_regex(const std::string& pattern, RegexTable* out, std::string* message) {
  Nfa nfa;
  const RegexResult result = regex::parse(pattern, &nfa, message);
  if (result != RegexResult::kOk) return result;
  Builder builder(nfa);
  if (!builder.build()) {
    *message = "its automaton has more than " + std::to_string(kMostRegexStates) + " states";
    return RegexResult::kUnsupported;
  }
  *out = builder.table();
  return RegexResult::kOk;
}

}  // namespace vireo
