#include "runtime/devices/plugins.h"

#include <stddef.h>
#include <string.h>

#include <new>

#include "runtime/devices/graph_view.h"
#include "runtime/devices/runtime.h"
#include "sdk/base/sized.h"

namespace vireo {
namespace {

// Whether both sides mean the same by what they both know; a table that ends before `abi` is no table.
bool is_of_this_abi(const vireo_delegate& theirs) {
  return theirs.struct_size >= offsetof(vireo_delegate, name) && theirs.abi == VIREO_DELEGATE_ABI;
}

// "" or what a table lacks.
const char* lacks(const vireo_delegate& d) {
  if (d.name == nullptr || d.name[0] == 0) return "it has no name";
  if (d.enumerate == nullptr || d.claim == nullptr || d.memory == nullptr || d.load == nullptr || d.submit == nullptr ||
      d.unload == nullptr || d.health == nullptr || d.release == nullptr)
    return "enumerate, claim, memory, load, submit, unload, health or release is missing";
  if ((d.wait == nullptr) != (d.cancel == nullptr)) return "it has wait without cancel, or cancel without wait";
  const bool memory = d.bind != nullptr;
  if (memory != (d.buffer_create != nullptr) || memory != (d.buffer_release != nullptr) ||
      memory != (d.buffer_write != nullptr) || memory != (d.buffer_read != nullptr)) {
    return "it has some of bind, buffer_create, buffer_release, buffer_write and buffer_read, but not all";
  }
  if (memory && d.wait == nullptr) return "it has memory of its own, but no wait";
  return "";
}

bool has_device(const vireo_runtime* rt, const char* name) {
  for (uint32_t i = 0; i < rt->device_count; ++i) {
    if (strcmp(rt->devices[i].info.name, name) == 0) return true;
  }
  return false;
}

const char* bad_name(const char* name) {
  if (name == nullptr || name[0] == 0) return "a device without a name";
  if (strlen(name) > 64 || strchr(name, ',') != nullptr || strcmp(name, "auto") == 0)
    return "a device's name is too long, has a comma, or is \"auto\"";
  return nullptr;
}

void refuse(vireo_runtime* rt, Plugin* p, const char* why) {
  const size_t n = strlen(why) < sizeof(p->reason) - 1 ? strlen(why) : sizeof(p->reason) - 1;
  memcpy(p->reason, why, n);
  p->reason[n] = 0;
  if (rt->log == nullptr) return;
  Error told;
  (void)fail(&told, Status::kUnsupported, "plug-in \"{}\" is not used: {}", p->path, p->reason);
  rt->log(rt->log_context, VIREO_LOG_WARNING, told.message);
}

// The devices of an opened delegate; on a fault none of them stays.
const char* take_devices(vireo_runtime* rt, Plugin* p) {
  const uint32_t before = rt->device_count;
  const char* why = nullptr;
  for (uint32_t i = 0; why == nullptr; ++i) {
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    void* handle = nullptr;
    if (p->delegate->enumerate(p->delegate->self, &rt->host, i, &info, &handle) != VIREO_OK) break;
    if (rt->device_count == kMaxDevices) {
      why = "it enumerates more devices than a runtime has room for";
      break;
    }
    why = bad_name(info.name);
    if (why == nullptr && has_device(rt, info.name)) why = "another delegate has a device of the same name";
    if (why != nullptr) break;
    Device& device = rt->devices[rt->device_count++];
    device = Device{};
    device.delegate = p->delegate;
    device.handle = handle;
    device.info = info;
    device.info.delegate = p->delegate->name;
  }
  if (why != nullptr) {
    rt->device_count = before;
    return why;
  }
  p->device_count = rt->device_count - before;
  return p->device_count == 0 ? "its devices are not there" : nullptr;
}

void open_one(vireo_runtime* rt, Plugin* p, const ProbeOptions* probe) {
  Error error;
  char found[sizeof(Plugin::reason)] = {};
  if (probe != nullptr) probe_plugin(p->path, *probe, found, sizeof(found));
  if (found[0] != 0) return refuse(rt, p, found);
  if (!ok(platform::open_library(p->path, &p->library, &error))) return refuse(rt, p, error.message);
  const auto open =
      reinterpret_cast<vireo_delegate_open_function>(platform::find_symbol(p->library, VIREO_DELEGATE_OPEN));
  const char* why = nullptr;
  vireo_status opened = VIREO_OK;
  __atomic_store_n(&rt->opening, p, __ATOMIC_RELEASE);
  if (open == nullptr) {
    why = "it does not export " VIREO_DELEGATE_OPEN;
  } else {
    const vireo_delegate* table = nullptr;
    opened = open(VIREO_DELEGATE_ABI, &rt->host, &table);
    if (opened == VIREO_UNSUPPORTED) {
      why = "it was built for another delegate ABI";
    } else if (opened != VIREO_OK || table == nullptr) {
      why = "it could not open its driver";
    } else if (!is_of_this_abi(*table)) {
      why = "its table is of another delegate ABI";
    } else if (!ok(read_sized(table, &p->table, {"its table", "VIREO_DELEGATE_INIT"}, &error))) {
      why = error.message;
    } else {
      why = lacks(p->table);
      if (why[0] == 0) {
        p->delegate = &p->table;
        why = take_devices(rt, p);
        if (why != nullptr) p->table.release(p->table.self);
      }
      if (why != nullptr) p->delegate = nullptr;
    }
  }
  (void)__atomic_exchange_n(&rt->opening, nullptr, __ATOMIC_ACQ_REL);
  if (why == nullptr) return;
  const char* const said = __atomic_load_n(&p->spoke, __ATOMIC_ACQUIRE) != 0 ? static_cast<const char*>(p->said) : "";
  const char* const between = said[0] != 0 ? ": " : "";
  Error whole;
  if (opened != VIREO_OK) {
    (void)fail(&whole, Status::kUnsupported, "{}: open({}) gave status {}{}{}", why, VIREO_DELEGATE_ABI, opened,
               between, said);
  } else if (said[0] != 0) {
    (void)fail(&whole, Status::kUnsupported, "{}: {}", why, said);
  }
  if (whole.message[0] != 0) why = whole.message;
  refuse(rt, p, why);
  platform::close_library(p->library);
  p->library = nullptr;
}

struct Listing {
  vireo_runtime* rt;
  Plugin** last;
  const ProbeOptions* probe;
  Status status = Status::kOk;
  Error* error;
};

// One library; called for each that a list or a folder names.
void add(void* context, const char* path) {
  auto& listing = *static_cast<Listing*>(context);
  if (!ok(listing.status)) return;
  void* const memory = listing.rt->allocate(sizeof(Plugin));
  if (memory == nullptr) {
    listing.status = fail(listing.error, Status::kOutOfArena, "the allocator has no {} bytes for a plug-in's record",
                          sizeof(Plugin));
    return;
  }
  auto* const p = new (memory) Plugin();
  *listing.last = p;
  listing.last = &p->next;
  const size_t n = strlen(path);
  memcpy(p->path, path, n < sizeof(p->path) ? n : sizeof(p->path) - 1);
  if (n >= sizeof(p->path)) return refuse(listing.rt, p, "its path is too long");
  open_one(listing.rt, p, listing.probe);
}

}  // namespace

Status open_plugins(vireo_runtime* rt, const char* list, const ProbeOptions* probe, Error* error) {
  Listing listing{rt, &rt->plugins, probe, Status::kOk, error};
  while (*listing.last != nullptr) listing.last = &(*listing.last)->next;
  while (*list != 0 && ok(listing.status)) {
    const char* end = strchr(list, ':');
    if (end == nullptr) end = list + strlen(list);
    char path[sizeof(Plugin::path)];
    const auto n = static_cast<size_t>(end - list);
    if (n >= sizeof(path)) return fail(error, Status::kInvalidArgument, "the list of plug-ins names too long a path");
    memcpy(path, list, n);
    path[n] = 0;
    if (n != 0 && !platform::list_libraries(path, add, &listing)) add(&listing, path);
    list = *end == 0 ? end : end + 1;
  }
  return listing.status;
}

void hear_error(vireo_runtime* rt, const char* text) {
  Plugin* const p = __atomic_exchange_n(&rt->opening, nullptr, __ATOMIC_ACQ_REL);
  if (p == nullptr) return;
  const size_t n = strlen(text);
  memcpy(p->said, text, n < sizeof(p->said) ? n : sizeof(p->said) - 1);
  __atomic_store_n(&p->spoke, 1u, __ATOMIC_RELEASE);
}

void close_plugins(vireo_runtime* rt) {
  while (rt->plugins != nullptr) {
    Plugin* const p = rt->plugins;
    rt->plugins = p->next;
    if (p->delegate != nullptr) p->delegate->release(p->delegate->self);
    if (p->library != nullptr) platform::close_library(p->library);
    rt->release(p, sizeof(Plugin));
  }
}

}  // namespace vireo
