// Text as tokens, as a tokenizer.json of the byte-level kind says (GPT-2's and its relatives').
#ifndef VIREO_CONVERTER_CLI_TOKENIZER_H_
#define VIREO_CONVERTER_CLI_TOKENIZER_H_

#include <string>
#include <unordered_map>
#include <vector>

namespace vireo::cli {

// Byte-pair encoding (Sennrich 2016) over bytes, within the words of GPT-2's pattern. Special tokens are not looked for
// in the text, and none is added.
class Tokenizer {
 public:
  // Throws Failure for a file of another kind, with what it has that is not known.
  explicit Tokenizer(const std::string& path);

  // ASCII only: which other characters are letters takes tables that are not here. Throws Failure that names `where`
  // and the place of the first other byte.
  std::vector<int64_t> encode(const std::string& text, const std::string& where) const;

 private:
  std::vector<int64_t> encode_word(const std::string& word) const;

  std::unordered_map<std::string, int64_t> ids_;   // of pieces in the file's letters for bytes
  std::unordered_map<std::string, size_t> ranks_;  // of "left right"
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_TOKENIZER_H_
