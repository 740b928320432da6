"""The Conan recipe, run by Conan 2 with a home folder of its own: the package is made, and its test_package requires, builds and runs it.

The recipe's own build takes minutes: unless VIREO_FULL is set, `conan export-pkg` packages the build at hand. No remote is asked; libraries
that Vireo needs are the system's, and a package manager is only asked whether they are there.
"""
import json
import os
import pathlib
import unittest

import support

RECIPE = support.ROOT / "toolchains" / "packages" / "conan"
FULL = bool(os.environ.get("VIREO_FULL"))
CONAN = support.tool("conan")
reason = support.missing("cmake") or ("" if CONAN else "conan is not installed (toolchains/bootstrap --for tests; pip install conan)")


@unittest.skipIf(reason, reason)
class Conan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = support.room("conan")
        cls.environment = {"CONAN_HOME": str(cls.work / "home")}
        cls.conan("profile", "detect")

    @classmethod
    def conan(cls, *arguments, check=True):
        return support.run(CONAN, *arguments, environment=cls.environment, cwd=cls.work, check=check)

    def made(self, shared):
        """Makes the package with that option: where it is, and what was printed. Each start of conan takes as long as a build of the
        example, so that it tells the folder itself."""
        settings = ["-s", "build_type=Release", "-o", f"vireo/*:shared={shared}", "--no-remote", "--format=json"]
        if FULL:
            done = self.conan("create", RECIPE, *settings, "-tbf", self.work / "test_build", "-c", "tools.build:jobs=1")
        else:
            done = self.conan("export-pkg", RECIPE, *settings, "-tf", RECIPE / "test_package", "-c", f"user.vireo:build={support.BUILD}",
                              "-c", f"tools.cmake.cmake_layout:test_folder={self.work / 'test_build'}", "-of", self.work / "out")
        node, = (n for n in json.loads(done.stdout)["graph"]["nodes"].values() if n["name"] == "vireo")
        self.assertEqual(node["info"]["options"]["shared"], str(shared))
        return pathlib.Path(node["package_folder"]), done.stderr

    def test_the_package_is_required_and_runs(self):
        before = self.files()
        for shared in (True, False):
            with self.subTest(shared=shared):
                folder, told = self.made(shared)
                self.assertIn(f"vireo {support.project_version()} on ", told)
                names = {p.name for p in (folder / "lib").iterdir()}
                self.assertEqual(("libvireo.so" in names, "libvireo.a" in names), (shared, not shared))
                self.assertTrue((folder / "licenses" / "LICENSE").exists())
                self.assertTrue((folder / "include" / "vireo" / "vireo.h").exists())
                self.assertFalse((folder / "share").exists())
                total = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
                support.say(f"conan, {'shared' if shared else 'static'}: {total / (1 << 20):.1f} MiB installed")

        self.assertEqual(self.files(), before, "the checkout stays as it was")

    def files(self):
        return {p for p in RECIPE.rglob("*") if "__pycache__" not in p.parts}

    def test_another_system_is_refused(self):
        done = self.conan("export-pkg", RECIPE, "-s", "os=Windows", "-s", "build_type=Release", "--no-remote", "-c", f"user.vireo:build={support.BUILD}", "-of", self.work / "out", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("this recipe is for Linux", done.stdout + done.stderr)


if __name__ == "__main__":
    support.main()
