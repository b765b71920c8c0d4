# What `anygp info --json` prints, as an R list: objects are named lists, arrays of numbers are vectors, null is NA.

json_token <- '"(?:[^"\\\\]|\\\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[][{}:,]'

json_parse <- function(text) {
  tokens <- regmatches(text, gregexpr(json_token, text, perl = TRUE))[[1]]
  at <- 0
  take <- function() {
    at <<- at + 1
    tokens[[at]]
  }
  items <- function(end, one) {
    found <- list()
    if (tokens[[at + 1]] == end) at <<- at + 1
    else repeat {
      found[[length(found) + 1]] <- one()
      if (take() == end) break
    }
    found
  }
  pair <- function() {
    name <- json_string(take())
    at <<- at + 1 # the colon
    list(name, value())
  }
  value <- function() {
    token <- take()
    switch(substr(token, 1, 1),
      "{" = {
        pairs <- items("}", pair)
        stats::setNames(lapply(pairs, `[[`, 2), vapply(pairs, `[[`, "", 1))
      },
      "[" = json_vector(items("]", value)),
      "\"" = json_string(token), t = TRUE, f = FALSE, n = NA, as.numeric(token))
  }
  value()
}

json_vector <- function(found) if (length(found) && all(lengths(found) == 1 & !vapply(found, is.list, NA))) unlist(found) else found

json_string <- function(token) {
  text <- substr(token, 2, nchar(token) - 1)
  if (!grepl("\\", text, fixed = TRUE)) return(text)
  known <- c(n = "\n", t = "\t", r = "\r", b = "\b", f = "\f", "\"" = "\"", "\\" = "\\", "/" = "/")
  parts <- regmatches(text, gregexpr("\\\\u[0-9a-fA-F]{4}|\\\\.|[^\\\\]+", text))[[1]]
  plain <- function(part) {
    if (!startsWith(part, "\\")) return(part)
    if (startsWith(part, "\\u")) intToUtf8(strtoi(substr(part, 3, 6), 16)) else known[[substr(part, 2, 2)]]
  }
  paste(vapply(parts, plain, ""), collapse = "")
}

info <- function(object) json_parse(native("agp_info", handle(object), TRUE))
