#include "delegates/cpu/kernels/intgemm/tiles.h"

namespace vireo::cpu {
#if VIREO_AMX
namespace {

void begin() {
  AmxTiles tiles;
  begin_tiles(tiles);
}
void end() {
  AmxTiles tiles;
  tiles.release();
}
void sums(const TileSums& s) {
  AmxTiles tiles;
  tile_sums(tiles, s);
}

constexpr TileEngine kEngine = {begin, end, sums};

}  // namespace

const TileEngine* int_tiles() { return has_amx_int8() ? &kEngine : nullptr; }
#else
const TileEngine* int_tiles() { return nullptr; }
#endif

}  // namespace vireo::cpu
