/*
 * base/fortify.c - the entry points that a distribution's hardened static libraries ask of their C library.
 *
 * Room: base (words). Touches: nothing.
 * Theory: Debian's libyaml.a and libjansson.a are compiled with _FORTIFY_SOURCE for glibc, which replaces snprintf by a checked
 * form. musl has no such name. The check is kept: a length larger than the object ends the program.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int __vsnprintf_chk(char *out, size_t len, int flag, size_t object_len, const char *fmt, va_list ap);
int __snprintf_chk(char *out, size_t len, int flag, size_t object_len, const char *fmt, ...);
char *__strncpy_chk(char *out, const char *text, size_t len, size_t object_len);
void *__memcpy_chk(void *out, const void *bytes, size_t len, size_t object_len);

char *
__strncpy_chk(char *out, const char *text, size_t len, size_t object_len)
{
        if (len > object_len)
                abort();
        return strncpy(out, text, len);   /* taste: it is strncpy that the library asked for */
}

void *
__memcpy_chk(void *out, const void *bytes, size_t len, size_t object_len)
{
        if (len > object_len)
                abort();
        return memcpy(out, bytes, len);
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
