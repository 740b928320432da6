#include "delegates/mcu/update/ed25519.h"

#include <string.h>

/* ---- SHA-512: FIPS 180-4 */

/* The first 64 bits of the fractions of the cube roots of the first 80 primes. */
static const uint64_t kRound[80] = {
    0x428a2f98d728ae22u, 0x7137449123ef65cdu, 0xb5c0fbcfec4d3b2fu, 0xe9b5dba58189dbbcu, 0x3956c25bf348b538u,
    0x59f111f1b605d019u, 0x923f82a4af194f9bu, 0xab1c5ed5da6d8118u, 0xd807aa98a3030242u, 0x12835b0145706fbeu,
    0x243185be4ee4b28cu, 0x550c7dc3d5ffb4e2u, 0x72be5d74f27b896fu, 0x80deb1fe3b1696b1u, 0x9bdc06a725c71235u,
    0xc19bf174cf692694u, 0xe49b69c19ef14ad2u, 0xefbe4786384f25e3u, 0x0fc19dc68b8cd5b5u, 0x240ca1cc77ac9c65u,
    0x2de92c6f592b0275u, 0x4a7484aa6ea6e483u, 0x5cb0a9dcbd41fbd4u, 0x76f988da831153b5u, 0x983e5152ee66dfabu,
    0xa831c66d2db43210u, 0xb00327c898fb213fu, 0xbf597fc7beef0ee4u, 0xc6e00bf33da88fc2u, 0xd5a79147930aa725u,
    0x06ca6351e003826fu, 0x142929670a0e6e70u, 0x27b70a8546d22ffcu, 0x2e1b21385c26c926u, 0x4d2c6dfc5ac42aedu,
    0x53380d139d95b3dfu, 0x650a73548baf63deu, 0x766a0abb3c77b2a8u, 0x81c2c92e47edaee6u, 0x92722c851482353bu,
    0xa2bfe8a14cf10364u, 0xa81a664bbc423001u, 0xc24b8b70d0f89791u, 0xc76c51a30654be30u, 0xd192e819d6ef5218u,
    0xd69906245565a910u, 0xf40e35855771202au, 0x106aa07032bbd1b8u, 0x19a4c116b8d2d0c8u, 0x1e376c085141ab53u,
    0x2748774cdf8eeb99u, 0x34b0bcb5e19b48a8u, 0x391c0cb3c5c95a63u, 0x4ed8aa4ae3418acbu, 0x5b9cca4f7763e373u,
    0x682e6ff3d6b2b8a3u, 0x748f82ee5defb2fcu, 0x78a5636f43172f60u, 0x84c87814a1f0ab72u, 0x8cc702081a6439ecu,
    0x90befffa23631e28u, 0xa4506cebde82bde9u, 0xbef9a3f7b2c67915u, 0xc67178f2e372532bu, 0xca273eceea26619cu,
    0xd186b8c721c0c207u, 0xeada7dd6cde0eb1eu, 0xf57d4f7fee6ed178u, 0x06f067aa72176fbau, 0x0a637dc5a2c898a6u,
    0x113f9804bef90daeu, 0x1b710b35131c471bu, 0x28db77f523047d84u, 0x32caab7b40c72493u, 0x3c9ebe0a15c9bebcu,
    0x431d67c49c100d4cu, 0x4cc5d4becb3e42b6u, 0x597f299cfc657e2au, 0x5fcb6fab3ad6faecu, 0x6c44198c4a475817u};
