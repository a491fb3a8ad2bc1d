# pumice_layer(name [FOLDER folder] [OPTIONS option...] [EXCLUDE folder] [PRECOMPILE header...]): the object library pumice_<name>
# of every source in the folder but its *_test.cpp (tests/CMakeLists.txt has those). A folder without sources is an empty target.
# PRECOMPILE: headers of the layer that most of its sources include, beside those that are precompiled for every layer. That the
# folders keep to the arrows of docs/internals.md is checked by tests/layering.
set(PUMICE_LAYERS "" CACHE INTERNAL "Targets that make up the shared library")

set(standard_headers algorithm array atomic bit cmath cstdint cstdio cstdlib cstring functional map memory mutex optional set span string
    string_view tuple unordered_map utility vector)
list(TRANSFORM standard_headers PREPEND "<")
list(TRANSFORM standard_headers APPEND ">")

function(pumice_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 layer "" "FOLDER;EXCLUDE" "OPTIONS;PRECOMPILE")
    if(NOT layer_FOLDER)
        set(layer_FOLDER ${name})
    endif()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${layer_FOLDER}/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
    if(layer_EXCLUDE)
        list(FILTER sources EXCLUDE REGEX "/${layer_FOLDER}/${layer_EXCLUDE}/")
    endif()
    set(target pumice_${name})
    if(sources)
        add_library(${target} OBJECT ${sources})
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        pumice_compile_options(${target})
        target_compile_options(${target} PRIVATE ${layer_OPTIONS})  # last: to clang, -fno-fast-math also undoes -ffp-contract=off
        pumice_precompile(${target} ${standard_headers} [["core/ir/ir.h"]] [["core/support/error.h"]] ${layer_PRECOMPILE})
    else()
        message(STATUS "${layer_FOLDER}/ has no sources yet")
        add_library(${target} INTERFACE)
    endif()
    set_property(CACHE PUMICE_LAYERS APPEND PROPERTY VALUE ${target})
endfunction()
