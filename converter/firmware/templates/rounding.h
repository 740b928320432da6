/* Each product and each sum is rounded by itself, whatever a build's flags say: a compiler that fuses them computes
 * other bits. Cores that cannot fuse need nothing. */
#if defined(__GNUC__) && !defined(__clang__)
#ifdef __FP_FAST_FMAF
#pragma GCC optimize("fp-contract=off")
#endif
#else
#pragma STDC FP_CONTRACT OFF
#endif
