// Names come from files that anyone may have made: what would steer a terminal in them (colours, titles, answers that
// the terminal types by itself) is spelled out on its way to the standard streams.
#ifndef VIREO_C_API_CLI_PLAIN_TEXT_H_
#define VIREO_C_API_CLI_PLAIN_TEXT_H_

#include <ostream>
#include <streambuf>

namespace vireo::cli {

// While it lives, `stream` passes text with its control characters (C0 but line feed and tabulator, delete, and C1 in
// UTF-8) as \u001b. That is how JSON spells them, too, so JSON stays JSON.
class PlainText : public std::streambuf {
 public:
  explicit PlainText(std::ostream& stream) : stream_(stream), to_(stream.rdbuf(this)) {}
  ~PlainText() override;
  PlainText(const PlainText&) = delete;
  PlainText& operator=(const PlainText&) = delete;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool put(unsigned char c);
  bool give_held();

  std::ostream& stream_;
  std::streambuf* to_;
  bool held_ = false;  // 0xC2, which may begin a character of C1
};

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PLAIN_TEXT_H_
