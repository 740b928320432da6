"""One version, project(VERSION) of the root's CMakeLists.txt: all that repeats it agrees."""
import ctypes
import json
import re
import sys
import unittest

import support

VERSION = support.project_version()
MINOR = ".".join(VERSION.split(".")[:2])


def source(path):
    return (support.ROOT / path).read_text()


def built(path):
    return (support.BUILD / path).read_text()


class Versions(unittest.TestCase):
    def found(self, pattern, text):
        """The first group of every match; at least one."""
        all_found = re.findall(pattern, text, re.MULTILINE)
        self.assertTrue(all_found, pattern)
        return all_found

    def test_headers(self):
        header = source("c_api/include/vireo/vireo.h")
        numbers = [self.found(rf"^#define VIREO_VERSION_{part} ([0-9]+)$", header) for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(n for one in numbers for n in one), VERSION)

    def test_library(self):
        v = ctypes.CDLL(str(support.BUILD / "lib" / "libvireo.so")).vireo_version()
        self.assertEqual(f"{v >> 16}.{v >> 8 & 255}.{v & 255}", VERSION)
        self.assertTrue((support.BUILD / "lib" / f"libvireo.so.{VERSION}").exists())
        major, minor = VERSION.split(".")[:2]
        node = f"VIREO_{MINOR}" if major == "0" else f"VIREO_{major}"
        self.assertEqual(self.found(r"^(\S+) \{ global", built("libvireo.map")), [node])

    def test_command_line(self):
        self.assertIn(VERSION, support.run(support.BUILD / "bin" / "vireo", "--version").stdout.split())

    def test_find_package_and_pkg_config(self):
        self.assertEqual(self.found(r"^Version: (.*)$", built("vireo.pc")), [VERSION])
        self.assertEqual(self.found(r'set\(PACKAGE_VERSION "([0-9.]+)"\)', built("VireoConfigVersion.cmake")), [VERSION])

    def test_python(self):
        self.assertEqual(self.found(r'^__version__ = "(.*)"$', source("bindings/python/vireo/_version.py")), [VERSION])
        self.assertEqual(self.found(r"^VERSION_M(?:AJ|IN)OR = (.*)$", source("bindings/python/vireo/_abi.py")), MINOR.split("."))
        sys.path.insert(0, str(support.ROOT / "bindings" / "python"))
        import backend  # the wheel's
        self.assertEqual(backend.version(), VERSION)

    def test_recipes(self):
        self.assertEqual(json.loads(source("toolchains/packages/vcpkg/ports/vireo/vcpkg.json"))["version"], VERSION)
        self.assertEqual(self.found(r'^    version = "(.*)"$', source("toolchains/packages/conan/conanfile.py")), [VERSION])

    def test_those_who_ask_for_it(self):
        for path in ("samples/CMakeLists.txt", "tests/package/consumer/CMakeLists.txt", "samples/plugin/CMakeLists.txt"):
            for asked in re.findall(r"find_package\(Vireo ([0-9.]+)", source(path)):
                self.assertEqual(asked, MINOR, path)

    def test_changelog(self):
        text = source("CHANGELOG.md")
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        for heading in headings:
            self.assertRegex(heading, r"^\[[0-9]+\.[0-9]+\.[0-9]+\] - (Unreleased|[0-9]{4}-[0-9]{2}-[0-9]{2})$")
        versions = [tuple(map(int, re.findall(r"[0-9]+", h)[:3])) for h in headings]
        self.assertEqual(versions, sorted(versions, reverse=True), "newest first")
        self.assertEqual(".".join(map(str, versions[0])), VERSION)
        self.assertFalse(any("Unreleased" in h for h in headings[1:]), "only the newest can be unreleased")
        kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
        self.assertLessEqual(kinds, {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"})


if __name__ == "__main__":
    support.main()
