#include "delegates/gpu/device/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace vireo::gpu {
namespace {

constexpr uint64_t kHalfBytes = 4u << 20;  // of the staging block: a copy of this size takes as long as ten submits

}  // namespace

Range part_of(const std::array<uint32_t, 3>& groups, uint32_t part, uint32_t parts) {
  Range range;
  range.groups = groups;
  const auto axis = static_cast<size_t>(std::max_element(groups.begin(), groups.end()) - groups.begin());
  const auto at = [&](uint32_t p) { return static_cast<uint32_t>(uint64_t{groups[axis]} * p / parts); };
  range.base[axis] = at(part);
  range.groups[axis] = at(part + 1) - at(part);
  return range;
}

// Into how many a step is cut that takes longer than a slice, where `left` pieces more are to be had.
uint32_t Recordings::parts_of(uint32_t step, uint32_t left) const {
  if (!launches_parts() || runs_ < kTrials || times_[step] <= slice_ns_) return 1;
  const auto& groups = schedule_.steps[step].groups;
  const uint64_t most = std::min(*std::max_element(groups.begin(), groups.end()), left + 1);
  return static_cast<uint32_t>(std::min((times_[step] + slice_ns_ - 1) / slice_ns_, most));
}

// Pieces as long as they may be. Before any step was seen, each is a piece.
void Recordings::plan() {
  const auto steps = static_cast<uint32_t>(schedule_.steps.size());
  pieces_.clear();
  if (slice_ns_ == 0 || steps == 0) {
    pieces_.push_back({0, steps});
    return;
  }
  uint64_t taken = 0;
  uint32_t left = kMoreParts;
  for (uint32_t s = 0; s < steps; ++s) {
    if (const uint32_t parts = parts_of(s, left); parts > 1) {
      for (uint32_t p = 0; p < parts; ++p) pieces_.push_back({s, s + 1, p, parts});
      left -= parts - 1;
      taken = slice_ns_ + 1;
      continue;
    }
    if (pieces_.empty() || runs_ < kTrials || taken + times_[s] > slice_ns_) {
      pieces_.push_back({s, s});
      taken = 0;
    }
    taken += times_[s];
    pieces_.back().end = s + 1;
  }
}

void Recordings::took(size_t piece, uint64_t ns) {
  const Stretch at = pieces_[piece];
  if (at.parts > 1) {
    // Once is noise: it counts where it says that the step takes a quarter more than was thought.
    const uint64_t all = ns * at.parts;
    if (ns <= slice_ns_ || all <= times_[at.first] + times_[at.first] / 4) return;
    times_[at.first] = all;
    late_ = true;
  } else if (at.end == at.first + 1) {
    times_[at.first] = std::min(times_[at.first], ns);
  } else if (at.end > at.first && ns > slice_ns_) {
    // Its steps count as so much slower from now on that it is cut at least once.
    for (uint32_t s = at.first; s < at.end; ++s) times_[s] = std::max(times_[s], ns / (at.end - at.first));
    late_ = true;
  }
}

bool Recordings::ran() {
  if (slice_ns_ == 0) return false;
  const bool changes = runs_ + 1 == kTrials || late_;
  runs_ = std::min(runs_ + 1, kTrials);
  late_ = false;
  if (!changes) return false;
  plan();
  for (Kept& k : kept_) k.used = 0;
  return true;
}

vireo_status Recordings::at(const Place* places, const OwnPlaces& own, const std::vector<Commands>** out) {
  if (pieces_.empty()) {
    times_.assign(schedule_.steps.size(), UINT64_MAX / 4);
    plan();
  }
  const size_t count = schedule_.inputs.size() + schedule_.outputs.size();
  const auto id_of = [](const Place& at) { return at.buffer == nullptr ? 0 : at.buffer->id; };
  const auto has_them = [&](const Kept& k) {
    if (k.used == 0) return false;
    for (size_t i = 0; i < count; ++i) {
      if (k.ids[i] != id_of(places[i]) || k.places[i].offset != places[i].offset) return false;
    }
    return true;
  };
  Kept* found = std::find_if(std::begin(kept_), std::end(kept_), has_them);
  if (found == std::end(kept_)) {
    found = std::min_element(std::begin(kept_), std::end(kept_),
                             [](const Kept& a, const Kept& b) { return a.used < b.used; });
    found->used = 0;
    found->places.assign(places, places + count);
    found->ids.clear();
    for (size_t i = 0; i < count; ++i) found->ids.push_back(id_of(places[i]));
    if (const vireo_status status =
            record(static_cast<uint32_t>(found - kept_), pieces_, places, own, &found->commands);
        status != VIREO_OK)
      return status;
  }
  found->used = ++asked_;
  last_ = static_cast<uint32_t>(found - kept_);
  *out = &found->commands;
  return VIREO_OK;
}

