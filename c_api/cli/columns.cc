#include "c_api/cli/columns.h"

#include <stdarg.h>
#include <stdio.h>

#include <algorithm>
#include <numeric>

namespace vireo::cli {
namespace {

constexpr size_t kFoldedIndent = 4;
constexpr size_t kBetweenColumns = 2;
constexpr size_t kLeastColumn = 16;  // narrower ones are not worth reading

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the first `columns` characters of `text`.
size_t bytes_of(const std::string& text, size_t columns) {
  size_t at = 0;
  while (at < text.size() && (columns > 0 || is_inside_character(text[at]))) {
    if (!is_inside_character(text[at])) --columns;
    ++at;
  }
  return at;
}

// Where a word that does not fit may be divided: behind its last comma or bracket within `columns`; its size where it
// has none.
size_t division_of(const std::string& word, size_t columns) {
  const size_t at = word.find_last_of(",;()[]", bytes_of(word, columns) - 1);
  return at == std::string::npos ? word.size() : at + 1;
}

// The words of `text`, each with the spaces before it.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string without_spaces_before(const std::string& word) {
  const size_t at = word.find_first_not_of(' ');
  return at == std::string::npos ? "" : word.substr(at);
}

size_t total(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + kBetweenColumns * (widths.size() - 1);
}

// The widths of columns whose lines fit, as far as words allow that: the widest column gives way first.
std::vector<size_t> narrowed(std::vector<size_t> widths, const std::vector<size_t>& least) {
  while (total(widths) > kOutputColumns) {
    size_t widest = widths.size();
    for (size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] > least[c] && (widest == widths.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

// One row, whose cells may take several lines. Cells behind the last of `widths` are left out.
std::string row_text(const std::vector<std::string>& row, const std::vector<size_t>& widths) {
  std::vector<std::vector<std::string>> cells;
  size_t lines = 1;
  for (size_t c = 0; c < row.size() && c < widths.size(); ++c) {
    cells.push_back(columns_of(row[c]) <= widths[c] ? std::vector<std::string>{row[c]} : wrapped(row[c], widths[c]));
    lines = std::max(lines, cells.back().size());
  }
  std::string text;
  for (size_t l = 0; l < lines; ++l) {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string cell = l < cells[c].size() ? cells[c][l] : "";
      line += cell;
      if (c + 1 < cells.size()) line.append(widths[c] - std::min(widths[c], columns_of(cell)) + kBetweenColumns, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

size_t columns_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_inside_character(c); }));
}

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : words_of(text)) {
    std::string& line = lines.back();
    if (line.empty() || columns_of(line) + columns_of(word) <= width) {
      line += line.empty() ? without_spaces_before(word) : word;
    } else {
      lines.push_back(without_spaces_before(word));
    }
  }
  return lines;
}

std::string folded(const std::string& line, size_t width) {
  if (columns_of(line) <= width) return line;
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string further(indent + kFoldedIndent, ' ');
  if (further.size() + kLeastColumn > width) return line;
  std::string out, current = line.substr(0, indent);
  size_t begin = current.size();  // of what the current line says behind its indent
  const auto end_line = [&] {
    out += current + "\n";
    current = further;
    begin = current.size();
  };
  for (const std::string& spaced : words_of(line.substr(indent))) {
    if (current.size() > begin && columns_of(current) + columns_of(spaced) > width) end_line();
    std::string word = current.size() > begin ? spaced : without_spaces_before(spaced);
    while (columns_of(current) + columns_of(word) > width) {
      const size_t at = division_of(word, width - columns_of(current));
      if (at == word.size()) break;
      current += word.substr(0, at);
      word = word.substr(at);
      end_line();
    }
    current += word;
  }
  return out + current;
}

std::string shortened(const std::string& text, size_t most) {
  const size_t columns = columns_of(text);
  if (columns <= most) return text;
  const size_t tail = (most - 3) / 2, head = most - 3 - tail;
  return text.substr(0, bytes_of(text, head)) + "..." + text.substr(bytes_of(text, columns - tail));
}

std::string formatted(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int size = vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(size < 0 ? 0 : static_cast<size_t>(size) + 1, '\0');
  (void)vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  if (!text.empty()) text.pop_back();
  return text;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> natural, least;
  for (const auto& row : rows) {
    natural.resize(std::max(natural.size(), row.size()));
    least.resize(natural.size(), kLeastColumn);
    for (size_t c = 0; c < row.size(); ++c) {
      natural[c] = std::max(natural[c], columns_of(row[c]));
      for (const std::string& word : words_of(row[c])) least[c] = std::max(least[c], columns_of(word));
    }
  }
  // Columns that do not fit beside the others go below their row.
  std::vector<size_t> widths = narrowed(natural, least);
  while (widths.size() > 1 && total(widths) > kOutputColumns) {
    natural.pop_back();
    widths = narrowed(natural, least);
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    text += row_text(rows[r], widths);
    for (size_t c = widths.size(); r > 0 && c < rows[r].size(); ++c) {
      const std::string heading = c < rows[0].size() && !rows[0][c].empty() ? rows[0][c] + ": " : "";
      if (rows[r][c].empty()) continue;
      for (const std::string& line : wrapped(heading + rows[r][c], kOutputColumns - kFoldedIndent))
        text += std::string(kFoldedIndent, ' ') + line + "\n";
    }
  }
  return text;
}

std::vector<std::vector<std::string>> without_empty_columns(std::vector<std::vector<std::string>> rows) {
  if (rows.size() < 2) return rows;
  for (size_t c = rows[0].size(); c-- > 0;) {
    const auto says = [c](const std::vector<std::string>& row) { return c < row.size() && !row[c].empty(); };
    if (std::any_of(rows.begin() + 1, rows.end(), says)) continue;
    for (auto& row : rows) {
      if (c < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    }
  }
  return rows;
}

}  // namespace vireo::cli
