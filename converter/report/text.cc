#include "converter/report/text.h"

#include <cstdio>

namespace vireo::report {
namespace {

// Decodes one character at `at` and moves behind it; -1: no UTF-8, one byte is skipped. RFC 3629, section 4.
int32_t next_character(const std::string& s, size_t* at) {
  const auto byte = [&](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : 0u; };
  const uint32_t lead = byte((*at)++);
  if (lead < 0x80) return static_cast<int32_t>(lead);
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4) return -1;
  uint32_t c = lead & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) {
    const uint32_t next = byte(*at + static_cast<size_t>(i));
    if ((next & 0xC0) != 0x80) return -1;
    c = c << 6 | (next & 0x3F);
  }
  if ((more == 2 && c < 0x800) || (more == 3 && c < 0x10000) || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return -1;
  *at += static_cast<size_t>(more);
  return static_cast<int32_t>(c);
}

// Control characters; marks of direction (UAX 9); what has no width; line separators; tags and the like.
bool misleads(int32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || c == 0x61C || c == 0x180E ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF0 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

}  // namespace

std::string safe_text(const std::string& text, size_t most) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const int32_t c = next_character(text, &at);
    std::string piece = text.substr(begin, at - begin);
    if (c < 0) piece = "\xEF\xBF\xBD";
    if (c >= 0 && misleads(c)) {
      char spelled[16];
      std::snprintf(spelled, sizeof(spelled), "<U+%04X>", static_cast<unsigned>(c));
      piece = spelled;
    }
    if (out.size() + piece.size() > most) return out + "... (" + std::to_string(text.size()) + " bytes)";
    out += piece;
  }
  return out;
}

std::string script_text(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    // U+2028 and U+2029 end a line of JavaScript before ES2019.
    if (c == '\xE2' && i + 2 < json.size() && json[i + 1] == '\x80' &&
        (json[i + 2] == '\xA8' || json[i + 2] == '\xA9')) {
      out += json[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

std::string base64(const uint8_t* bytes, size_t size) {
  static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t bits = static_cast<uint32_t>(bytes[i]) << 16;
    if (i + 1 < size) bits |= static_cast<uint32_t>(bytes[i + 1]) << 8;
    if (i + 2 < size) bits |= bytes[i + 2];
    for (int k = 0; k < 4; ++k) out += i + static_cast<size_t>(k) > size ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

std::string hex(const uint8_t* bytes, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4];
    out += "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

}  // namespace vireo::report
