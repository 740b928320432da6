// Where tests find the checkout and the build. The two folders are compiled into one small file of each build
// (vireo_test_roots, toolchains/cmake/VireoTargets.cmake), and are in no other compile line: so a compiler cache serves
// the tests of every clone.
#ifndef VIREO_TESTS_SUPPORT_ROOTS_H_
#define VIREO_TESTS_SUPPORT_ROOTS_H_

#include <string>

namespace vireo::tests {

std::string source_path(const std::string& path);  // `path` below the checkout
std::string build_path(const std::string& path);   // `path` below the build folder

}  // namespace vireo::tests

#endif  // VIREO_TESTS_SUPPORT_ROOTS_H_
