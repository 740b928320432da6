// Loops over many numbers, compiled for the widest vectors of a CPU as well as for its baseline: the loader picks one.
// All give the same bits: nothing is contracted or put into another order, and lanes of sums are of a fixed number.
#ifndef VIREO_QUANT_SHARED_WIDEST_H_
#define VIREO_QUANT_SHARED_WIDEST_H_

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VIREO_WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VIREO_WIDEST
#endif

#endif  // VIREO_QUANT_SHARED_WIDEST_H_
