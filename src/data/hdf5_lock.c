#include "data/hdf5_lock.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

hdf5_guard hdf5_enter(void)
{
    hdf5_guard g = {NULL, NULL};
    pthread_mutex_lock(&lock);
    H5Eget_auto2(H5E_DEFAULT, &g.printer, &g.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return g;
}

void hdf5_leave(hdf5_guard g)
{
    H5Eset_auto2(H5E_DEFAULT, g.printer, g.data);
    pthread_mutex_unlock(&lock);
}
