/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/disk.h"
#include "lib/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#define FILES 8
#define SECTOR 512
#define SHM_REGIONS 8

/* A change of a file that is not synced yet. */
struct change {
    bool truncate;
    size_t at, size; /* truncate: to @size */
    unsigned char *data;
};

struct bytes {
    unsigned char *data;
    size_t size;
};

struct handle;

struct file {
    char name[512];
    bool there, there_synced;
    struct bytes live, synced;
    struct change *changes;
    size_t n_changes;
    void *shm[SHM_REGIONS];
    int mappers;
    int readers;           /* handles with a shared lock or more */
    struct handle *writer; /* the one with a reserved lock or more */
    bool exclusive;
    int shm_shared[SQLITE_SHM_NLOCK];
    struct handle *shm_writer[SQLITE_SHM_NLOCK];
};

struct handle {
    sqlite3_file base;
    struct file *file;
    bool temporary, maps;
    int lock;           /* SQLITE_LOCK_… */
    unsigned shm_locks; /* bit i: shared lock i */
};

static struct {
    struct file files[FILES];
    bool counting, for_ever, fired, off;
    unsigned calls, writes;
    unsigned fail_at, cut_at;
} disk;

static void *grown(void *p, size_t size)
{
    void *q = realloc(p, size != 0 ? size : 1);

    if (q == NULL)
        abort();
    return q;
}

static void bytes_write(struct bytes *b, size_t at, const void *data, size_t size)
{
    if (at + size > b->size) {
        b->data = grown(b->data, at + size);
        memset(b->data + b->size, 0, at + size - b->size);
        b->size = at + size;
    }
    memcpy(b->data + at, data, size);
}

static void bytes_truncate(struct bytes *b, size_t size)
{
    b->data = grown(b->data, size);
    if (size > b->size)
        memset(b->data + b->size, 0, size - b->size);
    b->size = size;
}

static void bytes_copy(struct bytes *to, const struct bytes *from)
{
    to->data = grown(to->data, from->size);
    if (from->size != 0)
        memcpy(to->data, from->data, from->size);
    to->size = from->size;
}

static void changes_drop(struct file *f)
{
    for (size_t i = 0; i < f->n_changes; i++)
        free(f->changes[i].data);
    free(f->changes);
    f->changes = NULL;
    f->n_changes = 0;
}

static void change_add(struct file *f, bool truncate, size_t at, const void *data, size_t size)
{
    struct change *c;

    f->changes = grown(f->changes, (f->n_changes + 1) * sizeof *f->changes);
    c = &f->changes[f->n_changes++];
    c->truncate = truncate;
    c->at = at;
    c->size = size;
    c->data = NULL;
    if (data != NULL) {
        c->data = grown(NULL, size);
        memcpy(c->data, data, size);
    }
}

/* May this call go through?  @writes: it is one that changes or syncs. */
static bool lets(bool writes)
{
    if (disk.off)
        return false;
    if (!disk.counting)
        return true;
    disk.calls++;
    disk.writes += writes;
    if (disk.cut_at != 0 && writes && disk.writes >= disk.cut_at) {
        disk.off = disk.fired = true;
        return false;
    }
    if (disk.fail_at != 0 &&
        (disk.calls == disk.fail_at || (disk.for_ever && disk.calls > disk.fail_at))) {
        disk.fired = true;
        return false;
    }
    return true;
}

static struct file *file_named(const char *name, bool create)
{
    struct file *free_one = NULL;

    for (int i = 0; i < FILES; i++) {
        struct file *f = &disk.files[i];

        if (f->there && strcmp(f->name, name) == 0)
            return f;
        if (!f->there && !f->there_synced && free_one == NULL)
            free_one = f;
        if (!f->there && f->there_synced && strcmp(f->name, name) == 0)
            free_one = f;
    }
    if (!create)
        return NULL;
    if (free_one == NULL)
        abort();
    changes_drop(free_one);
    (void)snprintf(free_one->name, sizeof free_one->name, "%s", name);
    free_one->there = true;
    free_one->live.size = 0;
    return free_one;
}

/* ---- methods of an open file ------------------------------------------------------- */

