"""GPUs through Vulkan."""
import unittest

import gpu_cases


class Vulkan(gpu_cases.Cases, unittest.TestCase):
    device, option = "vulkan", "VIREO_WITH_VULKAN"


if __name__ == "__main__":
    unittest.main()
