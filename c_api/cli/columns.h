// Text within a number of columns. A character of UTF-8 counts as one.
#ifndef VIREO_C_API_CLI_COLUMNS_H_
#define VIREO_C_API_CLI_COLUMNS_H_

#include <stddef.h>

#include <string>
#include <vector>

namespace vireo::cli {

constexpr size_t kHelpColumns = 100;
constexpr size_t kOutputColumns = 120;
constexpr size_t kTypeColumns = 80;  // of a tensor's type, whose extents may be long expressions

size_t columns_of(const std::string& text);

// `text` as lines of at most `width` columns, divided at spaces. A longer word has a line of its own. Never empty.
std::vector<std::string> wrapped(const std::string& text, size_t width);

// The same for a line that may begin with spaces: what follows its first line stands four columns further in. Words
// that are longer than a line are divided behind a comma or a bracket where they have one.
std::string folded(const std::string& line, size_t width);

// `text` cut to at most `most` columns: "..." replaces its middle.
std::string shortened(const std::string& text, size_t most);

// As printf, into a string.
std::string formatted(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Lines with columns padded to the widest entry; the first row is the heading. Where a line would be longer than
// kOutputColumns, the widest columns are wrapped at spaces, and the last ones go below their row if they must.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

// The rows without the columns that are empty below their heading. A table without lines keeps all of them.
std::vector<std::vector<std::string>> without_empty_columns(std::vector<std::vector<std::string>> rows);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_COLUMNS_H_
