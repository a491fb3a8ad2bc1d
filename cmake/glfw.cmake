# PUMICE_HAS_GLFW: GLFW (Debian: libglfw3-dev) and volk (libvulkan-volk-dev) are there, which samples/fluid needs.
find_package(glfw3 3.3 QUIET)
find_path(PUMICE_VOLK volk.h)
mark_as_advanced(PUMICE_VOLK)
set(PUMICE_HAS_GLFW OFF)
if(glfw3_FOUND AND PUMICE_VOLK)
    set(PUMICE_HAS_GLFW ON)
endif()
