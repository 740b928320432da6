#include "delegates/gpu/templates/matrix_stage.h"

#include <algorithm>

namespace vireo::gpu {
TileLayout layout_of(const ProductOperand& operand, uint32_t lines, uint32_t depth, uint32_t chunk) {
  const bool along_k = operand.k_is_fastest || operand.neighbours == 1 || chunk == kQuadCodes;
  const uint32_t pitch = (along_k ? depth : lines) / chunk + 1;
  return {along_k, pitch, pitch * (along_k ? lines : depth), chunk};
}

TileLayout tile_layout_of(const ProductOperand& operand, uint32_t lines, uint32_t depth, uint32_t chunk) {
  TileLayout out = layout_of(operand, lines, depth, chunk);
  out.pitch = kLineQuads;
  out.block = depth * kLineQuads;
  out.quads = lines * depth / chunk;
  return out;
}

uint32_t most_quads(uint32_t lines, uint32_t depth, uint32_t chunk) {
  return std::max(lines * (depth / chunk + 1), depth * (lines / chunk + 1));
}

// Lanes of a pair exchange: the first keeps the upper line, the second the lower one.
std::array<Value, 4> four_of(Builder& b, uint32_t sum, uint32_t half) {
  const Value second = (b.lane() & 1) != 0;
  std::array<Value, 4> out;
  for (uint32_t e = 0; e < 2; ++e) {
    const Value upper = b.matrix_element(sum, half * 4 + e), lower = b.matrix_element(sum, half * 4 + 2 + e);
    const Value got = b.shuffle(b.select(second, upper, lower), 1);
    out[e] = b.select(second, got, upper);
    out[2 + e] = b.select(second, lower, got);
  }
  return out;
}

MatrixStage::MatrixStage(Builder& builder, const Target& target, const ProductOperand& operand, uint32_t lines,
                         uint32_t depth, uint32_t lanes, uint32_t first, const TileLayout& layout)
    : b_(builder), target_(target), operand_(operand), lines_(lines), depth_(depth), first_(first), layout_(layout) {
  const bool along_k = layout_.along_k;
  const uint32_t chunk = layout_.chunk, of_line = (along_k ? depth : lines) / chunk;
  const uint32_t of_piece = operand.neighbours, count = lines * depth / chunk;
  for (uint32_t turn = 0; turn * lanes < count; ++turn) {
    const Value at = b_.lane() + int64_t{turn} * lanes;
    Turn one;
    // Neighbouring lanes take neighbours in memory.
    const bool lines_first = along_k && !operand.k_is_fastest;
    const Value outer = lines_first ? at % lines : at / of_line, quad = lines_first ? at / lines : at % of_line;
    if (layout_.block == 0) {
      one.place = outer * layout_.pitch + quad;
    } else {
      const Value block = along_k ? b_.u32(0) : quad / kLineQuads * layout_.block;
      one.place = block + outer * layout_.pitch + ((quad % kLineQuads) ^ (outer % kLineQuads));
    }
    one.there = (turn + 1) * lanes > count ? at < count : b_.boolean(true);
    for (uint32_t e = 0; e < chunk; e += of_piece) {
      const Value inner = quad * chunk + e;
      Piece piece;
      piece.line = along_k ? outer : inner;
      piece.k = along_k ? inner : outer;
      piece.raw = b_.variable(of_piece * bits() == 128 ? Type::kQuad : Type::kU32);
      one.pieces.push_back(piece);
    }
    turns_.push_back(std::move(one));
  }
}

void MatrixStage::take(Value first, Value end, int64_t extent, bool open) {
  for (Turn& turn : turns_) {
    for (size_t e = 0; e < turn.pieces.size(); ++e) {
      if (layout_.along_k && e != 0) {
        turn.pieces[e].known = turn.pieces[0].known;
        continue;
      }
      // A line that is not there is read as the last one: what is made of it is not used.
      const Value line = first + turn.pieces[e].line;
      const int64_t last = layout_.along_k ? 1 : static_cast<int64_t>(layout_.chunk / turn.pieces.size());
      turn.pieces[e].known = operand_.line(b_.select(is_below(b_, line, end, extent, lines_, open), line, end - last));
    }
  }
}

void MatrixStage::fetch(Value k0, Value end, int64_t extent, bool open) {
  const Value zero = b_.u32(0), nothing = this->nothing();
  const bool whole = extent % depth_ == 0 && !open;
  for (const Turn& turn : turns_) {
    b_.when(turn.there, [&] {
      for (const Piece& piece : turn.pieces) {
        const Value k = k0 + piece.k;
        const ProductOperand::Element e =
            whole ? operand_.read(piece.known, k0, piece.k) : operand_.read(piece.known, zero, k);
        const Value inside = e.inside & is_below(b_, k, end, extent, depth_, open);
        if (operand_.neighbours == 1) {  // many of them: a branch for each takes drivers seconds to compile
          piece.raw.set(b_.select(inside, raw(b_.select(inside, e.index, zero)), nothing));
          continue;
        }
        piece.raw.set(nothing);
        b_.when(inside, [&] { piece.raw.set(raw(e.index)); });
      }
    });
  }
}

void MatrixStage::copy(uint32_t array, Value tile, Value k0, Value end, int64_t extent, bool open) {
  const Value zero = b_.u32(0);
  const bool whole = extent % depth_ == 0 && !open;
  const uint32_t buffer = b_.buffer(operand_.tensor.binding, Element::kQuad, false);
  for (const Turn& turn : turns_) {
    b_.when(turn.there, [&] {
      const Piece& piece = turn.pieces[0];
      const Value k = k0 + piece.k;
      const ProductOperand::Element e =
          whole ? operand_.read(piece.known, k0, piece.k) : operand_.read(piece.known, zero, k);
      const Value inside = e.inside & is_below(b_, k, end, extent, depth_, open);
      const Value to = tile + first_ + turn.place, from = b_.select(inside, e.index, zero) / layout_.chunk;
      if (operand_.outside == 0) return b_.copy(array, to, buffer, from, inside);
      b_.when(
          inside, [&] { b_.copy(array, to, buffer, from, b_.boolean(true)); },
          [&] { b_.shared_store(array, to, nothing()); });
    });
  }
}

Value MatrixStage::raw(Value index) {
  const uint32_t binding = operand_.tensor.binding, neighbours = operand_.neighbours;
  if (bits() * neighbours == 128)
    return b_.load(Type::kQuad, b_.buffer(binding, Element::kQuad, false), index / neighbours);
  if (bits() * neighbours == 32)
    return b_.load(Type::kU32, b_.buffer(binding, Element::kWord, false), index / neighbours);
  if (bits() == 16 && target_.storage16)
    return b_.load(Type::kU32, b_.buffer(binding, Element::kHalfWord, false), index);
  if (bits() == 8 && target_.storage8) return b_.load(Type::kU32, b_.buffer(binding, Element::kByte, false), index);
  const uint32_t of_word = 32 / bits();
  const Value word = b_.load(Type::kU32, b_.buffer(binding, Element::kWord, false), index / of_word);
  return (word >> (index % of_word * bits())) & ((1u << bits()) - 1);
}

Value MatrixStage::nothing() {
  const uint32_t code = static_cast<uint8_t>(operand_.outside);
  if (operand_.neighbours == 1) return b_.u32(code);
  const Value word = b_.u32(code * 0x01010101u);
  return operand_.neighbours * bits() == 128 ? b_.join({word, word, word, word}) : word;
}

void MatrixStage::keep(uint32_t array, Value tile) {
  for (const Turn& turn : turns_) {
    b_.when(turn.there, [&] { b_.shared_store(array, tile + first_ + turn.place, quad_of(turn)); });
  }
}

Value MatrixStage::quad_of(const Turn& turn) {
  const bool half = bits() == 16, wide = operand_.neighbours > 1;
  if (turn.pieces.size() == 1) return turn.pieces[0].raw.get();
  if (turn.pieces.size() == 4 && lies_as_kept())
    return b_.join(
        {turn.pieces[0].raw.get(), turn.pieces[1].raw.get(), turn.pieces[2].raw.get(), turn.pieces[3].raw.get()});
  if (layout_.chunk == kQuadCodes) {
    std::array<Value, 4> out;
    for (uint32_t i = 0; i < 4; ++i) {
      out[i] = turn.pieces[size_t{i} * 4].raw.get();
      for (uint32_t e = 1; e < 4; ++e) out[i] = out[i] | (turn.pieces[size_t{i} * 4 + e].raw.get() << (8 * e));
    }
    return b_.join(out);
  }
  std::array<Value, kChunk> words;
  for (uint32_t e = 0; e < kChunk; ++e)
    words[e] = wide ? b_.part(turn.pieces[e / 4].raw.get(), e % 4) : turn.pieces[e].raw.get();
  std::array<Value, 4> out;
  for (uint32_t i = 0; i < 4; ++i) {
    const Value low = words[2 * i], high = words[2 * i + 1];
    out[i] = half ? low | (high << 16) : b_.pack_halves(b_.bitcast(low, Type::kF32), b_.bitcast(high, Type::kF32));
  }
  return b_.join(out);
}

Value MatrixStage::first_quad(Value tile, Value line, uint32_t more, uint32_t k) const {
  const uint32_t pitch = layout_.pitch, chunk = layout_.chunk;
  if (layout_.along_k) return tile + line * pitch + (first_ + more * pitch + k / chunk);
  return tile + line / chunk + (first_ + more / chunk + k * pitch);
}

void TilePairs::copy_ahead(uint32_t array, uint32_t stages, const Multiply& multiply) {
  const uint32_t quads = this->quads();
  const auto ask = [&](Value place, Value k0) {
    x_.copy(array, place, k0, end_, extent_, false);
    w_.copy(array, place, k0, end_, extent_, false);
  };
  b_.loop(b_.u32(0), b_.u32(stages - 1), 1, [&](Value s) {
    const Value k0 = s * depth_;
    if (stages - 1 <= count()) {
      ask(s * quads, k0);
    } else {
      b_.when(k0 < end_, [&] { ask(s * quads, k0); });
    }
    b_.copy_group();
  });
  const Variable full = b_.variable(b_.u32(0)), empty = b_.variable(b_.u32((stages - 1) * quads));
  const auto advance = [&](const Variable& place) {
    const Value next = place.get() + quads;
    place.set(b_.select(next == stages * quads, b_.u32(0), next));
  };
  b_.loop(b_.u32(0), end_, depth_, [&](Value k0) {
    b_.copy_wait(stages - 2);
    b_.barrier();  // also: everybody has multiplied the tile whose place is filled now
    const Value ahead = k0 + (stages - 1) * depth_;
    b_.when(ahead < end_, [&] { ask(empty.get(), ahead); });
    b_.copy_group();
    multiply(full.get());
    advance(full);
    advance(empty);
  });
  b_.copy_wait(0);
  b_.barrier();
}

void TilePairs::fetch_by_turns(uint32_t array, bool two, const Multiply& multiply) {
  const uint32_t quads = this->quads();
  const Value none = b_.u32(0);
  const auto fetch = [&](Value k0) {
    x_.fetch(k0, end_, extent_, open_);
    w_.fetch(k0, end_, extent_, open_);
  };
  const auto keep = [&](Value tile) {
    x_.keep(array, tile);
    w_.keep(array, tile);
  };
  if (one_step()) {
    fetch(none);
    keep(none);
    b_.barrier();
    multiply(none);
    b_.barrier();
    return;
  }
  // A turn asks for its tile, multiplies the one before it, and keeps its own: one turn more than there are tiles.
  b_.loop(none, end_ + depth_, depth_, [&](Value k0) {
    const Value more = k0 < end_, odd = k0 / depth_ % 2;
    b_.when(more, [&] { fetch(k0); });
    b_.when(k0 != 0, [&] { multiply(two ? (b_.u32(1) - odd) * quads : none); });
    if (!two) b_.barrier();
    b_.when(more, [&] { keep(two ? odd * quads : none); });
    b_.barrier();
  });
}

}  // namespace vireo::gpu
