"""Keys, signed and encrypted models through the command line."""
import json
import os
import unittest

import support


def vireo(*arguments, **environment):
    return support.vireo(*arguments, check=False, environment=environment)


class Trust(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.room = support.WORK / "trust"
        cls.room.mkdir(parents=True, exist_ok=True)
        for old in cls.room.iterdir():
            old.unlink()
        cls.plain = support.convert(support.ROOT / "samples" / "models" / "digit_mobile.onnx", "trust", "--shape", "image=1,1,32,32")
        made = vireo("keygen", cls.room / "maker")
        if "keygen" in made.stderr:
            raise unittest.SkipTest("this build is without libsodium (VIREO_TRUST)")
        for name, *more in (("other",), ("fleet", "--encryption")):
            support.vireo("keygen", cls.room / name, *more)
        cls.sealed = cls.room / "sealed.vireo"
        support.vireo("encrypt", cls.plain, "-o", cls.sealed, "--key", cls.room / "fleet.key")
        support.vireo("sign", cls.sealed, "-o", cls.sealed, "--key", cls.room / "maker.key", "--revision", 3)
        cls.keys = ("--keys", cls.room / "fleet.key")

    def bench(self, model, *more, **environment):
        return vireo("bench", model, "--seconds", 0.05, "--json", *more, **environment)

    def test_secrets_are_the_users_alone(self):
        self.assertEqual(os.stat(self.room / "maker.key").st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(self.room / "fleet.key").st_mode & 0o777, 0o600)
        self.assertNotIn((self.room / "maker.key").read_text().split()[2], (self.room / "maker.pub").read_text())

    def test_runs_with_its_keys_and_not_without(self):
        done = self.bench(self.sealed, *self.keys, "--trust", self.room / "maker.pub")
        self.assertEqual(done.returncode, 0, done.stderr)
        by_environment = self.bench(self.sealed, VIREO_KEYS=str(self.room / "fleet.key"), VIREO_TRUSTED=str(self.room / "maker.pub"))
        self.assertEqual(by_environment.returncode, 0, by_environment.stderr)
        help_of_keys = self.bench(self.sealed).stderr.split("help:")[1]
        self.assertIn("--keys", help_of_keys)
        self.assertNotIn("--device", help_of_keys)
        for arguments, what in (((), "encrypted with key"), ((*self.keys, "--trust", self.room / "other.pub"), "not trusted")):
            done = self.bench(self.sealed, *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(what, done.stderr)
        done = self.bench(self.plain, "--trust", self.room / "maker.pub")
        self.assertIn("not signed", done.stderr)

    def test_says_who_signed(self):
        done = vireo("verify-signature", self.sealed, "--key", self.room / "maker.pub", *self.keys, "--json")
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["holds"], told["revision"], told["encrypted"]), (0, True, 3, True))
        self.assertEqual(told["key"], (self.room / "maker.pub").read_text().split()[1])
        for key, more, what in (("other", (), f"another key, {told['key']}"), ("maker", ("--at-least", 4), "older than 4")):
            done = vireo("verify-signature", self.sealed, "--key", self.room / f"{key}.pub", *self.keys, *more)
            self.assertEqual(done.returncode, 1)
            self.assertIn(what, done.stderr)

    def test_keys_are_not_replaced(self):
        for name, more in (("maker", ()), ("fleet", ("--encryption",)), ("maker", ("--encryption",))):
            before = (self.room / f"{name}.key").read_bytes()
            done = vireo("keygen", self.room / name, *more)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{name}.key is there already", done.stderr)
            self.assertEqual((self.room / f"{name}.key").read_bytes(), before)
        for verb, name in (("sign", "maker"), ("encrypt", "fleet")):
            before = (self.room / f"{name}.key").read_bytes()
            done = vireo(verb, self.plain, "-o", self.room / f"{name}.key", "--key", self.room / f"{name}.key")
            self.assertEqual(done.returncode, 1)
            self.assertEqual((self.room / f"{name}.key").read_bytes(), before)
        done = vireo("sign", self.plain, "-o", self.room / "never.vireo", "--key", self.room / "maker.key", "--revision", -1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("negative", done.stderr)
        self.assertFalse((self.room / "never.vireo").exists())

    def test_no_key_trusts_nobody(self):
        """A variable that is not set must not read as "anyone is trusted"."""
        for verb in (("verify-signature", self.plain, "--key"), ("bench", self.plain, "--trust"), ("bench", self.plain, "--keys")):
            for keys in ("", ":"):
                done = vireo(*verb, keys, VIREO_KEYS=str(self.room / "fleet.key"))
                self.assertEqual(done.returncode, 1, (verb, keys))
                self.assertIn("no key file", done.stderr)
        done = vireo("verify-signature", self.plain, "--key", self.room / "maker.pub")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not signed", done.stderr)

    def test_finds_a_changed_byte(self):
        bytes_ = bytearray(self.sealed.read_bytes())
        bytes_[len(bytes_) // 2] ^= 1
        changed = self.room / "changed.vireo"
        changed.write_bytes(bytes_)
        done = vireo("verify-signature", changed, "--key", self.room / "maker.pub", *self.keys)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.bench(changed, *self.keys).returncode, 1)

    def test_wrong_keys_are_named(self):
        for verb, key in (("sign", "maker.pub"), ("encrypt", "maker.key"), ("sign", "fleet.key")):
            done = vireo(verb, self.plain, "-o", self.room / "never.vireo", "--key", self.room / key)
            self.assertEqual(done.returncode, 1)
            self.assertIn(key, done.stderr)
            self.assertFalse((self.room / "never.vireo").exists())
        done = vireo("encrypt", self.sealed, "-o", self.room / "never.vireo", "--key", self.room / "fleet.key")
        self.assertIn("encrypted already", done.stderr)
        done = vireo("pack", self.sealed, "-o", self.room / "never.vireo", *self.keys)
        self.assertIn("encrypted", done.stderr)
        self.assertFalse((self.room / "never.vireo").exists())

    def test_inspect_says_so(self):
        told = json.loads(support.vireo("inspect", self.sealed, *self.keys, "--json").stdout)
        self.assertTrue(told["signed"] and told["encrypted"])


if __name__ == "__main__":
    support.main()
