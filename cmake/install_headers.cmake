# Copies the public headers from SOURCE into TARGET, include/pumice, where core/ir/ir.h becomes pumice/core/ir/ir.h and
# pumice/pumice.h stays. `#include "core/ir/ir.h"` inside them becomes `#include "pumice/core/ir/ir.h"`: an application that has a
# core/ir/ir.h of its own neither hides ours nor has its own hidden.
# A header ends before a line that begins with `// Not installed`: what follows is for the library's own sources.
foreach(pattern IN LISTS HEADERS)
    file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/${pattern})
    list(FILTER files EXCLUDE REGEX "_test\\.h$")
    foreach(file IN LISTS files)
        string(REGEX REPLACE "^pumice/" "" place "${file}")
        file(READ ${SOURCE}/${file} contents)
        string(REGEX REPLACE "(#[ \t]*include[ \t]+\")(autodiff|core|codegen|runtime|ship|vulkan)/" "\\1pumice/\\2/" contents "${contents}")
        string(REGEX REPLACE "\n// Not installed.*" "" contents "${contents}")
        set(before "")
        if(EXISTS ${TARGET}/${place})
            file(READ ${TARGET}/${place} before)
        endif()
        if(NOT contents STREQUAL before)  # what is unchanged keeps its time, and its users are not compiled again
            file(WRITE ${TARGET}/${place} "${contents}")
            if(NOT quiet)
                message(STATUS "Installing: ${TARGET}/${place}")
            endif()
        endif()
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${TARGET}/${place})
    endforeach()
endforeach()
