/*
 * judge/process/judging.h - one judgement: a request is read, answered, and forgotten.
 */
#ifndef CARREL_JUDGE_PROCESS_JUDGING_H
#define CARREL_JUDGE_PROCESS_JUDGING_H

/*
 * Serves one request over a seqpacket socket (wire/judge.h), in a process of its own that has given
 * up every right. Returns when the answer is sent, or the asker has gone. Needs time and memory to
 * be bounded by the caller.
 */
void judging_serve(int socket);

#endif
