/*
 * document/options.h - how strictly a document is read.
 */
#ifndef CARREL_DOCUMENT_OPTIONS_H
#define CARREL_DOCUMENT_OPTIONS_H

#include <stdbool.h>

struct document_options {
        /* the log may be mutable, with a warning; recommended fields are not asked for */
        bool is_draft;
        bool is_literal; /* T3 and T4 need encrypted snapshots even where there are no snapshots */
};

#endif