Place Recordings::place_of(const Schedule& schedule, const Place* places, const OwnPlaces& own, const Binding& b) {
  const auto behind = [&b](const Place& at) { return Place{at.buffer, at.offset + b.offset}; };
  switch (b.where) {
    case Where::kWeights:
      return behind(own.weights[b.index]);
    case Where::kInner:
      return behind(own.inner);
    case Where::kData:
      return behind(own.data);
    case Where::kErrors:
      return behind(own.errors);
    default:
      return behind(places[b.where == Where::kInput ? b.index : schedule.inputs.size() + b.index]);
  }
}

Device::Device() : process_(getpid()) {}

bool Device::lost() const { return lost_.load(std::memory_order_relaxed) || getpid() != process_; }

bool Device::untouchable() { return getpid() != process_ || (hangs_.load() && !idle()); }

void Device::give_up() {
  hangs_.store(true);
  lost_.store(true);
}

void Device::settle(Ticket ticket) {
  if (lost() || reached(ticket)) return;
  // In turns: drivers add a time limit to a clock's count, and not all expect one of centuries.
  for (uint64_t left = cancel_ns; left != 0;) {
    const uint64_t turn = std::min<uint64_t>(left, 1'000'000'000);
    if (wait(ticket, turn) != VIREO_BUSY) break;
    left -= turn;
  }
  if (!reached(ticket)) give_up();  // also where the wait itself failed
}

// ---- Copies

vireo_status Device::await(Ticket ticket) {
  const vireo_status status = wait(ticket, copy_ns);
  if (status != VIREO_BUSY) return status;
  give_up();
  return VIREO_DEVICE_LOST;
}

vireo_status Device::follow(Ticket before, vireo_priority priority) {
  return orders(before, priority) ? vireo_status{VIREO_OK} : await(before);
}

vireo_status Device::open_lane(vireo_priority priority) { return open(lane(priority)); }

vireo_status Device::open_staging() {
  const std::lock_guard<std::mutex> lock(staging_mutex_);
  return stage();
}

vireo_status Device::stage() {
  if (staging_.mapped != nullptr) return VIREO_OK;
  if (const vireo_status status = prepare_copies(); status != VIREO_OK) return status;
  return allocate(2 * kHalfBytes, Use::kStaging, &staging_);
}

vireo_status Device::write(const Block& block, uint64_t offset, const void* from, uint64_t bytes) {
  if (lost()) return VIREO_DEVICE_LOST;
  if (block.mapped != nullptr) {
    std::memcpy(block.mapped + offset, from, bytes);
    return VIREO_OK;
  }
  const std::lock_guard<std::mutex> lock(staging_mutex_);
  if (const vireo_status status = stage(); status != VIREO_OK) return status;
  for (uint64_t done = 0; done < bytes;) {
    const uint32_t half = next_half_;
    const uint64_t n = std::min(kHalfBytes, bytes - done), at = half * kHalfBytes;
    next_half_ ^= 1;
    if (const vireo_status status = await(halves_[half]); status != VIREO_OK) return status;
    std::memcpy(staging_.mapped + at, static_cast<const uint8_t*>(from) + done, n);
    if (const vireo_status status = copy(half, staging_, at, block, offset + done, n, &halves_[half]);
        status != VIREO_OK)
      return status;
    copied_.store(halves_[half]);
    done += n;
  }
  return VIREO_OK;
}

vireo_status Device::read(const Block& block, uint64_t offset, void* to, uint64_t bytes) {
  if (lost()) return VIREO_DEVICE_LOST;
  if (block.mapped != nullptr) {
    std::memcpy(to, block.mapped + offset, bytes);
    return VIREO_OK;
  }
  const std::lock_guard<std::mutex> lock(staging_mutex_);
  if (const vireo_status status = stage(); status != VIREO_OK) return status;
  // While a piece is copied out of one half, the next one comes into the other.
  uint64_t asked = 0, done = 0;
  struct Piece {
    uint32_t half = 0;
    uint64_t at = 0, bytes = 0;
  } pieces[2];
  uint32_t first = 0, count = 0;
  while (done < bytes) {
    while (asked < bytes && count < 2) {
      Piece& p = pieces[(first + count) % 2];
      p = {next_half_, next_half_ * kHalfBytes, std::min(kHalfBytes, bytes - asked)};
      next_half_ ^= 1;
      vireo_status status = await(halves_[p.half]);
      if (status == VIREO_OK) status = copy(p.half, block, offset + asked, staging_, p.at, p.bytes, &halves_[p.half]);
      if (status != VIREO_OK) return status;
      copied_.store(halves_[p.half]);
      asked += p.bytes;
      ++count;
    }
    const Piece& p = pieces[first];
    if (const vireo_status status = await(halves_[p.half]); status != VIREO_OK) return status;
    std::memcpy(static_cast<uint8_t*>(to) + done, staging_.mapped + p.at, p.bytes);
    done += p.bytes;
    first ^= 1;
    --count;
  }
  return VIREO_OK;
}

}  // namespace vireo::gpu
