set.seed(8)
rows <- data.frame(a = runif(60), b = runif(60))
rows$z <- sin(5 * rows$a) + rows$b + rnorm(60, sd = 0.05)
fit <- suppressMessages(agp(z ~ a + b, rows, iters = 10))
new <- data.frame(a = c(0.2, 0.7), b = 0.5)

test_that("a model survives its file and the session", {
  file <- tempfile(fileext = ".agp")
  agp_save(fit, file)
  expect_equal(predict(agp_load(file), new), predict(fit, new))
  saved <- tempfile(fileext = ".rds")
  saveRDS(fit, saved)
  expect_equal(predict(readRDS(saved), new), predict(fit, new))
})

test_that("draws have the seed's values and the posterior's mean", {
  expect_identical(simulate(fit, 3, seed = 1, newdata = new), simulate(fit, 3, seed = 1, newdata = new))
  draws <- simulate(fit, 4000, seed = 2, newdata = new, type = "link")
  expect_equal(unname(rowMeans(draws)), predict(fit, new), tolerance = 0.02)
  expect_equal(dim(simulate(fit, 2)), c(60, 2))
})

test_that("update adds rows to a copy, or fits again", {
  sparse <- suppressMessages(agp(z ~ a + b, rows, model = "fitc", inducing = 15, iters = 5))
  more <- suppressMessages(update(sparse, transform(rows[1:5, ], a = a / 2)))
  expect_equal(nobs(more) - nobs(sparse), 5)
  grown <- suppressMessages(update(fit, transform(rows[1:5, ], a = a / 2)))
  expect_equal(nobs(grown) - nobs(fit), 5)
  unable <- suppressMessages(agp(z ~ a + b, rows, model = "sod", inducing = 15, iters = 2))
  expect_error(update(unable, rows), class = "agp_error")
  other <- suppressMessages(update(fit, kernel = "rbf"))
  expect_true("rbf.variance" %in% names(coef(other)))
})

test_that("coefficients are named by input", {
  expect_true(all(c("matern52.lengthscale.a", "matern52.lengthscale.b", "gaussian.noise") %in% names(coef(fit))))
})

test_that("it prints, and knows its rows", {
  expect_output(print(fit), "Gaussian process \\(exact, gaussian\\) on 60 rows and 2 inputs")
  expect_output(print(summary(fit)), "log evidence")
  expect_equal(residuals(fit), rows$z - fitted(fit))
  expect_equal(formula(fit), z ~ a + b, ignore_attr = TRUE)
})

test_that("pictures are drawn", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit, points = 8))
  expect_silent(plot(fit, "observed"))
  expect_silent(plot(fit, "effect", input = "b", points = 8))
  expect_silent(plot(fit, "trace"))
  expect_error(plot(fit, "map", input = "a"), "two numeric inputs")
})

test_that("tables of the library are data frames", {
  expect_true(all(c("kernel", "model", "inducing") %in% agp_settings()$name))
  expect_true("svgp" %in% agp_models()$name)
})

test_that("JSON is read", {
  text <- "{\"a\": [1, 2.5e-3, -4], \"b\": {\"c\": \"x\\\"\\u00e9\\n\", \"d\": null}, \"e\": [], \"f\": true, \"g\": [{\"h\": 1}]}"
  found <- anygp:::json_parse(text)
  expect_equal(found$a, c(1, 0.0025, -4))
  expect_equal(found$b$c, "x\"\u00e9\n")
  expect_true(is.na(found$b$d) && found$f && length(found$e) == 0)
  expect_equal(found$g[[1]]$h, 1)
})
