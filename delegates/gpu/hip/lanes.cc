#include "delegates/gpu/hip/lanes.h"

namespace vireo::gpu {
namespace {

constexpr char kLanes[] = R"(#include <coroutine>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>
#include <vector>
namespace {  // libraries of several texts are loaded side by side
typedef int vi32;
typedef long long vi64;
typedef unsigned long long vu64;
#define VIREO_CALL static inline
struct quad { vu32 w[4]; };
struct pair { vu32 w[2]; };
struct memory { void* p; uint64_t bytes; int* wrong; };
#define VIREO_MEMORY memory
template <class T> static T load(memory b, vu32 at) {
  if ((uint64_t(at) + 1) * sizeof(T) > b.bytes) return *b.wrong = 1, T();
  return static_cast<const T*>(b.p)[at];
}
template <class T> static void store(memory b, vu32 at, T v) {
  if ((uint64_t(at) + 1) * sizeof(T) > b.bytes) { *b.wrong = 1; return; }
  static_cast<T*>(b.p)[at] = v;
}
static quad load_quad(memory b, vu32 at) { return load<quad>(b, at); }
static vu32 load_word(memory b, vu32 at) { return load<vu32>(b, at); }
static vu32 load_half(memory b, vu32 at) { return load<uint16_t>(b, at); }
static vu32 load_byte(memory b, vu32 at) { return load<uint8_t>(b, at); }
static void store_quad(memory b, vu32 at, quad v) { store(b, at, v); }
static void store_word(memory b, vu32 at, vu32 v) { store(b, at, v); }
static void store_half(memory b, vu32 at, vu32 v) { store(b, at, uint16_t(v)); }
static void store_byte(memory b, vu32 at, vu32 v) { store(b, at, uint8_t(v)); }
static bool inverse(bool v) { return !v; }
template <class T> static T inverse(T v) { return ~v; }
// Out of range: any number, but no undefined behaviour.
template <class T, class F> static T converted(F v) { return T(v); }
template <> vi32 converted(float v) { return v > -2147483904.0f && v < 2147483648.0f ? vi32(v) : INT32_MIN; }
template <> vu32 converted(float v) { return v > -1.0f && v < 4294967296.0f ? vu32(v) : 0; }
static vu32 half_of(float f) {
  const vu32 u = __builtin_bit_cast(vu32, f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return sign | 0x7e00;
  if (a >= 0x477ff000) return sign | 0x7c00;
  if (a < 0x38800000) return sign | vu32(rintf(__builtin_bit_cast(float, a) * 16777216.0f));
  return sign | (a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13;
}
static float float_of_half(vu32 h) {
  const vu32 a = h & 0x7fff, sign = (h & 0x8000) << 16;
  const float small = float(a) * 5.9604644775390625e-8f;
  const vu32 bits = a >= 0x7c00 ? (a << 13) + (224u << 23) : a >= 0x400 ? (a << 13) + (112u << 23)
                                                           : __builtin_bit_cast(vu32, small);
  return __builtin_bit_cast(float, sign | bits);
}
static float exp2_of(float v) { return exp2f(v); }

// A workgroup. `age` counts its barriers: a word that two lanes touch in one age, one of them to write, is a race.
struct word { vu32 v, read = 0, reader = 0, written = 0, writer = 0; };
struct workgroup { std::vector<word> words; vu32 age = 1; vu32 at[3]; int* wrong; };
enum stop_kind { kRuns, kBarrier, kMultiply, kExchange, kEnded };
struct lane_state {
  workgroup* group;
  vu32 lane;
  stop_kind stop = kRuns;
  vu32 at = 0, mask = 0;  // of a stop: its number
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  vu64 value = 0, got = 0;
};
struct lane_run {
  struct promise_type {
    lane_run get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { abort(); }
    struct frames {
      std::vector<void*> free_ones;
      size_t bytes = 0;
      void give_back() {
        for (void* p : free_ones) free(p);
        free_ones.clear();
      }
      ~frames() { give_back(); }
    };
    static frames& kept() { static frames f; return f; }
    void* operator new(size_t n) {
      if (kept().bytes != n) kept().give_back();
      kept().bytes = n;
      if (kept().free_ones.empty()) return malloc(n);
      void* p = kept().free_ones.back();
      kept().free_ones.pop_back();
      return p;
    }
    void operator delete(void* p, size_t) { kept().free_ones.push_back(p); }
  };
  std::coroutine_handle<promise_type> handle;
};
template <class T> struct stopped {
  lane_state* here;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<>) {}
  T await_resume() {
    if constexpr (!std::is_void_v<T>) {
      T v;
      memcpy(&v, &here->got, sizeof(v));
      return v;
    }
  }
};
static stopped<void> barrier(lane_state* here, vu32 at) {
  here->stop = kBarrier;
  here->at = at;
  return {here};
}
static stopped<void> multiply(lane_state* here, vu32 at, const void* a, const void* b, void* c) {
  here->stop = kMultiply;
  here->at = at;
  here->a = a;
  here->b = b;
  here->c = c;
  return {here};
}
template <class T> static stopped<T> exchange(lane_state* here, vu32 at, T v, vu32 mask) {
  here->stop = kExchange;
  here->at = at;
  here->mask = mask;
  memcpy(&here->value, &v, sizeof(v));
  return {here};
}
static word& touched(lane_state* here, vu32 at, bool writes) {
  workgroup& g = *here->group;
  word& w = g.words[at];
  const vu32 me = here->lane + 1, many = ~0u;
  if (w.written == g.age && w.writer != me) *g.wrong = 3;
  if (writes) {
    if (w.read == g.age && w.reader != me) *g.wrong = 3;
    w.written = g.age;
    w.writer = me;
  } else {
    w.reader = w.read != g.age || w.reader == me ? me : many;
    w.read = g.age;
  }
  return w;
}
template <class T> struct shared {
  static constexpr vu32 kWords = (sizeof(T) + 3) / 4;
  lane_state* here;
  vu32 count, first;
  vu32 inside(vu32 at) const { return at < count ? at : (*here->group->wrong = 1, 0); }
  T read(vu32 at) const {
    vu32 w[kWords];
    at = first + inside(at) * kWords;
    for (vu32 i = 0; i < kWords; ++i) w[i] = touched(here, at + i, false).v;
    T v;
    memcpy(&v, w, sizeof(v));
    return v;
  }
  void write(vu32 at, T v) const {
    vu32 w[kWords] = {};
    memcpy(w, &v, sizeof(v));
    at = first + inside(at) * kWords;
    for (vu32 i = 0; i < kWords; ++i) touched(here, at + i, true).v = w[i];
  }
};
static quad read_quad(shared<quad> s, vu32 at) { return s.read(at); }
static vu32 read_word(shared<quad> s, vu32 at, vu32 which) {
  return touched(s.here, s.first + s.inside(at) * 4 + which, false).v;
}
static pair read_pair(shared<quad> s, vu32 at, vu32 which) {
  return {{read_word(s, at, which * 2), read_word(s, at, which * 2 + 1)}};
}
static vu32 read_halves(shared<quad> s, vu32 low, vu32 high, vu32 which) {
  const vu32 by = which % 2 * 16;
  return (read_word(s, low, which / 2) >> by & 0xffff) | (read_word(s, high, which / 2) >> by & 0xffff) << 16;
}
static void write_float(shared<quad> s, vu32 at, vu32 which, float v) {
  touched(s.here, s.first + s.inside(at) * 4 + which, true).v = __builtin_bit_cast(vu32, v);
}
#define VIREO_ENTRY(name, lanes, ...) static lane_run name(lane_state* here, __VA_ARGS__)
#define VIREO_END co_return;
#define VIREO_LOOP
#define VIREO_LANE (here->lane)
#define VIREO_SUBGROUP (here->lane / kWave)
#define VIREO_GROUP_X (here->group->at[0])
#define VIREO_GROUP_Y (here->group->at[1])
#define VIREO_GROUP_Z (here->group->at[2])
#define VIREO_SHARED(type, name, count, first) const shared<type> name{here, count, first}
#define VIREO_READ(s, at) s.read(at)
#define VIREO_WRITE(s, at, v) s.write(at, v)
#define VIREO_BARRIER(number) co_await barrier(here, number)
#define VIREO_MULTIPLY(number, x, y, z) co_await multiply(here, number, &x, &y, &z)
#define VIREO_EXCHANGE(number, v, mask) co_await exchange<std::remove_const_t<decltype(v)>>(here, number, v, mask)
)";

// What a unit does, by where lanes have elements.
constexpr char kUnit[] = R"(
static void multiply_wave(lane_state* lanes, vu32 count, int* wrong) {
  if (count != kWave) { *wrong = 4; return; }
  float a[16][16], b[16][16];
  bool known[16][16] = {};
  for (vu32 l = 0; l < kWave; ++l) {
    for (vu32 e = 0; e < kHalves; ++e) {
      const auto half = [e](const void* m) {
        return float_of_half(static_cast<const operand*>(m)->w[e / 2] >> e % 2 * 16 & 0xffff);
      };
      const vu32 line = l % 16, depth = l / 16 * kDepthStep + e;
      const float x = half(lanes[l].a), y = half(lanes[l].b);
      // Lanes that have the same elements must agree.
      if (known[line][depth] && (memcmp(&x, &a[line][depth], 4) != 0 || memcmp(&y, &b[depth][line], 4) != 0))
        *wrong = 4;
      a[line][depth] = x;
      b[depth][line] = y;
      known[line][depth] = true;
    }
  }
  for (vu32 l = 0; l < kWave; ++l) {
    for (vu32 e = 0; e < kFloats; ++e) {
      const vu32 row = l / 16 * kRowStep + e * kElementStep;
      float& sum = static_cast<total*>(lanes[l].c)->v[e];
      for (vu32 k = 0; k < 16; ++k) sum += a[row][k] * b[k][l % 16];
    }
  }
}
)";
constexpr char kNoUnit[] = "static void multiply_wave(lane_state*, vu32, int* wrong) { *wrong = 4; }\n";

constexpr char kRun[] = R"(
// Waves go on until all of them wait at one barrier, or have ended.
template <class Make> static int run_groups(const uint32_t* groups, bool backwards, vu32 count, vu32 words, Make make) {
  int wrong = 0;
  workgroup g;
  g.words.resize(words);
  g.wrong = &wrong;
  std::vector<lane_state> lanes(count);
  std::vector<lane_run> runs(count);
  for (g.at[2] = 0; g.at[2] < groups[2]; ++g.at[2])
  for (g.at[1] = 0; g.at[1] < groups[1]; ++g.at[1])
  for (g.at[0] = 0; g.at[0] < groups[0]; ++g.at[0]) {
    for (word& w : g.words) w.v = 0x7e7f7e7fu;
    ++g.age;
    for (vu32 l = 0; l < count; ++l) {
      lanes[l] = {&g, l};
      runs[l] = make(&lanes[l], &wrong);
    }
    const vu32 waves = (count + kWave - 1) / kWave;
    const auto go = [&](vu32 l) {
      lanes[l].stop = kRuns;
      runs[l].handle.resume();
      if (runs[l].handle.done()) lanes[l].stop = kEnded;
    };
    for (bool ended = false; !ended && wrong == 0;) {
      for (vu32 at = 0; at < waves && wrong == 0; ++at) {
        const vu32 first = (backwards ? waves - 1 - at : at) * kWave;
        const vu32 end = first + kWave < count ? first + kWave : count;
        for (;;) {
          for (vu32 i = first; i < end; ++i) go(backwards ? end - 1 - (i - first) : i);
          bool same = true;
          for (vu32 l = first + 1; l < end; ++l)
            same = same && lanes[l].stop == lanes[first].stop && lanes[l].at == lanes[first].at;
          const stop_kind stop = lanes[first].stop;
          if (!same) { wrong = 2; break; }
          if (stop == kBarrier || stop == kEnded) break;
          if (stop == kMultiply) multiply_wave(&lanes[first], end - first, &wrong);
          for (vu32 l = first; l < end && stop == kExchange; ++l) {
            const vu32 from = first + ((l - first) ^ lanes[l].mask);
            if (from >= end) { wrong = 4; break; }
            lanes[l].got = lanes[from].value;
          }
        }
      }
      for (vu32 l = 1; l < count && wrong == 0; ++l)
        if (lanes[l].stop != lanes[0].stop || (lanes[l].stop == kBarrier && lanes[l].at != lanes[0].at)) wrong = 2;
      ended = lanes[0].stop == kEnded;
      ++g.age;
    }
    for (lane_run& run : runs) run.handle.destroy();
    if (wrong != 0) return wrong;
  }
  return wrong;
}
}  // namespace
)";

}  // namespace

