# libanygp-predict: the same objects, linked so that only what loads models and predicts remains.  It needs neither HDF5 nor zlib nor
# MPI, whatever the library itself was built with; with -DANYGP_BLAS=OFF also no BLAS.
add_library(anygp_predict SHARED $<TARGET_OBJECTS:anygp_objects>)
add_library(anygp::anygp_predict ALIAS anygp_predict)
target_link_libraries(anygp_predict PRIVATE anygp_flags ${ANYGP_LIBS})
target_link_options(anygp_predict PRIVATE -Wl,${ANYGP_WRAP} -Wl,--gc-sections -Wl,--as-needed
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/anygp-predict.map)
target_include_directories(anygp_predict INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
set_target_properties(anygp_predict PROPERTIES OUTPUT_NAME anygp-predict VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/anygp-predict.map)
target_compile_options(anygp_objects PRIVATE -ffunction-sections -fdata-sections)
