/*
 * keeper/op.c - the table from an operation's code to the function that does it.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include "keeper/op.h"

call_run *
call_function(enum operation_code code)
{
        static call_run *const functions[OP_MAX] = {
#define OPERATION(number, NAME, function, ...) [OP_##NAME] = op_##function,
#include "api/operation.def"
#undef OPERATION
        };

        return functions[code];
}
