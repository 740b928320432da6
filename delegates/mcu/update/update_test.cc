// Signatures beside RFC 8032 and libsodium; updates whose power fails at every write; slots that are damaged at random.
#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/plan.h"
#include "delegates/mcu/update/ed25519.h"
#include "delegates/mcu/update/vireo_mcu_update.h"

namespace vireo::update_test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}
bool verifies(const Bytes& signature, const Bytes& key, const Bytes& message) {
  return vireo_ed25519_verify(signature.data(), key.data(), message.data(), static_cast<uint32_t>(message.size())) != 0;
}

// RFC 8032, 7.1: tests 1, 2, 3.
struct Vector {
  const char *key, *message, *signature;
};
constexpr Vector kVectors[] = {
    {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
     "655141438e7a100b"},
    {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
     "b00d291612bb0c00"},
    {"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28d"
     "c027beceea1ec40a"}};

TEST(Ed25519, VectorsOfTheStandard) {
  for (const Vector& v : kVectors) {
    const Bytes key = from_hex(v.key), message = from_hex(v.message), signature = from_hex(v.signature);
    EXPECT_TRUE(verifies(signature, key, message));
    for (size_t bit = 0; bit < 512; ++bit) {
      Bytes wrong = signature;
      wrong[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(verifies(wrong, key, message)) << bit;
    }
    for (size_t bit = 0; bit < 256; ++bit) {
      Bytes wrong = key;
      wrong[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_FALSE(verifies(signature, wrong, message)) << bit;
    }
    Bytes longer = message;
    longer.push_back(0);
    EXPECT_FALSE(verifies(signature, key, longer));
  }
}

TEST(Ed25519, OnlyTheLeastOfEqualNumbers) {
  const Bytes key = from_hex(kVectors[1].key), message = from_hex(kVectors[1].message);
  // S + the order of the base point is the same scalar.
  const Bytes order = from_hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  Bytes wrong = from_hex(kVectors[1].signature);
  unsigned carry = 0;
  for (size_t i = 0; i < 32; ++i) {
    carry += wrong[32 + i] + unsigned{order[i]};
    wrong[32 + i] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
  EXPECT_FALSE(verifies(wrong, key, message));
  // Keys with y of p and more, and one that is no point.
  for (const char* y : {"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                        "0200000000000000000000000000000000000000000000000000000000000000",
                        // x = 0 with a sign
                        "0100000000000000000000000000000000000000000000000000000000000080"})
    EXPECT_FALSE(verifies(from_hex(kVectors[1].signature), from_hex(y), message)) << y;
}

TEST(Ed25519, AsLibsodiumSaysOfAnyLength) {
  ASSERT_GE(sodium_init(), 0);
  std::mt19937 random(1);
  for (uint32_t size = 0; size < 300; ++size) {
    Bytes key(32), secret(64), message(size), signature(64), digest(64), expected(64);
    crypto_sign_keypair(key.data(), secret.data());
    for (uint8_t& b : message) b = static_cast<uint8_t>(random());
    crypto_sign_detached(signature.data(), nullptr, message.data(), size, secret.data());
    vireo_sha512 sha;
    vireo_sha512_begin(&sha);
    vireo_sha512_add(&sha, message.data(), size / 3);
    vireo_sha512_add(&sha, message.data() + size / 3, size - size / 3);
    vireo_sha512_end(&sha, digest.data());
    crypto_hash_sha512(expected.data(), message.data(), size);
    EXPECT_EQ(digest, expected) << size;
    EXPECT_TRUE(verifies(signature, key, message)) << size;
    (random() % 2 == 0 ? signature : key)[random() % 32] ^= static_cast<uint8_t>(1 << random() % 7);
    EXPECT_EQ(verifies(signature, key, message),
              crypto_sign_verify_detached(signature.data(), message.data(), size, key.data()) == 0)
        << size;
  }
}

// ---- Slots

constexpr uint32_t kPage = 64, kSlotPages = 16, kProduct = 77, kArena = 64;

struct Maker {
  Bytes key = Bytes(32), secret = Bytes(64);
  Maker() {
    EXPECT_GE(sodium_init(), 0);
    crypto_sign_keypair(key.data(), secret.data());
  }
  // Its model makes table[x] of 8 bytes, which is x + mark.
  Bytes slot(uint32_t revision, uint32_t oldest, uint8_t mark, uint32_t product = kProduct, uint16_t kernel = 8) const {
    struct {
      vireo_slot_header slot;
      vireo_plan_header plan;
      vireo_plan_record record;
      vireo_plan_value values[2];
      int32_t count;
      uint8_t table[256];
    } all = {};
    all.slot.magic = VIREO_SLOT_MAGIC;
    all.slot.product = product;
    all.slot.revision = revision;
    all.slot.oldest = oldest;
    all.slot.plan_bytes = sizeof all - sizeof all.slot;
    all.plan.magic = VIREO_PLAN_MAGIC;
    all.plan.version = VIREO_PLAN_VERSION;
    all.plan.tile = VIREO_MCU_TILE;
    all.plan.bytes = all.slot.plan_bytes;
    all.plan.arena_bytes = 16;
    all.plan.records = all.plan.inputs = all.plan.outputs = 1;
    all.record.kernel = kernel;
    const auto at = [&](const void* member) {
      return static_cast<uint32_t>(static_cast<const uint8_t*>(member) - reinterpret_cast<const uint8_t*>(&all.plan));
    };
    all.record.parameters = at(&all.count);
    all.record.operands[0] = VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 0);
    all.record.operands[1] = VIREO_PLAN_PLACE(VIREO_PLAN_IN_PLAN, at(all.table));
    all.record.operands[2] = VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 8);
    all.values[0] = {VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 0), 8};
    all.values[1] = {VIREO_PLAN_PLACE(VIREO_PLAN_IN_ARENA, 8), 8};
    all.count = 8;
    for (size_t i = 0; i < 256; ++i) all.table[i] = static_cast<uint8_t>(i + mark);
    Bytes bytes(sizeof all);
    std::memcpy(bytes.data(), &all, sizeof all);
    sign(&bytes);
    return bytes;
  }
  void sign(Bytes* bytes) const {
    crypto_sign_detached(bytes->data(), nullptr, bytes->data() + 64, bytes->size() - 64, secret.data());
  }
};

