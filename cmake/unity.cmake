# The presets release and asan compile eight sources of the library at a time as one (CMAKE_UNITY_BUILD), in about
# half the time: names in unnamed namespaces have to differ within a room. Sources for newer CPUs stay apart.
function(weft_separate_kernels)
  foreach(source ${ARGN})
    file(STRINGS ${source} found REGEX "HWY_TARGET_INCLUDE|WEFT_BEGIN_TARGET" LIMIT_COUNT 1)
    if(found)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
