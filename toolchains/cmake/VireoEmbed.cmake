# Files as constant C arrays, for programs whose model is linked in.
include_guard(GLOBAL)
