# `cmake --install`, find_package(pumice) and pkg-config. PUMICE_PUBLIC_HEADERS are cmake/headers.cmake's.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pumice)

install(CODE "
    set(SOURCE \"${PROJECT_SOURCE_DIR}\")
    set(TARGET \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/pumice\")
    set(HEADERS \"${PUMICE_PUBLIC_HEADERS}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake\")")

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS pumice pumice_rt pumice_rt_shared pumice_rt_math EXPORT pumice-targets)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/pumice_add_library.cmake DESTINATION ${package_folder})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake/ship DESTINATION ${package_folder})
install(TARGETS pumice_inspect)
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
