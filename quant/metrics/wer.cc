// Word error rate: words to replace, insert and leave out, over the words of the texts. An output holds strings, which
// are joined with spaces.
#include <algorithm>
#include <sstream>

#include "quant/metrics/kinds.h"
#include "quant/metrics/ratio.h"

namespace vireo::quant {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Levenshtein 1966.
size_t edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
      corner = above;
    }
  }
  return row[b.size()];
}

class Wer final : public Ratio {
 public:
  std::string add(const Sample& s) override {
    if (s.output->texts.empty()) return "output '" + s.output->name + "' holds no strings";
    std::string text;
    for (const std::string& part : s.output->texts) text += part + " ";
    const std::vector<std::string> wanted = words_of(s.text);
    put(static_cast<double>(edits(wanted, words_of(text))), static_cast<double>(wanted.size()));
    return "";
  }

 protected:
  // Words where none should be are each an error.
  double finish(double errors, double words) const override { return words == 0 ? errors : errors / words; }
};

}  // namespace

std::unique_ptr<Metric> make_wer() { return std::make_unique<Wer>(); }

}  // namespace vireo::quant
