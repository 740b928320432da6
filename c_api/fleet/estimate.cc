// Which placement keeps the busiest device least busy. DESIGN.md has the alternatives.
#include <math.h>

#include "c_api/fleet/common.h"

namespace vireo::fleet {
namespace {

// A placement is left for another one only where that gains this much: expected times are not exact to a fiftieth.
constexpr double kWorth = 0.98;

struct Sums {
  Estimate* out;
  uint32_t last_part = UINT32_MAX;  // parts are runs of neighbours
  uint32_t owner_depth = UINT32_MAX;
  bool known = true;
};

double time_of(const vireo_placed_node& node) {
  for (uint32_t i = 0; i < node.verdict_count; ++i) {
    if (strcmp(node.verdicts[i]->device, node.device) == 0) return node.verdicts[i]->time_ns;
  }
  return 0;
}

void add(void* context, const vireo_placed_node* node) {
  auto& sums = *static_cast<Sums*>(context);
  if (node->depth > sums.owner_depth) return;  // inside of a node that was counted whole
  sums.owner_depth = UINT32_MAX;
  if (strcmp(node->device, "-") == 0) return;  // control flow: its bodies count, once
  sums.owner_depth = node->depth;
  vireo_load* const load = find_load(sums.out->loads, &sums.out->whole.load_count, VIREO_FLEET_DEVICES, node->device);
  if (load == nullptr) {
    sums.known = false;
    return;
  }
  ++load->nodes;
  double ns = 0;
  if (node->part != UINT32_MAX && node->part_ns > 0) {
    ++load->timed;
    if (node->part == sums.last_part) return;
    ns = node->part_ns;
  } else {
    ns = time_of(*node);
    if (ns > 0) {
      ++load->timed;
    } else {
      sums.known = false;
    }
  }
  sums.last_part = node->part;
  load->busy_ns += ns;
}

vireo_status estimate(const vireo_model* model, const vireo_session_options& options, Estimate* to,
                      vireo_error* error) {
  *to = {};
  vireo_estimate* const out = &to->whole;
  copy_text(out->devices, sizeof(out->devices), options.device == nullptr ? "auto" : options.device);
  Sums sums;
  sums.out = to;
  const vireo_placement_visitor visitor = {&sums, add};
  const vireo_status status = vireo_model_placement(model, &options, &visitor, error);
  if (status != VIREO_OK) return status;
  for (uint32_t i = 0; i < out->load_count; ++i) {
    out->latency_ns += to->loads[i].busy_ns;
    if (to->loads[i].busy_ns <= out->bottleneck_ns) continue;
    out->bottleneck_ns = to->loads[i].busy_ns;
    out->bottleneck = i;
  }
  out->known = sums.known && out->bottleneck_ns > 0 ? 1 : 0;
  out->runs_per_second = out->known != 0 ? 1e9 / out->bottleneck_ns : 0;
  return VIREO_OK;
}

void say(char (&to)[192], const char* format, const ErrorArg* args, int count) {
  Error e;
  (void)fail_args(&e, Status::kUnsupported, VIREO_DETAIL ? format : "", args, count);
  copy_text(to, sizeof(to), e.message);
}
template <class... Args>
void say(char (&to)[192], const char* format, const Args&... args) {
  const ErrorArg list[] = {ErrorArg(args)...};
  say(to, format, list, static_cast<int>(sizeof...(Args)));
}

int64_t microseconds(double ns) { return llround(ns / 1000); }

}  // namespace

vireo_status choose(const vireo_model* model, const vireo_session_options& given, bool emulated, Estimate* out,
                    vireo_error* error) {
  vireo_session_options options = given;
  const bool planned = options.target != nullptr;  // by a plan in the file
  if (planned || (options.device != nullptr && strcmp(options.device, "auto") != 0)) {
    const vireo_status status = estimate(model, options, out, error);
    if (status == VIREO_OK)
      copy_text(out->whole.reason, sizeof(out->whole.reason),
                planned ? "the options name a target" : "the options name it");
    return status;
  }
  options.device = "auto";
  Estimate best;
  const vireo_status first = estimate(model, options, &best, error);
  if (first != VIREO_OK) return first;
  Estimate next;  // the second best
  bool compared = false;
  uint32_t closed = 0;
  // Devices of the runtime are found through the verdicts of any node: the C API knows no way from a model to it.
  struct Names {
    char list[VIREO_FLEET_DEVICES][32];
    uint32_t count;
    bool done;
  } names = {};
  const vireo_placement_visitor visitor = {
      &names, [](void* context, const vireo_placed_node* node) {
        auto& to = *static_cast<Names*>(context);
        for (uint32_t i = 0; !to.done && i < node->verdict_count && to.count < VIREO_FLEET_DEVICES; ++i)
          copy_text(to.list[to.count++], sizeof(to.list[0]), node->verdicts[i]->device);
        to.done = to.done || node->verdict_count > 0;
      }};
  const vireo_status listed = vireo_model_placement(model, &options, &visitor, error);
  if (listed != VIREO_OK) return listed;
  for (uint32_t i = 0; i < names.count; ++i) {
    char devices[64];
    copy_text(devices, sizeof(devices), names.list[i]);
    if (strcmp(names.list[i], "cpu") != 0)
      copy_text(devices + strlen(devices), sizeof(devices) - strlen(devices), ",cpu");
    options.device = devices;
    // vireo_model_devices alone says which are emulated: it leaves them out unless the limits ask for them.
    if (!emulated && strcmp(names.list[i], "cpu") != 0) {
      vireo_limits limits = VIREO_LIMITS_INIT;
      vireo_device_choice choices[VIREO_FLEET_DEVICES] = {VIREO_DEVICE_CHOICE_INIT};
      uint32_t count = 0;
      bool offered = false;
      if (vireo_model_devices(model, &given, &limits, choices, VIREO_FLEET_DEVICES, &count, nullptr) != VIREO_OK)
        continue;
      const size_t size = strlen(names.list[i]);
      for (uint32_t k = 0; k < count && k < VIREO_FLEET_DEVICES; ++k) {
        const char after = strncmp(choices[k].devices, names.list[i], size) == 0 ? choices[k].devices[size] : 'x';
        offered = offered || (choices[k].fits != 0 && (after == 0 || after == ','));
      }
      if (!offered) continue;
    }
    Estimate other;
    if (estimate(model, options, &other, nullptr) != VIREO_OK || other.whole.known == 0) {
      ++closed;
      continue;
    }
    compared = true;
    if (best.whole.known != 0 && other.whole.bottleneck_ns < kWorth * best.whole.bottleneck_ns) {
      next = best;
      best = other;
    } else if (next.whole.known == 0 || other.whole.bottleneck_ns < next.whole.bottleneck_ns) {
      next = other;
    }
  }
  if (best.whole.known == 0) {
    say(best.whole.reason,
        "not every node's time is known, so placements cannot be compared: {} as a session places it",
        best.whole.devices);
  } else if (compared && next.whole.known != 0) {
    say(best.whole.reason, "{} keeps {} busy for {} us a run; next best: {}, {} for {} us", best.whole.devices,
        best.loads[best.whole.bottleneck].device, microseconds(best.whole.bottleneck_ns), next.whole.devices,
        next.loads[next.whole.bottleneck].device, microseconds(next.whole.bottleneck_ns));
  } else {
    say(best.whole.reason, "no other placement is open ({} have no known times)", closed);
  }
  *out = best;
  return VIREO_OK;
}

}  // namespace vireo::fleet

extern "C" vireo_status vireo_fleet_estimate(const vireo_model* model, const vireo_session_options* options,
                                             uint32_t emulated, vireo_estimate* out, vireo_load* loads,
                                             uint32_t capacity, vireo_error* error) {
  vireo::clear(error);
  VIREO_NOT_NULL(model, error);
  VIREO_NOT_NULL(out, error);
  vireo::Error e;
  vireo_session_options given;
  const vireo::Status read = vireo::read_sized(options, &given, {"options", "VIREO_SESSION_OPTIONS_INIT"}, &e);
  if (!vireo::ok(read)) return vireo::report(read, e, error);
  vireo::fleet::Estimate found;
  const vireo_status status = vireo::fleet::choose(model, given, emulated != 0, &found, error);
  return status != VIREO_OK ? status : vireo::fleet::give_estimate(found, out, loads, capacity, error);
}
