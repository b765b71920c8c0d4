/* What writing and reading a model file share: where its checksum is. */
#ifndef IO_MODEL_FILE_PARTS_H
#define IO_MODEL_FILE_PARTS_H

#include "io/model_file.h"

enum { CHECKSUM_DIGITS = 16, HEADER_MOST = 1 << 28, ALIGN = 8 };

/* Arrays of local_scale: D x n, n, n. */
#define CALIBRATION_X "calibration_inputs"
#define CALIBRATION_R2 "calibration_squares"
#define CALIBRATION_W "calibration_weights"

/* Where the digits of the checksum are in the header, or -1. */
int64_t model_file_digits(const char *header, size_t size);

#endif
