#include "sdk/base/number.h"

#include <math.h>

#include "sdk/base/checked.h"

namespace vireo {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

StringRef trimmed(StringRef s) {
  while (s.size > 0 && is_blank(s.data[0])) ++s.data, --s.size;
  while (s.size > 0 && is_blank(s.data[s.size - 1])) --s.size;
  return s;
}

bool is_word(StringRef s, const char* lower) {
  size_t i = 0;
  for (; i < s.size && lower[i] != '\0'; ++i) {
    const char c = s.data[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != lower[i]) return false;
  }
  return i == s.size && lower[i] == '\0';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// digits * 10^exponent, `more`: plus something below one unit of the last digit. In plain integers of 1536 bits: 10^308
// takes 1024 of them, and 10^-343 (the least with 20 digits before it) at most 1140 for a quotient of 64 bits.
double scale(uint64_t digits, int exponent, bool more) {
  constexpr int kWords = 48;
  uint32_t w[kWords] = {};  // least significant first
  int shift = 0;            // the value is w * 2^-shift
  if (exponent >= 0) {
    w[0] = static_cast<uint32_t>(digits);
    w[1] = static_cast<uint32_t>(digits >> 32);
    for (; exponent > 0; --exponent) {
      uint64_t carry = 0;
      for (uint32_t& x : w) {
        carry += static_cast<uint64_t>(x) * 10;
        x = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
    }
  } else {
    w[kWords - 2] = static_cast<uint32_t>(digits);
    w[kWords - 1] = static_cast<uint32_t>(digits >> 32);
    shift = (kWords - 2) * 32;
    for (; exponent < 0; ++exponent) {
      uint64_t rest = 0;
      for (int i = kWords - 1; i >= 0; --i) {
        rest = rest << 32 | w[i];
        w[i] = static_cast<uint32_t>(rest / 10);
        rest %= 10;
      }
      more = more || rest != 0;
    }
  }
  int top = kWords - 1;
  while (top >= 0 && w[top] == 0) --top;
  if (top < 0) return 0;
  int high = top * 32 + 31;  // position of the highest bit
  while ((w[high / 32] >> (high % 32) & 1) == 0) --high;
  // The unit of the result's last bit: 52 below the highest, but not below 2^-1074.
  int unit = high - shift - 52;
  if (unit < -1074) unit = -1074;
  const int low = unit + shift;  // position of that bit; the bits below it round
  uint64_t mantissa = 0;
  for (int i = high; i >= low && i >= 0; --i) mantissa = mantissa << 1 | (w[i / 32] >> (i % 32) & 1);
  if (low < 0) {
    mantissa <<= -low;
  } else if (low > 0) {
    const int half = low - 1;
    const bool up = (w[half / 32] >> (half % 32) & 1) != 0;
    for (int i = 0; i < half && !more; ++i) more = (w[i / 32] >> (i % 32) & 1) != 0;
    if (up && (more || (mantissa & 1) != 0)) ++mantissa;
  }
  return ldexp(static_cast<double>(mantissa), unit);  // mantissa <= 2^53: exact; above the range: infinity
}

}  // namespace

bool parse_f64(StringRef text, double* out) {
  StringRef s = trimmed(text);
  bool negative = false;
  if (s.size > 0 && (s.data[0] == '+' || s.data[0] == '-')) {
    negative = s.data[0] == '-';
    ++s.data, --s.size;
  }
  if (is_word(s, "inf") || is_word(s, "infinity")) {
    *out = static_cast<double>(negative ? -INFINITY : INFINITY);
    return true;
  }
  if (is_word(s, "nan")) {
    *out = static_cast<double>(NAN);
    return true;
  }
  uint64_t digits = 0;
  int kept = 0;
  int64_t exponent = 0;
  bool any = false, point = false, more = false;
  size_t i = 0;
  for (; i < s.size && (is_digit(s.data[i]) || (s.data[i] == '.' && !point)); ++i) {
    if (s.data[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    const unsigned d = static_cast<unsigned>(s.data[i] - '0');
    if (kept < 19) {
      digits = digits * 10 + d;
      if (digits != 0) ++kept;
      if (point) --exponent;
    } else {
      more = more || d != 0;
      if (!point) ++exponent;
    }
  }
  if (!any) return false;
  if (i < s.size && (s.data[i] == 'e' || s.data[i] == 'E')) {
    int64_t written = 0;
    bool minus = false;
    ++i;
    if (i < s.size && (s.data[i] == '+' || s.data[i] == '-')) minus = s.data[i++] == '-';
    if (i == s.size) return false;
    for (; i < s.size && is_digit(s.data[i]); ++i) {
      if (written < 1000000) written = written * 10 + (s.data[i] - '0');
    }
    exponent += minus ? -written : written;
  }
  if (i != s.size) return false;
  // digits < 10^19, so beyond these exponents the value is above the range, or under half of 2^-1074 = 4.9e-324.
  double v = 0;
  if (digits != 0 && exponent > 308) {
    v = static_cast<double>(INFINITY);
  } else if (digits != 0 && exponent >= -343) {
    v = scale(digits, static_cast<int>(exponent), more);
  }
  *out = negative ? -v : v;
  return true;
}

bool parse_i64(StringRef text, int64_t* out) {
  const StringRef s = trimmed(text);
  size_t i = 0;
  const bool negative = s.size > 0 && s.data[0] == '-';
  if (s.size > 0 && (s.data[0] == '-' || s.data[0] == '+')) ++i;
  if (i == s.size) return false;
  int64_t v = 0;
  for (; i < s.size; ++i) {
    if (!is_digit(s.data[i])) return false;
    const int64_t d = s.data[i] - '0';
    if (!checked_mul<int64_t>(v, 10, &v) || !checked_add<int64_t>(v, negative ? -d : d, &v)) return false;
  }
  *out = v;
  return true;
}

}  // namespace vireo
