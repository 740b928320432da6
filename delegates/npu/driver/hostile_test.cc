// Blobs that are not as compile() wrote them, graphs that lie, want of memory: refused, or harmless.
#include "delegates/npu/driver/driver_testing.h"

namespace vireo::npu::testing {
namespace {

TEST(NpuDriver, DamagedBlobsAreRefused) {
  Opened o;
  Net net(5);
  net.table(net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1));
  Part p(o, net, 0, 2);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.fault.text;
  const std::vector<uint8_t> good(p.blob.data(), p.blob.data() + p.blob.size);
  Part again(o, net, 0, 2);
  ASSERT_EQ(again.compile(), VIREO_OK);
  EXPECT_EQ(std::vector<uint8_t>(again.blob.data(), again.blob.data() + again.blob.size), good);
  for (size_t i = 0; i < good.size(); ++i) {
    p.blob.data()[i] ^= 0x41;
    const bool steers = i < offsetof(BlobHeader, cycles) || i >= offsetof(BlobHeader, hash);
    EXPECT_EQ(p.load(), steers ? vireo_status{VIREO_INVALID_MODEL} : vireo_status{VIREO_OK}) << "byte " << i;
    p.blob.data()[i] = good[i];
    p.request.blob_bytes = i;
    EXPECT_EQ(p.load(), VIREO_INVALID_MODEL) << "length " << i;
    p.request.blob_bytes = good.size();
  }
  // With a hash that fits: nothing but the checks of what steers stands between these bytes and memory.
  uint32_t loads = 0, refusals = 0;
  for (size_t k = 0; k < 4 * good.size(); ++k) {
    const auto at = static_cast<size_t>(net.random.next()) % good.size();
    p.blob.data()[at] = static_cast<uint8_t>(net.random.next());
    auto* const h = reinterpret_cast<BlobHeader*>(p.blob.data());
    h->hash = hash_of(p.blob.data() + sizeof(BlobHeader), good.size() - sizeof(BlobHeader));
    if (p.load() == VIREO_OK) {
      ++loads;
      const vireo_status status = p.run();
      EXPECT_TRUE(status == VIREO_OK || status == VIREO_INVALID_MODEL || status == VIREO_DEVICE_LOST) << status;
      if (status == VIREO_DEVICE_LOST) {
        o.d->reset(o.device);
      }
    } else {
      ++refusals;
    }
    std::memcpy(p.blob.data(), good.data(), good.size());
  }
  EXPECT_GT(loads, 0u);
  EXPECT_GT(refusals, 0u);
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

// A blob in pieces, to be put together as no compiler would.
struct Pieces {
  BlobHeader header;
  std::vector<Boundary> inputs, outputs;
  std::vector<Command> stream;  // its header first
  std::vector<uint8_t> constants;
  std::vector<uint32_t> nodes;

