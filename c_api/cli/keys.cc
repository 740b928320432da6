#include "c_api/cli/keys.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/handles.h"

namespace vireo::cli {
namespace {

struct Form {
  KeyKind kind;
  const char* name;
  size_t bytes;
};
constexpr Form kForms[] = {{KeyKind::kPublic, "vireo-ed25519-public", 32},
                           {KeyKind::kSecret, "vireo-ed25519-secret", 64},
                           {KeyKind::kCipher, "vireo-xchacha20-secret", 32}};

const Form& form_of(KeyKind kind) {
  for (const Form& f : kForms) {
    if (f.kind == kind) return f;
  }
  throw Failure("a key of no kind");
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What the callbacks of a runtime find.
struct KnownKeys {
  std::map<KeyId, std::vector<uint8_t>> publics, ciphers;
};

vireo_status find(const std::map<KeyId, std::vector<uint8_t>>& keys, const uint8_t* id, uint8_t* out) {
  KeyId wanted;
  std::memcpy(wanted.data(), id, wanted.size());
  const auto it = keys.find(wanted);
  if (it == keys.end()) return VIREO_UNSUPPORTED;
  std::memcpy(out, it->second.data(), it->second.size());
  return VIREO_OK;
}

constexpr const char* kKeysHelp = "give files that vireo keygen wrote, with colons between them";

std::map<KeyId, std::vector<uint8_t>> read_all(const std::string& list, KeyKind kind) {
  std::map<KeyId, std::vector<uint8_t>> out;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) {
      const std::string path = list.substr(begin, end - begin);
      Key key = at_file(path, "", [&] { return read_key(path, kind); });
      out[key.id] = std::move(key.bytes);
    }
    begin = end + 1;
  }
  // A list that names nothing must not read as the wish to trust anyone.
  if (out.empty() && !list.empty()) throw Failure("\"" + list + "\" names no key file", kKeysHelp);
  return out;
}

}  // namespace

void require_keys(const std::string& option, const std::string& list) {
  if (list.empty()) throw Failure(option + " names no key file", kKeysHelp);
}

std::string hex_text(const uint8_t* bytes, size_t size) {
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4];
    out += "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

Key read_key(const std::string& path, KeyKind wanted) {
  const std::vector<uint8_t> file = read_file(path);
  const std::string text(file.begin(), file.end());
  const Form& form = form_of(wanted);
  const std::string help = std::string("a line \"") + form.name + " ID KEY\" in hex, as vireo keygen writes it";
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.compare(0, space, form.name) != 0) {
    for (const Form& f : kForms) {
      if (space != std::string::npos && text.compare(0, space, f.name) == 0)
        throw Failure(path + " is a key of another kind: " + f.name, "wanted: " + help);
    }
    throw Failure(path + " is no key file", "wanted: " + help);
  }
  Key key;
  key.kind = wanted;
  size_t at = space + 1;
  const auto read_hex = [&] {
    std::vector<uint8_t> bytes;
    for (; at + 1 < text.size() && digit(text[at]) >= 0 && digit(text[at + 1]) >= 0; at += 2)
      bytes.push_back(static_cast<uint8_t>(digit(text[at]) * 16 + digit(text[at + 1])));
    return bytes;
  };
  const std::vector<uint8_t> id = read_hex();
  const bool gap = at < text.size() && text[at++] == ' ';
  key.bytes = read_hex();
  if (id.size() == key.id.size()) std::memcpy(key.id.data(), id.data(), id.size());
  if (id.size() != key.id.size() || !gap || key.bytes.size() != form.bytes ||
      text.find_first_not_of("\r\n", at) != std::string::npos)
    throw Failure(path + " is damaged: a key of this kind has " + std::to_string(form.bytes) + " bytes", help);
  return key;
}

void write_key(const std::string& path, const Key& key) {
  const mode_t before = umask(key.kind == KeyKind::kPublic ? 022 : 077);
  try {
    write_file(path, std::string(form_of(key.kind).name) + " " + hex_text(key.id.data(), key.id.size()) + " " +
                         hex_text(key.bytes.data(), key.bytes.size()) + "\n");
  } catch (...) {
    umask(before);
    throw;
  }
  umask(before);
}

void set_trust(vireo_runtime* runtime, const std::string& public_keys, const std::string& cipher_keys) {
  if (public_keys.empty() && cipher_keys.empty()) return;
  static std::mutex guard;
  static std::vector<std::unique_ptr<KnownKeys>> all;  // runtimes may outlive their makers
  auto keys = std::make_unique<KnownKeys>();
  const bool nobody = public_keys == "none";
  if (!nobody) keys->publics = read_all(public_keys, KeyKind::kPublic);
  keys->ciphers = read_all(cipher_keys, KeyKind::kCipher);
  vireo_trust trust = VIREO_TRUST_INIT;
  trust.context = keys.get();
  trust.require = keys->publics.empty() ? 0 : 1;
  trust.public_key = [](void* context, const uint8_t* id, uint8_t* out) {
    return find(static_cast<const KnownKeys*>(context)->publics, id, out);
  };
  trust.secret_key = [](void* context, const uint8_t* id, uint8_t* out) {
    return find(static_cast<const KnownKeys*>(context)->ciphers, id, out);
  };
  vireo_error error = VIREO_ERROR_INIT;
  const bool plain = nobody && cipher_keys.empty();
  check(vireo_runtime_set_trust(runtime, plain ? nullptr : &trust, &error), error, "use keys");
  const std::lock_guard<std::mutex> lock(guard);
  all.push_back(std::move(keys));
}

void use_keys(vireo_runtime* runtime) {
  const auto text = [](const char* name) {
    const char* const value = getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  set_trust(runtime, text("VIREO_TRUSTED"), text("VIREO_KEYS"));
}

}  // namespace vireo::cli
