#include "c_api/cli/plain_text.h"

#include <stdio.h>

namespace vireo::cli {
namespace {

constexpr unsigned char kLeadOfC1 = 0xC2;

bool spell(std::streambuf* to, unsigned c) {
  char text[8];
  const int n = snprintf(text, sizeof(text), "\\u%04x", c);
  return to->sputn(text, n) == n;
}

}  // namespace

PlainText::~PlainText() {
  (void)give_held();
  (void)stream_.rdbuf(to_);  // also forgets the stream's errors: they are asked for before
}

bool PlainText::give_held() {
  if (!held_) return true;
  held_ = false;
  return to_->sputc(static_cast<char>(kLeadOfC1)) != traits_type::eof();
}

bool PlainText::put(unsigned char c) {
  if (held_ && c >= 0x80 && c < 0xA0) {
    held_ = false;
    return spell(to_, c);
  }
  if (!give_held()) return false;
  if (c == kLeadOfC1) {
    held_ = true;
    return true;
  }
  if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) return spell(to_, c);
  return to_->sputc(static_cast<char>(c)) != traits_type::eof();
}

PlainText::int_type PlainText::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  return put(static_cast<unsigned char>(c)) ? c : traits_type::eof();
}

std::streamsize PlainText::xsputn(const char* text, std::streamsize size) {
  std::streamsize done = 0;
  while (done < size && put(static_cast<unsigned char>(text[done]))) ++done;
  return done;
}

// What is held stays: the rest of its character may follow, and the two must not meet behind this.
int PlainText::sync() { return to_->pubsync(); }

}  // namespace vireo::cli
