#include "c_api/cli/measure.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c_api/cli/app.h"
#include "c_api/cli/chain_model.h"
#include "c_api/cli/clock.h"
#include "c_api/cli/handles.h"
#include "c_api/cli/speeds.h"

namespace vireo::cli {
namespace {

struct ReleaseModel {
  void operator()(vireo_model* m) const { vireo_model_release(m); }
};

class Bench {
 public:
  Bench(vireo_runtime* runtime, std::string device) : runtime_(runtime), device_(std::move(device)) {}

  // The least nanoseconds of a run: who was interrupted measures too much. None where the device does not take it.
  std::optional<double> time(const Chain& chain) const {
    const ModelBytes bytes = chain_model(chain);
    vireo_error error = VIREO_ERROR_INIT;
    const std::string doing = "measure device " + device_;
    vireo_model* made = nullptr;
    vireo_status status = vireo_model_load_memory(runtime_, bytes.data, bytes.size, &made, &error);
    if (status == VIREO_UNSUPPORTED) return std::nullopt;  // not in this build
    check(status, error, doing);
    const std::unique_ptr<vireo_model, ReleaseModel> model(made);
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.device = device_.c_str();
    vireo_session* opened = nullptr;
    status = vireo_session_create(model.get(), &options, &opened, &error);
    if (status == VIREO_UNSUPPORTED || status == VIREO_OUT_OF_ARENA) return std::nullopt;
    check(status, error, doing);
    const Session session(opened);
    for (const vireo_node_info& n : nodes_of(session.get())) {
      if (device_ != n.device) return std::nullopt;
    }
    const std::vector<float> ones(static_cast<size_t>(chain.rows * chain.columns), 1.0f);  // of any type: small numbers
    vireo_tensor x = {};
    x.dtype = chain.dtype;
    x.rank = 2;
    x.dims[0] = chain.rows;
    x.dims[1] = chain.columns;
    x.data = const_cast<float*>(ones.data());
    x.capacity = vireo_dtype_bytes(chain.dtype, chain.rows * chain.columns);
    const vireo_tensor inputs[2] = {x, x};
    double least = 0;
    const Clock::time_point begin = Clock::now();
    for (int i = 0;; ++i) {
      const Clock::time_point start = Clock::now();
      check(vireo_session_run(session.get(), inputs, vireo_model_input_count(model.get()), nullptr, 0, &error), error,
            doing);
      const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      if (i == 1 || (i > 1 && ns < least)) least = ns;  // the first warms up
      const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
      if ((i >= 5 && spent > 0.05) || (i >= 2 && spent > 0.5)) return least;
    }
  }

  // What each of the nodes behind the first takes: neither launch nor transfers of inputs and outputs.
  std::optional<double> time_of_node(Chain chain, int nodes) const {
    chain.nodes = 1;
    const std::optional<double> one = time(chain);
    chain.nodes = nodes;
    const std::optional<double> all = one ? time(chain) : std::nullopt;
    return all && *all > *one ? std::optional((*all - *one) / (nodes - 1)) : std::nullopt;
  }

  // Operations a second at the size where they are most; larger ones until a node takes 2.5 ms. 0: not in this type.
  double products(ChainOp op, vireo_dtype dtype) const {
    double best = 0;
    for (int64_t size = 128; size <= 4096; size *= 2) {
      const std::optional<double> ns = time_of_node({op, dtype, size, size, 1}, 5);
      if (!ns && best == 0 && size >= 512) break;  // refused, or lost in noise
      const auto n = static_cast<double>(size);
      if (ns) best = std::max(best, 2 * n * n * n / *ns * 1e9);
      if (ns && *ns > 2.5e6) break;
    }
    return best;
  }

