// The first of the headers to be precompiled. libstdc++'s <cmath> holds the special functions of C++17
// (std::riemann_zeta and others) as inline functions. gcc instantiates their templates anew in every file, precompiled
// or not: 0.07 s of the 0.25 s that an empty file takes. Vireo calls none of them. A file that does sees them where
// headers are not precompiled.
#ifndef VIREO_TOOLCHAINS_CMAKE_NO_SPECIAL_FUNCTIONS_H_
#define VIREO_TOOLCHAINS_CMAKE_NO_SPECIAL_FUNCTIONS_H_

#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#endif  // VIREO_TOOLCHAINS_CMAKE_NO_SPECIAL_FUNCTIONS_H_
