/*
 * wire/validator.h - what carrel-validate and a process that asks it say to each other.
 *
 *     keeper --WIRE_VALIDATE (a socket)--> carrel-validate --fork--> one process for each question
 *
 *     asker --WIRE_VALIDATE_THIS {program, call}--> that process --> `carrel run` of the program
 *           <--WIRE_VALIDATED {status, output}----- that process
 *
 * `carrel run` forks the process of one question itself. If the asker closes the socket, the
 * program and its sandbox end.
 */
#ifndef CARREL_WIRE_VALIDATOR_H
#define CARREL_WIRE_VALIDATOR_H

#include <stdint.h>

enum {
        VALIDATE_WORDS_MAX = 64,
        VALIDATE_OUTPUT_MAX = 4096, /* bytes that a program may print */
        VALIDATE_MAKE_MS = 20000,   /* for making and removing its sandbox */
        VALIDATE_ANSWER_MS = 2000   /* for the answer, once it has ended or was killed */
};

/* WIRE_VALIDATE_THIS: followed by the words, each with its NUL, and the JSON. */
struct wire_validate {
        uint64_t timeout_ms, memory_mb;
        uint32_t word_count, words_len, json_len, pad;
};

enum wire_validated_how {
        VALIDATED_ENDED, /* `status` is meant */
        VALIDATED_LATE,
        VALIDATED_FLOOD, /* more than VALIDATE_OUTPUT_MAX bytes */
        VALIDATED_KILLED /* `carrel run` was killed, or did not begin */
};

/* WIRE_VALIDATED: followed by what the program printed, at most VALIDATE_OUTPUT_MAX bytes. */
struct wire_validated {
        uint32_t how;   /* enum wire_validated_how */
        int32_t status; /* exit status of `carrel run` */
};

#endif
