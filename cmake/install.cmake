# `cmake --install`: the library with its public headers, the program, and the package that find_package(weft) finds.
include(CMakePackageConfigHelpers)

set(WEFT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft EXPORT weft-targets)
if(TARGET weft_program)
  install(TARGETS weft_program)
  install(FILES models/demo.model DESTINATION share/weft OPTIONAL)  # where the program looks for it
endif()
foreach(header ${WEFT_PUBLIC_HEADERS})
  get_filename_component(directory ${header} DIRECTORY)
  install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${directory})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/weft/weft.h ${PROJECT_BINARY_DIR}/generated/weft/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${WEFT_PACKAGE_DIR})
configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake INSTALL_DESTINATION ${WEFT_PACKAGE_DIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${WEFT_PACKAGE_DIR})