// Flash whose power fails at an operation: of the page or the bytes that it was at, any may be done or half done.
struct Flash {
  std::vector<uint64_t> words = std::vector<uint64_t>((2 + 2 * kSlotPages) * kPage / 8 + 1);
  int64_t operations = 0, fails_at = -1;
  std::mt19937 random{9};
  std::string misuse;

  Flash() { std::memset(base(), 0xFF, (2 + 2 * kSlotPages) * kPage); }
  uint8_t* base() {
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(words.data()) + 15) & ~uintptr_t{15});
  }
  Flash(const Flash& other) { *this = other; }
  Flash& operator=(const Flash& other) {
    operations = other.operations, fails_at = other.fails_at, random = other.random, misuse = other.misuse;
    std::memcpy(base(), const_cast<Flash&>(other).base(), (2 + 2 * kSlotPages) * kPage);
    return *this;
  }
  bool is_off() const { return fails_at >= 0 && operations > fails_at; }
  bool fails() { return fails_at >= 0 && operations++ >= fails_at; }
  static int erase(void* context, uint32_t page) {
    auto* const f = static_cast<Flash*>(context);
    if (f->is_off()) return 1;
    const bool fails = f->fails();
    for (uint32_t i = 0; i < kPage; ++i) {
      uint8_t& byte = f->base()[page * kPage + i];
      if (!fails || f->random() % 2 != 0)
        byte = fails && f->random() % 4 == 0 ? static_cast<uint8_t>(byte | f->random()) : 0xFF;
    }
    return fails ? 1 : 0;
  }
  static int write(void* context, uint32_t offset, const void* bytes, uint32_t count) {
    auto* const f = static_cast<Flash*>(context);
    if (offset % 16 != 0 || count % 16 != 0 || offset / kPage != (offset + count - 1) / kPage)
      f->misuse = "not aligned";
    for (uint32_t at = 0; at < count; at += 16) {
      if (f->is_off()) return 1;
      const bool fails = f->fails();
      for (uint32_t i = at; i < at + 16; ++i) {
        uint8_t& byte = f->base()[offset + i];
        if (byte != 0xFF) f->misuse = "written where it is not erased";
        const uint8_t wanted = static_cast<const uint8_t*>(bytes)[i];
        if (!fails || f->random() % 2 != 0) byte = fails ? static_cast<uint8_t>(wanted | f->random()) : wanted;
      }
      if (fails) return 1;
    }
    return 0;
  }
};

