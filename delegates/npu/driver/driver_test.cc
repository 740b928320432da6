// The driver through its table alone: nodes alone and joined give the reference kernels' bytes; what VIREO_NPU_FAULT
// breaks is told as vireo/delegate.h says. Blobs and graphs that mean harm: hostile_test.cc.
#include "delegates/npu/driver/driver_testing.h"

#include <sys/wait.h>
#include <unistd.h>

std::atomic<uint64_t> g_news{0};
std::atomic<int64_t> g_news_left{INT64_MAX};
// Not inlined: gcc 12 takes half of a pair that it sees through for a mismatch.
__attribute__((noinline)) void* operator new(size_t bytes) {
  ++g_news;
  if (g_news_left.fetch_sub(1) <= 0) throw std::bad_alloc();
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes); p != nullptr) return p;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++g_news;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace vireo::npu::testing {
namespace {

TEST(NpuDriver, PartsOfAllLengthsGiveTheReferenceBytes) {
  Opened o;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Net net(seed);
    net.whole();
    const auto count = static_cast<uint32_t>(net.g.nodes.size());
    const Answers answers = claims(o, net);
    for (const std::string& why : answers.reasons) EXPECT_EQ(why, "");
    for (const double ns : answers.times) EXPECT_GT(ns, 0);
    for (uint32_t first = 0; first < count; ++first) {
      for (uint32_t n = 1; first + n <= count; ++n) {
        if (n > 1 && n < count && (first + n + seed) % 5 != 0) continue;
        Part p(o, net, first, n);
        ASSERT_EQ(p.compile(), VIREO_OK) << first << " " << n << ": " << p.fault.text;
        EXPECT_GT(p.compiled.time_ns, 0);
        ASSERT_EQ(p.load(), VIREO_OK);
        ASSERT_EQ(p.run(), VIREO_OK);
        EXPECT_TRUE(p.right()) << "nodes " << first << " to " << first + n - 1;
      }
    }
  }
}

// A model in integers with float32 at its ends: all of it runs on the machine. A sum that somebody else reads does not.
TEST(NpuDriver, EndsInFloat32) {
  Opened o;
  Net net(11);
  const auto binary = [&](vireo::Op op, int32_t a, int32_t b) {
    return net.node(op, pack<attrs::Binary>(attrs::BinaryT()), {a, b});
  };
  const auto quantize = [&](int32_t v, const std::vector<float>& scale, const std::vector<int8_t>& zero) {
    const std::vector<int64_t> one(scale.size() == 1 ? 0 : 1, static_cast<int64_t>(scale.size()));
    return net.node(vireo::Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(attrs::QuantizeLinearT()),
                    {v, net.constant<float>(one, scale), net.constant<int8_t>(one, zero)});
  };
  std::vector<float> picture(3 * 6 * 5);
  for (float& v : picture) v = net.random.factor(-1, 3);
  TestTensor given;
  given.type = {DType::kF32, make_shape({1, 3, 6, 5})};
  given.bytes.resize(picture.size() * 4);
  std::memcpy(given.bytes.data(), picture.data(), given.bytes.size());
  const int32_t x = net.value(given, false);
  const int32_t centred = binary(vireo::Op::kSub, x, net.constant<float>({3, 1, 1}, {0.4f, 0.5f, 0.6f}));
  const int32_t scaled = binary(vireo::Op::kMul, net.constant<float>({}, {0.75f}), centred);
  const int32_t q = quantize(scaled, {0.01f, 0.02f, 0.03f}, {-3, 0, 7});
  const int32_t y = net.conv(q, 4, 1, 1);
  const int32_t real = net.node(vireo::Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT()),
                                {y, net.constant<float>({}, {0.07f}), net.constant<int8_t>({}, {3})});
  net.g.inputs = {x};
  net.g.outputs = {real};
  EXPECT_EQ(claims(o, net).reasons, std::vector<std::string>(5, ""));
  for (uint32_t first = 0; first < 5; ++first) {
    for (uint32_t n = 1; first + n <= 5; ++n) {
      Part p(o, net, first, n);
      ASSERT_EQ(p.compile(), VIREO_OK) << first << " " << n << ": " << p.fault.text;
      ASSERT_EQ(p.load(), VIREO_OK);
      ASSERT_EQ(p.run(), VIREO_OK);
      EXPECT_TRUE(p.right()) << "nodes " << first << " to " << first + n - 1;
    }
  }
  net.g.outputs = {real, centred};
  const std::vector<std::string> seen = claims(o, net).reasons;
  EXPECT_NE(seen[0].find("no codes are made of"), std::string::npos);
  EXPECT_EQ(seen[1], "");
}