  explicit Pieces(Blob* from) {
    const uint8_t* const at = from->data();
    std::memcpy(&header, at, sizeof(header));
    const auto take = [at](auto* to, uint64_t offset, size_t count) {
      to->resize(count);
      if (count != 0) std::memcpy(to->data(), at + offset, count * sizeof((*to)[0]));
    };
    take(&inputs, boundary_at(), header.inputs);
    take(&outputs, boundary_at() + header.inputs * sizeof(Boundary), header.outputs);
    take(&stream, stream_at(header.inputs, header.outputs), header.stream_bytes / sizeof(Command));
    take(&constants, constants_at(header.inputs, header.outputs, header.stream_bytes), header.constant_bytes);
    take(&nodes, nodes_at(header), header.layers);
  }
  void write(Blob* to, vireo_memory_request* with) {
    BlobHeader& h = header;
    h.inputs = static_cast<uint32_t>(inputs.size());
    h.outputs = static_cast<uint32_t>(outputs.size());
    h.stream_bytes = static_cast<uint32_t>(stream.size() * sizeof(Command));
    auto* const first = reinterpret_cast<StreamHeader*>(stream.data());
    first->command_count = static_cast<uint32_t>(stream.size()) - 1;
    const auto size = static_cast<size_t>(blob_bytes(h));
    auto* const at = static_cast<uint8_t*>(to->reserve(size));
    const auto put = [at](const auto& from, uint64_t offset) {
      if (!from.empty()) std::memcpy(at + offset, from.data(), from.size() * sizeof(from[0]));
    };
    put(inputs, boundary_at());
    put(outputs, boundary_at() + h.inputs * sizeof(Boundary));
    put(stream, stream_at(h.inputs, h.outputs));
    put(constants, constants_at(h.inputs, h.outputs, h.stream_bytes));
    put(nodes, nodes_at(h));
    h.hash = hash_of(at + sizeof(h), size - sizeof(h));
    std::memcpy(at, &h, sizeof(h));
    with->blob = at;
    with->blob_bytes = size;
  }
};

TEST(NpuDriver, ABlobHasNoMoreValuesThanAPartHasRoomFor) {
  Opened o;
  Net net(6);
  net.table(net.value(net.noise({1, 2, 5, 5}), false));
  for (const bool outputs : {false, true}) {
    Part p(o, net, 0, 1);
    ASSERT_EQ(p.compile(), VIREO_OK) << p.fault.text;
    Pieces blob(&p.blob);
    std::vector<int32_t>& values = outputs ? p.outputs : p.inputs;
    for (const uint32_t count : {kMostValues, kMostValues + 1}) {
      values.resize(count, values[0]);
      (outputs ? blob.outputs : blob.inputs).resize(count, Boundary{kTensors, 0, 0});
      p.part.inputs = p.inputs.data();
      p.part.input_count = static_cast<uint32_t>(p.inputs.size());
      p.part.outputs = p.outputs.data();
      p.part.output_count = static_cast<uint32_t>(p.outputs.size());
      blob.write(&p.blob, &p.request);
      if (count > kMostValues) {
        EXPECT_EQ(p.load(), VIREO_INVALID_MODEL);
        break;
      }
      ASSERT_EQ(p.load(), VIREO_OK);
      EXPECT_EQ(p.run(), VIREO_OK);
      EXPECT_EQ(p.results[0], net.values[static_cast<size_t>(p.outputs[0])].bytes);
    }
  }
}

// Tens of thousands of commands that are right one by one: what cancels does not wait for all of them.
TEST(NpuDriver, AStreamOfAnyLengthIsCancelled) {
  using Clock = std::chrono::steady_clock;
  Opened o;
  Net net(8);
  net.conv(net.value(net.noise({1, 32, 40, 40}), false), 32, 1, 1);
  Part right(o, net, 0, 1), slow(o, net, 0, 1);
  ASSERT_EQ(right.compile(), VIREO_OK) << right.fault.text;
  ASSERT_EQ(right.load(), VIREO_OK);
  ASSERT_EQ(slow.compile(), VIREO_OK);
  Pieces blob(&slow.blob);
  size_t at = blob.stream.size() - 1;
  while (at > 0 && blob.stream[at].op() != Op::conv) --at;
  ASSERT_GT(at, 0u);
  const Command conv = blob.stream[at];
  blob.stream.insert(blob.stream.begin() + static_cast<std::ptrdiff_t>(at), 40000, conv);
  blob.write(&slow.blob, &slow.request);
  right.prepare();
  for (const bool unloaded : {false, true}) {
    ASSERT_EQ(slow.load(), VIREO_OK);
    slow.prepare();
    ASSERT_EQ(slow.submit(), VIREO_OK);
    EXPECT_EQ(slow.wait(50000000), VIREO_BUSY);
    ASSERT_EQ(right.submit(), VIREO_OK);
    const Clock::time_point begin = Clock::now();
    if (unloaded) {
      slow.unload();
    } else {
      o.d->cancel(slow.loaded);
      EXPECT_EQ(slow.wait(0), VIREO_CANCELLED);
    }
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
    EXPECT_EQ(o.d->health(o.device), VIREO_OK);
    EXPECT_EQ(right.wait(), VIREO_OK) << "what waited behind it";
    EXPECT_TRUE(right.right());
  }
}

// Nobody has looked at shapes and attributes before claim does.
TEST(NpuDriver, ShapesAndAttributesAreNotTrusted) {
  Opened o;
  const auto why = [&o](const Net& net) { return claims(o, net).reasons.back(); };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const auto set_attrs = [](TestNode* n, const std::vector<uint8_t>& attrs) {
    n->attrs.assign((attrs.size() + 7) / 8, 0);
    std::memcpy(n->attrs.data(), attrs.data(), attrs.size());
    n->attrs_size = attrs.size();
  };
  const auto reshape = [](Net* net, int32_t v, const std::vector<int64_t>& dims) {
    net->g.values[static_cast<size_t>(v)].type.shape = make_shape(dims);
  };
  const auto raw = [&](Net* net, vireo::Op op, const std::vector<uint8_t>& attrs, const std::vector<int32_t>& inputs,
                       const std::vector<int64_t>& y) {
    TestNode n;
    n.op = static_cast<uint16_t>(op);
    set_attrs(&n, attrs);
    n.inputs = inputs;
    n.outputs = {net->value(net->noise({1}), false)};
    reshape(net, n.outputs[0], y);
    net->g.nodes.push_back(n);
  };
  constexpr int64_t kLong = int64_t{1} << 40;
  for (const int32_t r : {0, -1, 256, INT32_MIN, INT32_MAX}) {
    Net net(1);
    attrs::DepthToSpaceT to;
    attrs::SpaceToDepthT from;
    to.blocksize = from.blocksize = r;
    const int32_t x = net.value(net.noise({1, 4, 2, 2}), false);
    raw(&net, vireo::Op::kDepthToSpace, pack<attrs::DepthToSpace>(to), {x}, {1, 1, 4, 4});
    EXPECT_PRED2(has, why(net), "blocks of") << r;
    raw(&net, vireo::Op::kSpaceToDepth, pack<attrs::SpaceToDepth>(from), {x}, {1, 16, 1, 1});
    EXPECT_PRED2(has, why(net), "blocks of") << r;
  }
  {  // blocks that do not divide: layers of which only the first are wrong
    Net net(1);
    attrs::DepthToSpaceT a;
    a.blocksize = 3;
    raw(&net, vireo::Op::kDepthToSpace, pack<attrs::DepthToSpace>(a), {net.value(net.noise({1, 4, 3, 3}), false)},
        {1, 1, 6, 6});
    EXPECT_NE(why(net), "");
  }
  {
    Net net(2);
    attrs::ResizeT a;
    a.mode = attrs::ResizeMode::nearest;
    a.coordinate = attrs::ResizeCoordinate::asymmetric;
    a.nearest = attrs::ResizeNearest::floor;
    const int32_t x = net.value(net.noise({1, 1, 1, 1}), false);
    raw(&net, vireo::Op::kResize, pack<attrs::Resize>(a), {x}, {1, 1, kLong, 1});
    EXPECT_PRED2(has, why(net), "65535");
    reshape(&net, x, {1, 1, int64_t{1} << 32, int64_t{1} << 32});  // no elements, in 64 bits
    EXPECT_PRED2(has, why(net), "65535");
    reshape(&net, x, {1, 1, 0, 1});
    EXPECT_PRED2(has, why(net), "empty");
    reshape(&net, x, {65535, 65535, 65535, 65535});
    reshape(&net, net.g.nodes[0].outputs[0], {65535, 65535, 65535, 65535});
    EXPECT_PRED2(has, why(net), "4 GiB");
  }
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{int64_t{1} << 62, 0, 1, 1}, {65535, 65535, 0, 65535}}) {
    Net net(3);
    net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1);
    const int32_t w = net.g.nodes[0].inputs[1];
    reshape(&net, w, dims);
    net.g.values[static_cast<size_t>(w)].constant_size = 0;
    EXPECT_PRED2(has, why(net), dims[0] == 65535 ? "empty weights" : "65535");
  }
  for (const bool gemm : {false, true}) {  // more weights than there are bytes
    Net net(3);
    if (gemm) {
      net.gemm(net.value(net.noise({2, 6}), false), 3);
    } else {
      net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1);
    }
    const int32_t w = net.g.nodes[0].inputs[1];
    reshape(&net, w, gemm ? std::vector<int64_t>{60000, 60000} : std::vector<int64_t>{60000, 2, 100, 100});
    EXPECT_PRED2(has, why(net), "another size than its shape says");
  }
  {  // windows and groups
    using Change = void (*)(attrs::IntConvT*);
    const Change changes[] = {
        [](attrs::IntConvT* a) { a->group = 0; },
        [](attrs::IntConvT* a) { a->group = INT32_MIN; },
        [](attrs::IntConvT* a) {
          a->strides = {0, 1};
        },
        [](attrs::IntConvT* a) {
          a->strides = {1, INT32_MIN};
        },
        [](attrs::IntConvT* a) {
          a->dilations = {0, 0};
        },
        [](attrs::IntConvT* a) {
          a->dilations = {1, INT32_MAX};
        },
        [](attrs::IntConvT* a) { a->x_zero = INT32_MIN; },
        [](attrs::IntConvT* a) { a->y_zero = INT32_MAX; },
        [](attrs::IntConvT* a) { a->low = INT32_MIN; },
        [](attrs::IntConvT* a) { a->high = -129; },
        [](attrs::IntConvT* a) {
          a->pads = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
        },
    };
    for (const Change& change : changes) {
      Net net(4);
      net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1);
      attrs::IntConvT a;
      Net::range(&a);
      a.pads = {1, 1, 1, 1};
      set_attrs(&net.g.nodes[0], pack<attrs::IntConv>(a));
      EXPECT_EQ(why(net), "");
      change(&a);
      set_attrs(&net.g.nodes[0], pack<attrs::IntConv>(a));
      EXPECT_NE(why(net), "") << &change - changes;
    }
  }
  for (const int32_t axis : {INT32_MIN, INT32_MAX, 4, -5}) {
    Net net(5);
    const int32_t x = net.value(net.noise({1, 2, 5, 5}), false);
    attrs::ConcatT a;
    a.axis = axis;
    raw(&net, vireo::Op::kConcat, pack<attrs::Concat>(a), {x, x}, {1, 4, 5, 5});
    EXPECT_PRED2(has, why(net), "an axis that the operands do not have") << axis;
    attrs::IntResizeT r;
    Net::range(&r);
    r.axes = {axis};
    const int32_t places = net.constant<int32_t>({5, 1}, {0, 1, 2, 3, 4});
    raw(&net, vireo::Op::kIntResize, pack<attrs::IntResize>(r), {x, places, places}, {1, 2, 5, 5});
    EXPECT_PRED2(has, why(net), "channels are resampled") << axis;
  }
  {
    Net net(6);
    net.table(net.value(net.noise({1, 2, 5, 5}), false));
    net.g.nodes[0].outputs.clear();
    EXPECT_EQ(why(net), "no output");
  }
}

