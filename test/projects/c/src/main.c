#include <stdio.h>

#include "ring.h"

/* The last eight bytes of standard input. */
int
main(void)
{
        struct ring ring = { .count = 0 };
        unsigned char byte;
        int c;

        while ((c = getchar()) != EOF)
                if (!ring_put(&ring, (unsigned char)c)) {
                        (void)ring_take(&ring, &byte);
                        (void)ring_put(&ring, (unsigned char)c);
                }
        while (ring_take(&ring, &byte))
                putchar(byte);
        return 0;
}
