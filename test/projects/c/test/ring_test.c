#include <assert.h>
#include <stdio.h>

#include "../src/ring.h"

int
main(void)
{
        struct ring ring = { .count = 0 };
        unsigned char byte = 0;

        for (unsigned round = 0; round < 3; round++) {
                for (unsigned char i = 0; i < 8; i++)
                        assert(ring_put(&ring, i));
                assert(!ring_put(&ring, 8));
                for (unsigned char i = 0; i < 5; i++)
                        assert(ring_take(&ring, &byte) && byte == i);
                for (unsigned char i = 5; i < 8; i++)
                        assert(ring_take(&ring, &byte) && byte == i);
                assert(ring_put(&ring, 1) && ring_take(&ring, &byte) && byte == 1);
        }
        puts("ring: ok");
        return 0;
}
