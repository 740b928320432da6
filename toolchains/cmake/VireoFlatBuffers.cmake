# Schemas become headers at build time, by the flatc that matches the headers we compile against (generated code
# refuses any other version).
include_guard(GLOBAL)

# vireo_add_schema(<target> name.fbs ...)
#   sdk/x/name.fbs becomes a header that is included as "sdk/x/name_generated.h". The header is made before <target>
#   compiles, and before whatever links <target>. Where <target> does not exist it is created as an interface library with
#   an alias Vireo::<name without vireo_>. One schema includes another by its path from the repository root:
#   include "sdk/format/model.fbs";
#   There are two of each header. Host libraries, programs and tests see <build>/generated/objects, which has the object API
#   too (NameT structs). Device libraries never write a file; they see <build>/generated/tables, which has the tables and their
#   builders only, because the objects of the file's format take gcc 1.4 s in each file that includes them. The classes of
#   the tables have the same members in both but for UnPack and Pack, so objects of the two kinds link.
function(vireo_add_schema target)
  set(headers)
  foreach(schema IN LISTS ARGN)
    get_filename_component(source "${schema}" ABSOLUTE)
    file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${source}")
    get_filename_component(folder "${relative}" DIRECTORY)
    get_filename_component(stem "${relative}" NAME_WE)
    set(tables "${PROJECT_BINARY_DIR}/generated/tables/${folder}")
    set(objects "${PROJECT_BINARY_DIR}/generated/objects/${folder}")
    set(made "${tables}/${stem}_generated.h" "${objects}/${stem}_generated.h")
    set(flatc Vireo::flatc --cpp --scoped-enums --cpp-std c++17 --keep-prefix -I "${PROJECT_SOURCE_DIR}")
    add_custom_command(OUTPUT ${made}
      COMMAND ${flatc} -o "${tables}" "${source}"
      COMMAND ${flatc} --gen-object-api -o "${objects}" "${source}"
      DEPENDS "${source}" VERBATIM COMMENT "flatc ${relative}")
    list(APPEND headers ${made})
  endforeach()
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      target_sources(${target} PRIVATE ${headers})
      target_link_libraries(${target} PUBLIC Vireo::dep_flatbuffers)
      return()
    endif()
  else()
    add_library(${target} INTERFACE)
    vireo_alias_(${target})
    add_library(Vireo::${vireo_short} ALIAS ${target})
    target_link_libraries(${target} INTERFACE vireo_flags)
  endif()
  add_custom_target(${target}_headers DEPENDS ${headers})
  add_dependencies(${target} ${target}_headers)
  target_link_libraries(${target} INTERFACE Vireo::dep_flatbuffers)
endfunction()
