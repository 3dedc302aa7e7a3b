/*
 * keeper/op.c - the table from an operation's code to the function that does it.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include "keeper/op.h"

call_run *
call_function(enum operation_code code)
{
        switch (code) {
#define OPERATION(number, NAME, function, ...) \
        case OP_##NAME:                        \
                return op_##function;
#include "api/operation.def"
#undef OPERATION
        default:
                return NULL;
        }
}
