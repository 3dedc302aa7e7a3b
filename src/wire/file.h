/*
 * wire/file.h - the bytes of a file operation: what a BUILTIN exec (guest/files.h) reads from 0 and
 * writes to 1.
 *
 * A file operation is an exec with WIRE_EXEC_BUILTIN; argv[0] is its name, numbers are decimal
 * text, a relative path begins at the exec's working directory. Structs are written whole, in host
 * byte order, one behind the other with the bytes that belong to them and nothing in between: no
 * alignment, so a reader copies each struct out. Names are raw bytes without a NUL; nothing says
 * that they are UTF-8. The exit status is an errno, 0 for success; on failure stderr holds the path
 * that failed, raw, without a newline. A status of 255 or a death by signal is a failure of the
 * operation itself. Reading or writing what is neither a file nor a directory nor a link is ENXIO;
 * EINVAL means that the words of the operation are wrong.
 *
 *     read PATH OFFSET LENGTH      stdout: struct file_info, then bytes from OFFSET on: no more
 * than LENGTH, and none beyond the size it tells (a file that grows meanwhile does not grow the
 * answer; one that shrinks shortens it). More is left when file_info.size > OFFSET + bytes that
 * came. write [ANNOUNCED]...          stdin: struct file_put, path, bytes; again and again; one
 * with path_len 0 ends. ANNOUNCED: "12 /workspace/a", size and path of each file in order; another
 * file, or fewer of them, is EKEYREJECTED and changes nothing. Every file is written beside its
 * place before the first is put there; an end of input before the ending struct is ECANCELED and
 * changes nothing, as does every failure before the first; one after it (the last name of its path
 * is reported) leaves what was written until then. A link at the end is written through. stdout:
 * nothing. list PATH DEPTH MAX          stdout: struct file_entry, path, target; again and again.
 * DEPTH 1: what is in PATH; 0 is EINVAL. Paths are relative to PATH. After MAX entries, when there
 * are more: one of FILE_MORE. page PATH DEPTH MAX AFTER    as list, in the order of names (bytes; a
 * directory before what is in it), behind the entry that AFTER means ("": from the first one). The
 * FILE_MORE that follows MAX entries has as its path what the next AFTER is: the path of the last
 * entry, in hexadecimal digits. What is there all the while is listed once, whatever else comes and
 * goes, the entry that AFTER means too. stat PATH                    stdout: one struct file_entry,
 * with PATH as given and a link's target mkdir PATH MODE PARENTS      MODE decimal, & 0777; PARENTS
 * 1: make what is missing on the way, and be content when it is there move FROM TO rename(2): an
 * existing file at TO is replaced remove PATH RECURSIVE        RECURSIVE 1: a directory with all
 * that is in it. A link is removed, never followed
 */
#ifndef CARREL_WIRE_FILE_H
#define CARREL_WIRE_FILE_H

#include <stddef.h>
#include <stdint.h>

enum {
        FILE_PATH_MAX = 4095,
        FILE_AFTER_MAX = 2 * FILE_PATH_MAX,
        FILE_BATCH_MAX = 1024 /* puts in one write */,
        FILE_DEPTH_MAX = 64
};

enum file_kind {
        FILE_REGULAR = 1,
        FILE_DIRECTORY,
        FILE_LINK,
        FILE_FIFO,
        FILE_SOCKET,
        FILE_BLOCK,
        FILE_CHARACTER,
        FILE_MORE = 100, /* no entry: the listing was cut here; target_len is 0, and path_len too
                            but for page */
};

/* 24 bytes. What a read tells before its bytes: the file as it was when it was opened. */
struct file_info {
        uint64_t size;    /* bytes */
        int64_t mtime_ns; /* since 1970 */
        uint32_t mode;    /* & 07777 */
        uint32_t kind;    /* FILE_REGULAR: nothing else is read */
};

enum file_put_flag {
        FILE_PUT_MODE = 1u << 0 /* mode is meant; else an existing file keeps its own and a new one
                                   gets 0644 */
};

/* 24 bytes, followed by path_len bytes of path and len bytes of content. */
struct file_put {
        uint64_t len;      /* bytes of content */
        uint32_t path_len; /* bytes, at most FILE_PATH_MAX; 0: the batch is complete */
        uint32_t mode;     /* & 0777: set-id and sticky bits are taken off, never an error */
        uint32_t flags;    /* enum file_put_flag */
        uint32_t pad;      /* 0 */
};

/* 40 bytes, followed by path_len bytes of path and target_len bytes of a link's target. */
struct file_entry {
        uint64_t size;    /* bytes */
        int64_t mtime_ns; /* since 1970 */
        uint32_t kind;    /* enum file_kind */
        uint32_t mode;    /* & 07777 */
        uint32_t path_len, target_len;
        int32_t sys; /* list: why what is in this directory does not follow although the depth would
                        allow it (EACCES), else 0 */
        uint32_t pad; /* 0 */
};

/* One entry of a listing; the texts are borrowed from its bytes, and no NUL ends them. */
struct file_listed {
        struct file_entry entry;
        const char *path, *target;
};

/*
 * Reads the entry at *at of a listing of `len` bytes, and moves *at behind it. 1: an entry (kind
 * FILE_MORE: the list was cut, and `path` is where it goes on); 0: the end, or more bytes are
 * needed; -EPROTO: an unknown kind, a text that is too long or has a NUL, an entry without a path.
 */
int file_entry_next(const void *bytes, size_t len, size_t *at, struct file_listed *ret);

/* "file", "directory", "link", "fifo", "socket", "device"; NULL for another number. */
const char *file_kind_name(uint32_t kind);

_Static_assert(sizeof(struct file_info) == 24 && sizeof(struct file_put) == 24 &&
                       sizeof(struct file_entry) == 40,
               "no padding anywhere");

#endif