  // Bytes a second of elementwise sums, larger than most caches. Of a device that has no other memory to move them to.
  double bandwidth(double smallest) const {
    for (int64_t bytes = 32 << 20; bytes >= 1 << 20; bytes /= 2) {
      const std::optional<double> ns = time({ChainOp::kAdd, VIREO_FLOAT32, bytes / 4096, 1024, 1});
      if (ns && *ns > smallest) return 3 * static_cast<double>(bytes) / (*ns - smallest) * 1e9;
    }
    return 0;
  }
  // Of one that has: constants are there before a run, so a row by a matrix moves them alone.
  double own_bandwidth() const {
    for (const auto& [op, dtype] :
         {std::pair(ChainOp::kMatMul, VIREO_FLOAT32), std::pair(ChainOp::kMatMul, VIREO_FLOAT16),
          std::pair(ChainOp::kIntGemm, VIREO_INT8)}) {
      for (int64_t size = 4096; size >= 1024; size /= 2) {
        const std::optional<double> ns = time_of_node({op, static_cast<vireo_dtype>(dtype), 1, size, 1}, 9);
        const auto bytes = vireo_dtype_bytes(static_cast<vireo_dtype>(dtype), size * size);
        if (ns) return static_cast<double>(bytes) / *ns * 1e9;
      }
    }
    return 0;
  }
  double transfer(double smallest, double bandwidth) const {
    for (int64_t bytes = 16 << 20; bytes >= 1 << 20; bytes /= 2) {
      const std::optional<double> ns = time({ChainOp::kRelu, VIREO_FLOAT32, bytes / 4096, 1024, 1});
      const double moved = 2 * static_cast<double>(bytes), inside = bandwidth > 0 ? moved / bandwidth * 1e9 : 0;
      if (ns && *ns > smallest + inside) return moved / (*ns - smallest - inside) * 1e9;
    }
    return 0;
  }
  // One more value on its way to the device, and as good as no bytes: a sum has two, a Relu one.
  double copy() const {
    const std::optional<double> one = time({ChainOp::kRelu, VIREO_FLOAT32, 1, 16, 1});
    const std::optional<double> two = one ? time({ChainOp::kAdd, VIREO_FLOAT32, 1, 16, 1}) : std::nullopt;
    return two ? std::max(0.0, *two - *one) : 0;
  }
  std::optional<double> smallest() const {
    for (const Chain& chain : {Chain{ChainOp::kRelu, VIREO_FLOAT32, 1, 16, 1},
                               {ChainOp::kMatMul, VIREO_FLOAT32, 1, 16, 1},
                               {ChainOp::kMatMul, VIREO_FLOAT16, 1, 16, 1},
                               {ChainOp::kIntGemm, VIREO_INT8, 1, 16, 1}}) {
      if (const std::optional<double> ns = time(chain)) return ns;
    }
    return std::nullopt;
  }

 private:
  vireo_runtime* runtime_;
  std::string device_;
};

}  // namespace

void measure_devices(vireo_runtime* runtime) {
  struct Found {
    vireo_device_info info;
    Speeds speeds;
    double smallest = 0;
  };
  std::vector<Found> all;
  Progress progress;
  double least = 0;
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
    Found found = {VIREO_DEVICE_INFO_INIT, {}, 0};
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_runtime_device(runtime, i, &found.info, &error), error, "read device " + std::to_string(i));
    const std::string name = found.info.name;
    const auto note = [&](const std::string& why) {
      progress.show("");
      std::cerr << "note: " << name << ": " << why << "\n";
    };
    if ((found.info.flags & VIREO_DEVICE_EMULATED) != 0) {
      note("software stands in for it, and its time says nothing of the device: not measured");
      continue;
    }
    const Bench bench(runtime, name);
    progress.show("measure " + name, 0.0, "launch");
    const std::optional<double> smallest = bench.smallest();
    if (!smallest) {
      note("it takes no Relu, MatMul or IntGemm alone: not measured");
      continue;
    }
    found.smallest = *smallest;
    least = all.empty() ? *smallest : std::min(least, *smallest);
    Speeds& s = found.speeds;
    progress.show("measure " + name, 0.1, "float32");
    s.f32_rate = bench.products(ChainOp::kMatMul, VIREO_FLOAT32);
    progress.show("measure " + name, 0.4, "16 bits");
    s.f16_rate =
        std::max(bench.products(ChainOp::kMatMul, VIREO_FLOAT16), bench.products(ChainOp::kMatMul, VIREO_BFLOAT16));
    progress.show("measure " + name, 0.7, "int8");
    s.i8_rate = bench.products(ChainOp::kIntGemm, VIREO_INT8);
    progress.show("measure " + name, 0.9, "memory");
    const bool unified = (found.info.flags & VIREO_DEVICE_UNIFIED) != 0 || found.info.transfer == 0;
    s.bandwidth = unified ? bench.bandwidth(*smallest) : bench.own_bandwidth();
    if (!unified) {
      s.transfer = bench.transfer(*smallest, s.bandwidth);
      s.transfer_ns = bench.copy();
    }
    all.push_back(found);
  }
  progress.show("");
  // What a session costs beside any device is in all of them.
  for (Found& found : all) {
    // So is what the value that goes in and the one that comes out cost.
    found.speeds.launch_ns = std::max(0.0, found.smallest - least - 2 * found.speeds.transfer_ns);
    keep_speeds(found.info, found.speeds);
  }
}

}  // namespace vireo::cli
