// A pattern in RE2's syntax as an automaton over bytes. Host only.
//
// Three steps: the parser writes a nondeterministic automaton over UTF-8 bytes (Thompson 1968), sets of its states are
// the deterministic one's (assertions such as \b are decided when the next byte is known), and equal states become one
// (Moore 1956). What was weighed: to keep the nondeterministic automaton and walk all its states at once on the device.
// It is smaller where a pattern counts (`.*x.{20}` has 2^20 states here, and is refused), but takes scratch and time
// with the pattern's size for each byte; patterns in models are short and are asked often.
#ifndef VIREO_SDK_OPS_REGEX_REGEX_IMPORT_H_
#define VIREO_SDK_OPS_REGEX_REGEX_IMPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vireo {

constexpr size_t kMostRegexStates = 8192;

struct RegexTable {  // as attrs::RegexFullMatch
  std::vector<uint8_t> classes, accepts;
  std::vector<uint16_t> next;
};

enum class RegexResult : uint8_t { kOk, kInvalid, kUnsupported };

// `message`: what is wrong with the pattern, or cannot be said.
RegexResult compile_regex(const std::string& pattern, RegexTable* out, std::string* message);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_REGEX_REGEX_IMPORT_H_
