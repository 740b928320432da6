// Plans for targets in a file: which one a session follows and which it may not, what explain says of it, and that
// nothing a file says of devices, nodes or bounds leads anywhere.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"
#include "tests/property/two_parts.h"

namespace vireo {
namespace {

constexpr uint8_t kNot = 255;

emit::TargetPlan plan_for(const std::string& target, std::vector<uint8_t> nodes) {
  emit::TargetPlan plan;
  plan.target = target;
  plan.devices = {{"joiner", "joiner", "", "tests", "1"}, {"cpu", "cpu", "", "", ""}};
  plan.placement = {std::move(nodes)};
  return plan;
}

Bytes with_plans(const Bytes& bytes, const std::vector<emit::TargetPlan>& plans) {
  std::string error;
  Bytes made = emit::with_packed_weights({bytes.data(), bytes.size()}, {}, "", &error, &plans);
  EXPECT_FALSE(made.empty()) << error;
  return made;
}

struct Told {
  std::vector<std::string> devices, reasons;
};
Told explain(const Load& load, const vireo_session_options& o) {
  Told told;
  const vireo_placement_visitor visitor = {&told, [](void* self, const vireo_placed_node* n) {
                                             static_cast<Told*>(self)->devices.emplace_back(n->device);
                                             static_cast<Told*>(self)->reasons.emplace_back(n->reason);
                                           }};
  vireo_error error = VIREO_ERROR_INIT;
  EXPECT_EQ(vireo_model_placement(load.model, &o, &visitor, &error), VIREO_OK) << error.message;
  return told;
}

class PlansTest : public testing::Test {
 protected:
  void SetUp() override {
    device.takes = ~uint64_t{0};
    device.longest = 64;
    device.refuses.clear();
    device.wrong.clear();
    device.hangs = device.lost = device.no_memory = device.no_load = false;
    device.lost_at = -1;
    device.claimed_ns = 1e9;  // by cost it would get nothing
    device.family = "tests";
    device.emulated = true;
    bytes_ = two_parts();
    Load load(bytes_);
    vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
    wanted_ = load.answer(o, nullptr);
    ASSERT_EQ(vireo_model_plan_count(load.model), 1u);
  }
  void TearDown() override {
    device.emulated = true;
    device.claimed_ns = 0;
  }
  Bytes bytes_;
  std::vector<float> wanted_;
};

// relu, neg, add, abs, neg, sub.
TEST_F(PlansTest, ANodeRunsWhereThePlanSays) {
  const Bytes file = with_plans(bytes_, {plan_for("board", {0, 0, 1, 0, kNot, 0})});
  Load load(file);
  vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
  uint32_t there = 0;
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 0u);  // emulated: only where it is named
  o.target = "board";
  EXPECT_EQ(load.answer(o, &there), wanted_);
  const Told told = explain(load, o);
  EXPECT_EQ(told.devices, (std::vector<std::string>{"joiner", "joiner", "cpu", "cpu", "cpu", "joiner"}));
  for (const int n : {0, 1, 2, 5}) EXPECT_EQ(told.reasons[static_cast<size_t>(n)], "as the plan for board says") << n;
  for (const int n : {3, 4}) EXPECT_NE(told.reasons[static_cast<size_t>(n)], "as the plan for board says") << n;
  EXPECT_EQ(there, 3u);
  o.target = "";
  there = 0;
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 0u);
  o.target = nullptr;
  o.device = "joiner,cpu";  // goes before plans
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 5u);
  vireo_plan_info info = VIREO_PLAN_INFO_INIT;
  ASSERT_EQ(vireo_model_plan(load.model, 1, &info, nullptr), VIREO_OK);
  EXPECT_STREQ(info.target, "board");
  EXPECT_STREQ(info.devices, "joiner,cpu");
  EXPECT_EQ(info.device_count, 2u);
  EXPECT_EQ(info.usable, 1u);
  EXPECT_EQ(info.automatic, 0u);
  EXPECT_STREQ(info.reason, "");
  ASSERT_EQ(vireo_model_plan(load.model, 0, &info, nullptr), VIREO_OK);
  EXPECT_STREQ(info.target, "");
  EXPECT_EQ(vireo_model_plan(load.model, 2, &info, nullptr), VIREO_INVALID_ARGUMENT);
}

