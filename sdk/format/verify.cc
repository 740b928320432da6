#include "sdk/format/verify.h"
#include "sdk/format/verify_tables.h"

namespace vireo {
namespace {

using namespace verify_tables;  // NOLINT(google-build-using-namespace)
using ::flatbuffers::Table;
using ::flatbuffers::uoffset_t;
using ::flatbuffers::Verifier;
using ::flatbuffers::voffset_t;

const uint8_t* fields_of(int table) {
  const uint8_t* fields = kTables;
  for (; table > 0; --table) {
    while (*fields++ != 0) {
    }
  }
  return fields;
}

const uint8_t* target(const uint8_t* offset) { return offset + ::flatbuffers::ReadScalar<uoffset_t>(offset); }

struct Walk {
  Verifier& v;
  const uint8_t* bytes;
  uint64_t listed = 0;
};

bool verify_table(Walk& walk, const uint8_t* at, const uint8_t* fields);

bool verify_list(Walk& walk, const uint8_t* at, size_t element) {
  if (!walk.v.VerifyVectorOrString(at, element)) return false;
  walk.listed += sizeof(uoffset_t) + ::flatbuffers::ReadScalar<uoffset_t>(at) * uint64_t{element};
  return true;
}

// What lies at the end of an offset. Elements of a list are bounded one by one, as what they are.
bool verify_value(Walk& walk, uint8_t field, const uint8_t* at) {
  const uint8_t form = field & kForm, size = field & kSize;
  if (form == kNumbers) return verify_list(walk, at, size);
  if ((field & kMany) != 0) {
    if (!verify_list(walk, at, sizeof(uoffset_t))) return false;
    const uint8_t* const inner = form == kTable ? fields_of(size) : nullptr;
    for (uoffset_t left = ::flatbuffers::ReadScalar<uoffset_t>(at); left > 0; --left) {
      at += sizeof(uoffset_t);
      const uint8_t* const element = target(at);
      if (inner == nullptr ? !verify_value(walk, kText, element) : !verify_table(walk, element, inner)) return false;
    }
    return true;
  }
  if (form == kTable) return verify_table(walk, at, fields_of(size));
  return walk.v.VerifyString(reinterpret_cast<const ::flatbuffers::String*>(at)) && verify_list(walk, at, 1);
}

bool verify_table(Walk& walk, const uint8_t* at, const uint8_t* fields) {
  Verifier& v = walk.v;
  if (!v.VerifyTableStart(at)) return false;
  const Table& table = *reinterpret_cast<const Table*>(at);
  for (voffset_t place = 4; *fields != 0; ++fields, place += 2) {
    const uint8_t field = *fields, size = field & kSize;
    const voffset_t offset = table.GetOptionalFieldOffset(place);
    if (offset == 0) {
      if ((field & kRequired) != 0) return false;
    } else if ((field & (kForm | kMany)) == kNumber) {
      const auto begin = static_cast<size_t>(at - walk.bytes) + offset;
      if (!v.VerifyAlignment(begin, size) || !v.Verify(begin, size)) return false;
    } else {
      if (v.VerifyOffset(at, offset) == 0 || !verify_value(walk, field, target(at + offset))) return false;
    }
  }
  return v.EndTable();
}

}  // namespace

bool verify_model(Verifier& verifier, const uint8_t* bytes, uint64_t* listed) {
  if (!::flatbuffers::BufferHasIdentifier(bytes, fb::ModelIdentifier())) return false;
  const uoffset_t root = verifier.VerifyOffset(size_t{0});
  Walk walk{verifier, bytes};
  const bool good = root != 0 && verify_table(walk, bytes + root, kTables);
  *listed = walk.listed;
  return good;
}

}  // namespace vireo