// Blocks of pixels, and a softmax over channels, alone and behind a convolution, whose result lies in pixels.
TEST(NpuDriver, WhatMovesPixels) {
  Opened o;
  for (int kind = 0; kind < 6; ++kind) {
    for (const bool behind : {false, true}) {
      Net net(static_cast<uint64_t>(20 + kind));
      int32_t x = net.value(net.noise({2, 12, 6, 4}), false);
      if (behind) x = net.conv(x, 12, 1, 1);
      int32_t y = 0;
      if (kind < 2) {
        attrs::DepthToSpaceT a;
        a.blocksize = 2;
        a.mode = static_cast<attrs::DepthToSpaceMode>(kind);
        y = net.node(vireo::Op::kDepthToSpace, pack<attrs::DepthToSpace>(a), {x});
      } else if (kind < 4) {
        attrs::SpaceToDepthT a;
        a.blocksize = 2;
        a.mode = static_cast<attrs::DepthToSpaceMode>(kind - 2);
        y = net.node(vireo::Op::kSpaceToDepth, pack<attrs::SpaceToDepth>(a), {x});
      } else {
        attrs::IntSoftmaxT a;
        a.axis = kind == 4 ? 1 : 3;
        a.multiplier = 256;
        a.y_zero = -128;
        Net::range(&a);
        a.output_dtype = static_cast<uint8_t>(DType::kI8);
        std::vector<int32_t> table(256);
        for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = (256 - i) * 1000;
        y = net.node(vireo::Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), {x, net.constant<int32_t>({256}, table)});
      }
      net.table(y);
      for (const std::string& why : claims(o, net).reasons) EXPECT_EQ(why, "") << kind;
      for (uint32_t n = 1; n <= net.g.nodes.size(); ++n) {
        Part p(o, net, 0, n);
        ASSERT_EQ(p.compile(), VIREO_OK) << kind << ": " << p.fault.text;
        ASSERT_EQ(p.load(), VIREO_OK);
        ASSERT_EQ(p.run(), VIREO_OK);
        EXPECT_TRUE(p.right()) << kind << (behind ? " behind a convolution" : "");
      }
    }
  }
}

TEST(NpuDriver, CompositesStandByTheirBodies) {
  Opened o;
  Net net(7);
  const int32_t x = net.value(net.noise({1, 4, 6, 6}), false);
  const int32_t y = net.table(net.conv(x, 6, 1, 1));
  auto body = std::make_shared<vireo_graph>(net.g);
  body->inputs = {x};
  body->outputs = {y};
  TestNode n;
  n.name = "block";
  n.op = static_cast<uint16_t>(vireo::Op::kComposite);
  n.inputs = {x};
  n.outputs = {y};
  n.body = body;
  net.g.nodes = {n};
  EXPECT_EQ(claims(o, net).reasons, std::vector<std::string>{""});
  Part p(o, net, 0, 1);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.fault.text;
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

TEST(NpuDriver, WhatIsLeftIsLeftWithAReason) {
  Opened o;
  Net net(3);
  const int32_t x = net.value(net.noise({1, 4, 6, 6}), false);
  net.table(x);
  net.g.values[static_cast<size_t>(x)].varies = true;
  EXPECT_NE(claims(o, net).reasons[0].find("its shapes change"), std::string::npos);
  net.g.values[static_cast<size_t>(x)].varies = false;
  net.g.values[static_cast<size_t>(x)].type.dtype = DType::kF32;
  EXPECT_NE(claims(o, net).reasons[0].find("8-bit codes"), std::string::npos);
  net.g.values[static_cast<size_t>(x)].type.dtype = DType::kI8;
  net.g.values[static_cast<size_t>(net.g.nodes[0].inputs[1])].constant = nullptr;
  EXPECT_NE(claims(o, net).reasons[0].find("not constant"), std::string::npos);
  net.g.nodes[0].op = static_cast<uint16_t>(vireo::Op::kSoftmax);
  net.g.nodes[0].inputs.resize(1);
  EXPECT_NE(claims(o, net).reasons[0].find("no layer of the machine"), std::string::npos);
}

TEST(NpuDriver, TwoPartsAtOnceAndNothingIsAllocated) {
  Opened o;
  Net a(11), b(12);
  a.whole();
  b.whole();
  Part p(o, a, 0, static_cast<uint32_t>(a.g.nodes.size())), q(o, b, 0, static_cast<uint32_t>(b.g.nodes.size()));
  for (Part* each : {&p, &q}) {
    ASSERT_EQ(each->compile(), VIREO_OK) << each->fault.text;
    ASSERT_EQ(each->load(), VIREO_OK);
    each->prepare();
  }
  const uint64_t news = g_news;
  const int64_t calls = g_host_calls;
  vireo_status status[2] = {};
  for (int k = 0; k < 50; ++k) {
    status[0] |= p.submit() | q.submit();
    status[1] |= q.wait() | p.wait();
  }
  EXPECT_EQ(g_news, news);
  EXPECT_EQ(g_host_calls, calls);
  EXPECT_EQ(status[0], uint32_t{VIREO_OK});
  EXPECT_EQ(status[1], uint32_t{VIREO_OK});
  EXPECT_TRUE(p.right());
  EXPECT_TRUE(q.right());
  vireo_telemetry t = VIREO_TELEMETRY_INIT;
  ASSERT_EQ(o.d->telemetry(o.device, &t), VIREO_OK);
  EXPECT_EQ(t.submits, 100u);
  EXPECT_GT(t.busy_ns, 0u);
  EXPECT_GT(t.energy_nj, 0u);
  EXPECT_EQ(t.power, uint32_t{VIREO_POWER_IDLE});
}

struct Faulty : ::testing::Test {
  Net net{21};
  void SetUp() override { net.table(net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1)); }
  static void ready(Part* p) {
    ASSERT_EQ(p->compile(), VIREO_OK) << p->fault.text;
    ASSERT_EQ(p->load(), VIREO_OK);
  }
};

