"""The vcpkg port, step by step (vcpkg_steps.cmake stands in for vcpkg, which is a registry of its own and not at hand): it configures with its
options, installs, is moved as vcpkg moves packages, and what `usage` says builds and runs.

The port's build takes minutes: unless VIREO_FULL is set, the files of the build at hand are installed in its place.
"""
import json
import os
import pathlib
import re
import shutil
import unittest

import support

HERE = pathlib.Path(__file__).resolve().parent
PORTS = support.ROOT / "toolchains" / "packages" / "vcpkg" / "ports"
FULL = bool(os.environ.get("VIREO_FULL"))
reason = support.missing("cmake", "ninja")


def cached(name):
    """A setting of the build at hand; "" where it has none."""
    found = re.search(rf"^{name}:\w+=(.*)$", (support.BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found.group(1) if found else ""


@unittest.skipIf(reason, reason)
class Vcpkg(unittest.TestCase):
    def installed(self, linkage, *features):
        """Runs the port; returns the folder that the package then is, elsewhere than where it was made."""
        work = support.room(f"vcpkg_{linkage}")
        highway = cached("VIREO_HIGHWAY_SOURCE_DIR") or support.cache_folder() / "src" / "highway"
        if not os.path.isdir(highway) or not cached("VIREO_FLATC"):
            self.skipTest("the build at hand fetched Highway or flatc itself (toolchains/bootstrap puts them where vcpkg's copies can be stood in for)")
        support.run("cmake", f"-DPORT_DIR={PORTS / 'vireo'}", f"-DWORK={work}", f"-DBUILD={support.BUILD}", f"-DLINKAGE={linkage}",
                    f"-DWITH={';'.join(features)}", f"-DHIGHWAY={highway}", f"-DFLATC={cached('VIREO_FLATC')}", f"-DFULL={'ON' if FULL else 'OFF'}",
                    "-P", HERE / "vcpkg_steps.cmake", environment={"CC": os.environ.get("CC"), "CXX": os.environ.get("CXX")})
        support.run("mv", work / "packages", work / "installed")
        return work / "installed"

    def features(self):
        return ["trust"] if cached("VIREO_TRUST") == "ON" else []

    def test_the_package_is_what_usage_says(self):
        for linkage, target in (("dynamic", "Vireo::vireo"), ("static", "Vireo::vireo_static")):
            with self.subTest(linkage):
                package = self.installed(linkage, *self.features())
                usage = (package / "share" / "vireo" / "usage").read_text()
                self.assertIn(target, usage)
                snippet = "\n".join(line[2:] for line in usage.splitlines() if line.startswith("  "))
                work = package.parent / "consumer"
                work.mkdir()
                shutil.copyfile(HERE / "consumer" / "main.c", work / "main.c")
                (work / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.16)\nproject(user C CXX)\nadd_executable(main main.c)\n{snippet}\n")
                support.run("cmake", "-S", work, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={package}")
                support.run("cmake", "--build", work / "build")
                self.assertIn("devices", support.run(work / "build" / "main").stdout)
                linked = support.run("readelf", "-d", work / "build" / "main").stdout
                self.assertEqual("libvireo.so" in linked, linkage == "dynamic")
                names = {p.name for p in (package / "lib").iterdir()}
                self.assertEqual(("libvireo.so" in names, "libvireo.a" in names), (linkage == "dynamic", linkage == "static"))
                self.assertTrue((package / "share" / "vireo" / "copyright").exists())
                self.assertEqual({p.name for p in (package / "share").iterdir()}, {"vireo"})
                for file in [*(package / "share").rglob("*.cmake"), *(package / "lib").rglob("*.pc")]:
                    self.assertNotIn(str(package.parent), file.read_text(), file)
                total = sum(p.stat().st_size for p in package.rglob("*") if p.is_file() and not p.is_symlink())
                support.say(f"vcpkg, {linkage}: {total / (1 << 20):.1f} MiB installed")

    def test_the_manifest(self):
        told = json.loads((PORTS / "vireo" / "vcpkg.json").read_text())
        self.assertEqual((told["name"], told["license"]), ("vireo", "Apache-2.0"))
        self.assertRegex(told["version"], r"^[0-9]+\.[0-9]+\.[0-9]+$")
        # Each feature that the port reads is in the manifest, and its option is one of Vireo's.
        rows = re.findall(r"FEATURES ((?:\w+ VIREO_\w+\s*)+)\)", (PORTS / "vireo" / "portfile.cmake").read_text())
        pairs = dict(pair for row in rows for pair in re.findall(r"(\w+) (VIREO_\w+)", row))
        self.assertEqual(set(pairs), set(told["features"]))
        options = (support.ROOT / "CMakeLists.txt").read_text()
        for option in pairs.values():
            self.assertIn(f"option({option} ", options)


if __name__ == "__main__":
    support.main()