TEST_F(PlansTest, AutoTakesTheFirstThatFits) {
  emit::TargetPlan absent = plan_for("absent", {0, 0, 0, 0, 0, 0});
  absent.devices[0].delegate = "nobody";
  const Bytes file =
      with_plans(bytes_, {absent, plan_for("first", {0, 0, 0, 1, 1, 1}), plan_for("second", {1, 1, 1, 1, 0, 0})});
  device.emulated = false;
  Load load(file);
  vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
  EXPECT_EQ(explain(load, o).devices, (std::vector<std::string>{"joiner", "joiner", "joiner", "cpu", "cpu", "cpu"}));
  uint32_t there = 0;
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 3u);
  o.target = "second";
  there = 0;
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 2u);
  o.target = "";
  there = 0;
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 0u);
  // One for the CPU alone is taken where it is named.
  emit::TargetPlan cpu = plan_for("cpu", {0, 0, 0, 0, 0, 0});
  cpu.devices.erase(cpu.devices.begin());
  Load alone(with_plans(bytes_, {cpu, plan_for("first", {0, 0, 0, 1, 1, 1})}));
  o.target = nullptr;
  EXPECT_EQ(explain(alone, o).devices[0], "joiner");
  o.target = "cpu";
  EXPECT_EQ(explain(alone, o).devices[0], "cpu");
}

TEST_F(PlansTest, WhatCannotBeUsedSaysWhy) {
  emit::TargetPlan absent = plan_for("absent", {0, 0, 0, 0, 0, 0});
  absent.devices[0].delegate = "nobody";
  emit::TargetPlan other = plan_for("other", {});
  other.placement.clear();
  other.devices[0].family = "of another chip";
  emit::TargetPlan twice = plan_for("twice", {});
  twice.placement.clear();
  twice.devices[1] = twice.devices[0];  // there is one of them
  const Bytes file = with_plans(bytes_, {absent, other, twice});
  Load load(file);
  vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
  for (const char* name : {"absent", "other", "twice"}) {
    o.target = name;
    load.answer(o, nullptr, false);
    EXPECT_EQ(load.error.status, VIREO_UNSUPPORTED);
    EXPECT_NE(std::string(load.error.message).find("is not here"), std::string::npos) << load.error.message;
    EXPECT_NE(std::string(load.error.message).find("absent, other, twice"), std::string::npos) << load.error.message;
  }
  o.target = "nothing";
  load.answer(o, nullptr, false);
  EXPECT_NE(std::string(load.error.message).find("absent, other, twice"), std::string::npos) << load.error.message;
  vireo_plan_info info = VIREO_PLAN_INFO_INIT;
  ASSERT_EQ(vireo_model_plan(load.model, 1, &info, nullptr), VIREO_OK);
  EXPECT_EQ(info.usable, 0u);
  EXPECT_NE(std::string(info.reason).find("nobody"), std::string::npos) << info.reason;
  o.target = "absent";
  o.device = "cpu";
  load.answer(o, nullptr, false);
  EXPECT_EQ(load.error.status, VIREO_INVALID_ARGUMENT);
  Load plain(bytes_);
  o.device = nullptr;
  plain.answer(o, nullptr, false);
  EXPECT_NE(std::string(plain.error.message).find("vireo convert --target"), std::string::npos) << plain.error.message;
}

TEST_F(PlansTest, WhatItsDeviceDoesNotTakeRunsElsewhere) {
  const Bytes file = with_plans(bytes_, {plan_for("board", {0, 0, 0, 0, 0, 0})});
  device.refuses = {"Neg"};
  Load load(file);
  vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
  o.target = "board";
  uint32_t there = 0;
  EXPECT_EQ(load.answer(o, &there), wanted_);
  EXPECT_EQ(there, 3u);
}

