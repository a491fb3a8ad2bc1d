# `cmake --install`, find_package(pumice) and pkg-config.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pumice)

# Public: all of core (it has no third-party header), what users call of autodiff, the umbrella, and one header each of
# code generation and Vulkan. tests/layering checks that these are closed under inclusion and name no third-party header.
set(PUMICE_PUBLIC_HEADERS autodiff/annotations.h autodiff/autodiff.h autodiff/call.h autodiff/check_gradient.h autodiff/custom.h
    autodiff/functions.h autodiff/program.h autodiff/traced.h autodiff/traced_struct.h autodiff/transform.h core/*.h core/*.def codegen/codegen.h
    vulkan/wrap.h pumice/*.h)
install(CODE "
    set(SOURCE \"${PROJECT_SOURCE_DIR}\")
    set(TARGET \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/pumice\")
    set(HEADERS \"${PUMICE_PUBLIC_HEADERS}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake\")")

install(TARGETS pumice EXPORT pumice-targets)
install(EXPORT pumice-targets NAMESPACE pumice:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pumice-config.cmake.in ${PROJECT_BINARY_DIR}/pumice-config.cmake
    INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pumice-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pumice-config.cmake ${PROJECT_BINARY_DIR}/pumice-config-version.cmake
    DESTINATION ${package_folder})
# Its paths begin where it stands, since the prefix may be chosen as late as `cmake --install --prefix`.
file(RELATIVE_PATH PUMICE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/pumice.pc.in ${PROJECT_BINARY_DIR}/pumice.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pumice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
