/* SPDX-License-Identifier: MIT */
/*
 * Whether the files of an open database are still those that SQLite has open.
 *
 * SQLite keeps processes apart by locks on FILE-shm and has their transactions in FILE-wal.  When
 * one of the two is removed or replaced, the next process makes another one, and both write.  When
 * another program writes a copy over FILE, SQLite does not notice either.  So each transaction
 * begins with a look, which costs a call of stat(), and two if it writes:
 *
 * - The directory's change time says whether a name in it was made, removed or renamed.  Only then
 *   the three files are looked at.  Clocks of file systems have ticks of some ms: a time counts
 * once it is older than SETTLED_MS.
 * - FILE itself is written by checkpoints alone, which say in FILE-shm how far they are (the part
 * of the wal-index that SQLite documents as its file format).  If its time or size has changed and
 * no checkpoint was at work, another program has written it.
 */
#include "config.h"

#include "intact.h"

#include <string.h>
#include <sys/stat.h>

#define END "end " USHER_STORE_GONE ", see RESTORE in usher-sqlite(7)"
#define SETTLED_MS 200
#define SETTLED_COARSE_MS 2000 /* where times are in whole seconds */
#define INDEX_REGION 32768
/* 32-bit words of the wal-index */
#define INDEX_SALT 8
#define INDEX_BACKFILL 24
#define INDEX_ATTEMPTED 32

void usher__sqlite_intact_begin(struct usher__sqlite_intact *in, sqlite3 *db)
{
    sqlite3_file *file = NULL;
    void volatile *index = NULL;

    memset(in, 0, sizeof *in);
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
        file != NULL && file->pMethods != NULL && file->pMethods->iVersion >= 2 &&
        file->pMethods->xShmMap != NULL &&
        file->pMethods->xShmMap(file, 0, INDEX_REGION, 0, &index) == SQLITE_OK)
        in->index = (const uint32_t *)(uintptr_t)index;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* ---- names ------------------------------------------------------------------------- */

static bool stat_directory(const struct usher__sqlite_place *place, struct stat *ret)
{
    char path[USHER__SQLITE_PATH];
    const char *slash = strrchr(place->path, '/');
    size_t size = slash != NULL ? (size_t)(slash - place->path) + 1 : 0;

    memcpy(path, place->path, size);
    path[size] = '\0';
    return size != 0 && stat(path, ret) == 0;
}

static bool is_settled(const struct timespec *changed, const struct timespec *now)
{
    int64_t ms = ((int64_t)now->tv_sec - changed->tv_sec) * 1000 +
                 (now->tv_nsec - changed->tv_nsec) / 1000000;

    return ms > (changed->tv_nsec != 0 ? SETTLED_MS : SETTLED_COARSE_MS);
}

static enum usher_status names_look(struct usher__sqlite_intact *in,
                                    const struct usher__sqlite_place *place, char message[192])
{
    struct stat st;
    struct timespec now;
    bool known = stat_directory(place, &st);
    enum usher_status status;

    if (known && in->settled && st.st_dev == in->device && st.st_ino == in->inode &&
        same_time(&st.st_ctim, &in->changed))
        return USHER_OK;
    status = usher__sqlite_file_moved(place, message);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    in->settled = status == USHER_OK && known && is_settled(&st.st_ctim, &now);
    if (known) {
        in->device = st.st_dev;
        in->inode = st.st_ino;
        in->changed = st.st_ctim;
    }
    return status;
}

/* ---- what is written ---------------------------------------------------------------- */

static void checkpoint_read(const uint32_t *index, uint32_t ret[4])
{
    static const unsigned at[4] = { INDEX_SALT, INDEX_SALT + 1, INDEX_BACKFILL, INDEX_ATTEMPTED };

    for (unsigned i = 0; i < 4; i++)
        ret[i] = __atomic_load_n(&index[at[i]], __ATOMIC_RELAXED);
}

/* Return whether another program has written the file since the last call, and remember it as it is
 * now. */
static bool written_over(struct usher__sqlite_intact *in, const struct usher__sqlite_place *place)
{
    uint32_t before[4], after[4];
    struct stat st;
    bool same, over;

    checkpoint_read(in->index, before);
    if (stat(place->path, &st) != 0)
        return false;
    /* a checkpoint says how far it will go before it writes */
    checkpoint_read(in->index, after);
    same = same_time(&st.st_mtim, &in->written) && st.st_size == in->size;
    over = in->idle && !same && memcmp(after, in->checkpoint, sizeof after) == 0;
    if (over)
        return true;
    in->idle = memcmp(before, after, sizeof before) == 0 && after[2] == after[3];
    in->written = st.st_mtim;
    in->size = st.st_size;
    memcpy(in->checkpoint, after, sizeof after);
    return false;
}

void usher__sqlite_intact_committed(struct usher__sqlite_intact *in,
                                    const struct usher__sqlite_place *place)
{
    uint32_t now[4];

    if (in->index == NULL || !place->parts[0].known)
        return;
    checkpoint_read(in->index, now);
    if (memcmp(now, in->checkpoint, sizeof now) != 0)
        (void)written_over(in, place);
}

enum usher_status usher__sqlite_intact(struct usher__sqlite_intact *in,
                                       const struct usher__sqlite_place *place, bool write,
                                       char message[192])
{
    enum usher_status status = names_look(in, place, message);

    if (status != USHER_OK)
        return status;
    if (in->went_back) {
        usher__sqlite_say(message, "an older copy was put into the file while it was open: " END);
        return USHER_UNAVAILABLE;
    }
    if (!write || in->index == NULL || !place->parts[0].known || !written_over(in, place))
        return USHER_OK;
    usher__sqlite_say(message, "the file was written by another program while it was open: " END);
    return USHER_UNAVAILABLE;
}