struct Device {
  Flash flash;
  vireo_update update = {};
  alignas(8) uint8_t arena[kArena] = {};
  vireo_mcu_session session = {};
  vireo_update_chosen chosen = {};

  explicit Device(const Maker& maker) {
    update.product = kProduct;
    std::copy(maker.key.begin(), maker.key.end(), update.key);
  }
  Device(const Device&) = delete;

  vireo_update* at() {
    update.flash = {flash.base(), kPage, kSlotPages, &flash, Flash::erase, Flash::write};
    return &update;
  }
  vireo_mcu_status boot() { return vireo_update_boot(at(), &session, arena, kArena, &chosen); }
  int mark() {  // what the model that was booted adds
    uint8_t* const x = static_cast<uint8_t*>(vireo_mcu_input(&session, 0, nullptr));
    for (uint8_t i = 0; i < 8; ++i) x[i] = i;
    if (vireo_mcu_run(&session) != VIREO_MCU_OK) return -1;
    const auto* const y = static_cast<const uint8_t*>(vireo_mcu_output(&session, 0, nullptr));
    for (uint8_t i = 0; i < 8; ++i) {
      if (y[i] != static_cast<uint8_t>(i + y[0])) return -1;
    }
    return y[0];
  }
  vireo_mcu_status take(const Bytes& slot, uint32_t step = 48) {
    vireo_update_progress p = {};
    vireo_mcu_status status = vireo_update_begin(at(), chosen.slot, static_cast<uint32_t>(slot.size()), &p);
    for (size_t i = 0; status == VIREO_MCU_OK && i < slot.size(); i += step)
      status =
          vireo_update_write(at(), &p, slot.data() + i, static_cast<uint32_t>(std::min<size_t>(step, slot.size() - i)));
    return status != VIREO_MCU_OK ? status : vireo_update_end(at(), &p, arena, kArena);
  }
  void first(const Maker& maker) {
    chosen.slot = 1;
    ASSERT_EQ(take(maker.slot(1, 1, 101)), VIREO_MCU_OK);
    ASSERT_EQ(boot(), VIREO_MCU_OK);
    ASSERT_EQ(vireo_update_confirm(at(), chosen.slot), VIREO_MCU_OK);
  }
};

TEST(Update, NewestThatIsConfirmed) {
  const Maker maker;
  Device d(maker);
  EXPECT_EQ(d.boot(), VIREO_MCU_INVALID_MODEL);  // an empty flash
  d.first(maker);
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  EXPECT_EQ(d.chosen.confirmed, 1);
  // It is tried once; who does not confirm it gets the old one back.
  ASSERT_EQ(d.take(maker.slot(2, 1, 102)), VIREO_MCU_OK);
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  EXPECT_EQ(d.mark(), 102);
  EXPECT_EQ(d.chosen.confirmed, 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(d.boot(), VIREO_MCU_OK);
    EXPECT_EQ(d.mark(), 101);
    EXPECT_EQ(d.chosen.confirmed, 1);
  }
  // `oldest` leaves the one before as a way back, or does not.
  ASSERT_EQ(d.take(maker.slot(3, 1, 103)), VIREO_MCU_OK);
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  ASSERT_EQ(vireo_update_confirm(d.at(), d.chosen.slot), VIREO_MCU_OK);
  d.flash.base()[(2 + d.chosen.slot * kSlotPages) * kPage + 200] ^= 1;
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  EXPECT_EQ(d.mark(), 101);
  ASSERT_EQ(d.take(maker.slot(4, 4, 104)), VIREO_MCU_OK);
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  ASSERT_EQ(vireo_update_confirm(d.at(), d.chosen.slot), VIREO_MCU_OK);
  d.flash.base()[(2 + d.chosen.slot * kSlotPages) * kPage + 200] ^= 1;
  EXPECT_EQ(d.boot(), VIREO_MCU_UNSUPPORTED);
  EXPECT_EQ(d.flash.misuse, "");
}

