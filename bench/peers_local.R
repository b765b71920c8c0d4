# The peers' side of peers_local.sh, which runs it: Rscript peers_local.R WHAT ARGUMENTS...  Prints one line of numbers; seconds are
# processor seconds of the work itself, without the start of R and the reading of files.
arguments <- commandArgs(trailingOnly = TRUE)
what <- arguments[1]
number <- function(k) as.numeric(arguments[k])
taken <- function(work) sum(system.time(work)[1:2])
places <- function(file) {
    rows <- as.matrix(read.csv(file))
    list(x = rows[, 1:2], y = rows[, 3])
}
line <- function(...) cat(sprintf("%.10g", c(...)), "\n")

if (what == "have") { # PACKAGE
    cat(requireNamespace(arguments[2], quietly = TRUE), "\n")
} else if (what == "gpgp_fit") { # TRAIN: seconds, variance, range, nugget over variance, log likelihood
    library(GpGp)
    train <- places(arguments[2])
    set.seed(1)
    seconds <- taken(fit <- fit_model(train$y, train$x, covfun_name = "exponential_isotropic", m_seq = c(10, 30), silent = TRUE))
    line(seconds, fit$covparms, fit$loglik)
} else if (what == "gpgp_loglik") { # TRAIN VARIANCE RANGE NUGGET: log likelihood with 30 neighbours, a constant mean at its best
    library(GpGp)
    train <- places(arguments[2])
    set.seed(1)
    order <- sample(length(train$y))
    near <- find_ordered_nn(train$x[order, ], m = 30)
    line(vecchia_profbeta_loglik(c(number(3), number(4), number(5)), "exponential_isotropic", train$y[order], matrix(1, length(order), 1), train$x[order, ], near)$loglik)
} else if (what == "gpgp_evaluation") { # DATA: seconds of ordering and neighbours, of grouping, of one evaluation, of one with groups
    library(GpGp)
    data <- places(arguments[2])
    set.seed(1)
    order <- sample(length(data$y))
    x <- data$x[order, ]
    y <- data$y[order]
    one <- matrix(1, length(y), 1)
    parameters <- c(1, 0.1, 0.05)
    before <- taken(near <- find_ordered_nn(x, m = 30))
    plain <- taken(vecchia_profbeta_loglik_grad_info(parameters, "exponential_isotropic", y, one, x, near))
    grouping <- taken(groups <- group_obs(near))
    grouped <- taken(vecchia_grouped_profbeta_loglik_grad_info(parameters, "exponential_isotropic", y, one, x, groups))
    line(before, grouping, plain, grouped)
} else if (what == "gpboost") { # TRAIN TEST: seconds of a fit with 30 neighbours, of the predictions with variances; rmse; cover of 95 %; variance, range, nugget over variance, log likelihood
    suppressMessages(library(gpboost))
    train <- places(arguments[2])
    test <- places(arguments[3])
    fitted <- taken(fit <- fitGPModel(gp_coords = train$x, cov_function = "exponential", gp_approx = "vecchia", num_neighbors = 30, num_parallel_threads = 1,
        y = train$y, X = matrix(1, length(train$y), 1), seed = 1))
    predicted <- taken(p <- predict(fit, gp_coords_pred = test$x, X_pred = matrix(1, nrow(test$x), 1), predict_var = TRUE, predict_response = TRUE))
    known <- !is.na(test$y)
    off <- p$mu[known] - test$y[known]
    found <- as.numeric(fit$get_cov_pars())
    line(fitted, predicted, sqrt(mean(off^2)), mean(abs(off) < qnorm(0.975) * sqrt(p$var[known])), found[2], found[3], found[1] / found[2], -fit$get_current_neg_log_likelihood())
} else if (what == "nngp") { # TRAIN TEST VARIANCE RANGE NUGGET: seconds, rmse
    suppressMessages(library(spNNGP))
    train <- places(arguments[2])
    test <- places(arguments[3])
    theta <- c(phi = 1 / number(5), alpha = number(6))
    seconds <- taken(fit <- spConjNNGP(train$y ~ 1, coords = train$x, n.neighbors = 30, theta.alpha = theta, sigma.sq.IG = c(2, number(4)), cov.model = "exponential",
        X.0 = matrix(1, nrow(test$x), 1), coords.0 = test$x, n.omp.threads = 1, verbose = FALSE))
    line(seconds, sqrt(mean((fit$y.0.hat - test$y)^2)))
} else if (what == "lagp") { # TRAIN ROWS DESIGN D NUGGET MEANS: seconds per row, rmse; means into a file
    library(laGP)
    train <- places(arguments[2])
    rows <- places(arguments[3])
    seconds <- taken(means <- aGP(train$x, train$y, rows$x, 6, 50, d = list(start = number(5), mle = FALSE), g = list(start = number(6), mle = FALSE),
        method = arguments[4], close = 1000, Xi.ret = FALSE, omp.threads = 1, verb = 0)$mean)
    write(formatC(means, digits = 17), arguments[7], ncolumns = 1)
    line(seconds / length(means), sqrt(mean((means - rows$y)^2)))
} else {
    stop("peers_local.R have|gpgp_fit|gpgp_loglik|gpgp_evaluation|gpboost|nngp|lagp ARGUMENTS...")
}