// Layers' times add up to the part's, each belongs to a node of the part, and a session that is not profiled has none.
TEST(NpuDriver, TimesOfNodesAddUpToThePart) {
  Opened o;
  Net net(3);
  net.whole();
  const auto count = static_cast<uint32_t>(net.g.nodes.size());
  Part p(o, net, 1, count - 1);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.fault.text;
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  struct Times {
    std::vector<uint64_t> of;
    uint64_t end = 0;
  } times;
  const auto take = [](void* context, const vireo_timeline_entry* e) {
    auto& t = *static_cast<Times*>(context);
    ASSERT_LT(e->node, t.of.size());
    EXPECT_EQ(e->begin_ns, t.end);
    t.of[e->node] += e->end_ns - e->begin_ns;
    t.end = e->end_ns;
  };
  EXPECT_EQ(o.d->timeline(p.loaded, &times, take), VIREO_UNSUPPORTED);
  p.profile = 1;
  ASSERT_EQ(p.load(), VIREO_OK);
  for (int run = 0; run < 2; ++run) {
    times = {std::vector<uint64_t>(count - 1), 0};
    ASSERT_EQ(p.run(), VIREO_OK);
    EXPECT_TRUE(p.right());
    ASSERT_EQ(o.d->timeline(p.loaded, &times, take), VIREO_OK);
    EXPECT_NEAR(static_cast<double>(times.end), p.compiled.time_ns, 0.6 * p.compiled.time_ns);
    // A node that works beside a longer one may have none of its own.
    EXPECT_GE(2 * std::count_if(times.of.begin(), times.of.end(), [](uint64_t ns) { return ns != 0; }), count - 1);
  }
}

