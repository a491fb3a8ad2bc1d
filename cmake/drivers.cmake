# The two Vulkan drivers of the tests, by their manifests: Mesa's lavapipe and the SwiftShader of Debian's chromium-common.
file(GLOB lavapipe_manifests /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json)
list(APPEND lavapipe_manifests "")
list(GET lavapipe_manifests 0 lavapipe_manifest)
set(PUMICE_LAVAPIPE "${lavapipe_manifest}" CACHE FILEPATH "Manifest of the lavapipe driver")

find_file(PUMICE_SWIFTSHADER vk_swiftshader_icd.json PATHS /usr/lib/chromium /usr/lib/chromium-browser
    /opt/google/chrome NO_DEFAULT_PATH DOC "Manifest of the SwiftShader driver")

# The drivers may come after the first configuration.
if(NOT PUMICE_LAVAPIPE)
    set(PUMICE_LAVAPIPE "${lavapipe_manifest}" CACHE FILEPATH "Manifest of the lavapipe driver" FORCE)
endif()
foreach(driver LAVAPIPE SWIFTSHADER)
    if(NOT PUMICE_${driver})
        message(STATUS "*** SKIPPED: no ${driver} driver on this machine (cmake/packages.apt names its package); "
            "every test on it is skipped ***")
    endif()
endforeach()
