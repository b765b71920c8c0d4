library(testthat)
library(anygp)
test_check("anygp")
