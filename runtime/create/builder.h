// Builds a session: one walk over the graph that first counts the bytes and then takes them.
#ifndef VIREO_RUNTIME_CREATE_BUILDER_H_
#define VIREO_RUNTIME_CREATE_BUILDER_H_

#include "runtime/prepare/joined.h"
#include "runtime/run/session.h"
#include "sdk/base/config.h"

namespace vireo {

// What is known of a tensor while the session is built.
struct Slot {
  Tensor* tensor = nullptr;  // of the owner, where a composite's body takes the owner's
  bool is_static = false;    // by declaration or by bounds
  bool constant = false;
};

// Asks a delegate for one packed constant of a part.
struct Packer {
  const Device& device;
  const vireo_host& host;
  const vireo_graph* graph;
  const vireo_part& part;
  uint32_t index;
  const vireo_thread_pool* threads;

  // `to` is null: says what it is.
  vireo_status operator()(vireo_packed* what, void* to) const {
    return device.delegate->pack(device.handle, &host, graph, &part, index, threads, what, to);
  }
};

// Where the packed constants of a part lie, as load() gets it.
struct PackedList {
  const void** data = nullptr;
  // Of a part that works on buffers; else null.
  const vireo_place** at = nullptr;
  vireo_place* places = nullptr;
};

class Builder {
 public:
  Builder(const SessionLayout& layout, const vireo_session_options& options, void* block)
      : l_(layout), p_(*layout.program), options_(options), host_(layout.model->runtime->host), c_(block) {}

  // `slots` and the rest: temporary memory, see temporary_bytes().
  Status build(void* temporary, Error* error);
  static size_t temporary_bytes(const SessionLayout& layout);

  size_t total() const { return c_.peak(); }
  size_t tables() const { return tables_; }
  // After a failure: a device does not get a part any more, and the session may be made without it.
  bool refused() const { return refused_; }
  vireo_session* session() const { return s_; }

 private:
  bool real() const { return !c_.counting(); }
  Slot& slot(uint32_t sub, int32_t t) { return slots_[first_slot_[sub] + static_cast<uint32_t>(t)]; }
  bool maps_to_owner(const SubLayout& s) const { return s.inlined || s.dead; }
  const fb::Node& owner_of(uint32_t sub) const {
    return *l_.graph(l_.subs[sub].owner).nodes()->Get(l_.subs[sub].owner_node);
  }

  void take_temporary(void* temporary);
  void take_lists();
  void take_memory();
  void place_regions();
  void start_lanes();
  void take_run_graphs();
  void start_inputs();
  void make_slots(uint32_t sub);
  Status place_tensors(uint32_t sub, Error* error);
  void place_strings(uint32_t sub);
  // steps.cc
  uint32_t count_steps(uint32_t sub) const;
  uint32_t count_aliases(uint32_t sub) const;
  Status build_frame(uint32_t sub, uint8_t depth, bool shapes_only, Frame* frame, Error* error);
  Status build_steps(uint32_t sub, uint8_t depth, bool shapes_only, Frame* frame, Error* error);
  Status build_step(uint32_t sub, uint32_t n, uint8_t depth, bool shapes_only, Step* step, Error* error);
  Status build_part(uint32_t sub, uint32_t n, bool shapes_only, Step* step, Error* error);
  Status load_part(uint32_t sub, uint32_t n, Step* step, Error* error);
  // bodies.cc
  Status build_control(uint32_t sub, uint32_t n, uint8_t depth, bool shapes_only, Step* step, Error* error);
  Status check_body_types(uint32_t sub, uint32_t n, Error* error);
  // joined_steps.cc
  Status open_work(Error* error);
  Status open_memory(Error* error);
  void refuse_full(const char* why);
  Status put_on_device(uint32_t sub, uint32_t k, const Packer& packer, const vireo_packed& what, vireo_place* out,
                       Error* error);
  void place_work(const NodeChoice& choice, vireo_place* state, vireo_place* scratch, vireo_load_request* with);
  Status fill_joined(uint32_t sub, const JoinedPart& part, Tensor** args, Step* step, Error* error);
  Status build_joined_shapes(uint32_t sub, const JoinedPart& part, Step* step, Error* error);
  Status build_joined(uint32_t sub, const JoinedPart& part, uint8_t depth, Step* step, Error* error);
  Status build_fallback(uint32_t sub, const JoinedPart& part, uint8_t depth, Step* step, Error* error);
  void refuse_part(const Device& device, const JoinedPart* part, vireo_status status);
  const NodeChoice& choice_of(uint32_t sub, uint32_t n) const {
    return VIREO_JOINED && second_ ? l_.subs[sub].seconds[n] : l_.subs[sub].nodes[n];
  }
  Status pack_constants(uint32_t sub, const vireo_part& part, const PackedList& packed, Error* error);
  Status check_static(uint32_t sub, uint32_t n, Step* step, Error* error);
  bool declared_static(uint32_t sub, const fb::Node& node);
  bool is_fixed(uint32_t sub, const JoinedPart& part);
  void add_info(uint32_t sub, uint32_t n, uint8_t depth);

  const SessionLayout& l_;
  const Program& p_;
  const vireo_session_options options_;
  const vireo_host& host_;
  Carver c_;
  vireo_session* s_ = nullptr;
  Slot* slots_ = nullptr;
  uint32_t* first_slot_ = nullptr;
  Tensor** args_ = nullptr;  // of the step in hand, while counting or checking
  TensorType* out_types_ = nullptr;
  TensorType** out_pointers_ = nullptr;
  bool* constant_ = nullptr;
  uint64_t* region_base_ = nullptr;  // per subgraph, from the start of the arena
  size_t tables_ = 0;
  uint32_t next_info_ = 0;
  bool refused_ = false;
  bool second_ = false;               // the steps in hand are those of a part whose device is lost
  NodeInfo* second_infos_ = nullptr;  // theirs
};

// Gives back what the steps' devices hold.
void unload(Frame& frame);
void unload(Step& step);

}  // namespace vireo

#endif  // VIREO_RUNTIME_CREATE_BUILDER_H_
