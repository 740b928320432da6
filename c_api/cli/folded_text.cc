#include "c_api/cli/folded_text.h"

#include "c_api/cli/columns.h"

namespace vireo::cli {
namespace {

long& passes_as_is(std::ostream& stream) {
  static const int index = std::ios_base::xalloc();
  return stream.iword(index);
}

}  // namespace

std::ostream& as_is(std::ostream& stream) {
  passes_as_is(stream) = 1;
  return stream;
}

FoldedText::~FoldedText() {
  (void)pass_on();
  (void)stream_.rdbuf(to_);  // also forgets the stream's errors: they are asked for before
}

bool FoldedText::pass_on() {
  const bool ended = !line_.empty() && line_.back() == '\n';
  if (ended) line_.pop_back();
  const std::string text = folded(line_, width_) + (ended ? "\n" : "");
  line_.clear();
  return to_->sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
         static_cast<std::streamsize>(text.size());
}

FoldedText::int_type FoldedText::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize FoldedText::xsputn(const char* text, std::streamsize size) {
  if (passes_as_is(stream_) != 0) return pass_on() ? to_->sputn(text, size) : 0;
  for (std::streamsize i = 0; i < size; ++i) {
    line_ += text[i];
    if (text[i] == '\n' && !pass_on()) return i;
  }
  return size;
}

int FoldedText::sync() { return to_->pubsync(); }

}  // namespace vireo::cli
