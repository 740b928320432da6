// Compiled parts as a set of packs names them (sdk/format/pack_set.h): what a file or the user's folder has of a part,
// and what this process can add.
#ifndef VIREO_RUNTIME_DEVICES_COMPILED_H_
#define VIREO_RUNTIME_DEVICES_COMPILED_H_

#include "runtime/devices/runtime.h"

namespace vireo {

// Of what a blob depends on besides the part: delegate, vendor, family, driver, detail, types, memories, flags. Neither
// the device's name nor its rates are in it.
uint64_t device_fingerprint(const Device& device);

// How a set names the part, its bytes left open; false for a device of no compiler, or of a delegate with too long a
// name.
bool name_compiled(const vireo_model* model, const BlobKey& key, PackEntry* out);

// The part as the model's file has it, or the user's folder, added to the model's list; null where neither has it whole
// for this very device. From the folder goes what was checked there, else the file comes first. What is damaged or of
// another driver is told in the log.
const Blob* adopt_compiled(const vireo_model* model, const Device& device, const BlobKey& key);

// A part as it is kept: its name, its head as it is now, and what lies behind it.
struct CompiledCopy {
  PackEntry name = {};  // with its bytes: the head's, and where the part is not refused blob->data's
  const char* delegate = "";
  const Blob* blob = nullptr;
};
// Part `index` of those that the model has and another process could use; false past the last one.
bool compiled_at(const vireo_model* model, uint32_t index, CompiledCopy* out);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_COMPILED_H_
