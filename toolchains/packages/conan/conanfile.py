"""Conan 2 recipe of the runtime, out of the checkout that it lies in. Libraries that Vireo needs come from the system, Highway's
source as in any build (toolchains/dependencies.cmake); the models' converter comes as a Debian package, in the Python wheel or from a build for
the host.

    conan create toolchains/packages/conan                     compiles
    conan export-pkg toolchains/packages/conan -c user.vireo:build=build/release       packages a build that is there
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir
from conan.tools.system.package_manager import Apt


class VireoRecipe(ConanFile):
    name = "vireo"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "Embedded edge inference: the runtime, through a C API"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "trust": [True, False]}
    default_options = {"shared": True, "trust": True}

    # Configuring reads these; what is not built is in nobody's way.
    _sources = ("CMakeLists.txt", "LICENSE", "toolchains/*", "c_api/*", "sdk/*", "runtime/*", "delegates/*", "bindings/*", "samples/embed.cmake",
                "tests/golden/*", "converter/*", "quant/*")

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..", "..")
        for pattern in self._sources:
            copy(self, pattern, root, self.export_sources_folder, excludes=("*/__pycache__/*", "*/build/*"))

    def validate(self):
        if str(self.settings.os) != "Linux":
            raise ConanInvalidConfiguration("this recipe is for Linux; firmware and the web build from the checkout (toolchains/README.md)")

    def layout(self):
        cmake_layout(self)

    def system_requirements(self):
        Apt(self).install(["libflatbuffers-dev", "flatbuffers-compiler", *(["libsodium-dev"] if self.options.trust else [])])

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing is written into the checkout
        for part in ("DEVELOPER", "BUILD_CONVERTER", "BUILD_TOOLS", "BUILD_BINDINGS", "BUILD_SAMPLES"):
            toolchain.cache_variables[f"VIREO_{part}"] = False
        toolchain.cache_variables["VIREO_TRUST"] = bool(self.options.trust)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        ready = self.conf.get("user.vireo:build")  # of `cmake --workflow --preset release`, say
        if ready:
            for component in ("runtime", "development"):
                self.run(f'cmake --install "{os.path.abspath(ready)}" --prefix "{self.package_folder}" --component {component}')
        else:
            CMake(self).install()
        copy(self, "LICENSE", self.source_folder if not ready else os.path.join(self.recipe_folder, "..", "..", ".."),
             os.path.join(self.package_folder, "licenses"))
        # Conan's generators write their own files for find_package and pkg-config.
        self.output.info("system libraries of the static library: " + " ".join(self._system_libraries()))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "share"))
        if self.options.shared:
            rm(self, "libvireo.a", os.path.join(self.package_folder, "lib"))
        else:
            rm(self, "libvireo.so*", os.path.join(self.package_folder, "lib"))

    def _system_libraries(self):
        """What vireo.pc names for static linking, without -l."""
        private = re.search(r"^Libs\.private:(.*)$", load(self, os.path.join(self.package_folder, "lib", "pkgconfig", "vireo.pc")), re.MULTILINE).group(1)
        return [word[2:] if word.startswith("-l") else word for word in private.replace("-pthread", "-lpthread").split()]

    def package_info(self):
        self.cpp_info.libs = ["vireo"]
        self.cpp_info.set_property("cmake_file_name", "Vireo")
        self.cpp_info.set_property("cmake_target_name", "Vireo::vireo" if self.options.shared else "Vireo::vireo_static")
        self.cpp_info.set_property("pkg_config_name", "vireo")
        if not self.options.shared:
            self.cpp_info.system_libs = self._system_libraries()
