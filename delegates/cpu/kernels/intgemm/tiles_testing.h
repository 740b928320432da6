// Tiles in plain C++ for tests: a machine may have no tile unit.
#ifndef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TILES_TESTING_H_
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TILES_TESTING_H_

#include "delegates/cpu/kernels/intgemm/tiles.h"

namespace vireo::cpu::testing {

inline PlainTiles& plain_tiles() {
  thread_local PlainTiles tiles;
  return tiles;
}
inline const TileEngine kPlainTiles = {[] { begin_tiles(plain_tiles()); }, [] { plain_tiles().release(); },
                                       [](const TileSums& s) { tile_sums(plain_tiles(), s); }};

}  // namespace vireo::cpu::testing

#endif  // VIREO_DELEGATES_CPU_KERNELS_INTGEMM_TILES_TESTING_H_
