# The libraries that libweft is built from. None shows in a public header; only a static libweft passes them on, and
# its package looks for the same two lists.
set(WEFT_PACKAGES Threads fmt spdlog tomlplusplus OpenSSL ZLIB PkgConfig)
set(WEFT_MODULES libpcre2-8 libutf8proc)

foreach(package ${WEFT_PACKAGES})
  find_package(${package} REQUIRED)
endforeach()
foreach(module ${WEFT_MODULES})
  pkg_check_modules(${module} REQUIRED IMPORTED_TARGET ${module})
endforeach()
find_package(nlohmann_json REQUIRED)
pkg_check_modules(libhwy REQUIRED libhwy) # Highway's headers; nothing links its library

set(WEFT_LINKED Threads::Threads fmt::fmt spdlog::spdlog tomlplusplus::tomlplusplus OpenSSL::Crypto ZLIB::ZLIB
                PkgConfig::libpcre2-8 PkgConfig::libutf8proc)
set(WEFT_HEADER_ONLY nlohmann_json::nlohmann_json)
