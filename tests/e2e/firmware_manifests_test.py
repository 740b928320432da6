"""A folder of --emit firmware as a library of other systems: PlatformIO, Zephyr, Arduino, CMSIS-Pack.

Each manifest names all that a build needs, and no file that is not there: what it names, and nothing else, is built and computes the
folder's hashes. None of the four systems is here as a whole. Where a tool that reads a manifest is, it reads it: PlatformIO's packer,
kconfiglib, which is Zephyr's own reader, and xmllint with the schema of packs in VIREO_PACK_SCHEMA.
"""
import json
import os
import pathlib
import re
import shutil
import unittest
import xml.etree.ElementTree as xml

import firmware_test
import support
from firmware_test import manifest, run

WORK = support.room("firmware_manifests")
CACHE = pathlib.Path(os.environ.get("VIREO_CACHE_DIR") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vireo")
MODELS = ("kws_dscnn_mfcc", "digit_mobile")
# The functions of Zephyr's build that a module calls, as they are described: one library, whose flags are its own, and what all see.
ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
project(application C)
macro(zephyr_library_named name)
  set(current ${name})
  add_library(${name} STATIC)
endmacro()
macro(zephyr_library_sources)
  target_sources(${current} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_include_directories)
  target_include_directories(${current} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(${current} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_definitions)
  target_compile_definitions(${current} PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
  include_directories(${ARGN})
endmacro()
macro(zephyr_compile_definitions)
  add_compile_definitions(${ARGN})
endmacro()
add_subdirectory(${FOLDER}/zephyr module)
"""


def packages_program(name):
    """A program of PATH, or of those that toolchains/bootstrap installs for tests of packages; None: it is not here."""
    installed = CACHE / "packages" / "bin" / name
    return shutil.which(name) or (installed if installed.exists() else None)


def emitted(target="cortex-m4"):
    """Two models for a target; made once."""
    folder = WORK / target
    if not folder.exists():
        making = WORK / f"{target}.making"
        shutil.rmtree(making, ignore_errors=True)
        support.vireo("convert", firmware_test.MODEL, *firmware_test.QUANTIZE, "--target", target, "--emit", "firmware", making)
        support.vireo("convert", firmware_test.PICTURE, *firmware_test.QUANTIZE_PICTURE, "--target", target, "--emit", "firmware", making, "--add")
        (making / "host.c").write_text(firmware_test.BOARD)
        making.rename(folder)
    return folder


def sources_of(folder):
    """What a build of the library has to compile, by the folder and not by any list in it."""
    found = {*folder.glob("src/*.c"), *folder.glob("model/*.c")} - {*folder.glob("model/*_tests.c")} - {folder / "src" / "arduino.c"}
    return {str(f.relative_to(folder)) for f in found}


def hashes(folder):
    return "".join(f"{m['name']} hash {m['selftest']['hash']}\n" for m in manifest(folder)["models"])


class Manifests(unittest.TestCase):
    def computes(self, folder, parts, *flags):
        """The self-test beside these sources or libraries prints the hashes."""
        tests = [folder / "test" / "selftest.c", folder / "host.c", *folder.glob("model/*_tests.c")]
        built = run("cc", "-std=c99", "-O1", *flags, *(f"-I{folder / i}" for i in ("include", "model", "test", "board")), *tests, *parts, "-o", WORK / "program")
        self.assertEqual(built.returncode, 0, built.stderr)
        ran = run(WORK / "program")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn(hashes(folder), ran.stdout)

    def test_platformio(self):
        folder = emitted()
        about = json.loads((folder / "library.json").read_text())
        self.assertEqual((about["name"], about["headers"]), ("vireo_kws_dscnn_mfcc", ["kws_dscnn_mfcc.h", "digit_mobile.h", "vireo_mcu.h"]))
        for path in about["export"]["include"]:
            self.assertTrue((folder / path).exists(), path)
        sources = set()
        for rule in about["build"]["srcFilter"]:
            found = set(folder.rglob("*") if rule[2:-1] == "*" else folder.glob(rule[2:-1]))
            sources = sources | found if rule[0] == "+" else sources - found
        self.assertEqual({str(f.relative_to(folder)) for f in sources}, sources_of(folder))
        flags = " ".join(about["build"]["flags"])
        self.computes(folder, sources, *re.sub(r"-I ", f"-I {folder}/", flags).split(), "-DARDUINO=10819")
        packer = packages_program("pio")
        if packer is None:
            self.skipTest("pio pkg pack: PlatformIO is not here (toolchains/bootstrap --for tests)")
        os.environ.update(PLATFORMIO_CORE_DIR=str(WORK / "platformio"), PLATFORMIO_SETTING_ENABLE_TELEMETRY="no")
        packed = run(packer, "pkg", "pack", folder, "-o", WORK / "library.tar.gz")
        self.assertEqual(packed.returncode, 0, packed.stdout + packed.stderr)
        listed = run("tar", "-tzf", WORK / "library.tar.gz").stdout.split()
        self.assertLessEqual(sources_of(folder), set(listed))

    def test_zephyr(self):
        folder = emitted()
        text = (folder / "zephyr" / "module.yml").read_text()
        found = re.fullmatch(r"name: ([\w-]+)\nbuild:\n  cmake: (\S+)\n  kconfig: (\S+)\n", text)
        self.assertIsNotNone(found, text)  # of the keys that Zephyr's schema of modules has, these three
        self.assertEqual(found[1], "vireo_kws_dscnn_mfcc")
        cmake, kconfig = folder / found[2] / "CMakeLists.txt", folder / found[3]
        symbol = "VIREO_KWS_DSCNN_MFCC"
        declared = re.findall(r"^config (\w+)\n\t(bool|string) \"", kconfig.read_text(), re.M)
        self.assertEqual(declared, [(symbol, "bool"), (f"{symbol}_ONE_ARENA", "bool"), (f"{symbol}_ARENA_SECTION", "string")])
        self.assertEqual(set(re.findall(r"CONFIG_(\w+)", cmake.read_text())), {name for name, _ in declared})
        (WORK / "zephyr").mkdir(exist_ok=True)
        (WORK / "zephyr" / "CMakeLists.txt").write_text(ZEPHYR)
        for name, options in {"plain": [], "one": [f"-DCONFIG_{symbol}_ONE_ARENA=y"], "section": [f"-DCONFIG_{symbol}_ARENA_SECTION=.vireo_ram"]}.items():
            build = WORK / "zephyr" / name
            for command in (("cmake", "-S", WORK / "zephyr", "-B", build, f"-DFOLDER={folder}", f"-DCONFIG_{symbol}=y", *options), ("cmake", "--build", build)):
                done = run(*command)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            library = build / "module" / "libvireo_kws_dscnn_mfcc.a"
            self.computes(folder, [library], *(["-DVIREO_MCU_ONE_ARENA"] if name == "one" else []))
            objects = {member.removesuffix(".o") for member in run("ar", "t", library).stdout.split()}
            self.assertEqual(objects, {pathlib.Path(s).name for s in sources_of(folder)})
            self.assertEqual(".vireo_ram" in run("objdump", "-h", library).stdout, name == "section")
        # An application that does not ask for it has none of it.
        done = run("cmake", "-S", WORK / "zephyr", "-B", WORK / "zephyr" / "off", f"-DFOLDER={folder}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("vireo_kws", run("cmake", "--build", WORK / "zephyr" / "off", "--target", "help").stdout)
        reader = packages_program("alldefconfig")
        if reader is None:
            self.skipTest("Kconfig is not read by Zephyr's own reader: kconfiglib is not here (toolchains/bootstrap --for tests)")
        (WORK / "zephyr" / "Kconfig").write_text(f'source "{kconfig}"\n')
        os.environ.update(KCONFIG_CONFIG=str(WORK / "zephyr" / "config"), KCONFIG_WARN_UNDEF="y")
        read = run(reader, WORK / "zephyr" / "Kconfig")
        self.assertEqual((read.returncode, read.stderr), (0, ""), read.stdout)
        self.assertIn(f"# CONFIG_{symbol} is not set", (WORK / "zephyr" / "config").read_text())

    def test_arduino(self):
        """The rules of its library specification; src/ alone is compiled and searched, with no flag of the library's."""
        folder = emitted()
        about = dict(line.split("=", 1) for line in (folder / "library.properties").read_text().splitlines())
        self.assertLessEqual({"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}, set(about))
        self.assertLessEqual(set(about), {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures", "includes",
                                          "depends", "dot_a_linkage", "precompiled", "ldflags"})
        self.assertRegex(about["name"], r"^(?!.*(?i:arduino|library))[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")
        self.assertRegex(about["version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(about["sentence"], r"^[A-Z].*\.$")
        self.assertFalse(about["paragraph"].startswith(about["sentence"]))
        self.assertRegex(about["url"], "^https?://")
        self.assertEqual((about["category"], about["architectures"], about["dot_a_linkage"]), ("Data Processing", "*", "true"))
        self.assertEqual(about["includes"].split(","), ["kws_dscnn_mfcc.h", "digit_mobile.h", "vireo_mcu.h"])
        for header in about["includes"].split(","):
            self.assertTrue((folder / "src" / header).is_file(), header)
        included = set(re.findall(r'#include "\.\./(.*)"', (folder / "src" / "arduino.c").read_text()))
        self.assertEqual(included, {s for s in sources_of(folder) if s.startswith("model/")})
        objects = WORK / "arduino"
        shutil.rmtree(objects, ignore_errors=True)
        objects.mkdir()
        sketch = "".join(f'#include "{h}"\n' for h in about["includes"].split(",")) + (
            "static vireo_mcu_session session;\nextern \"C\" int setup(void) { return digit_mobile_open(&session) == VIREO_MCU_OK && digit_mobile_image() != nullptr; }\n")
        (objects / "sketch.cpp").write_text(sketch)
        built = run("g++", "-std=gnu++11", "-Wall", "-Werror", "-c", "-DARDUINO=10819", f"-I{folder / 'src'}", objects / "sketch.cpp", "-o", objects / "sketch.o")
        self.assertEqual(built.returncode, 0, built.stderr)
        for source in folder.rglob("src/**/*.c"):
            built = run("gcc", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror", "-c", "-DARDUINO=10819", f"-I{folder / 'src'}", source, "-o", objects / f"{source.stem}.o")
            self.assertEqual(built.returncode, 0, built.stderr)
        self.computes(folder, list(objects.glob("*.o")))

    def test_cmsis_pack(self):
        folder = emitted()
        files = list(folder.glob("*.pdsc"))
        self.assertEqual(len(files), 1)
        pack = xml.parse(files[0]).getroot()
        self.assertEqual(pack.tag, "package")
        self.assertRegex(pack.get("schemaVersion"), r"^1\.\d+\.\d+$")
        for child in ("vendor", "name", "description", "url", "license", "releases", "components"):
            self.assertEqual(len(pack.findall(child)), 1, child)
        for child in ("vendor", "name"):
            self.assertRegex(pack.findtext(child), r"^[-\w]+$")
        self.assertEqual(files[0].name, f"{pack.findtext('vendor')}.{pack.findtext('name')}.pdsc")
        self.assertTrue((folder / pack.findtext("license")).is_file())
        self.assertTrue(pack.findtext("url").endswith("/"))
        versions = [e.get("version") for e in pack.findall("releases/release")] + [e.get("Cversion") for e in pack.findall("components/component")]
        for version in versions:
            self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        conditions = {c.get("id"): [r.get("Dcore") for r in c.findall("require")] for c in pack.findall("conditions/condition")}
        self.assertEqual(conditions, {"core": ["Cortex-M4"]})
        for component in pack.findall("components/component"):
            self.assertIn(component.get("condition"), conditions)
            for key in ("Cclass", "Cgroup", "Csub"):
                self.assertRegex(component.get(key), r"^[-\w ]{2,}$")
            self.assertTrue(component.findtext("description"))
        named = {kind: [f.get("name") for f in pack.findall("components/component/files/file") if f.get("category") == kind] for kind in ("doc", "include", "header", "source")}
        self.assertEqual(sum(map(len, named.values())), len(list(pack.iter("file"))))
        for name in named["include"]:
            self.assertTrue(name.endswith("/") and (folder / name).is_dir(), name)
        for name in (*named["doc"], *named["header"], *named["source"]):
            self.assertTrue((folder / name).is_file(), name)
        self.assertEqual(named["header"], ["include/vireo_mcu.h", "include/vireo_mcu_update.h", "model/kws_dscnn_mfcc.h", "model/digit_mobile.h"])
        self.assertEqual(set(named["source"]), sources_of(folder))
        self.computes(folder, [folder / s for s in named["source"]], *(f"-I{folder / i}" for i in named["include"]))
        # As packs call the cores; no pack for one that is not Arm's.
        for target, core in {"cortex-m0plus": "Cortex-M0+", "cortex-m33-nofp": "Cortex-M33"}.items():
            self.assertIn(f'<require Dcore="{core}"/>', next(emitted(target).glob("*.pdsc")).read_text())
        self.assertEqual(list(emitted("rv32imc").glob("*.pdsc")), [])
        self.assertTrue((emitted("rv32imc") / "library.properties").exists())
        schema = os.environ.get("VIREO_PACK_SCHEMA")
        if not schema or shutil.which("xmllint") is None:
            self.skipTest("the pack's schema is not here: VIREO_PACK_SCHEMA names its PACK.xsd, xmllint (libxml2-utils) reads it")
        checked = run("xmllint", "--noout", "--schema", schema, files[0])
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_sums_are_rounded_whatever_the_flags(self):
        """A build that lets the compiler fuse products with sums computes the same bits."""
        if " fma " not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("this machine has no instruction that fuses")
        folder = WORK / "reals"
        shutil.rmtree(folder, ignore_errors=True)
        support.vireo("convert", firmware_test.PICTURE, "--shape", "image=1,1,32,32", "--target", "cortex-m4", "--emit", "firmware", folder)
        clang = shutil.which("clang-19") or shutil.which("clang")
        for compiler, *flags in (("cc", "-O2", "-mfma", "-ffp-contract=fast"), ("cc", "-Os", "-mfma", "-ffp-contract=fast", "-std=gnu11"),
                                 *([(clang, "-O2", "-mfma", "-ffp-contract=on")] if clang else [])):
            built = firmware_test.build_here(folder, *flags, compiler=compiler)
            self.assertEqual(built.returncode, 0, built.stderr)
            ran = run(folder / "selftest")
            self.assertEqual(ran.returncode, 0, ran.stdout)

    def test_clang_for_the_core(self):
        """Another compiler builds the library by the folder's CMakeLists.txt; the self-test that gcc built has the hashes."""
        if shutil.which("clang-19") is None:
            self.skipTest("clang-19 is not here (toolchains/bootstrap --for tests)")
        targets = (("cortex-m4", "arm-none-eabi"), ("rv32imc", "riscv32-unknown-elf"), ("cortex-m55", "arm-none-eabi"), ("cortex-m0plus", "arm-none-eabi"))
        for target, triple in targets[:2] if support.SAMPLE > 1 else targets:
            reason = firmware_test.tools_missing(target)
            if reason:
                self.skipTest(reason)
            folder = emitted(target)
            about, build = manifest(folder)["target"], WORK / f"clang_{target}"
            shutil.rmtree(build, ignore_errors=True)
            for command in (("cmake", "-S", folder, "-B", build, "-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_C_COMPILER_WORKS=1",
                             f"-DCMAKE_C_FLAGS=--target={triple} {about['flags']} -ffreestanding -I{folder / 'board' / 'libc'}"),
                            ("cmake", "--build", build), ("make", "-s", "-C", folder, f"BUILD={build / 'gcc'}", "all")):
                done = run(*command)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            shutil.copy(build / "libkws_dscnn_mfcc.a", build / "gcc")
            (build / "gcc" / "selftest.elf").unlink()
            done = run("make", "-s", "-C", folder, f"BUILD={build / 'gcc'}", "test")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(hashes(folder), done.stdout + done.stderr)
            self.assertIn(b"clang version", (build / "gcc" / "selftest.elf").read_bytes())

    def test_names_that_others_have(self):
        """A model may be called like a source of the folder or a header of C."""
        for name in ("pool", "string", "memory", "vireo_mcu"):
            model = WORK / f"{name}.onnx"
            shutil.copy(firmware_test.PICTURE, model)
            folder = WORK / f"named_{name}"
            shutil.rmtree(folder, ignore_errors=True)
            support.vireo("convert", model, "--shape", "image=1,1,32,32", "--target", "cortex-m4", "--emit", "firmware", folder)
            self.assertEqual(manifest(folder)["models"][0]["name"], f"{name}_model")
            built = firmware_test.build_here(folder)
            self.assertEqual(built.returncode, 0, built.stderr)
            ran = run(folder / "selftest")
            self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    support.main()
