# The smallest data that still shows something; fits of a few steps.
set.seed(7)
curve_rows <- data.frame(x = seq(0, 6, length.out = 50))
curve_rows$y <- sin(curve_rows$x) + rnorm(50, sd = 0.1)
quiet <- function(...) suppressMessages(agp(...))
curve_fit <- quiet(y ~ x, curve_rows, kernel = "rbf")

test_that("a curve is found, and its intervals widen outside the data", {
  inside <- predict(curve_fit, data.frame(x = c(1, 4)), interval = "prediction")
  expect_equal(unname(inside[, "fit"]), sin(c(1, 4)), tolerance = 0.15)
  wide <- predict(curve_fit, data.frame(x = c(3, 20)), se.fit = TRUE)$se.fit
  expect_gt(wide[2], 3 * wide[1])
  expect_true(all(inside[, "lwr"] < inside[, "fit"] & inside[, "fit"] < inside[, "upr"]))
})

test_that("predictions are those of the definition at the learned hyperparameters", {
  k <- coef(curve_fit)
  se <- function(a, b) k[["rbf.variance"]] * exp(-outer(a, b, "-")^2 / (2 * k[["rbf.lengthscale"]]^2))
  at <- c(0.5, 2.2, 7)
  x <- curve_rows$x
  K <- se(x, x) + diag(k[["gaussian.noise"]], 50)
  # The model subtracts the mean of y.
  expected <- mean(curve_rows$y) + drop(se(at, x) %*% solve(K, curve_rows$y - mean(curve_rows$y)))
  variance <- diag(se(at, at) - se(at, x) %*% solve(K, se(x, at)))
  found <- predict(curve_fit, data.frame(x = at), type = "link", se.fit = TRUE)
  expect_equal(found$fit, expected, tolerance = 1e-6)
  expect_equal(found$se.fit^2, variance, tolerance = 1e-5)
  e <- curve_rows$y - mean(curve_rows$y)
  density <- -0.5 * (sum(e * solve(K, e)) + as.numeric(determinant(K)$modulus) + 50 * log(2 * pi))
  expect_equal(as.numeric(logLik(curve_fit)), density, tolerance = 1e-6)
})

test_that("confidence intervals are those of f, prediction intervals those of y", {
  at <- data.frame(x = 2)
  f <- predict(curve_fit, at, interval = "confidence")
  y <- predict(curve_fit, at, interval = "prediction")
  expect_lt(f[, "upr"] - f[, "lwr"], y[, "upr"] - y[, "lwr"])
  q <- predict(curve_fit, at, type = "quantile", probs = c(0.025, 0.975))
  expect_equal(unname(q[1, ]), unname(y[1, c("lwr", "upr")]), tolerance = 1e-10)
})

test_that("factors, text, logical and dates are inputs", {
  d <- data.frame(g = factor(rep(c("a", "b"), 20)), t = rep(c("u", "v", "w", "z"), 10), l = rep(c(TRUE, FALSE, FALSE), length.out = 40),
                  day = as.Date("2024-01-01") + 0:39)
  d$y <- ifelse(d$g == "a", 1, 3) + 0.1 * sin(1:40)
  fit <- quiet(y ~ ., d, iters = 10)
  expect_equal(predict(fit, d[1:2, ]), c(1, 3), tolerance = 0.3)
  expect_warning(predict(fit, transform(d[1, ], t = "new")), "not seen, in: t")
})

test_that("classes come back as they were given", {
  d <- data.frame(x = c(-3:-1, 1:3) + 0, label = rep(c("low", "high"), each = 3))
  expect_message(fit <- suppressWarnings(agp(label ~ x, rbind(d, d, d, d), inducing = 5, iters = 100, valid = 0)), "class")
  expect_equal(as.character(predict(fit, data.frame(x = c(-2, 2)))), c("low", "high"))
  P <- predict(fit, d, type = "prob")
  expect_equal(colnames(P), c("high", "low"))
  expect_equal(unname(rowSums(P)), rep(1, 6))
  expect_error(predict(fit, d, se.fit = TRUE), "no standard error")
})

test_that("counts have an exposure", {
  d <- data.frame(x = rep(1:10, 4) / 10, hours = rep(c(1, 4), each = 20))
  d$n <- rep(c(2, 8), each = 20)
  fit <- suppressMessages(agp(n ~ x, d, family = poisson(), exposure = hours, inducing = 5, iters = 60, valid = 0))
  twice <- predict(fit, d[1, ], exposure = 2) / predict(fit, d[1, ], exposure = 1)
  expect_equal(twice, 2, tolerance = 1e-6)
  expect_equal(length(predict(fit)), 40)
})

test_that("missing values are left out with a sentence, or filled in", {
  d <- curve_rows
  d$x[3] <- NA
  expect_message(fit <- agp(y ~ x, d, iters = 2), "1 row was left out for missing values in x")
  expect_equal(nobs(fit), 49)
  filled <- quiet(y ~ x, d, iters = 2, missing = "mean")
  expect_equal(nobs(filled), 50)
  expect_true(is.finite(predict(filled, data.frame(x = NA_real_))))
  expect_error(predict(fit, d), "missing values in x", class = "agp_data_error")
})

test_that("what cannot be done is said in a sentence, as a condition of a class", {
  expect_error(agp(y ~ x, curve_rows, inducin = 5), "did you mean inducing", class = "agp_argument_error")
  expect_error(agp(y ~ x, curve_rows, kernel = "nonsense"), class = "agp_argument_error")
  expect_error(agp(y ~ x * y, curve_rows), "interactions", class = "agp_error")
  expect_error(agp(y ~ 1, curve_rows), "names no input", class = "agp_error")
  expect_error(agp(y ~ offset(x), curve_rows), "offset", class = "agp_error")
  expect_error(agp_load(tempfile()), class = "agp_file_error")
  expect_error(predict(curve_fit, curve_rows, type = "prob"), "is for classes")
})

test_that("an interrupt ends a fit with the model so far, and so does a callback", {
  skip_on_os("windows")
  endless <- function(callback) {
    agp(y ~ x, curve_rows, model = "svgp", inducing = 20, iters = 1e7, time = "120s", callback = callback)
  }
  expect_warning(fit <- suppressMessages(endless(function(p) tools::pskill(Sys.getpid(), tools::SIGINT))), "stopped on request")
  expect_true(all(is.finite(predict(fit, curve_rows))))
  expect_warning(suppressMessages(endless(function(p) p$iteration > 2)), "stopped on request")
  expect_error(suppressMessages(endless(function(p) stop("mine"))), "mine")
})
