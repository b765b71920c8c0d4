/* Wall time in seconds from an arbitrary origin; never goes back. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);

#endif
