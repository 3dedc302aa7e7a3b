/* A tool of tests: sets an extended attribute. set-attribute NAME VALUE FILE; 0, or errno. */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>

int
main(int argc, char **argv)
{
        return argc != 4                                                     ? EINVAL
               : setxattr(argv[3], argv[1], argv[2], strlen(argv[2]), 0) < 0 ? errno
                                                                             : 0;
}
