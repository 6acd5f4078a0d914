// Functions for a newer CPU than the build's: those between WEFT_BEGIN_TARGET("avx2,fma") and WEFT_END_TARGET. No
// inline function of a library may stand there, since the linker keeps one of all copies. Clang leaves lambdas out.
#pragma once

#define WEFT_PRAGMA(...) _Pragma(#__VA_ARGS__)

#if defined(__clang__)
#define WEFT_BEGIN_TARGET(features) \
  WEFT_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define WEFT_END_TARGET WEFT_PRAGMA(clang attribute pop)
#else
// GCC 12 takes the undefined operands inside its own intrinsics for mistakes (PR 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define WEFT_BEGIN_TARGET(features) WEFT_PRAGMA(GCC push_options) WEFT_PRAGMA(GCC target(features))
#define WEFT_END_TARGET WEFT_PRAGMA(GCC pop_options)
#endif
