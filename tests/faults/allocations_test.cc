// Every allocation of the runtime failing in turn: once, and from there on. Each attempt ends with the right answer or
// an error that says what there was too little of; nothing stays out, and with memory back the next attempt succeeds.
//
// The allocator is the application's (vireo_allocator): the runtime takes from no other. Plug-ins get the same one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "c_api/cli/file.h"
#include "sdk/base/config.h"
#include "tests/faults/heap.h"
#include "tests/support/roots.h"
#include "vireo/fleet.h"
#include "vireo/trust.h"
#include "vireo/vireo.h"
#if VIREO_TRUST
#include "tests/property/sealing.h"
#endif

namespace {

using Bytes = std::vector<uint8_t>;

using vireo::faults::Heap;

struct Setting {
  std::string name, file;
  const char* device = nullptr;
  const char* plugins = "";
  int32_t threads = 1;
  std::vector<vireo_bound> bounds = {};
  enum Kind { kSession, kPipeline, kSplit, kPlacement } kind = kSession;
  const vireo_trust* trust = nullptr;
  std::string cache = {};  // a folder for packed weights and compiled parts
  bool cold = false;       // emptied before each attempt
};

struct Outcome {
  vireo_status status = VIREO_OK;
  std::string message;
  Bytes answer;
};

// One of everything, from nothing to an answer and back.
Outcome attempt(const Setting& setting, Heap* heap) {
  Outcome out;
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_allocator allocator = heap->allocator();
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.allocator = &allocator;
  options.threads = setting.threads;
  options.plugins = setting.plugins;
  options.probe = VIREO_PROBE_NEVER;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_pipeline* pipeline = nullptr;
  vireo_split* split = nullptr;
  vireo_session_options with = VIREO_SESSION_OPTIONS_INIT;
  with.device = setting.device;
  if (!setting.cache.empty()) {
    if (setting.cold) std::filesystem::remove_all(setting.cache);
    with.cache = setting.cache.c_str();
    with.packing = VIREO_PACKING_ALWAYS;
  }
  with.bounds = setting.bounds.data();
  with.bound_count = static_cast<uint32_t>(setting.bounds.size());
  std::vector<Bytes> inputs;
  std::vector<vireo_tensor> in, results;
  const auto go = [&](const std::function<vireo_status()>& call) {
    if (out.status == VIREO_OK) out.status = call();
  };
  const auto make_inputs = [&](int64_t rows) {
    for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
      vireo_value_info info = VIREO_VALUE_INFO_INIT;
      (void)vireo_model_input(model, i, &info, nullptr);
      vireo_tensor t = {};
      t.dtype = info.dtype;
      t.rank = info.rank;
      int64_t count = 1;
      for (int32_t d = 0; d < info.rank; ++d) count *= t.dims[d] = info.max_dims[d] < 0 ? rows : info.max_dims[d];
      t.capacity = vireo_dtype_bytes(info.dtype, count);
      inputs.emplace_back(static_cast<size_t>(t.capacity), uint8_t{1});
      in.push_back(t);
    }
    for (size_t i = 0; i < in.size(); ++i) in[i].data = inputs[i].data();
    results.assign(vireo_model_output_count(model), vireo_tensor{});
  };
  go([&] { return vireo_runtime_create(&options, &runtime, &error); });
  if (setting.trust != nullptr) go([&] { return vireo_runtime_set_trust(runtime, setting.trust, &error); });
  go([&] { return vireo_model_load_file(runtime, setting.file.c_str(), &model, &error); });
  Bytes held(1 << 16);
  const auto keep = [&] {
    for (vireo_tensor& t : results) {
      int64_t count = 1;
      for (int32_t d = 0; d < t.rank; ++d) count *= t.dims[d];
      const auto* const p = static_cast<const uint8_t*>(t.data);
      if (p != nullptr) out.answer.insert(out.answer.end(), p, p + vireo_dtype_bytes(t.dtype, count));
    }
  };
  switch (setting.kind) {
    case Setting::kSession:
      go([&] { return vireo_session_create(model, &with, &session, &error); });
      for (int run = 0; run < 2 && out.status == VIREO_OK; ++run) {
        in.clear();
        inputs.clear();
        make_inputs(2);
        go([&] {
          return vireo_session_run(session, in.data(), static_cast<uint32_t>(in.size()), results.data(),
                                   static_cast<uint32_t>(results.size()), &error);
        });
        if (out.status == VIREO_OK) keep();
      }
      break;
    case Setting::kPipeline: {
      vireo_pipeline_options p = VIREO_PIPELINE_OPTIONS_INIT;
      p.depth = 2;
      p.allocator = &allocator;
      p.session = &with;
      go([&] { return vireo_pipeline_create(model, &p, &pipeline, &error); });
      if (out.status != VIREO_OK) break;
      make_inputs(2);
      results[0].data = held.data();
      results[0].capacity = static_cast<int64_t>(held.size());
      go([&] {
        return vireo_pipeline_submit(pipeline, in.data(), static_cast<uint32_t>(in.size()), results.data(),
                                     static_cast<uint32_t>(results.size()), nullptr, VIREO_WHEN_FULL_WAIT, &error);
      });
      vireo_finished done = VIREO_FINISHED_INIT;
      go([&] { return vireo_pipeline_wait(pipeline, UINT64_MAX, &done, &error); });
      go([&] { return done.status; });
      if (out.status == VIREO_OK) keep();
      break;
    }
    case Setting::kSplit: {
      const char* const devices[] = {"cpu", "null,cpu"};
      vireo_split_options p = VIREO_SPLIT_OPTIONS_INIT;
      p.device_count = 2;
      p.devices = devices;
      p.batch = 5;
      p.deterministic = 1;
      p.allocator = &allocator;
      go([&] { return vireo_split_create(model, &p, &split, &error); });
      if (out.status != VIREO_OK) break;
      make_inputs(5);
      results[0].data = held.data();
      results[0].capacity = static_cast<int64_t>(held.size());
      go([&] {
        return vireo_split_run(split, in.data(), static_cast<uint32_t>(in.size()), results.data(),
                               static_cast<uint32_t>(results.size()), &error);
      });
      if (out.status == VIREO_OK) keep();
      break;
    }
    case Setting::kPlacement: {
      size_t nodes = 0;
      const vireo_placement_visitor count = {&nodes,
                                             [](void* n, const vireo_placed_node*) { ++*static_cast<size_t*>(n); }};
      go([&] { return vireo_model_placement(model, &with, &count, &error); });
      vireo_limits limits = VIREO_LIMITS_INIT;
      limits.emulated = 1;
      uint32_t choices = 0;
      go([&] { return vireo_model_devices(model, &with, &limits, nullptr, 0, &choices, &error); });
      if (out.status == VIREO_OK) out.answer = {static_cast<uint8_t>(nodes), static_cast<uint8_t>(choices)};
      break;
    }
  }
  if (out.status != VIREO_OK) out.message = error.message;
  vireo_split_release(split);
  vireo_pipeline_release(pipeline);
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return out;
}

