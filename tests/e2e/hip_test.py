"""AMD's cards through HIP, and what is said where there is none.

Without a card the cases run on a HIP made of software (delegates/hip/soft), which compiles each kernel's text for the
host. That takes a second a kernel, so fewer cases run there.
"""
import os
import pathlib
import subprocess
import unittest

import gpu_cases
import support

SOFT = support.BUILD / "test" / "libvireo_soft_hip.so"


class Hip(gpu_cases.Cases, unittest.TestCase):
    device, option = "hip", "VIREO_WITH_HIP"

    @classmethod
    def setUpClass(cls):
        # Where AMD's kernel driver has no device there is no card.
        if not pathlib.Path("/dev/kfd").exists() and "VIREO_HIP_LIBRARY" not in os.environ and cls.plugin().exists() and SOFT.exists():
            folder = support.WORK / "soft_hip"
            folder.mkdir(parents=True, exist_ok=True)
            # Found devices are kept by the plug-in's bytes: these are not for other tests. Cases are found as before.
            base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
            os.environ.setdefault("VIREO_CACHE_DIR", str(base / "vireo"))
            for environment in (os.environ, support.PROGRAM_ENVIRONMENT):
                environment.update(VIREO_HIP_LIBRARY=str(SOFT), VIREO_SOFT_HIP_FOLDER=str(folder), XDG_CACHE_HOME=str(folder))
            # A probe's answer has to come in time, so what it runs is compiled before.
            subprocess.run([support.BUILD / "bin" / "vireo-probe", cls.plugin()], capture_output=True, check=True)
            if "VIREO_CASES" not in os.environ:
                gpu_cases.EVERY = "60"
            print("no card: kernels run on the host")
        super().setUpClass()


class WithoutADriver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not Hip.plugin().exists():
            raise unittest.SkipTest(f"this build is without the hip plug-in ({Hip.option}, VIREO_PLUGINS)")

    def run_tool(self, *arguments):
        return support.vireo(*arguments, "--plugins", Hip.plugin(), environment={"VIREO_HIP_LIBRARY": "/nowhere/libamdhip64.so"}, check=False)

    def test_devices_says_what_is_missing(self):
        done = self.run_tool("devices")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no HIP: /nowhere/libamdhip64.so", " ".join((done.stdout + done.stderr).split()))

    def test_a_session_that_asks_for_it_is_an_error(self):
        file = support.convert(gpu_cases.MODELS / "glyphs.onnx", "hip_glyphs", "--shape", "image=1,1,24,24")
        done = self.run_tool("bench", file, "--device", "hip,cpu", "--seconds", "0")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('"hip"', done.stderr)


if __name__ == "__main__":
    unittest.main()
