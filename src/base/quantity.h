/* Seconds and bytes in sentences and tables: "0.02 s", "12 s", "3.1 h", "640 kB". */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include <stddef.h>

void quantity_seconds(double seconds, char *to, size_t size);
void quantity_bytes(double bytes, char *to, size_t size);

#endif
