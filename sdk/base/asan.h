// Whether AddressSanitizer watches this build.
#ifndef VIREO_SDK_BASE_ASAN_H_
#define VIREO_SDK_BASE_ASAN_H_

#if defined(__SANITIZE_ADDRESS__)
#define VIREO_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VIREO_ASAN 1
#endif
#endif
#ifndef VIREO_ASAN
#define VIREO_ASAN 0
#endif

#endif  // VIREO_SDK_BASE_ASAN_H_
