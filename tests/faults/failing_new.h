// operator new that fails at a chosen call, in place of the C++ library's in the program that links this.
#ifndef VIREO_TESTS_FAULTS_FAILING_NEW_H_
#define VIREO_TESTS_FAULTS_FAILING_NEW_H_

#include <atomic>
#include <cstdint>

namespace vireo::faults {

extern std::atomic<int64_t> g_number;    // calls since it was set to 0
extern std::atomic<int64_t> g_fails_at;  // this one throws std::bad_alloc; -1: none
extern std::atomic<bool> g_forever;      // and all after it

}  // namespace vireo::faults

#endif  // VIREO_TESTS_FAULTS_FAILING_NEW_H_
