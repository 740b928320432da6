"""The version of this package: project(VERSION) of Vireo's CMakeLists.txt, as a test sees to."""
__version__ = "0.1.0"
