#include "delegates/gpu/templates/testing.h"

#include <gtest/gtest.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>

#include "delegates/gpu/emit/kernel.h"
#include "delegates/gpu/hip/print.h"
#include "delegates/gpu/ptx/print.h"
#include "delegates/gpu/spirv/emit.h"
#include "sdk/base/half.h"
#include "tests/support/sample.h"

namespace vireo::gpu {

Target plain_target() { return {}; }
Target rich_target() {
  Target t;
  t.subgroup = 32;
  t.workgroup = t.workgroup_x = t.workgroup_y = 1024;
  t.shared_bytes = 49152;
  t.bindings = 16;
  t.storage16 = t.storage8 = t.int64 = true;
  t.keeps_nan32 = t.keeps_denormals32 = t.rounds_even32 = true;
  return t;
}

Target unit_target() {
  Target t = rich_target();
  const TrialCard* card = trial_card();
  if (card != nullptr && !card->target.units.empty()) {
    t.subgroup = card->target.subgroup;
    t.units = card->target.units;
    t.hip = card->target.hip;
    t.shared_bytes = card->target.shared_bytes;
  } else {
    t.units = {{16, 16, 16}};
  }
  t.half_products = true;
  return t;
}

Target opened(Target target) {
  target.open = true;
  return target;
}

uint16_t half_of(float v) { return f32_to_f16(v); }

Extents dense_strides(const Extents& shape) {
  Extents out(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) out[i - 1] = out[i] * shape[i];
  return out;
}
Input given(DType type) {
  Input in;
  in.dtype = type;
  in.given = true;
  return in;
}
Step step(Function f, int a, int b) {
  Step s;
  s.function = f;
  s.a = a;
  s.b = b;
  return s;
}
Step constant(float v) {
  Step s;
  s.function = Function::kConstant;
  memcpy(&s.bits, &v, 4);
  return s;
}
View dense(const Extents& shape) {
  View v;
  v.strides = dense_strides(shape);
  return v;
}

std::vector<float> random_floats(size_t count, uint32_t seed, float lo, float hi) {
  std::mt19937 g(seed);
  std::vector<float> out(count);
  for (float& v : out) v = lo + (hi - lo) * (static_cast<float>(g() >> 8) / 16777216.0f);
  return out;
}
Bytes random_bytes(size_t count, uint32_t seed) {
  std::mt19937 g(seed);
  Bytes out(count);
  for (uint8_t& v : out) v = static_cast<uint8_t>(g() >> 9);
  return out;
}

namespace {

// What SPIR-V is not printed for: lanes that exchange values, and elements of matrices.
bool needs_ptx(const Program& p) {
  return p.unit.known ||
         std::any_of(p.body.begin(), p.body.end(), [](const Statement& s) { return s.op == Op::kShuffle; });
}

}  // namespace

void Trials::add(const std::string& name, const Dispatch& dispatch, const Target& target, std::vector<Bytes> bindings,
                 std::function<void(const std::vector<Bytes>&)> check) {
  ASSERT_EQ(dispatch.refusal, "") << name;
  ASSERT_EQ(dispatch.program.bindings, bindings.size()) << name;
  ASSERT_LE(dispatch.push.size(), target.push_words) << name;
  std::vector<uint32_t> words;
  if (!needs_ptx(dispatch.program)) {
    words = emit_spirv(dispatch.program, target);
    EXPECT_EQ(words, emit_spirv(dispatch.program, target)) << name;
  }
  trials_.push_back({name, dispatch, std::move(bindings), std::move(check), words, target});
}

Trials::~Trials() {
  const TrialCard* card = trial_card();
  static int64_t number = 0;  // of all trials of this process
  const auto left_out = [](const Trial&) { return !tests::in_sample(number++); };
  if (card == nullptr || card->lanes)
    trials_.erase(std::remove_if(trials_.begin(), trials_.end(), left_out), trials_.end());
  if (trials_.empty()) return;
  if (card == nullptr) run_on_host();
  if (card != nullptr && card->lanes) run_hip_on_host(*card);
  if (card == nullptr || !card->run) return;
  for (const Trial& t : trials_) {
    SCOPED_TRACE(t.name);
    run_on(*card, t);
  }
}

// What the card lacks, it is not asked for.
void Trials::run_on(const TrialCard& card, const Trial& t) {
  const Target& has = card.target;
  if (t.dispatch.program.unit.m != 0 && has.units.empty()) return;
  const bool exchanges = has.ptx != 0 || (has.hip != 0 && !t.dispatch.program.unit.known);
  if (needs_ptx(t.dispatch.program) && !exchanges) return;
  if (t.dispatch.program.unit.reads_tiles && !has.tile_unit) return;
  if (t.dispatch.program.unit.codes && has.code_unit.m == 0) return;
  if ((t.target.storage16 && !has.storage16) || (t.target.storage8 && !has.storage8) ||
      (t.target.int64 && !has.int64)) {
    return;
  }
  if (t.dispatch.program.bindings > has.bindings || t.dispatch.program.size[0] > has.workgroup_x) return;
  std::vector<Bytes> bindings = t.bindings;
  EXPECT_EQ(card.run(kernel_of(t.dispatch.program, has), t.dispatch, &bindings), "");
  t.check(bindings);
}

// As PTX for the oldest family and for one with everything that is printed.
void Trials::assemble() const {
  static bool assembles = true;
  for (const uint32_t sm : {75u, 90u}) {
    std::string text;
    for (size_t i = 0; i < trials_.size(); ++i) {
      Target target = trials_[i].target;
      target.ptx = sm;
      target.tile_unit = target.tile_unit && sm >= 90;
      if (text.empty()) text = ptx_head(target);
      if (sm < 80 && target.stage_bytes != 0) continue;  // it has no such copies
      if (sm < 80 && target.code_unit.m != 0) continue;
      if (sm < 80 && i % 4 != 0) continue;  // what differs there is seen in some
      text += ptx_entry(trials_[i].dispatch.program, target, "kernel" + std::to_string(i));
    }
    if (assembles && !trials_.empty()) {
      const std::string level = std::to_string(sm) + (sm >= 90 && trials_[0].target.tile_unit ? "a" : "");
      EXPECT_EQ(assemble_ptx(text, level, &assembles), "") << trials_[0].name << ", sm_" << level;
      if (!assembles) puts("ptxas is not here: PTX is not assembled (it is part of the CUDA Toolkit)");
    }
  }
}

void Trials::run_on_host() {
  HostLanes lanes;
  static bool validates = true;
  for (const Trial& t : trials_) {
    lanes.add(t.dispatch.program);
    if (!validates || t.words.empty() || (t.dispatch.program.unit.m != 0 && !validates_matrices())) continue;
    EXPECT_EQ(validate_spirv(t.words, &validates), "") << t.name;
    if (!validates) puts("spirv-val is not here: modules are not validated (apt-get install spirv-tools)");
  }
  assemble();
  ASSERT_EQ(lanes.build(), "");
  for (size_t i = 0; i < trials_.size(); ++i) {
    Trial& t = trials_[i];
    SCOPED_TRACE(t.name);
    EXPECT_EQ(lanes.run(i, t.dispatch.push, t.dispatch.groups, &t.bindings), "");
    t.check(t.bindings);
  }
}

// One trial in this many that run is compiled for chips, which is enough to see each kind. VIREO_FULL=1 compiles them
// all.
size_t compiled_each() {
  const char* const full = getenv("VIREO_FULL");
  if (full != nullptr && full[0] == '1') return 1;
  return static_cast<size_t>(std::max<int64_t>(1, 8 / tests::sample_step()));
}

// Units that spread matrices as another vendor's do have no text.
void Trials::run_hip_on_host(const TrialCard& card) {
  const Target& target = card.target;
  HostLanes lanes(&target);
  std::vector<const Trial*> ran;
  for (const Trial& t : trials_) {
    const Unit& unit = t.dispatch.program.unit;
    if (unit.known || unit.reads_tiles || (unit.m != 0 && (target.units.empty() || unit.lanes != target.subgroup)))
      continue;
    lanes.add(t.dispatch.program);
    ran.push_back(&t);
  }
  if (ran.empty()) return;
  const size_t each = compiled_each();
  for (const bool matrices : {false, true}) {
    std::string text;
    std::vector<std::string> names;
    for (size_t i = 0; i < ran.size(); i += each) {
      const Program& program = ran[i]->dispatch.program;
      if ((program.unit.m != 0) != matrices) continue;
      text += hip_entry(program, "kernel" + std::to_string(names.size()));
      names.push_back(program.name + ": " + ran[i]->name);
    }
    if (!names.empty() && card.compile) card.compile(text, matrices, names);
  }
  ASSERT_EQ(lanes.build(), "");
  for (size_t i = 0; i < ran.size(); ++i) {
    SCOPED_TRACE(ran[i]->name);
    std::vector<Bytes> bindings = ran[i]->bindings;
    EXPECT_EQ(lanes.run(i, ran[i]->dispatch.push, ran[i]->dispatch.groups, &bindings), "");
    ran[i]->check(bindings);
  }
}

double ulps_apart(float got, double wanted) {
  if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got) ? 0 : 1e9;
  const float nearest = static_cast<float>(wanted);
  if (isinf(nearest) || isinf(got)) return nearest == got ? 0 : 1e9;
  int exponent = 0;
  frexp(wanted, &exponent);
  return fabs(static_cast<double>(got) - wanted) / ldexp(1.0, std::max(exponent - 24, -149));
}

}  // namespace vireo::gpu
