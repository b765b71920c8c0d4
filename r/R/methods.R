# What a fitted model says about itself.

print.agp <- function(x, ...) {
  about <- info(x)
  cat("Gaussian process (", about$model, ", ", about$likelihood$name, ") on ", format(about$rows), " rows and ",
      length(x$inputs), if (length(x$inputs) == 1) " input\n" else " inputs\n", sep = "")
  if (!is.null(x$call)) cat("Call:  ", paste(deparse(x$call), collapse = "\n"), "\n", sep = "")
  cat("Kernel:  ", short_numbers(about$kernel), "\n", sep = "")
  score <- scores(about)
  if (length(score$values)) cat(score$kind, ":  ", paste(names(score$values), signif(score$values, 4), collapse = ", "), "\n", sep = "")
  invisible(x)
}

short_numbers <- function(text) {
  found <- gregexpr("(?<=[=,\\[])-?[0-9][0-9.e+-]*", text, perl = TRUE)
  regmatches(text, found) <- lapply(regmatches(text, found), function(t) format(signif(as.numeric(t), 4), trim = TRUE,
                                                                                drop0trailing = TRUE))
  text
}

# The scores of the fit, the best kind that there is.
scores <- function(about, wanted = c("rmse", "mnlp", "accuracy", "logloss", "coverage95")) {
  kinds <- c(leave_one_out = "Leave-one-out", valid = "Held-out rows", training = "Training rows")
  for (kind in names(kinds)) {
    values <- unlist(about$scores[[kind]])
    if (length(values)) return(list(kind = kinds[[kind]], values = values[intersect(wanted, names(values))], all = values))
  }
  list(kind = "", values = numeric(), all = numeric())
}

summary.agp <- function(object, ...) {
  about <- info(object)
  structure(class = "summary.agp", list(call = object$call, text = native("agp_info", handle(object), FALSE),
                                        coefficients = coef(object), scores = scores(about)$all, info = about))
}

print.summary.agp <- function(x, ...) {
  if (!is.null(x$call)) cat("Call:  ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  cat(x$text)
  invisible(x)
}

formula.agp <- function(x, ...) if (is.null(x$terms)) NULL else stats::formula(x$terms)
nobs.agp <- function(object, ...) info(object)$rows
fitted.agp <- function(object, ...) predict(object, ...)

residuals.agp <- function(object, ...) {
  if (length(object$classes)) refuse("classes have no residuals; use predict(type = \"prob\")")
  as.double(days(model.response(training_rows(object)))) - predict(object, ...)
}

# ----------------------------------------------------------------------------------------------- coefficients

not_learned <- c("dims", "components", "order", "degree")

# "lengthscale=[1,2],dims=[0]" as a list of numbers by name.
arguments_of <- function(text) {
  found <- regmatches(text, gregexpr("[a-z0-9_]+=(\\[[^]]*\\]|[^],[]+)", text))[[1]]
  values <- lapply(sub("^[^=]*=", "", found), function(t) suppressWarnings(as.numeric(strsplit(gsub("[][]", "", t), ",")[[1]])))
  stats::setNames(values, sub("=.*", "", found))
}

# One name per number of a vector: those of the inputs where it has one for each.
labels_of <- function(kind, values, dims, inputs, text) {
  if (length(values) == 1) return("")
  on <- if (!is.null(dims)) inputs[dims + 1] else if (kind == "categorical") inputs[text] else inputs[!text]
  paste0(".", if (length(on) == length(values)) on else seq_along(values))
}

kernel_coefficients <- function(expression, inputs, text) {
  terms <- regmatches(expression, gregexpr("[a-z0-9]+\\([^()]*\\)", expression))[[1]]
  kinds <- make.unique(sub("\\(.*", "", terms))
  found <- numeric()
  for (k in seq_along(terms)) {
    args <- arguments_of(sub("\\)$", "", sub("^[^(]*\\(", "", terms[k])))
    for (name in setdiff(names(args), not_learned)) {
      labels <- labels_of(sub("\\..*", "", kinds[k]), args[[name]], args$dims, inputs, text)
      found <- c(found, stats::setNames(args[[name]], paste0(kinds[k], ".", name, labels)))
    }
  }
  found
}

coef.agp <- function(object, ...) {
  about <- info(object)
  used <- about$data$inputs[vapply(about$data$inputs, function(i) isTRUE(i$used), NA)]
  names <- object$inputs[vapply(about$data$inputs, function(i) isTRUE(i$used), NA)]
  text <- vapply(used, function(i) isTRUE(i$text), NA)
  likelihood <- unlist(about$likelihood$parameters)
  if (length(likelihood)) names(likelihood) <- paste0(about$likelihood$name, ".", names(likelihood))
  c(kernel_coefficients(about$kernel, names, text), likelihood)
}

# The model's objective as a density of y in the units of the data: the model saw y divided by its scale.
logLik.agp <- function(object, ...) {
  about <- info(object)
  objective <- about$objective
  if (!is.numeric(objective$value)) refuse("this model has no objective that is a likelihood")
  if (!isTRUE(objective$exact)) {
    warning("the value is the ", objective$name, " of an approximate model, not a log likelihood", call. = FALSE)
  }
  scale <- if (length(object$classes) || !is.numeric(about$data$target$scale)) 1 else about$data$target$scale
  structure(objective$value - objective$n * log(scale), class = "logLik", df = length(coef(object)), nobs = objective$n)
}