/* The same of the square roots of the first 8. */
static const uint64_t kBegin[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
                                   0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

static uint64_t rotated(uint64_t v, unsigned by) { return v >> by | v << (64 - by); }

static void compress(vireo_sha512* s) {
  uint64_t v[8], w[16];
  for (int i = 0; i < 16; ++i) {
    w[i] = 0;
    for (int b = 0; b < 8; ++b) w[i] = w[i] << 8 | s->block[8 * i + b];
  }
  memcpy(v, s->state, sizeof v);
  for (int i = 0; i < 80; ++i) {
    if (i >= 16) { /* w is a window of the 16 words that the next one needs */
      const uint64_t a = w[(i + 1) & 15], b = w[(i + 14) & 15];
      w[i & 15] +=
          (rotated(a, 1) ^ rotated(a, 8) ^ a >> 7) + (rotated(b, 19) ^ rotated(b, 61) ^ b >> 6) + w[(i + 9) & 15];
    }
    const uint64_t e = v[4], a = v[0];
    const uint64_t t =
        v[7] + (rotated(e, 14) ^ rotated(e, 18) ^ rotated(e, 41)) + ((e & v[5]) ^ (~e & v[6])) + kRound[i] + w[i & 15];
    const uint64_t u = (rotated(a, 28) ^ rotated(a, 34) ^ rotated(a, 39)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    for (int k = 7; k > 0; --k) v[k] = v[k - 1];
    v[4] += t;
    v[0] = t + u;
  }
  for (int i = 0; i < 8; ++i) s->state[i] += v[i];
}

void vireo_sha512_begin(vireo_sha512* s) {
  memcpy(s->state, kBegin, sizeof kBegin);
  s->count = 0;
}
void vireo_sha512_add(vireo_sha512* s, const uint8_t* bytes, uint32_t count) {
  for (; count > 0; --count) {
    s->block[s->count++ & 127] = *bytes++;
    if ((s->count & 127) == 0) compress(s);
  }
}
void vireo_sha512_end(vireo_sha512* s, uint8_t digest[64]) {
  const uint32_t count = s->count;
  uint8_t byte = 0x80;
  do {
    vireo_sha512_add(s, &byte, 1);
    byte = 0;
  } while ((s->count & 127) != 112);
  for (int i = 15; i >= 0; --i) { /* bits, of 128 */
    byte = i > 4 ? 0 : (uint8_t)(i == 4 ? count >> 29 : count << 3 >> (8 * i));
    vireo_sha512_add(s, &byte, 1);
  }
  for (int i = 0; i < 64; ++i) digest[i] = (uint8_t)(s->state[i / 8] >> (56 - 8 * (i % 8)));
}

/* ---- Numbers modulo p = 2^255 - 19, as any of their 256 bits: 2^256 is 38 */

typedef uint32_t number[8];

static const number kOne = {1}, kD2 = {0x26b2f159u, 0xebd69b94u, 0x8283b156u, 0x00e0149au,
                                       0xeef3d130u, 0x198e80f2u, 0x56dffce7u, 0x2406d9dcu},
                    kD = {0x135978a3u, 0x75eb4dcau, 0x4141d8abu, 0x00700a4du,
                          0x7779e898u, 0x8cc74079u, 0x2b6ffe73u, 0x52036ceeu},
                    kRootOfMinusOne = {0x4a0ea0b0u, 0xc4ee1b27u, 0xad2fe478u, 0x2f431806u,
                                       0x3dfbd7a7u, 0x2b4d0099u, 0x4fc1df0bu, 0x2b832480u};
static const number kBaseX = {0x8f25d51au, 0xc9562d60u, 0x9525a7b2u, 0x692cc760u,
                              0xfdd6dc5cu, 0xc0a4e231u, 0xcd6e53feu, 0x216936d3u},
                    kBaseY = {0x66666658u, 0x66666666u, 0x66666666u, 0x66666666u,
                              0x66666666u, 0x66666666u, 0x66666666u, 0x66666666u};
/* The order of the base point. */
static const number kOrder = {0x5cf5d3edu, 0x5812631au, 0xa2f79cd6u, 0x14def9deu,
                              0x00000000u, 0x00000000u, 0x00000000u, 0x10000000u};

/* r += 38 * carry, as long as it carries. */
static void fold(number r, uint32_t carry) {
  while (carry != 0) {
    uint64_t sum = (uint64_t)carry * 38;
    for (int i = 0; i < 8; ++i) {
      sum += r[i];
      r[i] = (uint32_t)sum;
      sum >>= 32;
    }
    carry = (uint32_t)sum;
  }
}
static uint32_t add_words(number r, const number a, const number b) {
  uint64_t sum = 0;
  for (int i = 0; i < 8; ++i) {
    sum += (uint64_t)a[i] + b[i];
    r[i] = (uint32_t)sum;
    sum >>= 32;
  }
  return (uint32_t)sum;
}
/* 1 where it borrows. */
static uint32_t subtract_words(number r, const number a, const number b) {
  uint32_t borrow = 0;
  for (int i = 0; i < 8; ++i) {
    const uint64_t difference = (uint64_t)a[i] - b[i] - borrow;
    r[i] = (uint32_t)difference;
    borrow = (uint32_t)(difference >> 63);
  }
  return borrow;
}
static void add(number r, const number a, const number b) { fold(r, add_words(r, a, b)); }
static void subtract(number r, const number a, const number b) {
  static const number k38 = {38};
  uint32_t borrow = subtract_words(r, a, b);
  while (borrow != 0) borrow = subtract_words(r, r, k38);
}
static void multiply(number r, const number a, const number b) {
  uint32_t t[16] = {0};
  for (int i = 0; i < 8; ++i) {
    uint32_t carry = 0;
    for (int j = 0; j < 8; ++j) {
      const uint64_t sum = (uint64_t)a[i] * b[j] + t[i + j] + carry;
      t[i + j] = (uint32_t)sum;
      carry = (uint32_t)(sum >> 32);
    }
    t[i + 8] = carry;
  }
  uint32_t carry = 0;
  for (int i = 0; i < 8; ++i) {
    const uint64_t sum = (uint64_t)t[i + 8] * 38 + t[i] + carry;
    r[i] = (uint32_t)sum;
    carry = (uint32_t)(sum >> 32);
  }
  fold(r, carry);
}
/* The least number that is the same. */
static void reduce(number a) {
  for (int pass = 0; pass < 2; ++pass) {
    uint64_t sum = (uint64_t)(a[7] >> 31) * 19;
    a[7] &= 0x7FFFFFFFu;
    for (int i = 0; i < 8; ++i) {
      sum += a[i];
      a[i] = (uint32_t)sum;
      sum >>= 32;
    }
  }
  static const number k19 = {19};
  number more;
  (void)add_words(more, a, k19);
  if (more[7] >> 31 != 0) {
    more[7] &= 0x7FFFFFFFu;
    memcpy(a, more, sizeof more);
  }
}
static int is_same(const number a, const number b) {
  number x;
  uint32_t bits = 0;
  subtract(x, a, b);
  reduce(x);
  for (int i = 0; i < 8; ++i) bits |= x[i];
  return bits == 0;
}
/* a to the power of 2^bits - 1 less `less`, of a few bits. */
static void power(number r, const number a, int bits, uint32_t less) {
  number x;
  memcpy(x, kOne, sizeof x);
  for (int i = bits - 1; i >= 0; --i) {
    multiply(x, x, x);
    if (i >= 8 || (less >> i & 1) == 0) multiply(x, x, a);
  }
  memcpy(r, x, sizeof x);
}

/* ---- Points of -x^2 + y^2 = 1 + d x^2 y^2: x = X / Z, y = Y / Z, x y = T / Z */

typedef struct {
  number x, y, z, t;
} point;

/* Hisil, Wong, Carter, Dawson 2008, sections 3.1 (complete: a is a square, d is none) and 3.3. */
static void combine(point* r, const number e, const number f, const number g, const number h) {
  multiply(r->x, e, f);
  multiply(r->y, g, h);
  multiply(r->t, e, h);
  multiply(r->z, f, g);
}
static void add_points(point* r, const point* p, const point* q) {
  number a, b, c, d, e, f;
  subtract(a, p->y, p->x);
  subtract(e, q->y, q->x);
  multiply(a, a, e);
  add(b, p->y, p->x);
  add(e, q->y, q->x);
  multiply(b, b, e);
  multiply(c, p->t, kD2);
  multiply(c, c, q->t);
  multiply(d, p->z, q->z);
  add(d, d, d);
  subtract(e, b, a);
  subtract(f, d, c);
  add(d, d, c);
  add(b, b, a);
  combine(r, e, f, d, b);
}
static void double_point(point* r, const point* p) {
  number a, b, c, e;
  multiply(a, p->x, p->x);
  multiply(b, p->y, p->y);
  multiply(c, p->z, p->z);
  add(c, c, c);
  add(e, p->x, p->y);
  multiply(e, e, e);
  subtract(e, e, a);
  subtract(e, e, b);
  number g, h;
  subtract(g, b, a); /* G = D + B with D = -A */
  subtract(c, g, c); /* F = G - C */
  subtract(h, a, a); /* H = D - B */
  subtract(h, h, a);
  subtract(h, h, b);
  combine(r, e, c, g, h);
}

static void read_number(number r, const uint8_t bytes[32]) {
  for (int i = 0; i < 8; ++i)
    r[i] = bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 | (uint32_t)bytes[4 * i + 2] << 16 |
           (uint32_t)bytes[4 * i + 3] << 24;
}

/* The negative of an encoded point (RFC 8032, 5.1.3); 0: there is none. */
static int read_negative(point* r, const uint8_t bytes[32]) {
  number u, v, w;
  read_number(r->y, bytes);
  r->y[7] &= 0x7FFFFFFFu;
  memcpy(w, r->y, sizeof w);
  reduce(w);
  if (memcmp(w, r->y, sizeof w) != 0) return 0; /* y is p or more */
  memcpy(r->z, kOne, sizeof kOne);
  multiply(u, r->y, r->y);
  multiply(v, u, kD);
  subtract(u, u, kOne);
  add(v, v, kOne);
  /* x = u v^3 (u v^7)^((p - 5) / 8) */
  multiply(w, v, v);
  multiply(w, w, v);
  multiply(r->t, w, w);
  multiply(r->t, r->t, v);
  multiply(r->t, r->t, u);
  power(r->t, r->t, 252, 2); /* 2^252 - 3 */
  multiply(r->x, u, w);
  multiply(r->x, r->x, r->t);
  multiply(w, r->x, r->x);
  multiply(w, w, v);
  if (!is_same(w, u)) {
    multiply(r->x, r->x, kRootOfMinusOne);
    multiply(w, r->x, r->x);
    multiply(w, w, v);
    if (!is_same(w, u)) return 0;
  }
  reduce(r->x);
  static const number zero = {0};
  const uint32_t sign = bytes[31] >> 7;
  if (memcmp(r->x, zero, sizeof zero) == 0 && sign != 0) return 0;
  if ((r->x[0] & 1) == sign) subtract(r->x, zero, r->x); /* the negative has the other sign */
  multiply(r->t, r->x, r->y);
  return 1;
}

/* k modulo the order, of 64 bytes, the least first. */
static void remainder_of(number r, const uint8_t k[64]) {
  number less;
  memset(r, 0, sizeof(number));
  for (int i = 511; i >= 0; --i) {
    (void)add_words(r, r, r);
    r[0] |= k[i / 8] >> (i % 8) & 1u;
    if (subtract_words(less, r, kOrder) == 0) memcpy(r, less, sizeof less);
  }
}

/* [s]B + [k]A, the bits of both at once. */
static void sum_of_multiples(point* r, const number s, const number k, const point* a) {
  point b, both;
  memcpy(b.x, kBaseX, sizeof kBaseX);
  memcpy(b.y, kBaseY, sizeof kBaseY);
  memcpy(b.z, kOne, sizeof kOne);
  multiply(b.t, b.x, b.y);
  add_points(&both, &b, a);
  memset(r, 0, sizeof *r);
  r->y[0] = r->z[0] = 1;
  for (int i = 255; i >= 0; --i) {
    const uint32_t of_s = s[i / 32] >> (i % 32) & 1, of_k = k[i / 32] >> (i % 32) & 1;
    double_point(r, r);
    if ((of_s | of_k) != 0) add_points(r, r, of_s == 0 ? a : of_k == 0 ? &b : &both);
  }
}

int vireo_ed25519_verify(const uint8_t signature[64], const uint8_t key[32], const uint8_t* message, uint32_t count) {
  vireo_sha512 sha;
  uint8_t digest[64];
  number s, k, less;
  point a, r;
  read_number(s, signature + 32);
  if (subtract_words(less, s, kOrder) == 0 || !read_negative(&a, key)) return 0;
  vireo_sha512_begin(&sha);
  vireo_sha512_add(&sha, signature, 32);
  vireo_sha512_add(&sha, key, 32);
  vireo_sha512_add(&sha, message, count);
  vireo_sha512_end(&sha, digest);
  remainder_of(k, digest);
  sum_of_multiples(&r, s, k, &a);
  /* Its encoding has to be the signature's first half, byte by byte. */
  power(r.z, r.z, 255, 20); /* 2^255 - 21 = p - 2: the inverse */
  multiply(r.x, r.x, r.z);
  multiply(r.y, r.y, r.z);
  reduce(r.x);
  reduce(r.y);
  r.y[7] |= r.x[0] << 31;
  read_number(s, signature);
  return memcmp(s, r.y, sizeof s) == 0;
}
