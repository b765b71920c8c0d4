# Pictures, with base graphics alone.

plot.agp <- function(x, what = c("auto", "curve", "map", "observed", "effect", "trace"), input = NULL, points = 60,
                     level = 0.95, ...) {
  what <- match.arg(what)
  numeric <- x$inputs[vapply(x$levels[x$inputs], is.null, NA)]
  if (what == "auto") {
    what <- if (length(x$classes) || is.null(x$frame)) "trace"
            else if (length(x$inputs) == 1 && length(numeric) == 1) "curve"
            else if (length(x$inputs) == 2 && length(numeric) == 2) "map" else "observed"
  }
  switch(what,
    curve = plot_effect(x, if (is.null(input)) numeric[1] else input, points, level, TRUE, ...),
    effect = plot_effect(x, if (is.null(input)) numeric[1] else input, points, level, FALSE, ...),
    map = plot_map(x, if (is.null(input)) numeric[seq_len(min(2, length(numeric)))] else input, points, ...),
    observed = plot_observed(x, level, ...),
    trace = plot_trace(x, ...))
  invisible(x)
}

# Rows that differ from the typical one (medians, most frequent categories) in the given columns only.
typical_rows <- function(x, given) {
  frame <- training_rows(x)
  variables <- all.vars(delete.response(x$terms))
  if (!all(variables %in% names(frame))) {
    refuse("pictures over inputs need a formula of plain columns, without functions such as log(x)")
  }
  middle <- function(column) {
    if (is_text(column)) return(names(which.max(table(column))))
    if (is.logical(column)) return(stats::median(column) > 0.5)
    m <- stats::median(as.numeric(column), na.rm = TRUE)
    if (inherits(column, c("Date", "POSIXct"))) structure(m, class = class(column)) else m
  }
  n <- length(given[[1]])
  columns <- lapply(variables, function(v) if (v %in% names(given)) given[[v]] else rep(middle(frame[[v]]), n))
  as.data.frame(stats::setNames(columns, variables), stringsAsFactors = FALSE)
}

span <- function(x, name, count) {
  if (!name %in% names(training_rows(x)) || is_text(x$frame[[name]])) refuse("there is no numeric input ", name)
  column <- as.numeric(x$frame[[name]])
  seq(min(column, na.rm = TRUE), max(column, na.rm = TRUE), length.out = count)
}

target_name <- function(x) names(training_rows(x))[attr(x$terms, "response")]

plot_effect <- function(x, input, count, level, with_rows, xlab = input, ylab = target_name(x), ...) {
  at <- span(x, input, max(count, 2))
  rows <- typical_rows(x, stats::setNames(list(at), input))
  y <- as.numeric(model.response(training_rows(x)))
  f <- predict(x, rows, interval = "confidence", level = level)
  wide <- predict(x, rows, interval = "prediction", level = level)
  range_y <- range(wide, f, if (with_rows) y, finite = TRUE)
  plot(at, f[, "fit"], type = "n", xlab = xlab, ylab = ylab, ylim = range_y, ...)
  polygon(c(at, rev(at)), c(wide[, "lwr"], rev(wide[, "upr"])), border = NA, col = adjustcolor("#0072B2", 0.15))
  polygon(c(at, rev(at)), c(f[, "lwr"], rev(f[, "upr"])), border = NA, col = adjustcolor("#0072B2", 0.3))
  if (with_rows) points(as.numeric(x$frame[[input]]), y, pch = 16, cex = 0.6, col = adjustcolor("black", 0.5))
  lines(at, f[, "fit"], lwd = 2, col = "#0072B2")
}

# Mean and standard deviation over two inputs, side by side.
plot_map <- function(x, inputs, count, xlab = inputs[1], ylab = inputs[2], rows = TRUE, ...) {
  if (length(inputs) != 2) refuse("a map needs two numeric inputs; name them with input = c(\"...\", \"...\")")
  at <- lapply(inputs, function(name) span(x, name, count))
  grid <- expand.grid(at[[1]], at[[2]])
  found <- predict(x, typical_rows(x, stats::setNames(as.list(grid), inputs)), type = "link", se.fit = TRUE)
  before <- par(mfrow = c(1, 2))
  on.exit(par(before))
  panels <- list(list(found$fit, paste("mean of", target_name(x)), "viridis"),
                 list(found$se.fit, "standard deviation", "YlOrRd"))
  for (panel in panels) {
    z <- matrix(panel[[1]], count)
    image(at[[1]], at[[2]], z, col = hcl.colors(64, panel[[3]], rev = panel[[3]] != "viridis"), xlab = xlab, ylab = ylab,
          main = panel[[2]], ...)
    if (diff(range(z)) > 0) contour(at[[1]], at[[2]], z, nlevels = 6, add = TRUE)
    if (rows) points(x$frame[[inputs[1]]], x$frame[[inputs[2]]], pch = ".", cex = 2)
  }
}

plot_observed <- function(x, level, most = 2000, xlab = "predicted", ylab = paste("observed", target_name(x)), ...) {
  if (length(x$classes)) refuse("the target is a class; plot(what = \"trace\") is what there is for it")
  y <- as.numeric(model.response(training_rows(x)))
  f <- predict(x, interval = "prediction", level = level)
  some <- if (length(y) > most) round(seq(1, length(y), length.out = most)) else seq_along(y)
  plot(f[some, "fit"], y[some], type = "n", xlab = xlab, ylab = ylab, xlim = range(f[some, ], finite = TRUE), ...)
  segments(f[some, "lwr"], y[some], f[some, "upr"], y[some], col = adjustcolor("#0072B2", 0.2))
  points(f[some, "fit"], y[some], pch = 16, cex = 0.6)
  abline(0, 1, lty = 2)
}

plot_trace <- function(x, xlab = "seconds", ylab = NULL, ...) {
  about <- info(x)
  if (length(about$trace$objective) < 2) refuse("the model has no trace of its training")
  plot(about$trace$seconds, about$trace$objective, type = "b", pch = 16, cex = 0.5, xlab = xlab,
       ylab = if (is.null(ylab)) about$objective$name else ylab, ...)
}