TEST_F(PlansTest, BoundsOfThePlan) {
  const Bytes open = two_parts(/*open=*/true);
  emit::TargetPlan plan = plan_for("board", {0, 0, 0, 0, 0, 0});
  plan.bounds = {{"n", 1, 4}, {"unknown", 0, 0}};
  const Bytes file = with_plans(open, {plan});
  device.emulated = false;
  for (const int64_t most : {2, 4, 5, 40}) {
    Load load(file);
    vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
    const vireo_bound bound = {"n", 1, most};
    o.bounds = &bound;
    o.bound_count = 1;
    const Told told = explain(load, o);
    EXPECT_EQ(told.devices[0], most <= 4 ? "joiner" : "cpu") << most;
    o.target = "board";
    vireo_session* session = nullptr;
    vireo_error error = VIREO_ERROR_INIT;
    const vireo_status status = vireo_session_create(load.model, &o, &session, &error);
    EXPECT_EQ(status, most <= 4 ? VIREO_OK : VIREO_UNSUPPORTED) << error.message;
    if (most > 4) {
      EXPECT_NE(std::string(error.message).find("\"n\" = 1..4"), std::string::npos) << error.message;
    }
    if (session != nullptr) {  // for other bounds the name is still asked for
      const vireo_bound more = {"n", 1, 40};
      EXPECT_EQ(vireo_session_reserve(&session, &more, 1, &error), VIREO_UNSUPPORTED);
    }
    vireo_session_release(session);
  }
}

// Plans are written with fields of any kind: the file is refused, or its answers are right.
TEST_F(PlansTest, HostilePlans) {
  std::mt19937 random(7);
  int refused = 0, answered = 0;
  for (int round = 0; round < 400; ++round) {
    emit::TargetPlan plan = plan_for("board", {0, 0, 1, 0, kNot, 0});
    switch (random() % 8) {
      case 0:
        plan.target.assign(random() % 200, 'x');
        break;
      case 1:
        for (uint8_t& d : plan.placement[0]) d = static_cast<uint8_t>(random());
        break;
      case 2:
        plan.placement[0].resize(random() % 12);
        break;
      case 3:
        plan.placement.resize(random() % 4, std::vector<uint8_t>(6, 0));
        break;
      case 4:
        plan.devices.resize(random() % 40, {"joiner", "joiner", "", "", ""});
        break;
      case 5:
        plan.bounds = {{"n", static_cast<int64_t>(random()) - (int64_t{1} << 31), static_cast<int64_t>(random())}};
        break;
      case 6:
        plan.devices[random() % 2].name.assign(random() % 3000, '%');
        plan.devices[random() % 2].delegate = random() % 2 == 0 ? "cpu" : "";
        break;
      default:
        plan.placement[0].clear();
    }
    const Bytes file = with_plans(bytes_, {plan});
    vireo_runtime* runtime = nullptr;
    vireo_model* model = nullptr;
    ASSERT_EQ(vireo_runtime_create(nullptr, &runtime, nullptr), VIREO_OK);
    std::unique_ptr<uint8_t[], AlignedFree> held(
        static_cast<uint8_t*>(::operator new[](file.size(), std::align_val_t{64})));
    std::memcpy(held.get(), file.data(), file.size());
    vireo_error error = VIREO_ERROR_INIT;
    const vireo_status status = vireo_model_load_memory(runtime, held.get(), file.size(), &model, &error);
    vireo_model_release(model);
    vireo_runtime_release(runtime);
    if (status != VIREO_OK) {
      ++refused;
      EXPECT_EQ(status, VIREO_INVALID_MODEL);
      EXPECT_NE(std::string(error.message).find("does not fit"), std::string::npos) << error.message;
      continue;
    }
    ++answered;
    Load load(file);
    vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
    EXPECT_EQ(load.answer(o, nullptr), wanted_);
    o.target = plan.target.c_str();
    vireo_session* session = nullptr;
    const vireo_status made = vireo_session_create(load.model, &o, &session, &load.error);
    EXPECT_TRUE(made == VIREO_OK || made == VIREO_UNSUPPORTED) << load.error.message;
    vireo_session_release(session);
    if (made == VIREO_OK) {
      EXPECT_EQ(load.answer(o, nullptr), wanted_);
    }
    vireo_plan_info info = VIREO_PLAN_INFO_INIT;
    EXPECT_EQ(vireo_model_plan(load.model, 1, &info, nullptr), VIREO_OK);
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(answered, 50);
}

}  // namespace
}  // namespace vireo
