# The C library: loaded with sleeping waits, called so that its failures become conditions.

.onLoad <- function(libname, pkgname) {
  # OpenMP reads this once, when it is loaded: threads that spin while they wait are slow on a busy machine.
  given <- Sys.getenv("OMP_WAIT_POLICY", NA)
  if (is.na(given)) Sys.setenv(OMP_WAIT_POLICY = "passive")
  library.dynam("anygp", pkgname, libname)
  if (is.na(given)) Sys.unsetenv("OMP_WAIT_POLICY")
}

.onUnload <- function(libpath) library.dynam.unload("anygp", libpath)

# By the statuses of the C interface.
failure_classes <- c("100" = "agp_argument_error", "101" = "agp_data_error", "102" = "agp_file_error",
                     "103" = "agp_memory_error", "104" = "agp_numeric_error", "106" = "agp_stopped_error")

refuse <- function(..., class = "agp_argument_error", call = NULL) {
  stop(structure(class = c(class, "agp_error", "error", "condition"), list(message = paste0(...), call = call)))
}

native <- function(name, ...) {
  found <- .Call(name, ..., PACKAGE = "anygp")
  if (!inherits(found, "agp_failure")) return(found)
  refuse(unclass(found)[[1]], class = stats::na.omit(failure_classes[as.character(attr(found, "status"))]))
}

# What the library had to say during a call.
tell <- function(notes) {
  for (k in seq_along(notes)) {
    if (names(notes)[k] == "warning") warning(notes[[k]], call. = FALSE) else message("anygp: ", notes[[k]])
  }
}

# The model of an object.  A session that was saved and loaded again has lost the pointer and still has the bytes.
handle <- function(object) {
  box <- object$box
  if (native("agp_is_gone", box$pointer)) box$pointer <- native("agp_from_bytes", box$bytes)
  box$pointer
}

new_box <- function(pointer) {
  box <- new.env(parent = emptyenv())
  box$pointer <- pointer
  box$bytes <- native("agp_to_bytes", pointer)
  box
}

agp_settings <- function() {
  found <- as.data.frame(native("agp_setting_table"), stringsAsFactors = FALSE)
  found <- found[grepl("[fF]", found$commands), c("name", "type", "default", "choices", "help")]
  rownames(found) <- NULL
  found
}

agp_models <- function() as.data.frame(native("agp_model_table"), stringsAsFactors = FALSE)
