"""NVIDIA's cards through CUDA, and what is said where there is none."""
import unittest

import gpu_cases
import support


class Cuda(gpu_cases.Cases, unittest.TestCase):
    device, option = "cuda", "VIREO_WITH_CUDA"


class WithoutADriver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not Cuda.plugin().exists():
            raise unittest.SkipTest(f"this build is without the cuda plug-in ({Cuda.option}, VIREO_PLUGINS)")

    def run_tool(self, *arguments):
        return support.vireo(*arguments, "--plugins", Cuda.plugin(), environment={"VIREO_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}, check=False)

    def test_devices_says_what_is_missing(self):
        done = self.run_tool("devices")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no CUDA driver: /nowhere/libcuda.so.1", " ".join((done.stdout + done.stderr).split()))

    def test_a_session_that_asks_for_it_is_an_error(self):
        file = support.convert(gpu_cases.MODELS / "glyphs.onnx", "cuda_glyphs", "--shape", "image=1,1,24,24")
        done = self.run_tool("bench", file, "--device", "cuda,cpu", "--seconds", "0")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('"cuda"', done.stderr)


if __name__ == "__main__":
    unittest.main()