// As many ways as 2^60 from the first node to the last.
TEST(NpuDriver, EveryNodeIsLookedAtOnce) {
  Opened o;
  Net net(9);
  TestTensor given;
  given.type = {DType::kF32, make_shape({1, 2, 3, 3})};
  given.bytes.resize(18 * 4);
  int32_t x = net.value(given, false);
  for (int i = 0; i < 60; ++i) x = net.node(vireo::Op::kAdd, pack<attrs::Binary>(attrs::BinaryT()), {x, x});
  x = net.node(vireo::Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(attrs::QuantizeLinearT()),
               {x, net.constant<float>({}, {0.5f}), net.constant<int8_t>({}, {3})});
  for (int i = 0; i < 60; ++i) x = net.add(net.table(x), x);
  const auto count = static_cast<uint32_t>(net.g.nodes.size());
  EXPECT_EQ(claims(o, net).reasons, std::vector<std::string>(count, ""));
  Part p(o, net, 0, count);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.fault.text;
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

// At every place where memory may be missing, once.
TEST(NpuDriver, WantOfMemoryIsAStatus) {
  Net net(13);
  net.table(net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1));
  const auto starve = [](const char* what, const auto& call) {
    vireo_status status = VIREO_OUT_OF_ARENA;
    int refused = 0;
    for (int64_t left = 0; status == VIREO_OUT_OF_ARENA; left += 1 + left / 16, ++refused) {
      g_news_left = left;
      status = call();
      g_news_left = INT64_MAX;
    }
    EXPECT_EQ(status, VIREO_OK) << what;
    EXPECT_GT(refused, 1) << what;
  };
  const vireo_host host = make_host();
  const vireo_delegate* d = nullptr;
  starve("open", [&] {
    const vireo_status status = vireo_npu_open(VIREO_DELEGATE_ABI, &host, &d);
    if (status != VIREO_OK) return status;
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    void* device = nullptr;
    return d->enumerate(d->self, &host, 0, &info, &device);
  });
  d->release(d->self);
  EXPECT_EQ(g_held, 0);
  Opened o;
  TestFault fault;
  const vireo_claims to = test_claims(
      nullptr, [](void*, const vireo_claim*) -> vireo_status { return VIREO_OK; },
      [](void*, uint32_t, const char*) -> vireo_status { return VIREO_OK; }, &fault);
  starve("claim", [&] { return o.d->claim(o.device, &o.host, &net.g, &to); });
  Part p(o, net, 0, 2);
  starve("compile", [&] { return p.compile(); });
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}
}  // namespace
}  // namespace vireo::npu::testing
