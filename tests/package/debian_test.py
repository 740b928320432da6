"""The Debian packages that `cpack -G DEB` makes of a build: control fields, contents, and a sample that is built of nothing but them.

They are unpacked by dpkg into an empty root (no chroot: maintainer scripts do not run), which then stands in for /.
"""
import pathlib
import re
import unittest

import support

VERSION = support.project_version()
MAJOR = VERSION.split(".", maxsplit=1)[0]
LIBRARY = f"libvireo{MAJOR}"
reason = support.missing("cpack", "dpkg-deb", "dpkg-shlibdeps", "cc")


@unittest.skipIf(reason, reason)
class Debian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = support.room("debian")
        support.run("cpack", "-G", "DEB", "-B", folder / "made", cwd=support.BUILD)
        cls.files = {support.run("dpkg-deb", "-f", f, "Package").stdout.strip(): f for f in sorted((folder / "made").glob("*.deb"))}
        cls.root = folder / "root"
        (cls.root / "var" / "lib" / "dpkg" / "info").mkdir(parents=True)
        (cls.root / "var" / "lib" / "dpkg" / "updates").mkdir()
        for name in ("status", "available"):
            (cls.root / "var" / "lib" / "dpkg" / name).write_text("")
        # --force-depends: the empty root has no libc; that what is named suffices is tested by running what was unpacked. As this
        # user, and without the programs of /sbin that a chroot would bring.
        support.run("dpkg", f"--root={cls.root}", "--force-not-root", "--force-depends", "--force-bad-path", "--unpack", *cls.files.values())
        for name, file in cls.files.items():
            support.say(f"{file.name}: {support.size(file)}")

    @classmethod
    def field(cls, package, name):
        return support.run("dpkg-deb", "-f", cls.files[package], name).stdout.strip()

    def test_which_packages(self):
        self.assertEqual(set(self.files), {LIBRARY, "libvireo-dev", "vireo-tools"})

    def test_no_binary_names_a_folder_of_this_machine(self):
        binaries = [p for p in self.root.rglob("*") if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] in (b"\x7fELF", b"!<ar")]
        self.assertTrue(binaries)
        for path in binaries:
            with self.subTest(path.name):
                self.assertNotIn(str(support.ROOT).encode(), path.read_bytes())

    def test_control_fields(self):
        architecture = support.run("dpkg", "--print-architecture").stdout.strip()
        for package, section in ((LIBRARY, "libs"), ("libvireo-dev", "libdevel"), ("vireo-tools", "devel")):
            with self.subTest(package):
                self.assertEqual(self.field(package, "Version"), f"{VERSION}-1")
                self.assertEqual(self.field(package, "Architecture"), architecture)
                self.assertEqual(self.field(package, "Section"), section)
                self.assertRegex(self.field(package, "Maintainer"), r"^[^<]+ <[^>]+>$")
                self.assertTrue(self.field(package, "Description"))
                self.assertEqual(self.files[package].name, f"{package}_{VERSION}-1_{architecture}.deb")
        self.assertEqual(self.field("libvireo-dev", "Depends"), f"{LIBRARY} (= {VERSION}-1)")

    def needed(self, *paths):
        return {n for p in paths for n in re.findall(r"NEEDED.*\[(.*)\]", support.run("readelf", "-d", self.root / "usr" / p).stdout)}

    def test_dependencies_are_what_is_linked(self):
        for package, paths in ((LIBRARY, (f"lib/libvireo.so.{VERSION}", "bin/vireo-probe")), ("vireo-tools", ("bin/vireo",))):
            depends = {d.split()[0] for d in self.field(package, "Depends").split(",")}
            self.assertIn("libc6", depends)
            needed, places = self.needed(*paths), {}
            for path in paths:
                places.update(re.findall(r"(\S+) => (/\S+)", support.run("ldd", self.root / "usr" / path,
                                                                        environment={"LD_LIBRARY_PATH": str(self.root / "usr" / "lib")}).stdout))
            # Whole names are looked up, patterns held against each file of the system. /lib may be a link to /usr/lib.
            names = [name for place in places.values() for name in (place, "/usr" + place, place.removeprefix("/usr"))]
            found = support.run("dpkg", "-S", *names, check=False).stdout
            self.assertIn("/libc.so.6", found)
            for library in needed:
                if library.startswith("ld-linux"):
                    continue
                self.assertIn(library, places)
                owners = {line.split(":")[0] for line in found.splitlines() if line.endswith("/" + library)}
                if owners:  # libraries that no package of this system brought are nobody's
                    self.assertTrue(owners & depends, f"{package} links {library} of {owners} and depends on {depends}")

    def test_the_library_is_found_by_programs_that_link_it(self):
        self.assertEqual(support.run("dpkg-deb", "-I", self.files[LIBRARY], "shlibs").stdout, f"libvireo {MAJOR} {LIBRARY} (>= {VERSION})\n")
        self.assertIn("ldconfig", support.run("dpkg-deb", "-I", self.files[LIBRARY], "triggers").stdout)

    def test_licence_and_changelog(self):
        for package in self.files:
            doc = self.root / "usr" / "share" / "doc" / package
            self.assertIn("Apache", (doc / "copyright").read_text())
            newest = support.run("dpkg-parsechangelog", "-l", doc / "changelog.Debian.gz", "-S", "Version", check=False)
            self.assertIn(newest.stdout.strip(), ("", f"{VERSION}-1"))  # "": dpkg-dev of this system has no such program

    def test_nothing_of_the_build(self):
        for path in self.root.rglob("*"):
            if path.is_file() and path.suffix in (".cmake", ".pc", ".h", ".la"):
                self.assertNotIn(str(support.ROOT), path.read_text(errors="replace"), path)
        library = (self.root / "usr" / "lib" / f"libvireo.so.{VERSION}").read_bytes()
        self.assertNotIn(b".debug_info", library)

    def test_manual_completions_samples_and_documents_are_where_they_are_looked_for(self):
        share = self.root / "usr" / "share"
        verbs = {p.stem for p in (share / "man" / "man1").iterdir()}
        self.assertLessEqual({"vireo", "vireo-convert", "vireo-run", "vireo-bench"}, verbs)
        for path, text in (("bash-completion/completions/vireo", "complete -o filenames"), ("zsh/vendor-completions/_vireo", "#compdef vireo"),
                           ("fish/vendor_completions.d/vireo.fish", "complete -c vireo"), ("man/man1/vireo-run.1", ".SH SYNOPSIS"),
                           ("doc/vireo/README.md", "# Vireo"), ("doc/vireo/c_api/REFERENCE.md", "vireo_session_run"),
                           ("doc/vireo/samples/howto/microcontroller.md", "VIREO_KERNELS"), ("vireo/samples/CMakeLists.txt", "find_package(Vireo"),
                           ("../lib/cmake/Vireo/embed.cmake", "SYMBOL")):
            with self.subTest(path):
                self.assertIn(text, (share / path).read_text())
        self.assertFalse((share / "zsh" / "site-functions").exists())  # for what no package manager installs

    def test_the_command_line_starts(self):
        self.assertIn(VERSION, support.run(self.root / "usr" / "bin" / "vireo", "--version").stdout)

    def test_a_sample_of_the_packages_alone(self):
        work = support.room("debian_sample")
        vireo = self.root / "usr" / "bin" / "vireo"
        support.run(vireo, "convert", support.MODELS / "digit_mobile.onnx", "-o", work / "digit.vireo", "--shape", "image=1,1,32,32")
        pkg_config = {"PKG_CONFIG_PATH": None, "PKG_CONFIG_LIBDIR": str(self.root / "usr" / "lib" / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": None}
        flags = [f"-I{self.root}/usr/include", f"-L{self.root}/usr/lib", "-lvireo"]
        if not support.missing("pkg-config"):
            flags = support.run("pkg-config", "--cflags", "--libs", "vireo", environment=pkg_config).stdout.split()
        support.run("cc", "-std=c99", support.ROOT / "samples" / "minimal.c", "-o", work / "minimal", *flags)
        done = support.run(work / "minimal", work / "digit.vireo", support.MEDIA / "digit_7.pgm",
                           environment={"LD_LIBRARY_PATH": str(self.root / "usr" / "lib")})
        self.assertEqual(done.stdout, "7\n")
        cmake = support.run("cmake", "-S", pathlib.Path(__file__).parent / "consumer", "-B", work / "consumer", f"-DCMAKE_PREFIX_PATH={self.root}/usr")
        self.assertEqual(cmake.returncode, 0)
        support.run("cmake", "--build", work / "consumer")
        for kind in ("vireo", "vireo_static"):
            self.assertIn("devices", support.run(work / "consumer" / f"with_{kind}").stdout)


if __name__ == "__main__":
    support.main()
