/*
 * bench/true.c - the smallest command: what is measured is everything around it.
 *
 * Room: none (a measuring tool). Touches: nothing.
 */
int
main(void)
{
        return 0;
}
