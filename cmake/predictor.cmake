# libanygp-predict: the same objects, linked so that only what loads models and predicts remains.  It needs neither HDF5 nor zlib nor
# MPI, whatever the library itself was built with; with -DANYGP_BLAS=OFF also no BLAS.  What nothing public needs is left out in a link of
# its own: --as-needed looks at the names that are missing before --gc-sections takes any of them away.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/anygp-predict.map predict_lines REGEX "anygp_")
string(REGEX MATCHALL "anygp_[a-z_]+" predict_names "${predict_lines}")
list(TRANSFORM predict_names PREPEND "--undefined=")
set(predict_object ${PROJECT_BINARY_DIR}/anygp_predict.o)
add_custom_command(OUTPUT ${predict_object}
  COMMAND ${CMAKE_LINKER} -r -d --gc-sections ${ANYGP_WRAP} ${predict_names} -o ${predict_object} $<TARGET_OBJECTS:anygp_objects>
  DEPENDS anygp_objects $<TARGET_OBJECTS:anygp_objects> ${PROJECT_SOURCE_DIR}/cmake/anygp-predict.map COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${predict_object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_library(anygp_predict SHARED ${predict_object})
add_library(anygp::anygp_predict ALIAS anygp_predict)
target_link_libraries(anygp_predict PRIVATE anygp_flags ${ANYGP_LIBS})
target_link_options(anygp_predict PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/anygp-predict.map)
target_include_directories(anygp_predict INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
set_target_properties(anygp_predict PROPERTIES OUTPUT_NAME anygp-predict LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/anygp-predict.map)
target_compile_options(anygp_objects PRIVATE -ffunction-sections -fdata-sections)