static struct handle *handle_of(sqlite3_file *file)
{
    return (struct handle *)file;
}

static void shm_drop(struct file *f)
{
    for (int i = 0; i < SHM_REGIONS; i++) {
        free(f->shm[i]);
        f->shm[i] = NULL;
    }
}

static int x_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
    struct file *f = handle_of(file)->file;
    size_t n = 0;

    if (!lets(false))
        return SQLITE_IOERR_READ;
    if ((size_t)at < f->live.size) {
        n = f->live.size - (size_t)at;
        if (n > (size_t)size)
            n = (size_t)size;
        memcpy(to, f->live.data + at, n);
    }
    memset((char *)to + n, 0, (size_t)size - n);
    return n == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int x_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
    struct file *f = handle_of(file)->file;

    if (!lets(true))
        return disk.off ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    bytes_write(&f->live, (size_t)at, from, (size_t)size);
    change_add(f, false, (size_t)at, from, (size_t)size);
    return SQLITE_OK;
}

static int x_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct file *f = handle_of(file)->file;

    if (!lets(true))
        return SQLITE_IOERR_TRUNCATE;
    bytes_truncate(&f->live, (size_t)size);
    change_add(f, true, 0, NULL, (size_t)size);
    return SQLITE_OK;
}

static int x_sync(sqlite3_file *file, int flags)
{
    struct file *f = handle_of(file)->file;

    (void)flags;
    if (!lets(true))
        return SQLITE_IOERR_FSYNC;
    bytes_copy(&f->synced, &f->live);
    f->there_synced = true;
    changes_drop(f);
    return SQLITE_OK;
}

static int x_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    if (!lets(false))
        return SQLITE_IOERR_FSTAT;
    *ret_size = (sqlite3_int64)handle_of(file)->file->live.size;
    return SQLITE_OK;
}

static int x_lock(sqlite3_file *file, int level)
{
    struct handle *h = handle_of(file);
    struct file *f = h->file;

    if (!lets(false))
        return SQLITE_IOERR_LOCK;
    if (level <= h->lock)
        return SQLITE_OK;
    if (f->writer != NULL && f->writer != h && (f->exclusive || level > SQLITE_LOCK_SHARED))
        return SQLITE_BUSY;
    if (level == SQLITE_LOCK_EXCLUSIVE && f->readers > (h->lock >= SQLITE_LOCK_SHARED))
        return SQLITE_BUSY;
    f->readers += h->lock == SQLITE_LOCK_NONE;
    if (level >= SQLITE_LOCK_RESERVED)
        f->writer = h;
    f->exclusive |= level == SQLITE_LOCK_EXCLUSIVE;
    h->lock = level;
    return SQLITE_OK;
}

static int x_unlock(sqlite3_file *file, int level)
{
    struct handle *h = handle_of(file);
    struct file *f = h->file;

    if (level >= h->lock)
        return SQLITE_OK;
    if (f->writer == h) {
        f->writer = NULL;
        f->exclusive = false;
    }
    f->readers -= level == SQLITE_LOCK_NONE;
    h->lock = level;
    return SQLITE_OK;
}

static int x_close(sqlite3_file *file)
{
    struct handle *h = handle_of(file);

    (void)x_unlock(file, SQLITE_LOCK_NONE);
    if (h->temporary) {
        changes_drop(h->file);
        free(h->file->live.data);
        free(h->file);
    }
    return SQLITE_OK;
}

static int x_reserved(sqlite3_file *file, int *ret)
{
    *ret = handle_of(file)->file->writer != NULL;
    return SQLITE_OK;
}

