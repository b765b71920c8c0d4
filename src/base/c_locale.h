/* Numbers as the C locale writes them, for any locale of the host program: between enter and leave, strtod and printf of this
   thread use the decimal point. */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H

#include <locale.h>

typedef struct c_locale {
    locale_t own, former;
} c_locale;

c_locale c_locale_enter(void);
void c_locale_leave(c_locale l);

#endif
