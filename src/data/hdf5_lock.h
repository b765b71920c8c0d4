/* libhdf5 keeps global state and prints by itself: one lock surrounds it, and its printing is off inside. */
#ifndef DATA_HDF5_LOCK_H
#define DATA_HDF5_LOCK_H

#include <hdf5.h>

typedef struct hdf5_guard {
    H5E_auto2_t printer;
    void *data;
} hdf5_guard;

hdf5_guard hdf5_enter(void);
void hdf5_leave(hdf5_guard g);

#endif
