/*
 * keeper/op.h - the operations, one function each. Their table is in api/operation.c.
 */
#ifndef CARREL_KEEPER_OP_H
#define CARREL_KEEPER_OP_H

#include "keeper/keeper.h"

call_run op_create, op_claim, op_get, op_list, op_stop, op_extend, op_pause, op_resume, op_url,
        op_instructions, op_event;
call_run op_task_begin, op_task_end, op_client_heard;
call_run op_exec, op_exec_list, op_exec_get, op_exec_attach, op_exec_signal, op_exec_kill;
call_run op_file_read, op_file_write, op_file_list, op_file_stat, op_file_mkdir, op_file_move,
        op_file_remove;
call_run op_port_connect, op_token_create, op_token_list, op_token_revoke, op_info, op_watch,
        op_caller;
call_run op_denials, op_network, op_left_take;
call_run op_volume_create, op_volume_list, op_volume_remove;

/*
 * At the start of a keeper: continues to erase the volumes that were removed before, of every
 * owner, between other work.
 */
void volumes_erase_left(struct keeper *k);

#endif
