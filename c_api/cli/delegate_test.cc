// vireo delegate-test: the vendors' test of a plug-in, section by section in processes of their own.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "c_api/cli/app.h"
#include "c_api/cli/buffer_checks.h"
#include "c_api/cli/folded_text.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/options.h"
#include "c_api/cli/placements.h"
#include "c_api/cli/probe/known.h"
#include "c_api/cli/probe/marked_memory.h"
#include "vireo/delegate.h"
#include "vireo/telemetry.h"

extern char** environ;

namespace vireo::cli {
namespace {

struct DelegateTestOptions {
  std::string plugin, section;
  std::vector<std::string> models;
  double seconds = 120;
  bool json = false;
};

struct Row {
  std::string section, name, status, text;  // passed, left, failed
};

// ---- In the child: a line of JSON a case, and one before it that says what begins

DriverLog driver_log;

class Report {
 public:
  void begin(const std::string& name) {
    name_ = name;
    print({{"at", name}});
  }
  void end(const std::string& status, const std::string& text = "") {
    print({{"case", name_}, {"status", status}, {"text", text}});
  }
  // Passes unless `body` throws; what it returns is the text. "left: ..." says that nothing ran there.
  template <class F>
  void check(const std::string& name, const F& body) {
    begin(name);
    (void)driver_log.take();
    try {
      const std::string text = body();
      const bool left = text.rfind("left: ", 0) == 0;
      end(left ? "left" : "passed", left ? text.substr(6) : text);
    } catch (const Wrong& wrong) {
      end("failed", wrong.why + driver_log.take());
    } catch (const std::exception& e) {
      end("failed", e.what());
    }
  }

  // `nodes` more ran on the device.
  static void used(const std::string& device, int64_t nodes) { print({{"used", device}, {"nodes", nodes}}); }

 private:
  static void print(const Json& line) { std::cout << as_is << json_text(line, -1) << std::endl; }
  std::string name_;
};

struct Heap {
  std::atomic<int64_t> live{0}, number{0};
  int64_t fails_at = -1;

  static void* allocate(void* self, size_t bytes, size_t alignment) {
    auto& heap = *static_cast<Heap*>(self);
    if (heap.number++ == heap.fails_at) return nullptr;
    void* const memory = allocate_marked(bytes, alignment);
    if (memory != nullptr) heap.live += static_cast<int64_t>(bytes);
    return memory;
  }
  static void release(void* self, void* memory, size_t bytes, size_t) {
    if (memory == nullptr) return;
    static_cast<Heap*>(self)->live -= static_cast<int64_t>(bytes);
    std::free(memory);
  }
};

// A runtime with this plug-in alone, and its devices.
struct Opened {
  vireo_runtime* runtime = nullptr;
  vireo_status status = VIREO_OK;
  vireo_error error = VIREO_ERROR_INIT;
  std::string reason;
  std::vector<std::string> devices;
  uint32_t first = 0;  // of them, among the runtime's

