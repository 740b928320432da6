/* Float32 element by element, what real_functions.c does not have: reals_more.h says what each computes. */
#include "delegates/mcu/kernels/parts.h"
#include "delegates/mcu/kernels/real_bits.h"
#include "delegates/mcu/kernels/reals_more.h"

/* x = 2^n m, m from sqrt(1/2) to sqrt(2); log(m) by a polynomial of m - 1 (Cephes, logf). */
float vireo_mcu_log(float x) {
  int32_t power = 0;
  if (!(x > 0)) return mcu_of_bits(x == 0 ? 0xFF800000u : 0x7FC00000u);
  if (mcu_bits(x) >= 0x7F800000u) return x;
  if (mcu_bits(x) < 0x800000u) x *= 8388608.0f, power = -23;
  const uint32_t bits = mcu_bits(x) - 0x3F3504F3u; /* sqrt(1/2) */
  power += (int32_t)bits >> 23;
  const float n = (float)power, m = mcu_of_bits((bits & 0x7FFFFFu) + 0x3F3504F3u) - 1, z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * z + n * -2.12194440e-4f - 0.5f * z;
  return (m + p) + n * 0.693359375f;
}

/* x = n pi / 2 + r, pi / 2 in three parts; polynomials of r (Cephes, sinf). turn: 1 for the cosine. */
static float sine(float x, int32_t turn) {
  if (!(mcu_absolute(x) < 8388608.0f)) return mcu_of_bits(0x7FC00000u);
  const float shifted = x * 0.636619772f + 12582912.0f, n = shifted - 12582912.0f;
  const float r = ((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549789954891882e-8f, z = r * r;
  const int32_t quarter = (int32_t)mcu_bits(shifted) + turn;
  float v;
  if ((quarter & 1) != 0) {
    v = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1;
  } else {
    v = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
  }
  return (quarter & 2) != 0 ? -v : v;
}

/* Below 1 a polynomial of x^2 (Cephes, erff), above it 7.1.26 of Abramowitz and Stegun, within 1.5e-7. */
static float error_function(float x) {
  const float size = mcu_absolute(x);
  if (size < 1) {
    const float z = x * x;
    float p = 7.853861353153693e-5f;
    p = p * z - 8.010193625184903e-4f;
    p = p * z + 5.188327685732524e-3f;
    p = p * z - 2.685381193529856e-2f;
    p = p * z + 1.128358514861418e-1f;
    p = p * z - 3.761262582423300e-1f;
    p = p * z + 1.128379165726710f;
    return p * x;
  }
  const float t = 1 / (1 + 0.3275911f * size);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  p = 1 - p * t * vireo_mcu_exp(-size * size);
  return x < 0 ? -p : p;
}

/* log(1 + exp(x)); what the sum loses of a small exp(x) is made up for. */
static float softplus(float x) {
  const float e = vireo_mcu_exp(-mcu_absolute(x));
  const float sum = 1 + e, small = sum == 1 ? e : vireo_mcu_log(sum) * e / (sum - 1);
  return x > 0 ? x + small : x == x ? small : x;
}

/* To the nearest, half to even: above 2^23 there are no digits behind the point. */
static float rounded(float x) {
  const float size = mcu_absolute(x);
  if (!(size < 8388608.0f)) return x;
  return mcu_of_bits(mcu_bits((size + 8388608.0f) - 8388608.0f) | (mcu_bits(x) & 0x80000000u));
}

static float function_of(const vireo_mcu_more_function* f, float x) {
  const float a = f->a, b = f->b, r = rounded(x);
  switch (f->what) {
    case VIREO_MCU_LOG:
      return x != x ? x : vireo_mcu_log(x);
    case VIREO_MCU_SIN:
      return sine(x, 0);
    case VIREO_MCU_COS:
      return sine(x, 1);
    case VIREO_MCU_ERF:
      return error_function(x);
    case VIREO_MCU_GELU:
      return 0.5f * x * (1 + error_function(x * 0.707106781f));
    case VIREO_MCU_GELU_TANH:
      return 0.5f * x * (1 + vireo_mcu_tanh(0.797884561f * (x + 0.044715f * x * x * x)));
    case VIREO_MCU_SOFTPLUS:
      return softplus(x);
    case VIREO_MCU_MISH:
      return x * vireo_mcu_tanh(softplus(x));
    case VIREO_MCU_SCALED_ELU:
      return b * (x > 0 ? x : a * (vireo_mcu_exp(x / f->c) - 1));
    case VIREO_MCU_FLOOR:
      return r > x ? r - 1 : r;
    case VIREO_MCU_CEIL:
      return r < x ? mcu_of_bits(mcu_bits(r + 1) | (mcu_bits(x) & 0x80000000u)) : r;
    case VIREO_MCU_ROUND:
      return r;
    case VIREO_MCU_SIGN:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    default:
      return x < -a ? x + b : x > a ? x - b : x == x ? 0 : x;
  }
}

void vireo_mcu_more_function_run(const vireo_mcu_more_function* f, const float* x, float* y, vireo_mcu_units units) {
  for (mcu_parts p = mcu_first_part(1, f->count, units); p.left != 0; mcu_next_part(&p)) {
    for (int32_t i = p.from, end = p.from + mcu_part_count(&p); i != end; ++i) y[i] = function_of(f, x[i]);
  }
}

/* Whole exponents by products; others by exp(b log a). */
static float power(float a, float b) {
  const float size = mcu_absolute(b), whole = rounded(b);
  if (b == 0 || a == 1) return 1;
  if (a != a || b != b) return mcu_of_bits(0x7FC00000u);
  if (size <= 64 && whole == b) {
    float y = 1, square = a;
    for (uint32_t n = (uint32_t)size; n != 0; n >>= 1, square *= square) {
      if ((n & 1) != 0) y *= square;
    }
    return b < 0 ? 1 / y : y;
  }
  if (a < 0 && whole != b) return mcu_of_bits(0x7FC00000u);
  if (a == 0) return b > 0 ? 0 : mcu_of_bits(0x7F800000u);
  const float y = vireo_mcu_exp(b * vireo_mcu_log(mcu_absolute(a)));
  const int odd = size < 16777216.0f && ((uint32_t)size & 1) != 0;
  return a < 0 && odd ? -y : y;
}

static float pair_of(int32_t what, float a, float b) {
  switch (what) {
    case VIREO_MCU_MIN_REALS:
      return a < b || a != a ? a : b;
    case VIREO_MCU_MAX_REALS:
      return a > b || a != a ? a : b;
    case VIREO_MCU_POWER:
      return power(a, b);
    default:
      return a < 0 ? a * b : a;
  }
}
static uint8_t compared(int32_t what, float a, float b) {
  return what == VIREO_MCU_EQUAL_REALS ? a == b : what == VIREO_MCU_LESS_REALS ? a < b : a <= b;
}

void vireo_mcu_pairs_run(const vireo_mcu_binary_reals* f, const float* a, const float* b, void* y,
                         vireo_mcu_units units) {
  for (mcu_parts p = mcu_first_part(f->rows, f->columns, units); p.left != 0; mcu_next_part(&p)) {
    const float* pa = a + p.row * f->a_row + p.from * f->a_step;
    const float* pb = b + p.row * f->b_row + p.from * f->b_step;
    int32_t to = p.row * f->columns + p.from;
    for (const int32_t last = to + mcu_part_count(&p); to != last; ++to, pa += f->a_step, pb += f->b_step) {
      if (f->what >= VIREO_MCU_EQUAL_REALS) {
        ((uint8_t*)y)[to] = compared(f->what, *pa, *pb);
      } else {
        ((float*)y)[to] = pair_of(f->what, *pa, *pb);
      }
    }
  }
}