void sweep(const Setting& setting) {
  Heap heap;
  heap.fail(-1, false);
  const Outcome right = attempt(setting, &heap);
  ASSERT_EQ(right.status, VIREO_OK) << setting.name << ": " << right.message;
  ASSERT_EQ(heap.live, 0);
  const int64_t points = heap.number;
  ASSERT_GT(points, 3);
  int64_t refused = 0, without = 0;
  for (const bool forever : {false, true}) {
    for (int64_t at = 0; at < points; ++at) {
      heap.fail(at, forever);
      const Outcome got = attempt(setting, &heap);
      ASSERT_EQ(heap.live, 0) << setting.name << ": allocation " << at << " of " << points;
      if (got.status == VIREO_OK) {  // it did without: a cache, a copy, another device
        EXPECT_EQ(got.answer, right.answer) << setting.name << ": allocation " << at;
        ++without;
        continue;
      }
      ++refused;
      EXPECT_TRUE(heap.failed) << setting.name << ": " << got.message;
      EXPECT_FALSE(got.message.empty()) << setting.name << ": allocation " << at;
    }
  }
  heap.fail(-1, false);
  EXPECT_EQ(attempt(setting, &heap).answer, right.answer);
  std::printf("%s: %lld allocations, each failing once and for good: %lld ended with an error, %lld did without\n",
              setting.name.c_str(), static_cast<long long>(points), static_cast<long long>(refused),
              static_cast<long long>(without));
}