static int x_control(sqlite3_file *file, int op, void *arg)
{
    (void)file, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int x_sector(sqlite3_file *file)
{
    (void)file;
    return SECTOR;
}

static int x_characteristics(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static int x_shm_map(sqlite3_file *file, int region, int size, int extend,
                     void volatile **ret_region)
{
    struct handle *h = handle_of(file);
    struct file *f = h->file;

    *ret_region = NULL;
    if (!lets(false))
        return SQLITE_IOERR_SHMMAP;
    f->mappers += !h->maps;
    h->maps = true;
    if (region >= SHM_REGIONS)
        return SQLITE_IOERR_SHMSIZE;
    if (f->shm[region] == NULL && extend) {
        f->shm[region] = calloc(1, (size_t)size);
        if (f->shm[region] == NULL)
            abort();
    }
    *ret_region = f->shm[region];
    return SQLITE_OK;
}

static int x_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    struct handle *h = handle_of(file);
    struct file *f = h->file;
    bool unlock = (flags & SQLITE_SHM_UNLOCK) != 0;
    bool shared = (flags & SQLITE_SHM_SHARED) != 0;

    if (!unlock && !lets(false))
        return SQLITE_IOERR_SHMLOCK;
    for (int i = offset; i < offset + n && !unlock; i++) {
        bool mine = (h->shm_locks >> i & 1u) != 0;

        if (f->shm_writer[i] != NULL && f->shm_writer[i] != h)
            return SQLITE_BUSY;
        if (!shared && f->shm_shared[i] > (int)mine)
            return SQLITE_BUSY;
    }
    for (int i = offset; i < offset + n; i++) {
        bool mine = (h->shm_locks >> i & 1u) != 0;

        if (!shared) {
            f->shm_writer[i] = unlock ? NULL : h;
        } else if (unlock == mine) {
            f->shm_shared[i] += unlock ? -1 : 1;
            h->shm_locks ^= 1u << i;
        }
    }
    return SQLITE_OK;
}

static void x_shm_barrier(sqlite3_file *file)
{
    (void)file;
}

static int x_shm_unmap(sqlite3_file *file, int erase)
{
    struct handle *h = handle_of(file);

    (void)erase;
    h->file->mappers -= h->maps;
    h->maps = false;
    if (h->file->mappers == 0)
        shm_drop(h->file);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = x_close,
    .xRead = x_read,
    .xWrite = x_write,
    .xTruncate = x_truncate,
    .xSync = x_sync,
    .xFileSize = x_size,
    .xLock = x_lock,
    .xUnlock = x_unlock,
    .xCheckReservedLock = x_reserved,
    .xFileControl = x_control,
    .xSectorSize = x_sector,
    .xDeviceCharacteristics = x_characteristics,
    .xShmMap = x_shm_map,
    .xShmLock = x_shm_lock,
    .xShmBarrier = x_shm_barrier,
    .xShmUnmap = x_shm_unmap,
};

/* ---- the file system --------------------------------------------------------------- */

static int x_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    struct handle *h = handle_of(file);

    (void)vfs;
    h->base.pMethods = NULL;
    if (!lets(false))
        return SQLITE_CANTOPEN;
    h->temporary = name == NULL;
    h->maps = false;
    h->lock = SQLITE_LOCK_NONE;
    h->shm_locks = 0;
    h->file = name != NULL ? file_named(name, (flags & SQLITE_OPEN_CREATE) != 0)
                           : calloc(1, sizeof *h->file);
    if (h->file == NULL)
        return SQLITE_CANTOPEN;
    if (ret_flags != NULL)
        *ret_flags = flags;
    h->base.pMethods = &methods;
    return SQLITE_OK;
}

/* Survives a crash at once: SQLite asks for it to be synced where it matters. */
static int x_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    struct file *f = file_named(name, false);

    (void)vfs, (void)sync_dir;
    if (!lets(true))
        return SQLITE_IOERR_DELETE;
    if (f == NULL)
        return SQLITE_IOERR_DELETE_NOENT;
    f->there = f->there_synced = false;
    changes_drop(f);
    return SQLITE_OK;
}

static int x_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    struct file *f = file_named(name, false);

    (void)vfs;
    if (!lets(false))
        return SQLITE_IOERR_ACCESS;
    *ret = f != NULL && (flags != SQLITE_ACCESS_EXISTS || f->live.size > 0);
    return SQLITE_OK;
}

static int x_full_path(sqlite3_vfs *vfs, const char *name, int size, char *to)
{
    (void)vfs;
    (void)snprintf(to, (size_t)size, "%s", name);
    return SQLITE_OK;
}

