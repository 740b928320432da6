// What a run does about devices that a call does not simply return from: those with memory of their own, those that
// are still at work when the call is back, and those that may be lost. The loop asks here at each of its turns;
// recover/ has the answers. In a build without VIREO_JOINED there are no such devices: every question is a constant,
// and nothing is left of the turns.
#ifndef VIREO_RUNTIME_RUN_REMOTE_H_
#define VIREO_RUNTIME_RUN_REMOTE_H_

#include "runtime/run/session.h"
#include "sdk/base/config.h"

namespace vireo {

#if VIREO_JOINED

struct Remote {
  // ---- A run

  // Whether any part works on memory of its device: then values lie in several places.
  static bool has_memory(const vireo_session& s) { return s.devices.memory != nullptr; }
  // After the inputs are bound: those that the caller bound to buffers lie there.
  static Status take_bound_inputs(vireo_session& s) { return has_memory(s) ? take_buffers(s) : Status::kOk; }
  // After the last step. True: a device was lost, and the run begins again without it, with `random` as its generator's
  // state; `status` and the session's error are cleared.
  static bool begins_again(vireo_session& s, uint64_t random, Status* status) {
    return has_memory(s) && end_run(s, random, status);
  }
  // Whether output `o` is not in the session's own memory: it is bound to a buffer, or carried and stays on its device.
  static bool is_away(const vireo_session& s, uint32_t o) { return has_memory(s) && is_elsewhere(s, o); }
  // Brings such an output to the session's own memory, too.
  static Status fetch_output(vireo_session& s, uint32_t o);

  // ---- Carried state

  // The k-th of State after a run: whether the next finds it on a device, and the host's memory has no part in it.
  static bool carries(vireo_session& s, uint32_t k) { return has_memory(s) && turn(s, k); }
  // Brings that of an input to the session's own memory, whose contents are the state from then on.
  static Status take_state(vireo_session& s, uint32_t input) {
    return has_memory(s) ? bring_state(s, input) : Status::kOk;
  }
  // The session's own memory was set anew.
  static void reset_state(vireo_session& s) {
    if (has_memory(s)) forget_state(s);
  }

  // ---- A frame, in a session that has_memory()

  // What its owner bound to its inputs lies in the host's memory.
  static void enter(vireo_session& s, const Frame& frame);
  // Its outputs are brought home, or to the caller's buffers, and all that is under way is waited for.
  static Status leave(vireo_session& s, Frame& frame);

  // ---- A step, in a session that has_memory()

  // Before it: what it reads as host is brought home.
  static Status before(vireo_session& s, const Step& step);
  // After one that ran on the host: what it made lies there.
  static void after(vireo_session& s, const Step& step);

  // ---- A step

  // Whether it works on memory of its device: submit() brings its inputs there, and it is under way afterwards.
  static bool works_there(const Step& step) { return step.away.arena != 0; }
  static Status submit(vireo_session& s, Step& step);
  // Before submit: the graph with the extents of this run, where the part has dynamic ones.
  static void show_extents(vireo_session& s, const Step& step) {
    s.submit.graph = step.away.graph == 0 ? nullptr : &s.devices.run_graphs[step.away.graph - 1];
  }
  // Whether its device may still be at work when submit is back, or be gone.
  static bool may_be_away(const Step& step) { return step.away.device != nullptr; }
  // Whether its device tells what each of its nodes took.
  static bool tells_time(const Step& step) { return step.away.tells_time; }
  // What becomes of it then: its end, or another device's.
  static Status settle(vireo_session& s, Step& step, vireo_status submitted);
  // Whether its device is lost and others run its nodes one by one; run_instead() does.
  static bool is_replaced(const vireo_session& s, const Step& step) {
    return step.away.fallback != nullptr && lost(s, step);
  }
  static Status run_instead(vireo_session& s, Step& step);
  // Whether it runs several nodes.
  static bool is_joined(const Step& step) { return step.declared.node == nullptr; }
  // A composite of fixed shapes in a part of several nodes: they were checked when the session was made, and its body
  // was forgotten then.
  static bool is_fixed_composite(const Step& step) {
    return !step.shapes.infer && step.declared.node != nullptr &&
           static_cast<Op>(step.declared.node->op()) == Op::kComposite;
  }
  // Whether a device keeps the value, so that nobody can read it here.
  static bool keeps(const Tensor& t) { return t.data == nullptr && t.count() != 0; }

 private:
  static Status take_buffers(vireo_session& s);
  static bool end_run(vireo_session& s, uint64_t random, Status* status);
  static bool turn(vireo_session& s, uint32_t k);
  static Status bring_state(vireo_session& s, uint32_t input);
  static void forget_state(vireo_session& s);
  static bool is_elsewhere(const vireo_session& s, uint32_t o);
  static bool lost(const vireo_session& s, const Step& step);
};

#else

struct Remote {
  static bool has_memory(const vireo_session&) { return false; }
  static Status take_bound_inputs(vireo_session&) { return Status::kOk; }
  static bool begins_again(vireo_session&, uint64_t, Status*) { return false; }
  static bool is_away(const vireo_session&, uint32_t) { return false; }
  static Status fetch_output(vireo_session&, uint32_t) { return Status::kOk; }
  static void enter(vireo_session&, const Frame&) {}
  static Status leave(vireo_session&, Frame&) { return Status::kOk; }
  static bool carries(vireo_session&, uint32_t) { return false; }
  static Status take_state(vireo_session&, uint32_t) { return Status::kOk; }
  static void reset_state(vireo_session&) {}
  static Status before(vireo_session&, const Step&) { return Status::kOk; }
  static void after(vireo_session&, const Step&) {}
  static bool works_there(const Step&) { return false; }
  static Status submit(vireo_session&, Step&) { return Status::kOk; }
  static void show_extents(vireo_session&, const Step&) {}
  static bool may_be_away(const Step&) { return false; }
  static bool tells_time(const Step&) { return false; }
  static Status settle(vireo_session&, Step&, vireo_status) { return Status::kOk; }
  static bool is_replaced(const vireo_session&, const Step&) { return false; }
  static Status run_instead(vireo_session&, Step&) { return Status::kOk; }
  static bool is_joined(const Step&) { return false; }
  static bool is_fixed_composite(const Step&) { return false; }
  static bool keeps(const Tensor&) { return false; }
};

#endif

}  // namespace vireo

#endif  // VIREO_RUNTIME_RUN_REMOTE_H_
