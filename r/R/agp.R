# Fitting.

family_names <- c(binomial = "bernoulli", quasibinomial = "bernoulli", gaussian = "gaussian", poisson = "poisson",
                  quasipoisson = "poisson", multinomial = "softmax", negative.binomial = "negbin")

# The likelihood's name, or NULL for the library's default.
likelihood_of <- function(family, y) {
  if (is.null(family)) {
    if (!is_text(y) && !is.logical(y)) return(NULL)
    name <- if (length(unique(y[!is.na(y)])) > 2) "softmax" else "bernoulli"
    message("anygp: the target is a class, so family = \"", name, "\"")
    return(name)
  }
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) {
    if (family$family == "binomial" && family$link == "probit") return("bernoulli(link=probit)")
    family <- if (startsWith(family$family, "Negative Binomial")) "negbin" else family$family
  }
  if (family %in% names(family_names)) family_names[[family]] else family
}

# Settings by name as the library has them: inducing_from is inducing-from; TRUE and FALSE are yes and no.
setting_texts <- function(settings) {
  if (length(settings) && (is.null(names(settings)) || any(names(settings) == ""))) {
    refuse("every setting needs its name, such as inducing = 200; see agp_settings()")
  }
  names(settings) <- gsub("[._]", "-", names(settings))
  settings <- settings[!vapply(settings, is.null, NA)]
  for (name in setdiff(names(settings), native("agp_setting_table")$name)) {
    nearest <- native("agp_nearest_setting", name)
    refuse("there is no argument or setting ", name, if (nzchar(nearest)) paste0("; did you mean ", gsub("-", "_", nearest)),
           "; agp_settings() lists them")
  }
  text <- function(value) {
    if (is.logical(value)) c("no", "yes")[value + 1]
    else if (is.numeric(value)) format(value, digits = 17, scientific = FALSE, trim = TRUE)
    else as.character(value)
  }
  unlist(lapply(settings, text))
}

# The response as numbers, and its classes or NULL.
response_of <- function(y) {
  if (is.logical(y)) y <- factor(y, c(FALSE, TRUE))
  if (is_text(y)) {
    classes <- levels_of(y)
    return(list(y = match(as.character(y), classes) - 1, classes = classes))
  }
  if (!is.null(dim(y))) refuse("the response must be one column; fit several targets one by one")
  y <- days(y)
  if (!is.numeric(y)) refuse("the response must be numbers, a factor, text or logical")
  list(y = as.double(y), classes = NULL)
}

fit_frame <- function(frame, tt, settings, verbose, callback) {
  response <- response_of(model.response(frame))
  inside <- !grepl("^\\((weights|exposure)\\)$", names(frame))
  inside[attr(tt, "response")] <- FALSE
  columns <- flat(frame[inside])
  levels <- lapply(columns, function(column) if (is_text(column)) levels_of(column))
  X <- numbers(columns, levels)
  names_all <- c(names(columns), names(frame)[attr(tt, "response")])
  categories <- c(unname(levels), list(response$classes))
  exposure <- frame[["(exposure)"]]
  if (!is.null(exposure)) {
    X <- rbind(X, as.double(exposure))
    names_all <- append(names_all, "(exposure)", length(columns))
    categories <- append(categories, list(NULL), length(columns))
    settings <- c(settings, exposure = "(exposure)", target = names_all[length(names_all)])
  }
  y <- response$y
  y[is.na(y)] <- NaN
  weights <- model.weights(frame)
  found <- native("agp_fit", as.character(names(settings)), as.character(unname(settings)), X, y,
                  if (!is.null(weights)) as.double(weights), names_all, categories, verbose, callback)
  list(found = found, inputs = names(columns), levels = levels, classes = response$classes)
}

agp <- function(formula, data, model = NULL, kernel = NULL, family = NULL, weights, exposure, subset, na.action = na.omit, ...,
                keep = TRUE, verbose = FALSE, callback = NULL) {
  called <- match.call()
  if (!is.null(callback) && !is.function(callback)) refuse("callback must be a function of one argument")
  settings <- setting_texts(list(model = model, kernel = kernel, ...))
  fill <- identical(unname(settings["missing"]), "mean")
  parts <- called[c(1, match(c("formula", "data", "subset", "weights", "exposure"), names(called), 0))]
  parts[[1]] <- quote(stats::model.frame)
  parts$na.action <- quote(stats::na.pass)
  frame <- eval(parts, parent.frame())
  tt <- terms(frame)
  if (!attr(tt, "response")) refuse("the formula has no response; write for instance y ~ x1 + x2")
  check_terms(tt)
  likelihood <- likelihood_of(family, model.response(frame))
  if (!is.null(likelihood)) settings <- c(settings, likelihood = likelihood)
  frame <- drop_missing(frame, na.action, fill)
  fitted <- fit_frame(frame, tt, settings, verbose, callback)
  if (!is.null(fitted$found[[4]])) stop(fitted$found[[4]]) # the callback's own error
  tell(fitted$found[[2]])
  if (nzchar(fitted$found[[3]])) warning(fitted$found[[3]], call. = FALSE)
  as_agp(fitted$found[[1]], fitted$inputs, fitted$levels, fill, call = called, terms = tt,
         frame = if (keep) frame)
}

# An object of class agp.  The class names are the library's, in its order.
as_agp <- function(pointer, inputs, levels, fill, call = NULL, terms = NULL, frame = NULL) {
  structure(class = "agp", list(box = new_box(pointer), call = call, terms = terms, frame = frame, inputs = inputs,
                                levels = levels, fill = fill, classes = native("agp_classes", pointer)))
}

agp_save <- function(object, file) {
  native("agp_save", handle(object), as.character(file))
  invisible(file)
}

agp_load <- function(file) {
  pointer <- native("agp_load", as.character(file))
  about <- json_parse(native("agp_info", pointer, TRUE))
  if (!is.null(about$targets)) refuse(file, " holds a model of several targets, which this package does not read")
  inputs <- about$data$inputs
  names <- vapply(seq_along(inputs), function(j) if (is.character(inputs[[j]]$name) && nzchar(inputs[[j]]$name)) inputs[[j]]$name
                                                 else paste0("x", j), "")
  levels <- stats::setNames(lapply(inputs, function(i) if (isTRUE(i$text)) as.character(unlist(i$levels))), names)
  as_agp(pointer, names, levels, isTRUE(about$data$fill_missing))
}
