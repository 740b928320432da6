// vireo keygen, sign, encrypt: libsodium does the work, sealed_file.h says where it goes.
#include <sodium.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/file.h"
#include "c_api/cli/keys.h"
#include "converter/cli/verbs.h"
#include "converter/emit/sealed_file.h"
#include "converter/firmware/emit.h"
#include "sdk/format/sha256.h"

namespace vireo::cli {
namespace {

struct SealOptions {
  std::string model, output, key, name;
  uint64_t revision = 0;
  bool cipher = false;
};

void start() {
  if (sodium_init() < 0) throw Failure("libsodium could not be started");
}

KeyId id_of(const uint8_t* key, size_t size) {
  uint8_t digest[kHashBytes];
  Sha256 sha;
  sha.update(key, size);
  sha.finish(digest);
  KeyId id;
  std::memcpy(id.data(), digest, id.size());
  return id;
}

void keygen(const SealOptions& o) {
  // A key that is gone cannot be made again: what it signed or encrypted is lost with it.
  for (const std::string& path : {o.name + ".key", o.name + ".pub"}) {
    if (std::filesystem::exists(path))
      throw Failure(path + " is there already, and keygen replaces no key",
                    "choose another name, or move the file away if no model needs it",
                    {"failed", path, "", "", "", ""});
  }
  start();
  if (o.cipher) {
    Key key{KeyKind::kCipher, {}, std::vector<uint8_t>(crypto_aead_xchacha20poly1305_ietf_KEYBYTES)};
    crypto_aead_xchacha20poly1305_ietf_keygen(key.bytes.data());
    key.id = id_of(key.bytes.data(), key.bytes.size());
    write_key(o.name + ".key", key);
    std::cout << "wrote " << o.name << ".key (keep it secret), id " << hex_text(key.id.data(), key.id.size()) << "\n";
    return;
  }
  Key open{KeyKind::kPublic, {}, std::vector<uint8_t>(crypto_sign_ed25519_PUBLICKEYBYTES)};
  Key secret{KeyKind::kSecret, {}, std::vector<uint8_t>(crypto_sign_ed25519_SECRETKEYBYTES)};
  crypto_sign_ed25519_keypair(open.bytes.data(), secret.bytes.data());
  open.id = secret.id = id_of(open.bytes.data(), open.bytes.size());
  write_key(o.name + ".key", secret);
  write_key(o.name + ".pub", open);
  std::cout << "wrote " << o.name << ".key (keep it secret) and " << o.name << ".pub, id "
            << hex_text(open.id.data(), open.id.size()) << "\n";
}

void write_sealed(const SealOptions& o, const std::vector<uint8_t>& bytes, const std::string& error, const char* what) {
  if (bytes.empty()) throw Failure("cannot " + std::string(what) + " " + o.model + ": " + error, "");
  write_file(o.output, bytes.data(), bytes.size());
  std::cout << "wrote " << o.output << ", " << bytes_text(bytes.size()) << "\n";
}

void sign(const SealOptions& o) {
  start();
  const Key key = read_key(o.key, KeyKind::kSecret);
  require_apart({o.key}, {o.output});
  require_writable(o.output);
  const std::vector<uint8_t> file = read_file(o.model);
  Signature signature = {};
  std::memcpy(signature.key, key.id.data(), key.id.size());
  signature.revision = o.revision;
  std::string error;
  const std::vector<uint8_t> out = emit::signed_file(
      {file.data(), file.size()}, signature,
      [&](const SignedMessage& message, uint8_t* bytes) {
        crypto_sign_ed25519_detached(bytes, nullptr, reinterpret_cast<const unsigned char*>(&message), sizeof(message),
                                     key.bytes.data());
      },
      &error);
  write_sealed(o, out, error, "sign");
}

void encrypt(const SealOptions& o) {
  start();
  const Key key = read_key(o.key, KeyKind::kCipher);
  require_apart({o.key}, {o.output});
  require_writable(o.output);
  const std::vector<uint8_t> file = read_file(o.model);
  CipherTable table = {};
  table.kind = kCipherXChaCha20Poly1305;
  std::memcpy(table.key, key.id.data(), key.id.size());
  randombytes_buf(table.nonce, sizeof(table.nonce));
  std::string error;
  const std::vector<uint8_t> out = emit::encrypted_file(
      {file.data(), file.size()}, table,
      [&](const FileHeader& scope, uint64_t chunk, uint8_t* bytes, size_t size, uint8_t* tag) {
        uint8_t nonce[crypto_aead_xchacha20poly1305_ietf_NPUBBYTES];
        std::memcpy(nonce, table.nonce, sizeof(table.nonce));
        std::memcpy(nonce + sizeof(table.nonce), &chunk, sizeof(chunk));
        crypto_aead_xchacha20poly1305_ietf_encrypt_detached(bytes, tag, nullptr, bytes, size,
                                                            reinterpret_cast<const unsigned char*>(&scope),
                                                            sizeof(scope), nullptr, nonce, key.bytes.data());
      },
      &error);
  write_sealed(o, out, error, "encrypt");
}

struct SlotOptions {
  std::string plan, output, key, header;
  uint32_t revision = 0, oldest = 0, product = 0;
};

void write_slot(const SlotOptions& o) {
  start();
  const Key key = read_key(o.key, KeyKind::kSecret);
  require_apart({o.key, o.plan}, {o.output});
  require_writable(o.output);
  std::vector<uint8_t> slot;
  const firmware::SlotFacts facts{o.product, o.revision, o.oldest != 0 ? o.oldest : o.revision};
  const std::string why = firmware::make_slot(
      read_file(o.plan), facts,
      [&](const uint8_t* message, size_t size, uint8_t* signature) {
        crypto_sign_ed25519_detached(signature, nullptr, message, size, key.bytes.data());
      },
      &slot);
  if (!why.empty())
    throw Failure("no slot of " + o.plan + ": " + why, "model/NAME.plan of a folder that --emit firmware wrote",
                  {"failed", o.plan, "", "", "", ""});
  write_file(o.output, slot.data(), slot.size());
  if (!o.header.empty()) {
    std::string text = "/* The public key of " + std::filesystem::path(o.key).filename().string() +
                       ", for vireo_update. */\n#include <stdint.h>\nstatic const uint8_t kUpdateKey[32] = {";
    uint8_t open[crypto_sign_ed25519_PUBLICKEYBYTES];
    crypto_sign_ed25519_sk_to_pk(open, key.bytes.data());
    for (const uint8_t byte : open) text += std::to_string(byte) + ", ";
    text += "};\n";
    write_file(o.header, text.data(), text.size());
  }
  std::cout << "wrote " << o.output << ", " << slot.size() << " bytes, revision " << facts.revision << ", product "
            << facts.product << "; once it is confirmed, the oldest that runs is " << facts.oldest << "\n";
}

}  // namespace

void add_slot(Command app, Context&) {
  auto options = std::make_shared<SlotOptions>();
  Command verb = app.add_verb("slot", "Sign a microcontroller's model for an update (Ed25519)");
  verb.add_option("plan", options->plan, "model/NAME.plan of a folder of --emit firmware").required().file({".plan"});
  verb.add_option("-o,--output", options->output, "the file to write: what a slot of the flash holds").required();
  verb.add_option("--key", options->key, "the secret key's file").required().file({".key"});
  verb.add_option("--revision", options->revision, "of the model, from 1 up: a device takes only newer ones")
      .required();
  verb.add_option("--oldest", options->oldest,
                  "the least revision that a device may go back to once this one is confirmed; default: this one");
  verb.add_option("--product", options->product, "the number that the firmware has as its product; default: 0");
  verb.add_option("--key-header", options->header, "also writes the public key as C to this file");
  verb.footer(
      "Examples:\n"
      "  vireo keygen maker\n"
      "  vireo slot words_firmware/model/words.plan --key maker.key --revision 2 --oldest 1 -o words.slot");
  verb.callback([options] { write_slot(*options); });
}

void add_keygen(Command app, Context&) {
  auto options = std::make_shared<SealOptions>();
  Command verb = app.add_verb("keygen", "Make keys to sign or encrypt models with");
  verb.add_option("name", options->name, "writes NAME.key and, for signatures, NAME.pub").required();
  verb.add_flag("--encryption", options->cipher, "a key for vireo encrypt, in place of a pair for vireo sign");
  verb.footer("Examples:\n  vireo keygen maker\n  vireo keygen fleet --encryption");
  verb.callback([options] { keygen(*options); });
}

void add_sign(Command app, Context&) {
  auto options = std::make_shared<SealOptions>();
  Command verb = app.add_verb("sign", "Sign a .vireo file (Ed25519)");
  verb.add_option("model", options->model, "a .vireo file; encrypt it before, if at all").required().file({".vireo"});
  verb.add_option("-o,--output", options->output, "the file to write; may be the model itself")
      .required()
      .file({".vireo"});
  verb.add_option("--key", options->key, "the secret key's file").required().file({".key"});
  verb.add_option("--revision", options->revision, "of the model, counting up: a device can refuse older ones");
  verb.footer("Example:\n  vireo sign model.vireo -o signed.vireo --key maker.key --revision 3");
  verb.callback([options] { sign(*options); });
}

void add_encrypt(Command app, Context&) {
  auto options = std::make_shared<SealOptions>();
  Command verb = app.add_verb("encrypt", "Encrypt a .vireo file (XChaCha20-Poly1305, in chunks of 64 KiB)");
  verb.add_option("model", options->model, "a .vireo file").required().file({".vireo"});
  verb.add_option("-o,--output", options->output, "the file to write; may be the model itself")
      .required()
      .file({".vireo"});
  verb.add_option("--key", options->key, "the secret key's file (vireo keygen --encryption)").required().file({".key"});
  verb.footer(
      "Example:\n  vireo encrypt model.vireo -o sealed.vireo --key fleet.key\n  vireo run sealed.vireo --keys "
      "fleet.key");
  verb.callback([options] { encrypt(*options); });
}

}  // namespace vireo::cli
