// Marks what the shared library exports; everything else keeps hidden visibility.
#pragma once

#define WEFT_API __attribute__((visibility("default")))
