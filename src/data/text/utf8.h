/* Names and categories are kept as UTF-8, which the model file needs; a text that is not is taken for Latin-1, the other
   encoding tables come in. */
#ifndef DATA_TEXT_UTF8_H
#define DATA_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool utf8_valid(const char *text, size_t n);
/* Makes text[n] UTF-8 in place and returns its new length, at most 2 n: so much room there must be. */
size_t utf8_from_any(char *text, size_t n);

#endif
