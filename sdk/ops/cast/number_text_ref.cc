// The shortest digits by exact arithmetic (Steele and White 1990; Burger and Dybvig 1996, section 3). Tables as Ryu's
// would be ten times faster and 10 KB of every firmware that prints a number; text is made rarely.
#include "sdk/ops/cast/number_text.h"

#include <string.h>

namespace vireo {
namespace {

// A natural number below 2^1280: 2^1074 times 2^53 times 2 powers of ten to spare.
struct Big {
  static constexpr int kWords = 40;
  uint32_t word[kWords] = {};

  explicit Big(uint64_t v) {
    word[0] = static_cast<uint32_t>(v);
    word[1] = static_cast<uint32_t>(v >> 32);
  }
  void times(uint32_t f) {
    uint64_t carry = 0;
    for (uint32_t& w : word) {
      carry += uint64_t{w} * f;
      w = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void times_power_of_two(int n) {
    for (; n >= 31; n -= 31) times(1u << 31);
    times(1u << n);
  }
  void times_power_of_ten(int n) {
    for (; n >= 9; n -= 9) times(1000000000u);
    for (; n > 0; --n) times(10);
  }
  void add(const Big& b) {
    uint64_t carry = 0;
    for (int i = 0; i < kWords; ++i) {
      carry += uint64_t{word[i]} + b.word[i];
      word[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  void subtract(const Big& b) {
    uint64_t borrow = 0;
    for (int i = 0; i < kWords; ++i) {
      const uint64_t d = uint64_t{word[i]} - b.word[i] - borrow;
      word[i] = static_cast<uint32_t>(d);
      borrow = d >> 63;
    }
  }
  int compare(const Big& b) const {
    for (int i = kWords; i-- > 0;) {
      if (word[i] != b.word[i]) return word[i] < b.word[i] ? -1 : 1;
    }
    return 0;
  }
};

int compare_sum(const Big& a, const Big& b, const Big& c) {
  Big sum = a;
  sum.add(b);
  return sum.compare(c);
}

// Digits of m * 2^e: 0.d1 d2... * 10^*point. Says how many; at most 17.
int shortest_digits(uint64_t m, int e, RealFormat format, char* digits, int* point) {
  // The interval of what reads back as the number: r/s, from (r - down)/s to (r + up)/s.
  const bool power = m == uint64_t{1} << (format.precision - 1) && e > format.least_exponent;
  const bool even = m % 2 == 0;  // then its ends read back as well
  Big r(m), s(power ? 4 : 2), up(power ? 2 : 1), down(1);
  r.times_power_of_two(power ? 2 : 1);
  if (e >= 0) {
    r.times_power_of_two(e);
    up.times_power_of_two(e);
    down.times_power_of_two(e);
  } else {
    s.times_power_of_two(-e);
  }
  int bits = 0;
  for (uint64_t left = m; left != 0; left >>= 1) ++bits;
  int k = (e + bits - 1) * 1233 / 4096;  // log10(2): the number has so many digits before its point, or one or two more
  if (e + bits - 1 < 0) --k;
  if (k >= 0) {
    s.times_power_of_ten(k);
  } else {
    r.times_power_of_ten(-k);
    up.times_power_of_ten(-k);
    down.times_power_of_ten(-k);
  }
  const auto above = [&] {
    const int c = compare_sum(r, up, s);
    return even ? c >= 0 : c > 0;
  };
  for (; above(); ++k) s.times(10);
  int count = 0;
  for (;;) {
    r.times(10);
    up.times(10);
    down.times(10);
    char digit = '0';
    for (; r.compare(s) >= 0; ++digit) r.subtract(s);
    const int under = r.compare(down);
    const bool low = even ? under <= 0 : under < 0, high = above();
    if (low || high) {
      if (high && (!low || compare_sum(r, r, s) >= 0)) ++digit;
      digits[count++] = digit;
      break;
    }
    digits[count++] = digit;
  }
  *point = k;
  return count;
}

size_t copy_text(const char* text, char* to) {
  const size_t n = strlen(text);
  memcpy(to, text, n);  // NOLINT: lengths, not zeros, end these texts
  return n;
}

}  // namespace

size_t write_integer(uint64_t magnitude, bool negative, char* to) {
  char digits[20];
  size_t n = 0, size = 0;
  do {
    digits[n++] = static_cast<char>('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude != 0);
  if (negative) to[size++] = '-';
  while (n > 0) to[size++] = digits[--n];
  return size;
}

size_t write_real(double v, RealFormat format, char* to) {
  if (v != v) return copy_text("NaN", to);
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof(bits));
  const bool negative = bits >> 63 != 0;
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  if (exponent == 0x7FF) return copy_text(negative ? "-INF" : "INF", to);
  size_t size = 0;
  if (negative) to[size++] = '-';
  uint64_t m = bits & ((uint64_t{1} << 52) - 1);
  int e = exponent == 0 ? -1074 : exponent - 1075;
  if (exponent != 0) m |= uint64_t{1} << 52;
  if (m == 0) return size + copy_text("0.0", to + size);
  // In the format's own places: the significand has its bits, or the exponent is the least.
  for (; e < format.least_exponent || m >> format.precision != 0; ++e) m >>= 1;
  for (; e > format.least_exponent && m >> (format.precision - 1) == 0; --e) m <<= 1;
  char digits[20];
  int point = 0;
  const int count = shortest_digits(m, e, format, digits, &point);
  const auto put = [&](const char* from, int n) {
    for (int i = 0; i < n; ++i) to[size++] = from[i];
  };
  const auto zeros = [&](int n) {
    for (int i = 0; i < n; ++i) to[size++] = '0';
  };
  if (point > 16 || point < -3) {  // d.ddde+16
    put(digits, 1);
    if (count > 1) to[size++] = '.';
    put(digits + 1, count - 1);
    to[size++] = 'e';
    const int power = point - 1;
    to[size++] = power < 0 ? '-' : '+';
    const auto positive = static_cast<uint64_t>(power < 0 ? -power : power);
    if (positive < 10) to[size++] = '0';
    return size + write_integer(positive, false, to + size);
  }
  if (point <= 0) {  // 0.000ddd
    zeros(1);
    to[size++] = '.';
    zeros(-point);
    put(digits, count);
    return size;
  }
  put(digits, count < point ? count : point);  // ddd.ddd
  zeros(point - count > 0 ? point - count : 0);
  to[size++] = '.';
  if (count <= point) zeros(1);
  put(digits + point, count - point > 0 ? count - point : 0);
  return size;
}

}  // namespace vireo