const std::string kModels = vireo::tests::build_path("models/");
const std::string kGolden = vireo::tests::source_path("tests/golden/integer_golden.vireo");
const std::string kPlugin = vireo::tests::build_path("plugins/libvireo_npu.so");

bool there(const std::string& path) { return std::ifstream(path).good(); }

TEST(Allocations, SessionsOfFixedShapes) { sweep({"kws_smoke", kModels + "kws_smoke.vireo"}); }
TEST(Allocations, SessionsWithThreads) { sweep({"kws_smoke, 2 threads", kModels + "kws_smoke.vireo", nullptr, "", 2}); }
TEST(Allocations, SessionsOfOpenShapes) {
  sweep({"fleet_batch", kModels + "fleet_batch.vireo", nullptr, "", 1, {{"batch", 1, 2}}});
}
TEST(Allocations, IntegerModels) { sweep({"integer_golden", kGolden}); }
TEST(Allocations, PlacementIsAsked) { sweep({"placement", kGolden, nullptr, "", 1, {}, Setting::kPlacement}); }
TEST(Allocations, Pipelines) {
  sweep({"pipeline", kModels + "fleet_batch.vireo", "cpu", "", 1, {{"batch", 1, 2}}, Setting::kPipeline});
}
TEST(Allocations, Splits) { sweep({"split", kModels + "fleet_batch.vireo", nullptr, "", 1, {}, Setting::kSplit}); }
TEST(Allocations, WeightsPackedInTheFile) { sweep({"for targets", kModels + "fuzz/conv_for_targets.vireo"}); }
TEST(Allocations, CachesThatAreThere) {
  const vireo::cli::TemporaryFile file(".cache");
  Setting setting{"cache", kModels + "kws_smoke.vireo"};
  setting.cache = file.path() + ".folder";
  sweep(setting);
  setting.name = "cache, empty";
  setting.cold = true;
  sweep(setting);
  std::filesystem::remove_all(setting.cache);
}

TEST(Allocations, SealedFiles) {
#if VIREO_TRUST
  vireo::sealing::Keys keys(1);
  std::ifstream from(kModels + "kws_smoke.vireo", std::ios::binary);
  const Bytes plain(std::istreambuf_iterator<char>(from), {});
  ASSERT_FALSE(plain.empty());
  const std::pair<const char*, Bytes> files[] = {
      {"signed", keys.sign(plain, 1)}, {"encrypted", keys.encrypt(plain)}, {"both", keys.sign(keys.encrypt(plain), 1)}};
  for (const auto& [name, bytes] : files) {
    const vireo_trust trust = keys.trust(std::string(name) != "encrypted");
    const vireo::cli::TemporaryFile file(".vireo");
    std::ofstream(file.path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    Setting setting{name, file.path()};
    setting.trust = &trust;
    sweep(setting);
  }
#else
  GTEST_SKIP() << "this build is without signatures and ciphers (VIREO_TRUST)";
#endif
}

TEST(Allocations, PlugInsThatCompile) {
  if (!there(kPlugin)) GTEST_SKIP() << "this build is without the npu plug-in (VIREO_NPU, VIREO_PLUGINS)";
  sweep({"npu", kGolden, "npu,cpu", kPlugin.c_str()});
  const vireo::cli::TemporaryFile file(".cache");
  Setting setting{"npu, compiled before", kGolden, "npu,cpu", kPlugin.c_str()};
  setting.cache = file.path() + ".folder";
  sweep(setting);
  std::filesystem::remove_all(setting.cache);
}

}  // namespace
