# The headers that programs outside the library include, relative to src/. The umbrella weft/weft.h is generated
# from this list; tests/checks holds them to the standard library and to each other, and to twenty at most.
set(WEFT_PUBLIC_HEADERS
    weft/base/export.h
    weft/base/error.h
    weft/base/dtype.h
    weft/base/tensor.h)