  explicit Opened(const std::string& plugin, Heap* heap = nullptr) {
    const vireo_allocator allocator = {Heap::allocate, Heap::release, heap};
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.plugins = plugin.c_str();
    options.probe = VIREO_PROBE_NEVER;  // it is in a process of its own already
    options.threads = 2;
    options.allocator = heap != nullptr ? &allocator : marked_memory();
    options.log = DriverLog::write;
    options.log_context = &driver_log;
    status = vireo_runtime_create(&options, &runtime, &error);
    if (status != VIREO_OK) return;
    vireo_plugin_info info = VIREO_PLUGIN_INFO_INIT;
    if (vireo_runtime_plugin(runtime, 0, &info, nullptr) == VIREO_OK) reason = info.reason;
    const uint32_t count = vireo_runtime_device_count(runtime);
    first = count - info.device_count;
    for (uint32_t d = first; d < count; ++d) {
      vireo_device_info device = VIREO_DEVICE_INFO_INIT;
      if (vireo_runtime_device(runtime, d, &device, nullptr) == VIREO_OK) devices.push_back(device.name);
    }
  }
  ~Opened() { vireo_runtime_release(runtime); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
};

vireo_session_options alone() {
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.failover = VIREO_FAILOVER_NEVER;  // nothing is put right behind the test's back
  return options;
}

// Why the first node of a model is not on the device.
std::string why_not(const vireo_runtime* runtime, const KnownModel& m, const std::string& device) {
  vireo_model* model = nullptr;
  if (vireo_model_load_memory(const_cast<vireo_runtime*>(runtime), m.data, m.size, &model, nullptr) != VIREO_OK)
    return "";
  struct Seen {
    std::string device, reason;
  } seen{device, ""};
  const vireo_placement_visitor visitor = {&seen, [](void* context, const vireo_placed_node* node) {
                                             auto& s = *static_cast<Seen*>(context);
                                             for (uint32_t i = 0; s.reason.empty() && i < node->verdict_count; ++i) {
                                               if (s.device == node->verdicts[i]->device)
                                                 s.reason = node->verdicts[i]->reason;
                                             }
                                           }};
  const std::string list = device + ",cpu";
  vireo_session_options options = alone();
  options.device = list.c_str();
  (void)vireo_model_placement(model, &options, &visitor, nullptr);
  vireo_model_release(model);
  return seen.reason;
}

void test_opening(const DelegateTestOptions& o, Report& report) {
  const auto open_function = [&](void** library) {
    *library = dlopen(std::filesystem::absolute(o.plugin).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (*library == nullptr) throw Wrong{std::string("it cannot be loaded: ") + dlerror()};
    const auto open = reinterpret_cast<vireo_delegate_open_function>(dlsym(*library, VIREO_DELEGATE_OPEN));
    if (open == nullptr) throw Wrong{"it does not export " VIREO_DELEGATE_OPEN};
    return open;
  };
  report.check("is opened, has devices", [&] {
    const Opened opened(o.plugin);
    if (opened.status != VIREO_OK) throw Wrong{opened.error.message};
    if (!opened.reason.empty()) throw Wrong{opened.reason};
    std::string names;
    for (const std::string& d : opened.devices) names += (names.empty() ? "" : ", ") + d;
    return names;
  });
  for (const int step : {-1, 1}) {
    report.check(std::string("refuses ABI ") + std::to_string(static_cast<int>(VIREO_DELEGATE_ABI) + step), [&] {
      void* library = nullptr;
      const auto open = open_function(&library);
      vireo_host host = {};
      host.struct_size = sizeof(host);
      host.abi = static_cast<uint32_t>(static_cast<int>(VIREO_DELEGATE_ABI) + step);
      const vireo_delegate* table = nullptr;
      const vireo_status status = open(host.abi, &host, &table);
      if (status != VIREO_UNSUPPORTED)
        throw Wrong{"open() of another ABI gave status " + std::to_string(status) + ", not VIREO_UNSUPPORTED"};
      return std::string();
    });
  }
  report.check("opened and closed 100 times, all memory given back", [&] {
    Heap heap;
    for (int i = 0; i < 100; ++i) {
      const Opened opened(o.plugin, &heap);
      if (!opened.reason.empty()) throw Wrong{"time " + std::to_string(i) + ": " + opened.reason};
    }
    if (heap.live != 0) throw Wrong{std::to_string(heap.live) + " bytes of the host's allocator were kept"};
    return std::string();
  });
  report.check("two runtimes at once", [&] {
    const Opened a(o.plugin), b(o.plugin);
    if (!a.reason.empty() || !b.reason.empty()) throw Wrong{a.reason.empty() ? b.reason : a.reason};
    return std::string();
  });
}

// The first small model of which the device runs a node; throws Wrong where it fails at one, NULL where it takes none.
const KnownModel* model_it_takes(const Opened& opened, const std::string& device) {
  static const std::vector<KnownModel> models = known_models(false);
  Runs got;
  for (const KnownModel& m : models) {
    if (run_known(opened.runtime, m, device, alone(), &got) != 0) return &m;
  }
  return nullptr;
}
const char kTakesNone[] = "left: it takes no node of the models for this";

// What the driver tells before and after work agrees with it.
std::string check_telemetry(const Opened& opened, uint32_t at, const std::string& device) {
  const auto ask = [&](vireo_telemetry* out) {
    vireo_error error = VIREO_ERROR_INIT;
    const vireo_status status = vireo_runtime_telemetry(opened.runtime, opened.first + at, out, &error);
    if (status != VIREO_OK && status != VIREO_UNSUPPORTED) throw Wrong{error.message};
    if (out->power > VIREO_POWER_THROTTLED) throw Wrong{"power state " + std::to_string(out->power) + " is none"};
    if (!std::isfinite(out->temperature_c) || out->temperature_c < -273.15 || !(out->clock_mhz >= 0) ||
        !std::isfinite(out->clock_mhz))
      throw Wrong{"temperature or clock is no number that can be"};
    return status == VIREO_OK;
  };
  vireo_telemetry before = VIREO_TELEMETRY_INIT, after = VIREO_TELEMETRY_INIT;
  if (!ask(&before)) return "left: it tells nothing of itself";
  Runs got;
  uint32_t there = 0;
  for (const KnownModel& m : known_models(true)) {
    if (there == 0) there = run_known(opened.runtime, m, device, alone(), &got);
  }
  (void)ask(&after);
  if (after.submits < before.submits || after.busy_ns < before.busy_ns || after.energy_nj < before.energy_nj ||
      after.resets < before.resets)
    throw Wrong{"what it counts since open became less"};
  if (there != 0 && after.submits != 0 && after.submits == before.submits)
    throw Wrong{"a run was not counted among its submits"};
  return std::to_string(after.submits - before.submits) + " submits";
}

void test_answers(const DelegateTestOptions& o, Report& report) {
  const Opened opened(o.plugin);
  for (uint32_t at = 0; at < opened.devices.size(); ++at) {
    const std::string& device = opened.devices[at];
    report.used(device, 0);
    report.check("says how it is, " + device, [&] { return check_telemetry(opened, at, device); });
    for (const KnownModel& m : known_models(true)) {
      report.check(m.name + " on " + device, [&] {
        Runs got, want;
        const uint32_t there = run_known(opened.runtime, m, device, alone(), &got);
        if (there == 0) return "left: " + why_not(opened.runtime, m, device);
        report.used(device, there);
        (void)run_known(opened.runtime, m, "cpu", alone(), &want);
        require_same(m, device, got, want);
        return std::to_string(there) + " nodes";
      });
    }
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      report.check("integer operators cut at random, seed " + std::to_string(seed) + " on " + device, [&] {
        const KnownModel m = known_models(false)[0];
        RandomPlacement drawn(seed);
        vireo_session_options options = alone();
        options.preference = drawn.preference();
        if (seed % 2 == 0) {  // how a session is served changes no result
          options.priority = VIREO_PRIORITY_HIGH;
          options.slice_ns = 1;
          options.profile = 1;
        }
        Runs got, want;
        const uint32_t there = run_known(opened.runtime, m, device, options, &got);
        if (there == 0) return std::string("left: no node was drawn for it");
        (void)run_known(opened.runtime, m, "cpu", alone(), &want);
        require_same(m, device, got, want);
        return std::to_string(there) + " nodes";
      });
    }
  }
}

// One session's bounds, and the extents of its runs.
struct Extents {
  Bounds session;
  std::vector<Bounds> runs;
};

// All symbolic dimensions as small as may be, all larger, and both in turn in one session: open ones are 1 and 3.
std::vector<Extents> extents_to_try(const Model& model) {
  Bounds least, most, both;
  bool symbolic = false;
  for (const vireo_value_info& info : model.inputs()) {
    for (int32_t d = 0; d < info.rank; ++d) {
      if (info.dim_names[d] == nullptr || info.dim_names[d][0] == 0) continue;
      const int64_t lo = std::max<int64_t>(1, info.min_dims[d]), hi = info.max_dims[d] < 0 ? lo + 2 : info.max_dims[d];
      least.set(info.dim_names[d], lo, lo);
      most.set(info.dim_names[d], hi, hi);
      both.set(info.dim_names[d], lo, hi);
      symbolic = true;
    }
  }
  if (!symbolic) return {{least, {least, least}}};
  return {{least, {least, least}}, {most, {most, most}}, {both, {least, most, least}}};
}

// Values of one run, others for each seed: floats in 0..1, codes of any value, other integers 0 or 1.
std::vector<Array> draw_inputs(const Model& model, const Bounds& extents, uint64_t seed) {
  std::vector<Array> inputs(model.inputs().size());
  std::minstd_rand random(static_cast<uint32_t>(seed + 1));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const vireo_value_info& info = model.inputs()[i];
    if (info.state_of >= 0) continue;
    inputs[i] = sample_input(info, extents.dims_of(info), seed * inputs.size() + i);
    const bool codes = info.dtype == VIREO_INT8 || info.dtype == VIREO_UINT8;
    if (dtype_is_float(info.dtype) || info.dtype == VIREO_STRING || dtype_is_complex(info.dtype)) continue;
    for (int64_t k = 0; k < inputs[i].count(); ++k)
      set_real(&inputs[i], k, static_cast<double>(random() >> 8 & (codes ? 127 : 1)));
  }
  return inputs;
}

// A model cut at random on a device, in several shapes, on several values. Throws Wrong. Returns how many of its nodes
// the device ran, of all.
std::pair<int64_t, int64_t> try_model(const Model& model, const std::string& device, int cuts) {
  SessionChoice choice;
  choice.device = device + ",cpu";
  choice.failover = VIREO_FAILOVER_NEVER;  // nothing is put right behind the test's back
  std::string refusal;
  std::pair<int64_t, int64_t> nodes = {0, 0};
  for (const Extents& extents : extents_to_try(model)) {
    std::vector<std::vector<Array>> cases;
    for (const Bounds& run : extents.runs) cases.push_back(draw_inputs(model, run, cases.size()));
    Bounds bounds = extents.session;
    Answers want;
    try {
      want = answers_of_cpu(model, choice, &bounds, cases);
    } catch (const ApiFailure& failure) {  // the model takes no such inputs
      if (refusal.empty()) refusal = failure.what();
      continue;
    }
    const Json tried = try_placements(model, choice, bounds, cases, want, cuts, 1, {1e-3, 1e-3});
    for (const Json& p : tried["placements"]) {
      if (!p["pass"].get<bool>())
        throw Wrong{"cut by seed " + std::to_string(p["seed"].get<int>()) + ": " + p["reason"].get<std::string>()};
      for (const auto& [where, n] : p["nodes"].items()) {
        nodes.second += n.get<int64_t>();
        if (where == device) nodes.first += n.get<int64_t>();
      }
    }
  }
  if (nodes.second == 0 && !refusal.empty()) throw Wrong{"the CPU does not run it: " + refusal};
  return nodes;
}

void test_models(const DelegateTestOptions& o, const ConvertOnnx& convert, Report& report) {
  for (const std::string& path : o.models) {
    const Opened opened(o.plugin);
    for (const std::string& device : opened.devices) {
      report.check(path + " on " + device, [&] {
        const Model model(path, 2, convert, marked_memory());
        const auto [there, all] = try_model(model, device, 6);
        report.used(device, there);
        if (there == 0) return std::string("left: it takes none of its nodes");
        return std::to_string((100 * there + all / 2) / all) + " % of the nodes of random cuts";
      });
    }
  }
}

void test_memory(const DelegateTestOptions& o, Report& report) {
  report.check("any allocation may fail", [&] {
    const KnownModel* taken = nullptr;
    {
      const Opened opened(o.plugin);
      if (!opened.devices.empty()) taken = model_it_takes(opened, opened.devices[0]);
    }
    const KnownModel m = taken != nullptr ? *taken : known_models(false)[0];
    int64_t n = 0;
    for (bool whole = false; !whole; ++n) {
      if (n == 20000) throw Wrong{"it allocates without end"};
      Heap heap;
      heap.fails_at = n;
      {
        const Opened opened(o.plugin, &heap);
        if (opened.status == VIREO_OK && !opened.devices.empty()) {
          Runs got;
          try {
            (void)run_known(opened.runtime, m, opened.devices[0], alone(), &got);
            whole = heap.number <= n;
          } catch (const Wrong&) {  // which one it may be; that it ends is what counts
            if (heap.number <= n) throw;
          }
        } else if (heap.number <= n) {
          throw Wrong{"it is not opened: " + opened.reason};
        }
      }
      if (heap.live != 0)
        throw Wrong{std::to_string(heap.live) + " bytes were kept after allocation " + std::to_string(n) + " failed"};
    }
    return std::to_string(n - 1) + " allocations";
  });
  const Opened opened(o.plugin);
  for (uint32_t k = 0; k < opened.devices.size(); ++k) {
    const uint32_t d = opened.first + k;
    const std::string where = " on " + opened.devices[k];
    report.check("buffers keep what is written" + where, [&] { return check_buffers(opened.runtime, d); });
    report.check("handles in and out" + where, [&] { return check_handles(opened.runtime, d); });
    report.check("inputs and outputs in buffers" + where, [&]() -> std::string {
      const KnownModel* const taken = model_it_takes(opened, opened.devices[k]);
      if (taken == nullptr) return kTakesNone;
      const KnownModel& m = *taken;
      Runs want;
      (void)run_known(opened.runtime, m, "cpu", alone(), &want);
      return check_bound(opened.runtime, d, m, want[0]);
    });
  }
}

void test_threads(const DelegateTestOptions& o, Report& report) {
  const Opened opened(o.plugin);
  for (const std::string& device : opened.devices) {
    report.check("two sessions at once on " + device, [&]() -> std::string {
      const KnownModel* const taken = model_it_takes(opened, device);
      if (taken == nullptr) return kTakesNone;
      const KnownModel& m = *taken;
      Runs want;
      (void)run_known(opened.runtime, m, "cpu", alone(), &want);
      std::string wrong[2];
      const auto work = [&](int which) {
        try {
          for (int i = 0; i < 20; ++i) {
            Runs got;
            (void)run_known(opened.runtime, m, device, alone(), &got);
            require_same(m, device, got, want);
          }
        } catch (const Wrong& w) {
          wrong[which] = w.why;
        }
      };
      std::thread other(work, 1);
      work(0);
      other.join();
      if (!wrong[0].empty() || !wrong[1].empty()) throw Wrong{wrong[0].empty() ? wrong[1] : wrong[0]};
      return std::string("20 sessions each");
    });
    report.check("runs are cancelled, and the next one is right on " + device, [&]() -> std::string {
      const KnownModel* const taken = model_it_takes(opened, device);
      if (taken == nullptr) return kTakesNone;
      const KnownModel& m = *taken;
      Runs want;
      (void)run_known(opened.runtime, m, "cpu", alone(), &want);
      struct Handles {
        vireo_model* model = nullptr;
        vireo_session* session = nullptr;
        ~Handles() {
          vireo_session_release(session);
          vireo_model_release(model);
        }
      } h;
      vireo_error error = VIREO_ERROR_INIT;
      vireo_session_options options = alone();
      const std::string list = device + ",cpu";
      options.device = list.c_str();
      if (vireo_model_load_memory(opened.runtime, m.data, m.size, &h.model, &error) != VIREO_OK ||
          vireo_session_create(h.model, &options, &h.session, &error) != VIREO_OK)
        throw Wrong{error.message};
      int cancelled = 0;
      std::vector<vireo_tensor> results(vireo_model_output_count(h.model));
      for (int i = 0; i < 50; ++i) {
        fill_inputs(h.model, h.session, m.integer);
        std::thread other([&] {
          std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
          vireo_session_cancel(h.session);
        });
        const vireo_status status =
            vireo_session_run(h.session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), &error);
        other.join();
        if (status == VIREO_CANCELLED) {
          ++cancelled;
        } else if (status != VIREO_OK) {
          throw Wrong{error.message};
        }
        fill_inputs(h.model, h.session, m.integer);
        vireo_status again =
            vireo_session_run(h.session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), &error);
        if (again == VIREO_CANCELLED)
          again =
              vireo_session_run(h.session, nullptr, 0, results.data(), static_cast<uint32_t>(results.size()), &error);
        if (again != VIREO_OK) throw Wrong{std::string("after a cancelled run: ") + error.message};
        Values got;
        for (const vireo_tensor& y : results) {
          const auto* const p = static_cast<const uint8_t*>(y.data);
          got.emplace_back(p, p + y.capacity);
        }
        require_same(m, device, got, want[0]);
      }
      return std::to_string(cancelled) + " of 50 were cancelled";
    });
  }
}

