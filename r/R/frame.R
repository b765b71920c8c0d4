# From data frames to the matrices of the library: one row of numbers per column of the frame, texts as indices of their categories.

days <- function(column) {
  if (inherits(column, "POSIXt")) return(as.numeric(as.POSIXct(column)) / 86400)
  if (inherits(column, "difftime")) return(as.numeric(column, units = "days"))
  as.numeric(column)
}

is_text <- function(column) is.factor(column) || is.character(column)

levels_of <- function(column) if (is.factor(column)) levels(droplevels(column)) else sort(unique(column[!is.na(column)]))

# Matrices in a frame (cbind, poly) are several columns.
flat <- function(frame) {
  parts <- lapply(names(frame), function(name) {
    column <- frame[[name]]
    if (is.null(dim(column))) return(stats::setNames(list(column), name))
    labels <- if (is.null(colnames(column))) seq_len(ncol(column)) else colnames(column)
    column <- unclass(column)
    stats::setNames(lapply(seq_len(ncol(column)), function(j) as.vector(column[, j])), paste0(name, ".", labels))
  })
  do.call(c, parts)
}

# The columns that a formula names on its right-hand side, and nothing that only a linear model could use.
check_terms <- function(tt) {
  if (length(attr(tt, "offset"))) refuse("a Gaussian process has no offset; for counts, give exposure = instead")
  order <- attr(tt, "order")
  if (any(order > 1)) {
    refuse("interactions such as ", attr(tt, "term.labels")[order > 1][1],
           " have no meaning here, since a kernel combines all of its inputs; list the inputs with +")
  }
  if (!length(order)) refuse("the formula names no input; write for instance y ~ x1 + x2, or y ~ . for all columns")
}

# d x n, with unseen categories behind the known ones; levels: a list with NULL for numbers.
numbers <- function(columns, levels) {
  unseen <- character()
  rows <- lapply(names(columns), function(name) {
    column <- columns[[name]]
    known <- levels[[name]]
    if (is.null(known)) {
      if (is_text(column)) refuse("column ", name, " holds text, and the model has numbers there", class = "agp_data_error")
      return(days(column))
    }
    column <- as.character(column)
    new <- setdiff(unique(column[!is.na(column)]), known)
    if (length(new)) unseen <<- c(unseen, name)
    match(column, c(known, new)) - 1
  })
  if (length(unseen)) {
    warning("categories that the model has not seen, in: ", paste(unseen, collapse = ", "), "; each counts as a new one",
            call. = FALSE)
  }
  X <- do.call(rbind, rows)
  storage.mode(X) <- "double"
  X[is.na(X)] <- NaN
  X
}

# Rows with missing cells go, with a sentence, unless the library is to fill them in.
drop_missing <- function(frame, na.action, fill) {
  if (fill || is.null(na.action)) return(frame)
  holes <- vapply(frame, anyNA, NA)
  kept <- na.action(frame)
  lost <- nrow(frame) - nrow(kept)
  if (lost) {
    message("anygp: ", lost, if (lost == 1) " row was" else " rows were", " left out for missing values in ",
            paste(utils::head(names(frame)[holes], 5), collapse = ", "), if (sum(holes) > 5) ", ...",
            "; missing = \"mean\" would fill in the mean of an input")
  }
  if (!nrow(kept)) refuse("every row has a missing value; nothing is left to fit", class = "agp_data_error")
  kept
}

# The inputs of new rows, d x n.  Without a formula (a model from a file) they are looked up by name.
new_inputs <- function(object, newdata) {
  if (!is.data.frame(newdata)) newdata <- as.data.frame(newdata)
  if (!is.null(object$terms)) {
    columns <- flat(stats::model.frame(delete.response(object$terms), newdata, na.action = na.pass))
  } else {
    absent <- setdiff(object$inputs, names(newdata))
    if (length(absent)) refuse("newdata has no column ", paste(absent, collapse = ", "), class = "agp_data_error")
    columns <- as.list(newdata[object$inputs])
  }
  if (!length(columns[[1]])) refuse("newdata has no row", class = "agp_data_error")
  X <- numbers(columns, object$levels)
  if (!object$fill && any(holes <- is.nan(rowSums(X)))) {
    refuse("newdata has missing values in ", paste(names(columns)[holes], collapse = ", "),
           "; leave these rows out, or fit with missing = \"mean\"", class = "agp_data_error")
  }
  X
}
