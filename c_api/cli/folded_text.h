// Lines of text that are no longer than a terminal or a log shows.
#ifndef VIREO_C_API_CLI_FOLDED_TEXT_H_
#define VIREO_C_API_CLI_FOLDED_TEXT_H_

#include <stddef.h>

#include <ostream>
#include <streambuf>
#include <string>

namespace vireo::cli {

// From here on the stream passes text as it is: what programs read, or people paste.
std::ostream& as_is(std::ostream& stream);

// While it lives, `stream` passes lines of at most `width` columns, the rest further in below them (columns.h). A line
// is passed on when it ends.
class FoldedText : public std::streambuf {
 public:
  FoldedText(std::ostream& stream, size_t width) : stream_(stream), to_(stream.rdbuf(this)), width_(width) {}
  ~FoldedText() override;
  FoldedText(const FoldedText&) = delete;
  FoldedText& operator=(const FoldedText&) = delete;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool pass_on();

  std::ostream& stream_;
  std::streambuf* to_;
  size_t width_;
  std::string line_;
};

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_FOLDED_TEXT_H_