TEST(Update, WhatIsWrongHasAStatus) {
  const Maker maker, stranger;
  Device d(maker);
  d.first(maker);
  ASSERT_EQ(d.take(maker.slot(5, 5, 105)), VIREO_MCU_OK);
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  ASSERT_EQ(vireo_update_confirm(d.at(), d.chosen.slot), VIREO_MCU_OK);
  EXPECT_EQ(d.take(stranger.slot(6, 6, 1)), VIREO_MCU_INVALID_MODEL);            // another key
  EXPECT_EQ(d.take(maker.slot(4, 4, 1)), VIREO_MCU_UNSUPPORTED);                 // goes back
  EXPECT_EQ(d.take(maker.slot(5, 5, 1)), VIREO_MCU_UNSUPPORTED);                 // the same again
  EXPECT_EQ(d.take(maker.slot(6, 6, 1, kProduct + 1)), VIREO_MCU_UNSUPPORTED);   // another product
  EXPECT_EQ(d.take(maker.slot(6, 6, 1, kProduct, 999)), VIREO_MCU_UNSUPPORTED);  // a kernel that is not linked
  EXPECT_EQ(d.take(maker.slot(6, 7, 1)), VIREO_MCU_INVALID_MODEL);               // refuses itself
  EXPECT_EQ(d.take(maker.slot(0, 0, 1)), VIREO_MCU_INVALID_MODEL);
  Bytes cut = maker.slot(6, 6, 1);
  cut.resize(cut.size() - 16);
  EXPECT_EQ(d.take(cut), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(d.take(Bytes(50)), VIREO_MCU_INVALID_MODEL);
  EXPECT_EQ(d.take(Bytes(kPage * kSlotPages + 16)), VIREO_MCU_OUT_OF_ARENA);
  vireo_update_progress p = {};
  ASSERT_EQ(vireo_update_begin(d.at(), d.chosen.slot, 400, &p), VIREO_MCU_OK);
  EXPECT_EQ(vireo_update_write(d.at(), &p, cut.data(), 17), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_update_write(d.at(), &p, cut.data(), 416), VIREO_MCU_INVALID_ARGUMENT);
  EXPECT_EQ(vireo_update_end(d.at(), &p, d.arena, kArena), VIREO_MCU_INVALID_ARGUMENT);  // not all of it
  EXPECT_EQ(vireo_update_begin(d.at(), 2, 400, &p), VIREO_MCU_INVALID_ARGUMENT);
  ASSERT_EQ(d.boot(), VIREO_MCU_OK);
  EXPECT_EQ(d.mark(), 105);
  EXPECT_EQ(vireo_update_boot(d.at(), &d.session, d.arena, 8, &d.chosen), VIREO_MCU_OUT_OF_ARENA);
  EXPECT_EQ(d.flash.misuse, "");
}

// Updates one after the other, the power of each failing at another operation. The journal's pages have 4 records, so
// it changes pages often.
TEST(Update, PowerFailsAtEveryOperation) {
  const Maker maker;
  Device d(maker);
  d.first(maker);
  uint32_t revision = 1;
  for (int round = 0; round < 6; ++round) {
    const Flash before = d.flash;
    const auto old_mark = static_cast<int>(100 + revision);
    const Bytes slot = maker.slot(revision + 1, revision + 1, static_cast<uint8_t>(old_mark + 1));
    bool whole = false;
    int cuts = 0, old_ones = 0, new_ones = 0;
    for (int64_t at = 0; !whole; ++at) {
      SCOPED_TRACE(at);
      d.flash = before;
      ASSERT_EQ(d.boot(), VIREO_MCU_OK);
      ASSERT_EQ(d.mark(), old_mark);
      d.flash.operations = 0;
      d.flash.fails_at = at;
      d.flash.random.seed(static_cast<uint32_t>(at * 31 + round));
      // Update, boot, confirm: all as far as the power goes.
      if (d.take(slot) == VIREO_MCU_OK && d.boot() == VIREO_MCU_OK) (void)vireo_update_confirm(d.at(), d.chosen.slot);
      whole = !d.flash.is_off();
      d.flash.fails_at = -1;
      cuts += whole ? 0 : 1;
      // Power is back: the old one, or the new one.
      ASSERT_EQ(d.boot(), VIREO_MCU_OK);
      const int mark = d.mark();
      ASSERT_TRUE(mark == old_mark || mark == old_mark + 1) << mark;
      ++(mark == old_mark ? old_ones : new_ones);
      if (mark == old_mark) {  // once more; what was tried already comes as the next revision
        const Bytes again = maker.slot(revision + 2, revision + 2, static_cast<uint8_t>(old_mark + 1));
        ASSERT_EQ(d.take(again), VIREO_MCU_OK);
        ASSERT_EQ(d.boot(), VIREO_MCU_OK);
        ASSERT_EQ(d.mark(), old_mark + 1);
      }
      ASSERT_EQ(vireo_update_confirm(d.at(), d.chosen.slot), VIREO_MCU_OK);
      ASSERT_EQ(d.boot(), VIREO_MCU_OK);
      ASSERT_EQ(d.mark(), old_mark + 1);
      ASSERT_EQ(d.chosen.confirmed, 1);
      // The old one does not come back.
      d.flash.base()[(2 + d.chosen.slot * kSlotPages) * kPage + 120] ^= 1;
      ASSERT_EQ(d.boot(), VIREO_MCU_UNSUPPORTED);
    }
    EXPECT_GT(cuts, 30);
    EXPECT_GT(old_ones, 0);
    EXPECT_GT(new_ones, 0);
    d.flash = before;
    ASSERT_EQ(d.boot(), VIREO_MCU_OK);
    ASSERT_EQ(d.take(slot), VIREO_MCU_OK);
    ASSERT_EQ(d.boot(), VIREO_MCU_OK);
    ASSERT_EQ(vireo_update_confirm(d.at(), d.chosen.slot), VIREO_MCU_OK);
    ++revision;
  }
  EXPECT_EQ(d.flash.misuse, "");
}

// Damage anywhere in the flash: a status, or a slot that computes what one of the two does. Every other slot is signed
// anew, so that what is behind the signature meets hostile plans, too. VIREO_CASES=100000 asks for more of it.
TEST(Update, DamageGivesAStatusOrTheRightAnswer) {
  const char* const asked = std::getenv("VIREO_CASES");
  const int cases = asked != nullptr ? std::max(1, std::atoi(asked)) : 400;
  const Maker maker;
  Device d(maker);
  d.first(maker);
  ASSERT_EQ(d.take(maker.slot(2, 1, 102)), VIREO_MCU_OK);
  const Flash good = d.flash;
  std::mt19937 random(3);
  int booted = 0, refused = 0, hostile = 0;
  for (int i = 0; i < cases; ++i) {
    d.flash = good;
    const bool signed_anew = i % 2 != 0;
    for (size_t n = random() % 4 + 1; n > 0; --n) {
      const size_t at =
          random() % 4 == 0 ? random() % (2 * kPage) : (2 + random() % 2 * kSlotPages) * kPage + random() % 540;
      uint8_t& byte = d.flash.base()[at];
      byte = random() % 3 == 0   ? static_cast<uint8_t>(random())
             : random() % 2 == 0 ? 0xFF
                                 : static_cast<uint8_t>(byte ^ 1 << random() % 8);
    }
    if (signed_anew) {
      for (uint32_t slot = 0; slot < 2; ++slot) {
        uint8_t* const at = d.flash.base() + (2 + slot * kSlotPages) * kPage;
        uint32_t bytes = 0;
        std::memcpy(&bytes, at + offsetof(vireo_slot_header, plan_bytes), 4);
        if (bytes <= kPage * kSlotPages - sizeof(vireo_slot_header))
          crypto_sign_detached(at, nullptr, at + 64, sizeof(vireo_slot_header) - 64 + bytes, maker.secret.data());
      }
    }
    const vireo_mcu_status status = d.boot();
    ASSERT_LE(status, VIREO_MCU_OUT_OF_ARENA) << i;
    if (status != VIREO_MCU_OK) {
      ++refused;
      continue;
    }
    ++booted;
    if (signed_anew) {
      ++hostile;
      ASSERT_EQ(vireo_mcu_run(&d.session), VIREO_MCU_OK) << i;
    } else {
      const int mark = d.mark();
      ASSERT_TRUE(mark == 101 || mark == 102) << i;
    }
  }
  EXPECT_GT(booted, cases / 4);
  EXPECT_GT(refused, 0);
  EXPECT_GT(hostile, cases / 20);
}

}  // namespace
}  // namespace vireo::update_test
