#include "converter/cli/tokenizer.h"

#include <ctype.h>

#include <algorithm>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "sdk/json/json.h"

namespace vireo::cli {
namespace {

constexpr char kHelp[] = "give the tokens themselves in an .npz: --data TOKENS.npz --window N --input NAME=KEY";

// The letter that stands for a byte in the file, as UTF-8: printable ones for themselves, the others from U+0100 on.
std::string letter_of(unsigned char byte) {
  const auto printable = [](unsigned b) { return (b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174; };
  unsigned code = byte;
  if (!printable(byte)) {
    code = 256;
    for (unsigned b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 128) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

// Where the word that begins at `at` ends:
// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t word_end(const std::string& text, size_t at) {
  const auto is = [&](size_t i, int (*kind)(int)) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  const auto other = [](int c) { return isspace(c) == 0 && isalnum(c) == 0 ? 1 : 0; };
  if (text[at] == '\'') {
    for (const char* tail : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      const size_t length = std::char_traits<char>::length(tail);
      if (text.compare(at + 1, length, tail) == 0) return at + 1 + length;
    }
  }
  const size_t first = text[at] == ' ' ? at + 1 : at;
  for (int (*kind)(int) :
       {static_cast<int (*)(int)>(isalpha), static_cast<int (*)(int)>(isdigit), static_cast<int (*)(int)>(other)}) {
    size_t end = first;
    while (is(end, kind)) ++end;
    if (end > first) return end;
  }
  size_t end = at;
  while (is(end, isspace)) ++end;
  // The last space before a word is the word's own, if there are several.
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

}  // namespace

Tokenizer::Tokenizer(const std::string& path) {
  const Json json = parse_json(read_file(path));
  const auto fail = [&](const std::string& what) {
    throw Failure(path + " " + what, kHelp, {"failed", path, "", "", "", ""});
  };
  const Json* const model = json.find("model");
  if (model == nullptr || model->value("type", "") != "BPE") fail("is no tokenizer.json with a model of type BPE");
  const Json* const before = json.find("pre_tokenizer");
  if (before == nullptr || !before->is_object() || before->value("type", "") != "ByteLevel" ||
      !before->value("use_regex", true) || before->value("add_prefix_space", true))
    fail("has a pre_tokenizer that is not known: ByteLevel without a prefix space is");
  if (const Json* const rule = json.find("normalizer"); rule != nullptr && !rule->is_null())
    fail("has a normalizer, which is not known");
  if (const Json* const rule = json.find("post_processor");
      rule != nullptr && !rule->is_null() && rule->value("type", "") != "ByteLevel")
    fail("has a post_processor that is not known");
  const Json *const words = model->find("vocab"), *const merges = model->find("merges");
  if (words == nullptr || !words->is_object() || merges == nullptr || !merges->is_array())
    fail("has no vocab or merges");
  for (const auto& [piece, id] : words->items()) ids_[piece] = id.get<int64_t>();
  for (const Json& merge : *merges) {
    if (!merge.is_string() && merge.size() != 2) fail("has a merge of other than two pieces");
    const std::string pair = merge.is_string()
                                 ? merge.get<std::string>()
                                 : merge[size_t{0}].get<std::string>() + " " + merge[size_t{1}].get<std::string>();
    ranks_.emplace(pair, ranks_.size());
  }
}

std::vector<int64_t> Tokenizer::encode(const std::string& text, const std::string& where) const {
  const auto strange = std::find_if(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
  if (strange != text.end()) {
    throw Failure(where + " has a character beyond ASCII at byte " + std::to_string(strange - text.begin()) +
                      ", and the tokenizer here reads ASCII",
                  kHelp, {"failed", where, "", "", "", ""});
  }
  std::unordered_map<std::string, std::vector<int64_t>> known;
  std::vector<int64_t> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    const std::string word = text.substr(at, end - at);
    auto found = known.find(word);
    if (found == known.end()) found = known.emplace(word, encode_word(word)).first;
    out.insert(out.end(), found->second.begin(), found->second.end());
    at = end;
  }
  return out;
}

std::vector<int64_t> Tokenizer::encode_word(const std::string& word) const {
  std::vector<std::string> parts;
  for (const char c : word) parts.push_back(letter_of(static_cast<unsigned char>(c)));
  while (parts.size() > 1) {
    size_t best = ranks_.size(), at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = ranks_.find(parts[i] + " " + parts[i + 1]);
      if (rank != ranks_.end() && rank->second < best) best = rank->second, at = i;
    }
    if (best == ranks_.size()) break;
    const std::string left = parts[at], right = parts[at + 1];
    std::vector<std::string> merged;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool both = i + 1 < parts.size() && parts[i] == left && parts[i + 1] == right;
      merged.push_back(both ? left + right : parts[i]);
      i += both ? 1 : 0;
    }
    parts = std::move(merged);
  }
  std::vector<int64_t> ids;
  for (const std::string& part : parts) {
    const auto id = ids_.find(part);
    if (id == ids_.end()) throw Failure("the tokenizer has no token for '" + part + "'", kHelp);
    ids.push_back(id->second);
  }
  return ids;
}

}  // namespace vireo::cli
