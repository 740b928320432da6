// Discrete Fourier transforms; complex numbers are the last axis, 2 long: real, imaginary.
//   DFT   x [.., n along axis, .., 1 or 2], length (scalar i32 or i64, optional: N = n), axis (scalar i64, optional:
//   -2)
//         forward   y[k] = sum_n x[n] e^(-2 pi i k n / N)       y [.., N, .., 2], onesided: [.., N/2 + 1, .., 2], x
//         real inverse   y[n] = 1/N sum_k x[k] e^(2 pi i k n / N)    y [.., N, .., 2], onesided: [.., N, .., 1], x
//         holds bins
//                   [0, N/2], N = 2 (n - 1) unless given
//         Samples behind N are left out, missing ones are 0.
//   STFT  x [B, L, 1 or 2], step (scalar), window [N] (optional: ones), length N (scalar, optional: window's, else L)
//         y [B, (L - N)/step + 1, N, 2], onesided: N/2 + 1 bins
//   dtype   f32, f64, f16, bf16; computed in f32 (f64), factors rounded from f64
//   alias none;  scratch a line and its factors a thread
//   error   kInvalidModel when a length or step is below 1, or a frame longer than the signal
// Source: ONNX opset 20 "DFT", 17 "STFT". Sums by Cooley and Tukey 1965 over the prime factors of N, from the smallest.
#ifndef VIREO_SDK_OPS_FOURIER_FOURIER_H_
#define VIREO_SDK_OPS_FOURIER_FOURIER_H_

#include <stdint.h>

namespace vireo {

template <class C>
struct Complex {
  C re, im;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_FOURIER_FOURIER_H_
