# The headers that programs outside the library include, relative to src/. The umbrella weft/weft.h is generated
# from this list; tests/checks holds them to the standard library and to each other, and to twenty at most.
set(WEFT_PUBLIC_HEADERS
    weft/base/export.h
    weft/base/error.h
    weft/base/dtype.h
    weft/base/dim.h
    weft/base/shape.h
    weft/base/tensor.h
    weft/ir/attribute.h
    weft/ir/op_schema.h
    weft/ir/graph.h
    weft/ir/infer.h
    weft/ir/kernel.h
    weft/ir/builder.h
    weft/ir/text.h
    weft/ops/builder.h
    weft/runtime/graph_executor.h
    weft/runtime/session.h
    weft/text/vocabulary.h
    weft/text/tokenizer.h
    weft/models/sampling_options.h
    weft/models/language_model.h)
