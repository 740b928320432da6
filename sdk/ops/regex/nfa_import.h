// The automaton between pattern and table. Private to this folder.
#ifndef VIREO_SDK_OPS_REGEX_NFA_IMPORT_H_
#define VIREO_SDK_OPS_REGEX_NFA_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/ops/regex/regex_import.h"

namespace vireo::regex {

// What holds between two bytes.
enum Assertion : uint8_t {
  kTextBegin = 1,
  kTextEnd = 2,
  kLineBegin = 4,
  kLineEnd = 8,
  kWordBorder = 16,
  kNoWordBorder = 32,
};

struct State {
  enum Kind : uint8_t { kFork, kBytes, kAssert, kMatch } kind = kFork;
  uint8_t low = 0, high = 0;  // kBytes
  uint8_t assertion = 0;      // kAssert
  int next = -1, other = -1;  // kFork: both, where they are; else `next`
};

struct Nfa {
  std::vector<State> states;
  int first = -1;
};

constexpr size_t kMostNfaStates = 40000;

// regex_parse.cc
RegexResult parse(const std::string& pattern, Nfa* out, std::string* message);

inline bool is_word(unsigned b) {
  return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == '_';
}

}  // namespace vireo::regex

#endif  // VIREO_SDK_OPS_REGEX_NFA_IMPORT_H_
