#include "ring.h"

bool
ring_put(struct ring *r, unsigned char byte)
{
        if (r->count == sizeof r->bytes)
                return false;
        r->bytes[(r->first + r->count) % sizeof r->bytes] = byte;
        r->count++;
        return true;
}

bool
ring_take(struct ring *r, unsigned char *ret)
{
        if (r->count == 0)
                return false;
        *ret = r->bytes[r->first];
        r->first = (r->first + 1) % sizeof r->bytes;
        r->count--;
        return true;
}
