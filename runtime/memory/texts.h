// What delegates say of nodes: each text once, for as long as the model lives, so that its sessions and what is shown
// of them may point there.
//
// A tree by the texts' hashes that only grows: two bits of the hash choose the way at each level, and a text goes where
// its way ends. So a device may give every node a text of its own, and finding needs no lock. Weighed against it: a
// list, which is walked whole for each new text, and a table, which has to be made anew when it is full while others
// read it. Weighed, too: texts in each session, which knows best how long it needs them. They would have to be counted
// in vireo_model_memory before the session is there, and two sessions that place alike would hold them twice.
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
  Entry* root_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_MEMORY_TEXTS_H_
