// Windows: the steps of several lanes side by side (prepare/branches.h).
#include "runtime/run/remote.h"

namespace vireo {
namespace {

struct WindowRun {
  vireo_session* s;
  Step* steps;
  uint32_t count;
};

void run_lane(const WindowRun& run, uint32_t lane) {
  vireo_session& s = *run.s;
  BranchLane& mine = s.threads.lanes[lane];
  mine.status = VIREO_OK;
  for (uint32_t i = 0; i < run.count; ++i) {
    const Step& step = run.steps[i];
    if (step.window.lane != lane || step.in_place) continue;
    if (__atomic_load_n(&s.run.cancelled, __ATOMIC_RELAXED) != 0) return;
    const uint64_t begin = s.nodes.times == nullptr ? 0 : platform::now_ns();
    mine.fault.text[0] = 0;
    mine.status = step.call.submit(step.call.loaded, reinterpret_cast<const vireo_tensor* const*>(step.args),
                                   step.input_count, reinterpret_cast<vireo_tensor**>(step.args + step.input_count),
                                   step.output_count, &mine.submit);
    if (s.nodes.times != nullptr) {
      s.nodes.times[step.info].total_ns += platform::now_ns() - begin;
      ++s.nodes.times[step.info].calls;
    }
    if (mine.status != VIREO_OK) {
      mine.failed = i;
      return;
    }
  }
}

}  // namespace

Status run_window(vireo_session& s, Step* steps, uint32_t count) {
  for (uint32_t i = 0; Remote::has_memory(s) && i < count; ++i) {
    VIREO_TRY(Remote::before(s, steps[i]));
    Remote::after(s, steps[i]);  // before its turn, for those behind it in the window
  }
  WindowRun run = {&s, steps, count};
  s.threads.pool.run(
      s.threads.pool.pool, s.threads.lane_count, 1,
      [](void* arg, int64_t begin, int64_t end, int32_t) {
        for (int64_t lane = begin; lane < end; ++lane)
          run_lane(*static_cast<WindowRun*>(arg), static_cast<uint32_t>(lane));
      },
      &run);
  const BranchLane* first = nullptr;
  for (int32_t k = 0; k < s.threads.lane_count; ++k) {
    const BranchLane& lane = s.threads.lanes[k];
    if (lane.status != VIREO_OK && (first == nullptr || lane.failed < first->failed)) first = &lane;
  }
  if (first == nullptr) return check_cancelled(s);  // lanes may have left steps out
  const Step& step = steps[first->failed];
  blame(&s.error, first->fault);
  blame_node(&s.error, step_name(s, step));
  return fail(&s.error, static_cast<Status>(first->status), "{} \"{}\": {}", step.def->name, step_name(s, step),
              static_cast<const char*>(first->fault.text));
}

}  // namespace vireo
