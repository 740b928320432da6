#include "tests/fuzz/wire.h"

#include <algorithm>
#include <cstring>

#include "tests/fuzz/harness.h"

namespace vireo::fuzz {
namespace {

constexpr int kDeepest = 40;

bool varint(const uint8_t** at, const uint8_t* end, uint64_t* out) {
  *out = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    const uint8_t b = *(*at)++;
    *out |= static_cast<uint64_t>(b & 127) << shift;
    if (b < 128) return true;
  }
  return false;
}

void put_varint(std::string* to, uint64_t v) {
  for (; v > 127; v >>= 7) to->push_back(static_cast<char>(v | 128));
  to->push_back(static_cast<char>(v));
}

bool is_text(const uint8_t* data, size_t size) {
  return std::all_of(data, data + size, [](uint8_t c) { return c >= 0x20 && c < 0x7F; });
}

// Where changes are drawn from, all depths alike.
struct Place {
  std::vector<WireField>* list;
  size_t at;
  WireField& field() const { return (*list)[at]; }
};
void places_of(std::vector<WireField>* list, std::vector<Place>* out) {
  for (size_t i = 0; i < list->size(); ++i) {
    out->push_back({list, i});
    places_of(&(*list)[i].fields, out);
  }
}

void change_bytes(std::string* bytes, std::mt19937& rng) {
  switch (bytes->empty() ? 2 : rng() % 4) {
    case 0:
      (*bytes)[rng() % bytes->size()] = static_cast<char>(rng());
      break;
    case 1:
      bytes->resize(rng() % bytes->size());
      break;
    case 2:
      bytes->append(1 + rng() % 9, static_cast<char>(rng()));
      break;
    default: {
      const size_t at = rng() % bytes->size(), n = std::min(bytes->size() - at, size_t{1} << rng() % 4);
      const int64_t v = odd_number(rng);
      std::memcpy(bytes->data() + at, &v, n);
    }
  }
}

}  // namespace

bool read_wire(const uint8_t* data, size_t size, int depth, std::vector<WireField>* out) {
  if (depth > kDeepest) return false;
  const uint8_t *at = data, *const end = data + size;
  while (at < end) {
    uint64_t key = 0, n = 0;
    if (!varint(&at, end, &key) || key >> 3 == 0 || key >> 3 > 536870911) return false;
    WireField f;
    f.number = static_cast<uint32_t>(key >> 3);
    f.type = static_cast<int>(key & 7);
    switch (f.type) {
      case 0:
        if (!varint(&at, end, &f.value)) return false;
        break;
      case 1:
      case 5: {
        const size_t bytes = f.type == 1 ? 8 : 4;
        if (static_cast<size_t>(end - at) < bytes) return false;
        std::memcpy(&f.value, at, bytes);
        at += bytes;
        break;
      }
      case 2:
        if (!varint(&at, end, &n) || n > static_cast<uint64_t>(end - at)) return false;
        f.is_message = n > 0 && !is_text(at, static_cast<size_t>(n)) &&
                       read_wire(at, static_cast<size_t>(n), depth + 1, &f.fields);
        if (!f.is_message) {
          f.fields.clear();
          f.bytes.assign(reinterpret_cast<const char*>(at), static_cast<size_t>(n));
        }
        at += n;
        break;
      default:
        return false;
    }
    out->push_back(std::move(f));
  }
  return true;
}

std::string write_wire(const std::vector<WireField>& fields) {
  std::string out;
  for (const WireField& f : fields) {
    put_varint(&out, uint64_t{f.number} << 3 | static_cast<uint64_t>(f.type));
    if (f.type == 0) {
      put_varint(&out, f.value);
    } else if (f.type == 2) {
      const std::string bytes = f.is_message ? write_wire(f.fields) : f.bytes;
      put_varint(&out, bytes.size());
      out += bytes;
    } else {
      char bytes[8];
      std::memcpy(bytes, &f.value, 8);
      out.append(bytes, f.type == 1 ? 8 : 4);
    }
  }
  return out;
}

void change_wire(std::vector<WireField>* message, std::mt19937& rng) {
  std::vector<Place> places;
  places_of(message, &places);
  if (places.empty()) return;
  const Place p = places[rng() % places.size()];
  WireField& f = p.field();
  const auto other = [&]() -> const WireField* {  // of the same number: the same kind of thing, as a rule
    std::vector<const WireField*> same;
    for (const Place& o : places) {
      if (o.field().number == f.number && o.field().type == f.type && &o.field() != &f) same.push_back(&o.field());
    }
    return same.empty() ? nullptr : same[rng() % same.size()];
  };
  switch (rng() % 10) {
    case 0:
      p.list->erase(p.list->begin() + static_cast<std::ptrdiff_t>(p.at));
      return;
    case 1: {
      const WireField copy = f;
      p.list->insert(p.list->begin() + static_cast<std::ptrdiff_t>(rng() % (p.list->size() + 1)), copy);
      return;
    }
    case 2:
      std::swap(f, (*p.list)[rng() % p.list->size()]);
      return;
    case 3:
    case 4:
    case 5:
      if (const WireField* const o = other(); o != nullptr) {
        const WireField copy = *o;
        // Into itself would not end: what holds f cannot replace it.
        if (write_wire({copy}).size() < (1 << 16)) f = copy;
      }
      return;
    case 6:
      f.number = 1 + rng() % 30;
      return;
    default:
      if (f.type == 2 && f.is_message) {
        f.bytes = write_wire(f.fields);
        f.fields.clear();
        f.is_message = false;
      }
      if (f.type == 2)
        change_bytes(&f.bytes, rng);
      else
        f.value = static_cast<uint64_t>(odd_number(rng));
  }
}

}  // namespace vireo::fuzz
