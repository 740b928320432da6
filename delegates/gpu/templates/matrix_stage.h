// An operand's tiles in shared memory, on their way to a matrix unit as halves or bytes, or to lanes as floats.
//
// Shared memory is an array of quads, sixteen bytes, eight halves or four floats each. A quad's neighbours follow the
// depth, or the lines where only those lie side by side in memory; bytes always follow the depth. Elements are fetched
// as they lie in memory, and become halves when they are kept.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_MATRIX_STAGE_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_MATRIX_STAGE_H_

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "delegates/gpu/templates/product_body.h"

namespace vireo::gpu {

constexpr uint32_t kChunk = 8, kQuadFloats = 4, kQuadCodes = 16;  // halves, floats or bytes of a quad
constexpr uint32_t kLineQuads = 8;                                // of a line of Op::kTileMultiply

// How a tile lies in shared memory.
struct TileLayout {
  bool along_k;    // a quad's neighbours follow k
  uint32_t pitch;  // quads from a line to the next; from a k to the next where a quad follows lines
  uint32_t quads;
  uint32_t chunk = kChunk;  // elements of a quad
  uint32_t block = 0;       // a tile as Op::kTileMultiply has it, and its blocks; 0: lines one after another
};
TileLayout layout_of(const ProductOperand& operand, uint32_t lines, uint32_t depth, uint32_t chunk = kChunk);
// The same for a unit that reads tiles: a depth of eight quads, and lines are multiples of 64 where a quad follows
// them, else of 8.
TileLayout tile_layout_of(const ProductOperand& operand, uint32_t lines, uint32_t depth, uint32_t chunk);
// Whatever the layout: one quad more than a line needs, so that neighbouring lines begin in other banks.
uint32_t most_quads(uint32_t lines, uint32_t depth, uint32_t chunk = kChunk);

// Four neighbours of a sum (Unit::known): lane l of the subgroup gets those of line l / 4 + 8 (l & 1), from column
// 8 half + 2 (l & 2) on. All lanes come to it.
std::array<Value, 4> four_of(Builder& builder, uint32_t sum, uint32_t half);

class MatrixStage {
 public:
  // Tiles of lines x depth, multiples of a quad's elements, that `lanes` lanes fill, from quad `first` of a tile's
  // memory on.
  MatrixStage(Builder& builder, const Target& target, const ProductOperand& operand, uint32_t lines, uint32_t depth,
              uint32_t lanes, uint32_t first)
      : MatrixStage(builder, target, operand, lines, depth, lanes, first, layout_of(operand, lines, depth)) {}
  MatrixStage(Builder& builder, const Target& target, const ProductOperand& operand, uint32_t lines, uint32_t depth,
              uint32_t lanes, uint32_t first, const TileLayout& layout);

  // The next tiles are of the lines from `first` on, below `end`, which is `extent`.
  void take(Value first, Value end, int64_t extent, bool open);
  // Asks for the tile from depth k0 on; what lies behind the depth's end, or is no element, is 0.
  void fetch(Value k0, Value end, int64_t extent, bool open);
  // Writes what was asked for into the tile at quad `tile` of an array.
  void keep(uint32_t array, Value tile);

  // Whether tiles can be copied to shared memory as they lie: by copy() in place of fetch() and keep().
  bool copies() const { return target_.stage_bytes != 0 && operand_.neighbours == layout_.chunk && lies_as_kept(); }
  void copy(uint32_t array, Value tile, Value k0, Value end, int64_t extent, bool open);

  const TileLayout& layout() const { return layout_; }
  // The first quad of the matrix of lines from `line` + `more` on, at depth k of a tile. What is known of it is added
  // last, where an instruction takes it along.
  Value first_quad(Value tile, Value line, uint32_t more, uint32_t k) const;

 private:
  struct Piece {  // elements that lie side by side, from one load
    Value line, k;
    ProductOperand::Line known;
    Variable raw;
  };
  struct Turn {  // one quad of a lane
    Value place, there;
    std::vector<Piece> pieces;
  };
  uint32_t bits() const { return static_cast<uint32_t>(dtype_bits(operand_.tensor.dtype)); }
  // Whether elements in memory are as a quad of the tile has them.
  bool lies_as_kept() const { return bits() * layout_.chunk == 128; }
  // The raw form of `neighbours` elements that are none.
  Value nothing();
  Value raw(Value index);
  Value quad_of(const Turn& turn);

  Builder& b_;
  const Target& target_;
  const ProductOperand& operand_;
  uint32_t lines_, depth_, first_;
  TileLayout layout_;
  std::vector<Turn> turns_;
};

// Tiles of both operands side by side in an array: each is multiplied while later ones are on their way. Every call of
// `multiply` stands in the code once, and gets the first quad of its tiles.
class TilePairs {
 public:
  using Multiply = std::function<void(Value tile)>;
  // Tiles of `depth`, up to `end`, which is `extent`. The stages have taken their lines; w's quads lie behind x's.
  TilePairs(Builder& builder, MatrixStage& x, MatrixStage& w, uint32_t depth, Value end, int64_t extent, bool open)
      : b_(builder), x_(x), w_(w), depth_(depth), end_(end), extent_(extent), open_(open) {}

  uint32_t quads() const { return x_.layout().quads + w_.layout().quads; }
  bool one_step() const { return extent_ <= depth_ && !open_; }
  // Whether both can be copied, and there is more than one tile.
  bool copies() const { return x_.copies() && w_.copies() && !open_ && extent_ > depth_; }
  int64_t count() const { return (extent_ + depth_ - 1) / depth_; }
  // How many of them `bytes` of shared memory hold, two to four.
  uint32_t stages_in(uint32_t bytes) const { return std::clamp(bytes / (quads() * 16), 2u, 4u); }

  // Copies them, stages - 1 ahead of the one that is multiplied. Lanes meet behind it.
  void copy_ahead(uint32_t array, uint32_t stages, const Multiply& multiply);
  // Fetches the next one while this one is multiplied, and keeps it in a second place where there are `two`.
  void fetch_by_turns(uint32_t array, bool two, const Multiply& multiply);

 private:
  Builder& b_;
  MatrixStage &x_, &w_;
  const uint32_t depth_;
  const Value end_;
  const int64_t extent_;
  const bool open_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_MATRIX_STAGE_H_
