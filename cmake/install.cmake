# What `cmake --install` puts where: libraries, header, program, man pages, completion, and the two ways to find them.
install(TARGETS anygp anygp_static EXPORT anygp
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(ANYGP_PREDICTOR)
  install(TARGETS anygp_predict EXPORT anygp LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS anygp_main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/anygp/anygp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/anygp)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Where bash-completion, zsh and fish look for those of packages.
install(FILES ${PROJECT_BINARY_DIR}/completion/anygp DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_BINARY_DIR}/completion/_anygp DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_BINARY_DIR}/completion/anygp.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# find_package(anygp): anygp::anygp is the shared library, anygp::anygp_static the other.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/anygp)
install(EXPORT anygp NAMESPACE anygp:: FILE anygpTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/anygpConfig.cmake.in ${PROJECT_BINARY_DIR}/anygpConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/anygpConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/anygpConfig.cmake ${PROJECT_BINARY_DIR}/anygpConfigVersion.cmake
  DESTINATION ${package_dir})

# pkg-config: `--libs anygp` for the shared library, `--libs anygp-static` for the other.  (`--static --libs anygp` is for
# programs that are static as a whole: beside a libanygp.so the linker takes that for -lanygp.)
if(ANYGP_BLAS)
  get_filename_component(blas_dir ${ANYGP_BLAS_LIBRARY} DIRECTORY)
  if(NOT blas_dir IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    set(pc_libs "-L${blas_dir} -Wl,-rpath,${blas_dir}")
  endif()
  foreach(library ${ANYGP_LAPACK_LIBRARY} ${ANYGP_BLAS_LIBRARY})
    get_filename_component(name ${library} NAME_WE)
    string(REGEX REPLACE "^lib" " -l" name ${name})
    string(APPEND pc_libs "${name}")
  endforeach()
endif()
string(APPEND pc_libs " ${OpenMP_C_FLAGS}")
if(MVEC)
  string(APPEND pc_libs " -lmvec")
endif()
if(ANYGP_MPI)
  list(JOIN MPI_C_LIBRARIES " " mpi_libs)
  string(APPEND pc_libs " ${mpi_libs}")
endif()
foreach(package anygp anygp-static)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