std::string hip_lanes_head(const Target& target) {
  return hip_constants(target) + kLanes + hip_matrices(target) + (hip_unit(target) != nullptr ? kUnit : kNoUnit) + kRun;
}

std::string hip_lanes_runner(const HipLanes& what, const std::string& lane, const std::string& symbol) {
  std::string out = "extern \"C\" int " + symbol +
                    "(void* const* bindings, const uint64_t* bytes, const uint32_t* push, const uint32_t* groups, int "
                    "backwards) {\nreturn run_groups(groups, backwards != 0, " +
                    std::to_string(what.lanes) + ", " + std::to_string(what.words) +
                    ", [&](lane_state* here, int* wrong) {\nreturn " + lane + "(here";
  for (uint32_t i = 0; i < what.bindings; ++i) {
    const std::string n = std::to_string(i);
    out += ", memory{bindings[" + n + "], bytes[" + n + "], wrong}";
  }
  for (uint32_t i = 0; i < what.push; ++i) out += ", push[" + std::to_string(i) + "]";
  return out + ");\n});\n}\n";
}

std::string hip_lanes_entry(const Program& program, const std::string& symbol) {
  const std::string lane = symbol + "_lane";
  const HipLanes what = {program.size[0] * program.size[1] * program.size[2], hip_shared_words(program),
                         program.bindings, program.push_words};
  return hip_entry(program, lane) + hip_lanes_runner(what, lane, symbol);
}

}  // namespace vireo::gpu
