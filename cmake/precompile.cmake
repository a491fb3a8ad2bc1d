# pumice_precompile(target header...): the headers are compiled once for the target's sources, and every source sees them. A
# source that lacks one of its includes is found by .ci/run, whose legs lint and threads compile without.
option(PUMICE_PRECOMPILE "Precompile the headers that many sources include" ${PROJECT_IS_TOP_LEVEL})

function(pumice_precompile target)
    if(PUMICE_PRECOMPILE)
        target_precompile_headers(${target} PRIVATE ${ARGN})
        set_target_properties(${target} PROPERTIES
            CXX_COMPILER_LAUNCHER "sh;${PROJECT_SOURCE_DIR}/cmake/fresh_output.sh;${CMAKE_CXX_COMPILER_LAUNCHER}")
    endif()
endfunction()