// What waits behind a part that runs is taken by priority: the last to write a result is the one that waited longest.
TEST(NpuDriver, ThoseOfHighPriorityGoFirst) {
  Opened o;
  Net busy(5), net(6);
  busy.whole();
  net.whole();
  const auto count = static_cast<uint32_t>(net.g.nodes.size());
  Part runs(o, busy, 0, static_cast<uint32_t>(busy.g.nodes.size()));
  ASSERT_EQ(runs.compile(), VIREO_OK);
  ASSERT_EQ(runs.load(), VIREO_OK);
  const vireo_priority orders[][2] = {{VIREO_PRIORITY_LOW, VIREO_PRIORITY_NORMAL},
                                      {VIREO_PRIORITY_NORMAL, VIREO_PRIORITY_HIGH},
                                      {VIREO_PRIORITY_LOW, VIREO_PRIORITY_HIGH},
                                      {VIREO_PRIORITY_HIGH, VIREO_PRIORITY_HIGH},
                                      {VIREO_PRIORITY_HIGH, VIREO_PRIORITY_LOW}};
  for (const auto& [before, after] : orders) {
    Part first(o, net, 0, count), second(o, net, 0, count);
    first.priority = before;
    second.priority = after;
    for (Part* p : {&first, &second}) {
      ASSERT_EQ(p->compile(), VIREO_OK);
      ASSERT_EQ(p->load(), VIREO_OK);
      p->prepare();
    }
    // Each writes where the other does. A thousand tries: the machine may be done before both wait behind it.
    std::vector<uint8_t> to = first.results[0];
    first.tensors[first.inputs.size()].data = second.tensors[second.inputs.size()].data = to.data();
    std::vector<uint8_t> other = net.values[static_cast<size_t>(second.inputs[0])].bytes;
    for (uint8_t& b : other) b ^= 0x15;
    second.tensors[0].data = other.data();
    ASSERT_EQ(second.submit(), VIREO_OK);
    ASSERT_EQ(second.wait(), VIREO_OK);
    const std::vector<uint8_t> of_second = to, &of_first = net.values[static_cast<size_t>(first.outputs[0])].bytes;
    ASSERT_NE(of_second, of_first);
    bool seen = false;
    for (int tries = 0; tries < 1000 && !seen; ++tries) {
      runs.prepare();
      ASSERT_EQ(runs.submit(), VIREO_OK);
      ASSERT_EQ(first.submit(), VIREO_OK);
      ASSERT_EQ(second.submit(), VIREO_OK);
      seen = runs.wait(0) == VIREO_BUSY;
      ASSERT_EQ(first.wait(), VIREO_OK);
      ASSERT_EQ(second.wait(), VIREO_OK);
      ASSERT_EQ(runs.wait(), VIREO_OK);
    }
    ASSERT_TRUE(seen);
    const bool overtakes = before != after && after != VIREO_PRIORITY_LOW;
    EXPECT_EQ(to == of_first, overtakes) << before << " " << after;
    EXPECT_EQ(to == of_second, !overtakes) << before << " " << after;
  }
}

// The machine's thread has begun by then, on a busy computer as well; else a cancel takes the part out before it hangs.
constexpr uint64_t kUntilItHangs = 300'000'000;

