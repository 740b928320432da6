// What someone meant who wrote a name that is not known.
#ifndef VIREO_C_API_CLI_NEAREST_H_
#define VIREO_C_API_CLI_NEAREST_H_

#include <string>
#include <vector>

namespace vireo::cli {

// The name in `known` that `word` is most like: one that it begins, or one that a few slips of the keyboard make it
// of. "" where none is like it.
std::string nearest(const std::string& word, const std::vector<std::string>& known);

// For help texts: "did you mean NAME? ", or "" where no name is like `word`.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_NEAREST_H_
