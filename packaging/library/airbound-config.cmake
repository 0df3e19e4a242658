# libairbound: targets airbound::airbound (shared) and airbound::static.
get_filename_component(_airbound_libraries "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(_airbound_prefix "${_airbound_libraries}/@UP@" ABSOLUTE)

if(NOT TARGET airbound::airbound)
  add_library(airbound::airbound SHARED IMPORTED)
  set_target_properties(airbound::airbound PROPERTIES
    IMPORTED_LOCATION "${_airbound_libraries}/libairbound.so.@ABI@"
    IMPORTED_SONAME "libairbound.so.@ABI@"
    INTERFACE_INCLUDE_DIRECTORIES "${_airbound_prefix}/include")
endif()

if(NOT TARGET airbound::static)
  add_library(airbound::static STATIC IMPORTED)
  set_target_properties(airbound::static PROPERTIES
    IMPORTED_LOCATION "${_airbound_libraries}/libairbound.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_airbound_prefix}/include"
    INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl;c")
endif()

unset(_airbound_libraries)
unset(_airbound_prefix)
