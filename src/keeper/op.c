/*
 * keeper/op.c - the table from an operation's code to the function that does it.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include "keeper/op.h"

static enum call_state
op_unknown(struct call *c, struct error *e)
{
        (void)fail(e, ERROR_PROTOCOL, "%s has no function here", c->op->name);
        return CALL_FAILED;
}

call_run *
call_function(enum operation_code code)
{
        static call_run *const functions[OP_MAX] = {
                [OP_CREATE] = op_create,
                [OP_CLAIM] = op_claim,
                [OP_GET] = op_get,
                [OP_LIST] = op_list,
                [OP_STOP] = op_stop,
                [OP_EXTEND] = op_extend,
                [OP_PAUSE] = op_pause,
                [OP_RESUME] = op_resume,
                [OP_URL] = op_url,
                [OP_INSTRUCTIONS] = op_instructions,
                [OP_EVENT] = op_event,
                [OP_TASK_BEGIN] = op_task_begin,
                [OP_TASK_END] = op_task_end,
                [OP_EXEC] = op_exec,
                [OP_EXEC_LIST] = op_exec_list,
                [OP_EXEC_GET] = op_exec_get,
                [OP_EXEC_ATTACH] = op_exec_attach,
                [OP_EXEC_SIGNAL] = op_exec_signal,
                [OP_EXEC_KILL] = op_exec_kill,
                [OP_FILE_READ] = op_file_read,
                [OP_FILE_WRITE] = op_file_write,
                [OP_FILE_LIST] = op_file_list,
                [OP_FILE_STAT] = op_file_stat,
                [OP_FILE_MKDIR] = op_file_mkdir,
                [OP_FILE_MOVE] = op_file_move,
                [OP_FILE_REMOVE] = op_file_remove,
                [OP_PORT_CONNECT] = op_port_connect,
                [OP_TOKEN_CREATE] = op_token_create,
                [OP_TOKEN_LIST] = op_token_list,
                [OP_TOKEN_REVOKE] = op_token_revoke,
                [OP_INFO] = op_info,
                [OP_WATCH] = op_watch,
                [OP_CALLER] = op_caller,
                [OP_CLIENT_HEARD] = op_client_heard,
                [OP_DENIALS] = op_denials,
                [OP_NETWORK] = op_network,
                [OP_LEFT_TAKE] = op_left_take,
                [OP_VOLUME_CREATE] = op_volume_create,
                [OP_VOLUME_LIST] = op_volume_list,
                [OP_VOLUME_REMOVE] = op_volume_remove,
        };

        return code < OP_MAX && functions[code] ? functions[code] : op_unknown;
}
