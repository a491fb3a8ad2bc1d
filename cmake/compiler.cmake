# Language, include paths, warnings, sanitizers and ccache, for our own targets only: pumice_compile_options(target).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # a rebuilt libpumice.so does not link its users again

set(launcher "")
if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    find_program(PUMICE_CCACHE ccache)
    if(PUMICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
        # The sloppiness that ccache needs for precompiled headers, and no more: with include_file_mtime it would keep what was
        # compiled while a header was being edited.
        # Paths within the checkout are relative, so that what one checkout compiled serves every other.
        set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
            CCACHE_NOHASHDIR=1 ${PUMICE_CCACHE})
        set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    endif()
else()
    # Variables that an application may set for all of its targets, and that break ours (sources put together, hidden symbols, our
    # folder vulkan/ as an include folder) or only slow their build (checkers, moc). They are reset for our folders alone.
    foreach(variable UNITY_BUILD COMPILE_WARNING_AS_ERROR VISIBILITY_INLINES_HIDDEN INTERPROCEDURAL_OPTIMIZATION
            INTERPROCEDURAL_OPTIMIZATION_DEBUG INTERPROCEDURAL_OPTIMIZATION_RELEASE INTERPROCEDURAL_OPTIMIZATION_RELWITHDEBINFO
            INTERPROCEDURAL_OPTIMIZATION_MINSIZEREL INCLUDE_CURRENT_DIR CXX_CLANG_TIDY CXX_CPPCHECK CXX_CPPLINT
            CXX_INCLUDE_WHAT_YOU_USE LINK_WHAT_YOU_USE AUTOMOC AUTOUIC AUTORCC)
        set(CMAKE_${variable} "")
    endforeach()
    set(CMAKE_CXX_VISIBILITY_PRESET default)
endif()

function(pumice_compile_options target)
    if(PROJECT_IS_TOP_LEVEL OR PUMICE_WERROR)
        target_compile_options(${target} PRIVATE -Wall -Wextra)
    else()
        # An application's own warnings, errors or not, are not about our sources.
        target_compile_options(${target} PRIVATE -w -Wno-pedantic)
    endif()
    target_compile_options(${target} PRIVATE -iquote${PROJECT_SOURCE_DIR})
    if(NOT PROJECT_IS_TOP_LEVEL)  # what an application may do without in its own sources, and ours may not
        target_compile_options(${target} PRIVATE -fno-fast-math -fexceptions -frtti -fvisibility=default -fno-visibility-inlines-hidden)
    endif()
    if(PUMICE_OPTIMISE_DEBUG)
        target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:-O2>)
        target_compile_definitions(${target} PRIVATE $<$<NOT:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:NDEBUG>)
    endif()
    if(PUMICE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -fpch-preprocess)  # lets ccache see through precompiled headers
    elseif(PUMICE_CCACHE)
        target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    if(PUMICE_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${PUMICE_SANITIZE} -fno-sanitize-recover=all
            -fno-omit-frame-pointer -g1)
        target_link_options(${target} PRIVATE -fsanitize=${PUMICE_SANITIZE})
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # The code that sanitizers insert hides initialisations from g++, which then warns of the standard library's own code.
            target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
        endif()
    endif()
endfunction()
