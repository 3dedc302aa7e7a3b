/*
 * base/fortify.c - the entry points that a distribution's hardened static libraries ask of their C
 * library.
 *
 * Room: base (words). Touches: nothing.
 * Theory: Debian's libyaml.a, libjansson.a, libsqlite3.a, libsodium.a, libcares.a and
 * libtree-sitter.a are compiled with _FORTIFY_SOURCE for glibc, which replaces snprintf and others
 * by a checked form. musl has no such name. The check is kept: a length larger than the object ends
 * the program.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

int __vsnprintf_chk(char *out, size_t len, int flag, size_t object_len, const char *fmt,
                    va_list ap);
int __snprintf_chk(char *out, size_t len, int flag, size_t object_len, const char *fmt, ...);
int __fprintf_chk(FILE *out, int flag, const char *fmt, ...);
char *__strncpy_chk(char *out, const char *text, size_t len, size_t object_len);
void *__memcpy_chk(void *out, const void *bytes, size_t len, size_t object_len);
void *__memset_chk(void *out, int byte, size_t len, size_t object_len);
void __explicit_bzero_chk(void *out, size_t len, size_t object_len);
int fcntl64(int fd, int command, ...);
int __sprintf_chk(char *out, int flag, size_t object_len, const char *fmt, ...);
long __fdelt_chk(long fd);

char *
__strncpy_chk(char *out, const char *text, size_t len, size_t object_len)
{
        if (len > object_len)
                abort();
        return strncpy(out, text, len); /* taste: it is strncpy that the library asked for */
}

void *
__memcpy_chk(void *out, const void *bytes, size_t len, size_t object_len)
{
        if (len > object_len)
                abort();
        return memcpy(out, bytes, len);
}

void *
__memset_chk(void *out, int byte, size_t len, size_t object_len)
{
        if (len > object_len)
                abort();
        return memset(out, byte, len);
}

void
__explicit_bzero_chk(void *out, size_t len, size_t object_len)
{
        if (len > object_len)
                abort();
        explicit_bzero(out, len);
}

int
__fprintf_chk(FILE *out, int flag, const char *fmt, ...)
{
        va_list ap;
        int result;

        (void)flag;
        va_start(ap, fmt);
        result = vfprintf(out, fmt, ap);
        va_end(ap);
        return result;
}

/* Every argument of fcntl(2) is a long or a pointer at most; musl's offsets have 64 bits anyway. */
int
fcntl64(int fd, int command, ...)
{
        va_list ap;
        unsigned long argument;

        va_start(ap, command);
        argument = va_arg(ap, unsigned long);
        va_end(ap);
        return fcntl(fd, command, argument);
}

int
__vsnprintf_chk(char *out, size_t len, int flag, size_t object_len, const char *fmt, va_list ap)
{
        if (len > object_len)
                abort();
        return vsnprintf(out, len, fmt, ap);
}

int
__snprintf_chk(char *out, size_t len, int flag, size_t object_len, const char *fmt, ...)
{
        va_list ap;
        int result;

        va_start(ap, fmt);
        result = __vsnprintf_chk(out, len, flag, object_len, fmt, ap);
        va_end(ap);
        return result;
}

int
__sprintf_chk(char *out, int flag, size_t object_len, const char *fmt, ...)
{
        va_list ap;
        int result;

        va_start(ap, fmt);
        result = __vsnprintf_chk(out, object_len, flag, object_len, fmt, ap);
        va_end(ap);
        if (result < 0 || (size_t)result >= object_len)
                abort();
        return result;
}

/* The word of an fd_set that holds `fd`. */
long
__fdelt_chk(long fd)
{
        if (fd < 0 || fd >= FD_SETSIZE)
                abort();
        return fd / (8 * (long)sizeof(long));
}
