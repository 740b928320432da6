// The user's cache of packed weights and compiled parts: a folder with a file (sdk/format/pack_set.h) for each model,
// mapped read-only by every process that runs the model.
//
// A file is named by the root of the model's hash tree, so its key is the content of the weights. It is written under a
// temporary name and renamed: it appears whole, and of several processes that pack at once the last one's stays. Before
// the first write the model is compared with its hash tree, else a file with another model's root could put its weights
// under that name.
#ifndef VIREO_RUNTIME_PLATFORM_PACK_CACHE_H_
#define VIREO_RUNTIME_PLATFORM_PACK_CACHE_H_

#include "sdk/format/pack_set.h"
#include "vireo/vireo.h"

namespace vireo {

// The files that a model has mapped. The list only grows while the model lives, so that finding needs no lock.
class PackCache {
 public:
  // Maps the model's file in `folder` unless that was done. What is not there, damaged or another's is left alone.
  void open(const vireo_model& model, const char* folder);
  // `found` may be null.
  const void* find(const PackEntry& wanted, PackEntry* found = nullptr) const;
  // Writes what the model packed or compiled and its file in `folder` lacks, with what that has; then removes files of
  // the folder, those first that were longest not used, until it takes no more than `most_bytes` (0:
  // VIREO_CACHE_BYTES).
  void keep(const vireo_model& model, const char* folder, uint64_t most_bytes);
  void release(const vireo_allocator& allocator);

 private:
  struct File;
  const File* of(const char* folder) const;
  File* first_ = nullptr;
};

}  // namespace vireo

#endif  // VIREO_RUNTIME_PLATFORM_PACK_CACHE_H_