const char* const kSections[] = {"opening", "answers", "models", "memory", "threads"};

void run_section(const DelegateTestOptions& o, const ConvertOnnx& convert) {
  // For runtimes that models open: this process is the plug-in's already.
  setenv("VIREO_PLUGINS", std::filesystem::absolute(o.plugin).c_str(), 1);
  setenv("VIREO_PROBE", "off", 1);
  Report report;
  if (o.section == "opening") test_opening(o, report);
  if (o.section == "answers") test_answers(o, report);
  if (o.section == "models") test_models(o, convert, report);
  if (o.section == "memory") test_memory(o, report);
  if (o.section == "threads") test_threads(o, report);
  std::cout << as_is << "done" << std::endl;
}

// ---- In the parent

// What a section said, and how it ended if it did not end well.
std::string run_child(const std::vector<std::string>& arguments, double seconds, std::string* said) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failure(std::string("cannot open a pipe: ") + strerror(errno));
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  (void)posix_spawn_file_actions_init(&files);
  (void)posix_spawnattr_init(&attributes);
  (void)posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  (void)posix_spawnattr_setpgroup(&attributes, 0);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int started = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environ);
  (void)posix_spawn_file_actions_destroy(&files);
  (void)posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (started != 0) {
    close(ends[0]);
    throw Failure(std::string("cannot start ") + argv[0] + ": " + strerror(started));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool hung = false;
  for (bool open = true; open;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wanted = {ends[0], POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    hung = ready == 0;
    if (ready <= 0) break;
    char piece[4096];
    const ssize_t n = read(ends[0], piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    open = n > 0;
    if (n > 0) said->append(piece, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  pid_t ended = 0;
  for (int ms = 0; !hung && ms < 2000 && (ended = waitpid(pid, &status, WNOHANG)) == 0; ++ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  (void)kill(-pid, SIGKILL);  // it, or what it left
  while (ended == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  const std::string where = "; --section " + arguments[4] + " runs it in this process, for a debugger";
  if (hung) return "had no answer in " + std::to_string(static_cast<int>(seconds)) + " s" + where;
  if (said->size() >= 5 && said->compare(said->size() - 5, 5, "done\n") == 0) return "";
  if (WIFSIGNALED(status)) return "crashed (signal " + std::to_string(WTERMSIG(status)) + ")" + where;
  return "ended the process (status " + std::to_string(WEXITSTATUS(status)) + ")";
}

void delegate_test(const DelegateTestOptions& o, Context& context) {
  if (!o.section.empty()) return run_section(o, context.extensions.convert);
  if (!std::filesystem::exists(o.plugin)) throw Failure("there is no file " + o.plugin);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<Row> rows;
  std::map<std::string, int64_t> used;  // devices, and nodes that ran there
  Progress progress;
  size_t begun = 0;
  for (const char* section : kSections) {
    progress.show(std::string("delegate-test: section ") + section, begun++, std::size(kSections));
    std::vector<std::string> arguments = {self, "delegate-test", o.plugin, "--section", section};
    arguments.insert(arguments.end(), o.models.begin(), o.models.end());
    std::string said;
    const std::string fate = run_child(arguments, o.seconds, &said);
    std::string at;
    for (size_t begin = 0, end = 0; (end = said.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const Json line = parse_json(said.substr(begin, end - begin));
      if (!line.is_object()) continue;
      at = line.value("at", "");
      if (line.contains("used")) used[line["used"].get<std::string>()] += line["nodes"].get<int64_t>();
      if (line.contains("case"))
        rows.push_back({section, line["case"].get<std::string>(), line["status"].get<std::string>(),
                        line["text"].get<std::string>()});
    }
    if (!fate.empty()) rows.push_back({section, at.empty() ? "its process" : at, "failed", "it " + fate});
  }
  progress.show("");
  const bool good = std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.status == "failed"; });
  for (const auto& [device, nodes] : used) {
    if (nodes == 0 && good)
      rows.push_back({"answers", "is used, " + device, "failed",
                      "it ran no node of any model, so nothing it computes was tested: add models that it takes"});
  }
  int passed = 0, left = 0, failed = 0;
  Json list = Json::array();
  std::vector<std::vector<std::string>> table{{"section", "case", "", ""}};
  for (const Row& row : rows) {
    ++(row.status == "passed" ? passed : row.status == "left" ? left : failed);
    list.push_back({{"section", row.section}, {"case", row.name}, {"status", row.status}, {"text", row.text}});
    table.push_back({row.section, row.name, row.status == "failed" ? "FAILED" : row.status, row.text});
  }
  context.exit_status = failed == 0 ? 0 : 1;
  if (o.json)
    return print_json({{"plugin", o.plugin}, {"passed", passed}, {"left", left}, {"failed", failed}, {"cases", list}});
  std::cout << table_text(table) << passed << " passed, " << left << " left, " << failed << " failed\n";
}

}  // namespace

void add_delegate_test(Command app, Context& context) {
  auto options = std::make_shared<DelegateTestOptions>();
  Command verb = app.add_verb("delegate-test", "Test a plug-in: answers, memory, threads, versions");
  verb.add_option("plugin", options->plugin, "a shared library that exports " VIREO_DELEGATE_OPEN)
      .required()
      .file({".so"});
  verb.add_option("models", options->models, "models of yours, which are also cut at random on it")
      .file({".vireo", ".onnx"});
  verb.add_option("--seconds", options->seconds, "after which a section counts as hanging; default 120").positive();
  verb.add_option("--section", options->section, "run only this section, in this process: for a debugger")
      .one_of({"opening", "answers", "models", "memory", "threads"});
  add_json(verb, &options->json);
  verb.footer(
      "What the CPU computes is right: integers equal to the bit, floats within 1e-3. Nothing is put right\n"
      "before it is compared. Each session of the kit's own models runs three times: on small values, on\n"
      "inputs that must stay as they are, and on values of any size. Memory is filled before, so that\n"
      "values that the device did not write are seen. \"left\": it takes none of it, and says why; a device\n"
      "that ran no node at all fails. Your models are made as small as their open dimensions let them and\n"
      "larger, and run on made-up values.\n"
      "Operators one by one: vireo conformance CASES --device NAME --plugins LIB (with the converter).\n"
      "Examples:\n"
      "  vireo delegate-test libvendor.so\n"
      "  vireo delegate-test libvendor.so detector.vireo --json");
  verb.callback([options, &context] { delegate_test(*options, context); });
}

}  // namespace vireo::cli
