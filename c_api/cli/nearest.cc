#include "c_api/cli/nearest.h"

#include <algorithm>

namespace vireo::cli {
namespace {

constexpr size_t kMostLetters = 64;  // longer names are not typed by hand

// Letters that were left out, added, changed, or swapped with their neighbour: the optimal string alignment distance
// (Damerau 1964; Wagner and Fischer 1974 for the table).
size_t slips(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) table[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? size_t{0} : size_t{1})});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  const std::string wanted = lower(word);
  if (wanted.empty() || wanted.size() > kMostLetters) return "";
  std::string best;
  size_t least = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& name : known) {
    if (name.size() > kMostLetters) continue;
    const bool begins = wanted.size() >= 3 && lower(name).compare(0, wanted.size(), wanted) == 0;
    const size_t distance = begins ? 1 : slips(wanted, lower(name));
    if (distance >= least || distance >= name.size()) continue;
    least = distance;
    best = name;
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string name = nearest(word, known);
  return name.empty() ? "" : "did you mean " + name + "? ";
}

}  // namespace vireo::cli
