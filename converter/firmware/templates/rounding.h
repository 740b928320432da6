/* Each product and each sum is rounded by itself, whatever a build's flags say: a compiler that fuses them computes
 * other bits. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif
