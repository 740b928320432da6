# Firmware images and the boards they run on.
include_guard(GLOBAL)
