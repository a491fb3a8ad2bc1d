# Language, include paths, warnings, sanitizers and ccache, for our own targets only: pumice_compile_options(target).
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)  # a rebuilt libpumice.so does not link its users again

find_program(PUMICE_CCACHE ccache)
if(PUMICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # The sloppiness that ccache needs for precompiled headers, and no more: with include_file_mtime it would keep what was
    # compiled while a header was being edited.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PUMICE_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

function(pumice_compile_options target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -iquote${PROJECT_SOURCE_DIR})
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
            # What the sanitizers put in hides initialisations from g++, which then warns of the standard library's own code.
            target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
        endif()
    endif()
endfunction()
