/* test/box/doctor_run.c - `carrel doctor` alone, so that it can be tested before and without the rest. */
#include "cli/commands.h"

int
main(int argc, char **argv)
{
        return cmd_doctor(argc, argv);
}
