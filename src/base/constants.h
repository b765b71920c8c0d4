/* Numbers of mathematics that several folders use. */
#ifndef BASE_CONSTANTS_H
#define BASE_CONSTANTS_H

#define PI 3.14159265358979323846
#define LOG_2PI 1.837877066409345483560659472811
#define SQRT_HALF 0.70710678118654752440
#define Z95 1.959963984540054 /* half the width of the central 95 % of a standard normal */

#endif
