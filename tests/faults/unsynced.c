/* Preloaded into a program, it lets every sync of the program do nothing and say that it was done. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int fsync(int file) { return (void)file, 0; }
int fdatasync(int file) { return (void)file, 0; }
int syncfs(int file) { return (void)file, 0; }
void sync(void) {}
int msync(void *start, size_t size, int flags) { return (void)start, (void)size, (void)flags, 0; }
int sync_file_range(int file, off64_t start, off64_t size, unsigned int flags) {
    return (void)file, (void)start, (void)size, (void)flags, 0;
}