static int x_randomness(sqlite3_vfs *vfs, int size, char *to)
{
    (void)vfs;
    memset(to, 7, (size_t)size); /* the same each time: runs repeat exactly */
    return size;
}

static int x_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int x_time(sqlite3_vfs *vfs, sqlite3_int64 *ret_ms)
{
    (void)vfs;
    *ret_ms = INT64_C(212000000000000);
    return SQLITE_OK;
}

static int x_time_double(sqlite3_vfs *vfs, double *ret_days)
{
    (void)vfs;
    *ret_days = 2453700.0;
    return SQLITE_OK;
}

static int x_last_error(sqlite3_vfs *vfs, int size, char *to)
{
    (void)vfs, (void)size, (void)to;
    return 0;
}

static sqlite3_vfs vfs = {
    .iVersion = 2,
    .szOsFile = (int)sizeof(struct handle),
    .mxPathname = 500,
    .zName = "disk",
    .xOpen = x_open,
    .xDelete = x_delete,
    .xAccess = x_access,
    .xFullPathname = x_full_path,
    .xRandomness = x_randomness,
    .xSleep = x_sleep,
    .xCurrentTime = x_time_double,
    .xGetLastError = x_last_error,
    .xCurrentTimeInt64 = x_time,
};

void disk_install(void)
{
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
        abort();
}

void disk_wipe(void)
{
    for (int i = 0; i < FILES; i++) {
        struct file *f = &disk.files[i];

        changes_drop(f);
        shm_drop(f);
        free(f->live.data);
        free(f->synced.data);
    }
    memset(&disk, 0, sizeof disk);
}

void disk_count(bool on)
{
    disk.counting = on;
}

unsigned disk_calls(void)
{
    return disk.calls;
}

unsigned disk_writes(void)
{
    return disk.writes;
}

void disk_fail(unsigned n, bool for_ever)
{
    disk.fail_at = n != 0 ? disk.calls + n : 0;
    disk.for_ever = for_ever;
    disk.fired = false;
}

void disk_cut(unsigned n)
{
    disk.cut_at = n != 0 ? disk.writes + n : 0;
    disk.fired = false;
}

bool disk_fired(void)
{
    return disk.fired;
}

static void apply(struct bytes *b, const struct change *c, enum disk_loss loss, uint64_t *random)
{
    if (c->truncate) {
        bytes_truncate(b, c->size);
        return;
    }
    if (loss != DISK_TEARS) {
        bytes_write(b, c->at, c->data, c->size);
        return;
    }
    for (size_t i = 0; i < c->size;) {
        size_t n = SECTOR - (c->at + i) % SECTOR;

        if (n > c->size - i)
            n = c->size - i;
        if (next_random(random) % 2 != 0)
            bytes_write(b, c->at + i, c->data + i, n);
        i += n;
    }
}

static void shuffle(struct change *changes, size_t n, uint64_t *random)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)(next_random(random) % i);
        struct change c = changes[i - 1];

        changes[i - 1] = changes[j];
        changes[j] = c;
    }
}

void disk_crash(enum disk_loss loss, uint64_t seed)
{
    uint64_t random = seed;

    for (int i = 0; i < FILES; i++) {
        struct file *f = &disk.files[i];
        bool keeps =
            loss == DISK_KEEPS_ALL || (loss != DISK_KEEPS_NOTHING && next_random(&random) % 2 != 0);

        if (!f->there && !f->there_synced)
            continue;
        if (!f->there_synced && !keeps) {
            f->there = false;
            changes_drop(f);
            continue;
        }
        if (!f->there_synced)
            f->synced.size = 0;
        if (loss == DISK_KEEPS_SOME || loss == DISK_TEARS)
            shuffle(f->changes, f->n_changes, &random);
        for (size_t k = 0; k < f->n_changes && loss != DISK_KEEPS_NOTHING; k++)
            if (loss == DISK_KEEPS_ALL || next_random(&random) % 2 != 0)
                apply(&f->synced, &f->changes[k], loss, &random);
        changes_drop(f);
        f->there = f->there_synced = true;
        bytes_copy(&f->live, &f->synced);
    }
    disk.off = false;
    disk.counting = false;
    disk.fail_at = disk.cut_at = 0;
}
