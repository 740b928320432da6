#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

std::string text_of(const Target& t) {
  std::string text = t.ptx != 0   ? "ptx" + std::to_string(t.ptx)
                     : t.hip != 0 ? "hip" + std::to_string(t.hip)
                                  : "spirv1.3";
  const auto number = [&text](const char* name, uint64_t n) { (text += name) += std::to_string(n); };
  const auto ability = [&text](const char* name, bool has) {
    if (has) text += name;
  };
  number(" sg", t.subgroup);
  number(" wg", t.workgroup);
  number(":", t.workgroup_x);
  number("x", t.workgroup_y);
  number("x", t.workgroup_z);
  number(" n", t.groups_x);
  number("x", t.groups_y);
  number("x", t.groups_z);
  number(" sh", t.shared_bytes);
  if (t.stage_bytes != 0) number(" st", t.stage_bytes);
  number(" b", t.bindings);
  number(" p", t.push_words);
  number(" m", t.buffer_bytes);
  ability(" s16", t.storage16);
  ability(" s8", t.storage8);
  ability(" f16", t.float16);
  ability(" i8", t.int8);
  ability(" i16", t.int16);
  ability(" i64", t.int64);
  ability(" f64", t.float64);
  ability(" nan", t.keeps_nan32);
  ability(" den", t.keeps_denormals32);
  ability(" rte", t.rounds_even32);
  ability(" dot8", t.dot8);
  for (const MatrixUnit& u : t.units) {
    number(" mm", u.m);
    number("x", u.n);
    number("x", u.k);
    ability("q", u.known);
  }
  if (t.code_unit.m != 0) {
    number(" mc", t.code_unit.m);
    number("x", t.code_unit.n);
    number("x", t.code_unit.k);
  }
  ability(" tiles", t.tile_unit);
  ability(" shuffles", t.shuffles);
  ability(" halves", t.half_products);
  return text;
}

}  // namespace vireo::gpu
