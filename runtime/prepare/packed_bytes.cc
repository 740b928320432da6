#include "runtime/prepare/packed_bytes.h"

#include <string.h>

#include "runtime/prepare/device_arenas.h"
#include "sdk/base/config.h"

namespace vireo {

namespace {

// A constant that lies on a device, if it is one.
bool count_on_device(const SessionLayout& l, uint8_t device, const vireo_packed& what) {
  if ((what.flags & VIREO_PACKED_ON_DEVICE) == 0) return false;
  for (DeviceArena* a = l.arenas; a != nullptr; a = a->next) {
    if (a->device != device) continue;
    vireo_place at = VIREO_PLACE_INIT;
    const uint64_t bytes = DevicePacks::bytes_of(what);
    a->packed_bytes += bytes;
    if (!l.model->device_packs.find(life_of(l.model->runtime->devices[device]), what, &at)) a->missing_bytes += bytes;
  }
  return true;
}

}  // namespace

Status packed_bytes(const SessionLayout& l, const vireo_host& host, size_t* held, size_t* mapped, Error* error) {
  *held = *mapped = 0;
  for (DeviceArena* a = l.arenas; a != nullptr; a = a->next) a->packed_bytes = a->missing_bytes = 0;
  if (!VIREO_PACKS) return Status::kOk;
  const int rounds = VIREO_JOINED ? 2 : 1;  // nodes, and where they run when their device is lost
  const auto choices = [&l](uint32_t i, int round) { return round == 0 ? l.subs[i].nodes : l.subs[i].seconds; };
  size_t count = 0;
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) {
    for (int r = 0; r < rounds; ++r) {
      for (uint32_t n = 0; !l.subs[i].dead && n < l.subs[i].node_count; ++n) count += choices(i, r)[n].packed;
    }
  }
  if (count == 0) return Status::kOk;
  size_t places = 2;  // of a table in which each is looked for by its constant
  while (places < 2 * count) places *= 2;
  const vireo_runtime* rt = l.model->runtime;
  const size_t table_bytes = places * sizeof(vireo_packed);
  auto* const table = static_cast<vireo_packed*>(rt->allocate(table_bytes));
  if (table == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes to plan the session", table_bytes);
  memset(static_cast<void*>(table), 0, table_bytes);
  Status status = Status::kOk;
  const auto look_up = [&](uint32_t i, uint32_t n, bool second) {
    const NodeChoice& choice = choices(i, second ? 1 : 0)[n];
    const vireo_part part = part_of(l, i, &n, choice);
    for (uint32_t k = 0; k < choice.packed && ok(status); ++k) {
      const Device& d = rt->devices[choice.device];
      vireo_packed what = VIREO_PACKED_INIT;
      status = static_cast<Status>(d.delegate->pack(d.handle, &host, &l.graphs[i], &part, k, nullptr, &what, nullptr));
      if (!ok(status)) break;
      size_t at = (reinterpret_cast<uintptr_t>(what.constant) / 8 * 0x9E3779B1u) & (places - 1);
      while (table[at].bytes != 0 && !same_pack(table[at], what)) at = (at + 1) & (places - 1);
      if (table[at].bytes == 0 && !(VIREO_JOINED && count_on_device(l, choice.device, what))) {
        const bool lies_there = l.model->packs.find(d.delegate->name, what) == nullptr &&
                                find_mapped_pack(l.model, d.delegate->name, what) != nullptr;
        *(lies_there ? mapped : held) += lies_there ? what.bytes : Packs::bytes_of(what);
      }
      table[at] = what;
    }
  };
  for (uint32_t i = 0; i < l.program->subgraph_count() && ok(status); ++i) {
    for (int r = 0; r < rounds; ++r) {
      for (uint32_t n = 0; !l.subs[i].dead && n < l.subs[i].node_count && ok(status); ++n) look_up(i, n, r != 0);
    }
  }
  rt->release(table, table_bytes);
  return ok(status) ? status : fail(error, status, "a device could not say which weights it reads packed");
}

}  // namespace vireo
