# The Vulkan drivers of the tests, by their manifests: Mesa's lavapipe and RADV, and the SwiftShader of Debian's chromium-common.
set(mesa_drivers lavapipe radv)
set(mesa_files lvp radeon)
foreach(mesa IN ZIP_LISTS mesa_drivers mesa_files)
    file(GLOB manifests /usr/share/vulkan/icd.d/${mesa_1}_icd*.json /etc/vulkan/icd.d/${mesa_1}_icd*.json)
    set(manifest "")
    if(manifests)
        list(GET manifests 0 manifest)
    endif()
    string(TOUPPER PUMICE_${mesa_0} variable)
    set(${variable} "${manifest}" CACHE FILEPATH "Manifest of the ${mesa_0} driver")
    if(NOT ${variable})  # it may come after the first configuration
        set(${variable} "${manifest}" CACHE FILEPATH "Manifest of the ${mesa_0} driver" FORCE)
    endif()
endforeach()

find_file(PUMICE_SWIFTSHADER vk_swiftshader_icd.json PATHS /usr/lib/chromium /usr/lib/chromium-browser
    /opt/google/chrome NO_DEFAULT_PATH DOC "Manifest of the SwiftShader driver")

# The processors that tests/radv compiles for: RDNA 2, RDNA 3 and GCN 4. Mesa calls the second GFX1100 up to 22, NAVI31 from 23
# on, and a process with a name that it does not know ends.
set(radv_families navi21 gfx1100 polaris10)
find_library(PUMICE_RADV_LIBRARY vulkan_radeon DOC "AMD's driver, for the names that it has for processors")
mark_as_advanced(PUMICE_RADV_LIBRARY)
set(radv_gfx1100 navi31)
if(PUMICE_RADV_LIBRARY)
    file(STRINGS ${PUMICE_RADV_LIBRARY} old_name REGEX "^GFX1100$" LIMIT_COUNT 1)
    if(old_name)
        set(radv_gfx1100 gfx1100)
    endif()
endif()

foreach(driver LAVAPIPE RADV SWIFTSHADER)
    if(NOT PUMICE_${driver})
        message(STATUS "*** SKIPPED: no ${driver} driver on this machine (cmake/packages.apt names its package); "
            "every test on it is skipped ***")
    endif()
endforeach()
