/*
 * wire/box.c - the beginning of a command line, as lists show it.
 *
 * Room: wire (words). Touches: nothing.
 */
#include "wire/box.h"

size_t
box_command_add(char *text, size_t len, const char *word)
{
        if (len > 0 && len + 1 < BOX_COMMAND_LEN)
                text[len++] = ' ';
        for (; *word != '\0' && len + 1 < BOX_COMMAND_LEN; word++)
                text[len++] = (unsigned char)*word < 0x20 || *word == 0x7f ? '?' : *word;
        return len;
}
