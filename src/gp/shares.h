/* How the memory, settings_memory(), is shared out. */
#ifndef GP_SHARES_H
#define GP_SHARES_H

#define TABLE_SHARE 0.25 /* a larger table stays in its file, for models over blocks */
#define ROWS_SHARE 0.25  /* rows in model units; more of them go to a file of their own */
#define KEEP_SHARE 0.4   /* what a pass leaves for its reverse */

#endif
