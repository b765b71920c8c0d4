/* Numbers as the C locale writes them, whatever the host program has set: between enter and leave strtod and printf of this
   thread know the decimal point only. */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H

#include <locale.h>

typedef struct c_locale {
    locale_t own, former;
} c_locale;

c_locale c_locale_enter(void);
void c_locale_leave(c_locale l);

#endif
