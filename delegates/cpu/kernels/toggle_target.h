// Between two instruction sets of foreach_target.h. No include guard: it is read once for each.
#ifdef HWY_TARGET_TOGGLE
#undef HWY_TARGET_TOGGLE
#define HWY_HIGHWAY_PER_TARGET
#else
#define HWY_TARGET_TOGGLE
#undef HWY_HIGHWAY_PER_TARGET
#endif
