// What delegates say of nodes: each text once, for as long as the model lives, so that its sessions and what is shown
// of them may point there.
//
// A list that only grows, as Packs: finding needs no lock. Of two sessions that are made at once both may add a text:
// then it is there twice. Weighed against it: texts in each session, which knows best
// how long it needs them. They would have to be counted in vireo_model_memory before the session is there, and two
// sessions that place alike would hold them twice.
#ifndef VIREO_RUNTIME_MEMORY_TEXTS_H_
#define VIREO_RUNTIME_MEMORY_TEXTS_H_

#include "vireo/vireo.h"

namespace vireo {

class Texts {
 public:
  // The copy of `text`, which may be null: as "". Null where the allocator has no more memory. Any thread.
  const char* keep(const vireo_allocator& allocator, const char* text);
  void release(const vireo_allocator& allocator);
  size_t bytes() const;  // that keep() took so far

 private:
  struct Entry;
  Entry* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_TEXTS_H_
