# Predictions, draws, new rows.

training_rows <- function(object) {
  if (is.null(object$frame)) {
    refuse("the model does not hold the rows it was fitted to; give newdata")
  }
  object$frame
}

inputs_at <- function(object, newdata) {
  if (!is.null(newdata)) return(new_inputs(object, newdata))
  frame <- training_rows(object)
  inside <- !grepl("^\\((weights|exposure)\\)$", names(frame))
  inside[attr(object$terms, "response")] <- FALSE
  numbers(flat(frame[inside]), object$levels)
}

exposure_at <- function(object, newdata, exposure, n) {
  if (is.null(exposure) && is.null(newdata)) exposure <- training_rows(object)[["(exposure)"]]
  if (is.null(exposure)) return(NULL)
  if (!length(exposure) %in% c(1, n)) refuse("exposure has ", length(exposure), " values for ", n, " rows")
  rep_len(as.double(exposure), n)
}

predict.agp <- function(object, newdata = NULL, type = c("response", "link", "prob", "class", "quantile"), se.fit = FALSE,
                        interval = c("none", "prediction", "confidence"), level = 0.95, probs = c(0.025, 0.5, 0.975),
                        exposure = NULL, ...) {
  type <- match.arg(type)
  interval <- match.arg(interval)
  X <- inputs_at(object, newdata)
  if (length(object$classes) && type != "link") return(predict_classes(object, X, type, se.fit, interval))
  if (type %in% c("prob", "class")) refuse("the target is a number; type = \"", type, "\" is for classes")
  exposure <- exposure_at(object, newdata, exposure, ncol(X))
  latent <- type == "link"
  if (type == "quantile") return(quantiles(object, X, exposure, FALSE, probs))
  found <- native("agp_predict", handle(object), X, exposure, latent, se.fit)
  mean <- found[[1]]
  if (interval != "none") {
    half <- (1 - level) / 2
    limits <- quantiles(object, X, exposure, latent || interval == "confidence", c(half, 1 - half))
    mean <- cbind(fit = mean, lwr = limits[, 1], upr = limits[, 2])
  }
  if (se.fit) list(fit = mean, se.fit = sqrt(found[[2]])) else mean
}

quantiles <- function(object, X, exposure, latent, probs) {
  if (!is.numeric(probs) || any(!(probs > 0 & probs < 1))) refuse("probabilities must be between 0 and 1")
  found <- native("agp_quantiles", handle(object), X, exposure, latent, as.double(probs))
  colnames(found) <- paste0(format(100 * probs, trim = TRUE, digits = 4), "%")
  found
}

predict_classes <- function(object, X, type, se.fit, interval) {
  if (se.fit || interval != "none") refuse("classes have no standard error and no interval; use type = \"prob\"")
  if (type == "quantile") refuse("classes have no quantiles; use type = \"prob\"")
  P <- native("agp_proba", handle(object), X)
  colnames(P) <- object$classes
  if (type == "prob") P else factor(object$classes[max.col(P, "first")], object$classes)
}

simulate.agp <- function(object, nsim = 1, seed = NULL, newdata = NULL, type = c("response", "link"), ...) {
  type <- match.arg(type)
  if (is.null(seed)) seed <- sample.int(.Machine$integer.max, 1)
  if (!is.numeric(nsim) || nsim < 1) refuse("nsim must be at least 1")
  draws <- native("agp_sample", handle(object), inputs_at(object, newdata), type == "link", as.double(seed), as.integer(nsim))
  found <- as.data.frame(draws)
  if (length(object$classes) && type == "response") {
    found[] <- lapply(found, function(k) factor(object$classes[k + 1], object$classes))
  }
  names(found) <- paste0("sim_", seq_len(nsim))
  structure(found, seed = seed)
}

# New rows for a fitted model, without the old ones; without newdata a fit with other arguments, as usual.
update.agp <- function(object, newdata = NULL, ..., weights = NULL, exposure = NULL) {
  if (!is.data.frame(newdata)) {
    if (is.null(object$call)) refuse("a model from a file cannot be fitted again; give newdata with rows to add")
    call <- if (inherits(newdata, "formula")) stats::update.default(object, newdata, ..., evaluate = FALSE)
            else stats::update.default(object, ..., evaluate = FALSE)
    return(eval(call, parent.frame()))
  }
  y <- new_response(object, newdata)
  X <- new_inputs(object, newdata)
  settings <- setting_texts(list(...))
  pointer <- native("agp_from_bytes", object$box$bytes) # the object given stays as it is
  notes <- native("agp_update", pointer, as.character(names(settings)), as.character(unname(settings)), X, y,
                  if (!is.null(weights)) as.double(weights), if (!is.null(exposure)) as.double(exposure))
  tell(notes)
  object$box <- new_box(pointer)
  object["frame"] <- list(NULL) # it no longer holds all rows
  object
}

new_response <- function(object, newdata) {
  name <- NULL
  if (is.null(object$terms)) {
    name <- info(object)$data$target$name
    if (!isTRUE(name %in% names(newdata))) refuse("newdata has no column ", name, class = "agp_data_error")
    y <- newdata[[name]]
  } else {
    y <- model.response(stats::model.frame(object$terms, newdata, na.action = na.pass))
  }
  if (!length(object$classes) || is.numeric(y)) return(as.double(days(y)))
  place <- match(as.character(y), object$classes) - 1
  if (any(bad <- is.na(place) & !is.na(y))) {
    refuse("class ", as.character(y)[bad][1], " is not one of the model's: ", paste(object$classes, collapse = ", "),
           class = "agp_data_error")
  }
  place
}
