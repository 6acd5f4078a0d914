// Marks what the shared library exports; everything else keeps hidden visibility.
#pragma once

#if defined(WEFT_STATIC)
#define WEFT_API
#else
#define WEFT_API __attribute__((visibility("default")))
#endif