TEST_F(Faulty, AHangIsCancelledAndReset) {
  Opened o("hang@1");
  Part p(o, net, 0, 2), behind(o, net, 0, 2);
  ready(&p);
  ready(&behind);
  EXPECT_EQ(p.run(), VIREO_OK);
  p.prepare();
  behind.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
  EXPECT_EQ(p.wait(kUntilItHangs), VIREO_BUSY);
  EXPECT_EQ(p.wait(0), VIREO_BUSY);
  ASSERT_EQ(behind.submit(), VIREO_OK);
  EXPECT_EQ(behind.wait(1000000), VIREO_BUSY);
  EXPECT_EQ(o.d->health(o.device), VIREO_OK);
  o.d->cancel(p.loaded);
  EXPECT_EQ(p.wait(0), VIREO_CANCELLED);
  EXPECT_EQ(o.d->health(o.device), VIREO_DEVICE_LOST);
  EXPECT_EQ(behind.wait(), VIREO_DEVICE_LOST);
  EXPECT_EQ(p.submit(), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->reset(o.device), VIREO_OK);
  EXPECT_EQ(o.d->health(o.device), VIREO_OK);
  EXPECT_EQ(behind.submit(), VIREO_DEVICE_LOST) << "loaded before the reset";
  ASSERT_EQ(p.load(), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

TEST_F(Faulty, AHangThatIsNotCancelledEndsWithUnload) {
  Opened o("hang@0");
  Part p(o, net, 0, 2);
  ready(&p);
  p.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
}

TEST_F(Faulty, AResetEndsAHangAndLosesWhatWaits) {
  Opened o("hang@0");
  Part p(o, net, 0, 2), behind(o, net, 0, 2);
  ready(&p);
  ready(&behind);
  p.prepare();
  behind.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
  EXPECT_EQ(p.wait(5000000), VIREO_BUSY);
  ASSERT_EQ(behind.submit(), VIREO_OK);
  ASSERT_EQ(o.d->reset(o.device), VIREO_OK);
  EXPECT_EQ(p.wait(), VIREO_DEVICE_LOST);
  EXPECT_EQ(behind.wait(), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->health(o.device), VIREO_OK);
  ASSERT_EQ(p.load(), VIREO_OK);
  p.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
  EXPECT_EQ(p.wait(UINT64_MAX), VIREO_OK) << "a time that the clock cannot add";
  EXPECT_TRUE(p.right());
}

TEST_F(Faulty, ALostDeviceStaysLostUntilReset) {
  Opened o("lost@1");
  Part p(o, net, 0, 2);
  ready(&p);
  EXPECT_EQ(p.run(), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_DEVICE_LOST);
  EXPECT_EQ(p.run(), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->health(o.device), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->reset(o.device), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_DEVICE_LOST);
  ASSERT_EQ(p.load(), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
  vireo_telemetry t = VIREO_TELEMETRY_INIT;
  ASSERT_EQ(o.d->telemetry(o.device, &t), VIREO_OK);
  EXPECT_EQ(t.resets, 1u);
}

// The thread that works is the parent's. What the child does ends at once, its release of the device too.
TEST_F(Faulty, AForkedChildHasLostTheDevice) {
  auto o = std::make_unique<Opened>("");
  auto p = std::make_unique<Part>(*o, net, 0, 2);
  ready(p.get());
  EXPECT_EQ(p->run(), VIREO_OK);
  usleep(50000);  // until the thread waits
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool lost = p->run() == VIREO_DEVICE_LOST && o->d->health(o->device) == VIREO_DEVICE_LOST &&
                      o->d->reset(o->device) == VIREO_DEVICE_LOST;
    p.reset();
    o.reset();
    _exit(lost ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(p->run(), VIREO_OK);
  EXPECT_TRUE(p->right());
}

TEST_F(Faulty, WrongBytesAndNoMemory) {
  {
    Opened o("corrupt@0");
    Part p(o, net, 0, 2);
    ready(&p);
    EXPECT_EQ(p.run(), VIREO_OK);
    EXPECT_FALSE(p.right());
    EXPECT_EQ(p.run(), VIREO_OK);
    EXPECT_TRUE(p.right());
  }
  Opened o("memory@1");
  Part p(o, net, 0, 2);
  ASSERT_EQ(p.compile(), VIREO_OK);
  EXPECT_EQ(p.load(), VIREO_OUT_OF_ARENA);
}

TEST_F(Faulty, AtRandomEveryEndIsOneThatTheTableNames) {
  Opened o("random=5:30");
  Part p(o, net, 0, 2);
  ready(&p);
  uint32_t right = 0, wrong = 0, lost = 0, hung = 0;
  for (int k = 0; k < 200; ++k) {
    p.prepare();
    ASSERT_EQ(p.submit(), VIREO_OK);
    vireo_status status = p.wait(100000000);
    if (status == VIREO_BUSY) {
      ++hung;
      o.d->cancel(p.loaded);
      status = p.wait(0);
      EXPECT_EQ(status, VIREO_CANCELLED);
    } else if (status == VIREO_OK) {
      ++(p.right() ? right : wrong);
    } else {
      ASSERT_EQ(status, VIREO_DEVICE_LOST);
      ++lost;
    }
    if (status != VIREO_OK) {
      ASSERT_EQ(o.d->reset(o.device), VIREO_OK);
      ASSERT_EQ(p.load(), VIREO_OK);
    }
  }
  EXPECT_GT(right, 0u);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(lost, 0u);
  EXPECT_GT(hung, 0u);
}

TEST(NpuDriver, FaultsThatDoNotReadAreRefused) {
  const vireo_host host = make_host();
  const vireo_delegate* d = nullptr;
  for (const char* bad :
       {"hang", "hang@", "lost@x", "corrupt@1x", "memory!", "random=1", "random=1:101", "hang@1;lost@2", "?"}) {
    setenv("VIREO_NPU_FAULT", bad, 1);
    EXPECT_EQ(vireo_npu_open(VIREO_DELEGATE_ABI, &host, &d), VIREO_INVALID_ARGUMENT) << bad;
  }
  unsetenv("VIREO_NPU_FAULT");
  EXPECT_EQ(vireo_npu_open(VIREO_DELEGATE_ABI + 1, &host, &d), VIREO_UNSUPPORTED);
  EXPECT_EQ(g_held, 0);
}

}  // namespace
}  // namespace vireo::npu::testing
