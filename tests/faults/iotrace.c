/* iotrace: run a command, and break it at one exact system call.
 *
 *     iotrace -d DIRECTORY [-n NUMBER -m MODE] [-r RECORD] [-o REPORT] -- COMMAND ARGUMENT...
 *
 * The command and every process it starts are traced. Each call that changes something under DIRECTORY gets the next
 * number of ONE sequence, whichever process makes it, so that "call 17" means one moment in the life of the whole tree.
 * With -n and -m, a fault strikes at that call:
 *
 *     kill           SIGKILL the whole tree before the call runs: everything dies at once
 *     torn           let half of a write happen, then SIGKILL the whole tree
 *     one            SIGKILL only the process that makes the call; the others live and have to cope
 *     short          perform half of a write and return the short count, as the kernel is allowed to
 *     ENOSPC, EIO..  the call is not made and fails with that error (the names are in ERRORS below)
 *     sticky:ENOSPC  the same, and so does every later call that the error would hit: a full disk stays full
 *
 * torn and short need a call that writes data; at any other call they do nothing, and the report names no fault.
 *
 * -r writes one JSON object a line for each call, with the data written. Calls on standard output and error are there
 *    too, with number 0: they show what had been acknowledged by when.
 * -o writes what happened: {"fault": {...}} at once when the fault strikes (so it is known even if the command then
 *    hangs and we are killed), and {"calls": N, "status": S, "killed": B} at the end. The status is that of the command
 *    itself, a signal as a negative number. It is 0 with "killed" when the command had already ended well and only a
 *    process that it left behind was killed.
 *
 * Exit code: 137 when the fault killed the tree, otherwise the command's own (128 + signal for a signal); 2 for wrong
 * arguments, 3 when this machine does not let us trace.
 *
 * Every byte of a path goes into the JSON as the character of the same number, which is Latin-1: file names need not be
 * UTF-8, and this way they survive.
 *
 * What it does not see: stores into mapped memory, io_uring, splice, extended attributes, 32-bit programs, and paths in
 * another root directory than ours (chroot, containers). setuid programs run without their privileges.
 *
 * Linux 5.3 or newer on x86-64, or on aarch64 (which has been compiled, but never run).
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { EXIT_USAGE = 2, EXIT_CANNOT_TRACE = 3, EXIT_NOT_STARTED = 127, EXIT_KILLED = 128 + SIGKILL };

/* ---- The calls that change a file system ---------------------------------------------------------------------- */

/* Where a call keeps what it acts on. With `at`, a descriptor of a directory stands before each path. */
enum shape {
    OPENS,      /* path, then flags */
    OPENS_HOW,  /* as OPENS, but the flags are in memory (openat2) */
    CREATS,     /* path only; creates and truncates always */
    DESCRIPTOR, /* the first argument */
    COPIES,     /* from one descriptor to another, inside the kernel */
    ONE_PATH,
    TWO_PATHS,
    SYMLINKS,   /* any text, then the path of the link */
    EVERYTHING, /* no argument: sync */
};

enum trait {
    WRITES = 1,     /* carries data, so that it can be torn and shortened */
    NEEDS_ROOM = 2, /* fails on a full disk */
    FOLLOWS = 4,    /* acts on what a symbolic link at the end of the path points to */
};

struct kind {
    long number;
    const char *name;
    enum shape shape;
    bool at;
    unsigned traits;
};

static const struct kind KINDS[] = {
#ifdef __x86_64__ /* newer machines only have the `at` forms of these */
    {SYS_open, "open", OPENS, false, NEEDS_ROOM},
    {SYS_creat, "creat", CREATS, false, NEEDS_ROOM},
    {SYS_rename, "rename", TWO_PATHS, false, 0},
    {SYS_link, "link", TWO_PATHS, false, NEEDS_ROOM},
    {SYS_symlink, "symlink", SYMLINKS, false, NEEDS_ROOM},
    {SYS_mkdir, "mkdir", ONE_PATH, false, NEEDS_ROOM},
    {SYS_mknod, "mknod", ONE_PATH, false, NEEDS_ROOM},
    {SYS_unlink, "unlink", ONE_PATH, false, 0},
    {SYS_rmdir, "rmdir", ONE_PATH, false, 0},
    {SYS_chmod, "chmod", ONE_PATH, false, FOLLOWS},
    {SYS_chown, "chown", ONE_PATH, false, FOLLOWS},
    {SYS_lchown, "lchown", ONE_PATH, false, 0},
#endif
    {SYS_openat, "openat", OPENS, true, NEEDS_ROOM},
#ifdef SYS_openat2
    {SYS_openat2, "openat2", OPENS_HOW, true, NEEDS_ROOM},
#endif
    {SYS_write, "write", DESCRIPTOR, false, WRITES | NEEDS_ROOM},
    {SYS_pwrite64, "pwrite64", DESCRIPTOR, false, WRITES | NEEDS_ROOM},
    {SYS_writev, "writev", DESCRIPTOR, false, WRITES | NEEDS_ROOM},
    {SYS_pwritev, "pwritev", DESCRIPTOR, false, WRITES | NEEDS_ROOM},
    {SYS_pwritev2, "pwritev2", DESCRIPTOR, false, WRITES | NEEDS_ROOM},
    {SYS_sendfile, "sendfile", COPIES, false, WRITES | NEEDS_ROOM},
    {SYS_copy_file_range, "copy_file_range", COPIES, false, WRITES | NEEDS_ROOM},
    {SYS_ftruncate, "ftruncate", DESCRIPTOR, false, NEEDS_ROOM},
    {SYS_truncate, "truncate", ONE_PATH, false, NEEDS_ROOM | FOLLOWS},
    {SYS_fallocate, "fallocate", DESCRIPTOR, false, NEEDS_ROOM},
    {SYS_fsync, "fsync", DESCRIPTOR, false, NEEDS_ROOM}, /* space is often only given out when the data is flushed */
    {SYS_fdatasync, "fdatasync", DESCRIPTOR, false, NEEDS_ROOM},
    {SYS_syncfs, "syncfs", DESCRIPTOR, false, 0},
    {SYS_sync, "sync", EVERYTHING, false, 0},
    {SYS_renameat, "renameat", TWO_PATHS, true, 0},
    {SYS_renameat2, "renameat2", TWO_PATHS, true, 0},
    {SYS_linkat, "linkat", TWO_PATHS, true, NEEDS_ROOM},
    {SYS_symlinkat, "symlinkat", SYMLINKS, true, NEEDS_ROOM},
    {SYS_mkdirat, "mkdirat", ONE_PATH, true, NEEDS_ROOM},
    {SYS_mknodat, "mknodat", ONE_PATH, true, NEEDS_ROOM},
    {SYS_unlinkat, "unlinkat", ONE_PATH, true, 0},
    {SYS_fchmod, "fchmod", DESCRIPTOR, false, 0},
    {SYS_fchmodat, "fchmodat", ONE_PATH, true, FOLLOWS},
#ifdef SYS_fchmodat2
    {SYS_fchmodat2, "fchmodat2", ONE_PATH, true, 0},
#endif
    {SYS_fchown, "fchown", DESCRIPTOR, false, 0},
    {SYS_fchownat, "fchownat", ONE_PATH, true, 0},
    {SYS_utimensat, "utimensat", ONE_PATH, true, 0},
    {SYS_flock, "flock", DESCRIPTOR, false, 0}, /* changes no byte, but dying around a lock is worth a point */
};

static const struct {
    const char *name;
    int number;
} ERRORS[] = {
    {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG},
    {"EINTR", EINTR},   {"EIO", EIO},       {"EMFILE", EMFILE}, {"ENFILE", ENFILE},
    {"ENOENT", ENOENT}, {"ENOSPC", ENOSPC}, {"EPERM", EPERM},   {"EROFS", EROFS},
};

struct call {
    const struct kind *kind;
    long number; /* 0: does not touch the directory */
    uint64_t arguments[6];
    char path[PATH_MAX];
    char other[PATH_MAX]; /* where a rename or link goes to; the text of a symbolic link */
    unsigned long long inode, parent_inode;
    long long offset; /* of data in the file; -1: no such thing */
    bool existed, truncates;
};

enum at_return { NOTHING, RECORD, KILL_TREE };

struct task { /* a process, or a thread of one */
    pid_t id;
    enum at_return at_return;
    struct call call;
    struct task *next;
};

enum fault_kind { FAULT_KILL, FAULT_TORN, FAULT_ONE, FAULT_SHORT, FAULT_ERROR };

static struct {
    long number; /* 0: no fault */
    enum fault_kind kind;
    int error;
    bool sticky;
} fault;

static char directory[PATH_MAX];
static FILE *record_file, *report_file;
static struct task *tasks;
static pid_t command;
static int command_status;
static long calls;
static bool killed;

/* ---- What differs between machines: changing a call that is about to run -------------------------------------- */

#if defined(__x86_64__)

#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64

static void change_call(pid_t id, long number, const uint64_t arguments[6]) {
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, id, 0, &registers);
    registers.orig_rax = number;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    registers.r8 = arguments[4];
    registers.r9 = arguments[5];
    ptrace(PTRACE_SETREGS, id, 0, &registers);
}

/* A call whose number is -1 is skipped, and the program finds in the result register what we leave there. */
static void refuse_call(pid_t id, int error) {
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, id, 0, &registers);
    registers.orig_rax = -1;
    registers.rax = -(long long)error;
    ptrace(PTRACE_SETREGS, id, 0, &registers);
}

#elif defined(__aarch64__)

#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64

/* The number of the call is not among the registers here; it has a register set of its own. */
static void set_call_number(pid_t id, int number) {
    struct iovec set = {&number, sizeof number};
    ptrace(PTRACE_SETREGSET, id, NT_ARM_SYSTEM_CALL, &set);
}

static void change_call(pid_t id, long number, const uint64_t arguments[6]) {
    struct user_regs_struct registers;
    struct iovec set = {&registers, sizeof registers};
    ptrace(PTRACE_GETREGSET, id, NT_PRSTATUS, &set);
    for (int i = 0; i < 6; i++)
        registers.regs[i] = arguments[i];
    ptrace(PTRACE_SETREGSET, id, NT_PRSTATUS, &set);
    set_call_number(id, (int)number);
}

static void refuse_call(pid_t id, int error) {
    struct user_regs_struct registers;
    struct iovec set = {&registers, sizeof registers};
    ptrace(PTRACE_GETREGSET, id, NT_PRSTATUS, &set);
    registers.regs[0] = (unsigned long long)-(long long)error;
    ptrace(PTRACE_SETREGSET, id, NT_PRSTATUS, &set);
    set_call_number(id, -1);
}

#else
#error "iotrace knows x86-64 and aarch64 only"
#endif

/* ---- Looking into a traced process ---------------------------------------------------------------------------- */

static ssize_t read_memory(pid_t id, uint64_t address, void *buffer, size_t size) {
    struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(id, &here, 1, &there, 1, 0);
}

/* Page by page: a read that runs from the end of the text into an unmapped page would fail as a whole. */
static void read_text(pid_t id, uint64_t address, char text[PATH_MAX]) {
    const size_t page = 4096;
    size_t length = 0;
    while (length < PATH_MAX - 1) {
        size_t wanted = page - (address + length) % page;
        if (wanted > PATH_MAX - 1 - length)
            wanted = PATH_MAX - 1 - length;
        ssize_t got = read_memory(id, address + length, text + length, wanted);
        if (got <= 0)
            break;
        if (memchr(text + length, 0, got))
            return;
        length += got;
    }
    text[length] = 0;
}

static void read_link(const char *link, char target[PATH_MAX]) {
    ssize_t length = readlink(link, target, PATH_MAX - 1);
    target[length < 0 ? 0 : length] = 0;
}

static const char *descriptor_link(pid_t id, int fd) {
    static char link[64];
    snprintf(link, sizeof link, "/proc/%d/fd/%d", id, fd);
    return link;
}

/* An unlinked file still has its old path here, with " (deleted)" behind it: its calls are counted as well. */
static void descriptor_path(pid_t id, int fd, char path[PATH_MAX]) {
    read_link(descriptor_link(id, fd), path);
}

static void working_directory(pid_t id, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", id);
    read_link(link, path);
}

/* Where the next write through this descriptor goes. */
static long long descriptor_offset(pid_t id, int fd) {
    char name[64], line[128];
    snprintf(name, sizeof name, "/proc/%d/fdinfo/%d", id, fd);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0;
    long long offset = 0;
    unsigned flags = 0;
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "pos: %lld", &offset);
        sscanf(line, "flags: %o", &flags);
    }
    fclose(file);
    struct stat status;
    if (flags & O_APPEND && !stat(descriptor_link(id, fd), &status))
        return status.st_size;
    return offset;
}

static unsigned long long inode_of(const char *path) {
    struct stat status;
    return lstat(path, &status) ? 0 : status.st_ino;
}

static unsigned long long inode_of_parent(const char *path) {
    char parent[PATH_MAX];
    memcpy(parent, path, PATH_MAX);
    char *slash = strrchr(parent, '/');
    if (!slash)
        return 0;
    *slash = 0;
    struct stat status;
    return stat(*parent ? parent : "/", &status) ? 0 : status.st_ino;
}

/* ---- Paths ---------------------------------------------------------------------------------------------------- */

static bool in_directory(const char *path) {
    size_t length = strlen(directory);
    return !strncmp(path, directory, length) && (path[length] == '/' || !path[length]);
}

/* A path that fits nowhere becomes empty: the kernel will refuse the call for the same reason. */
static void join(char joined[PATH_MAX], const char *parent, const char *name) {
    const char *between = *parent && parent[strlen(parent) - 1] == '/' ? "" : "/";
    if (snprintf(joined, PATH_MAX, "%s%s%s", parent, between, name) >= PATH_MAX)
        *joined = 0;
}

static void strip_slashes(char *path) {
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = 0;
}

/* Resolves everything but the last name, so that `..` and links on the way do not hide what lies in our directory. */
static void normalise(char path[PATH_MAX], bool follow) {
    char real[PATH_MAX], parent[PATH_MAX];
    strip_slashes(path);
    memcpy(parent, path, PATH_MAX);
    char *slash = strrchr(parent, '/');
    if (!slash)
        return;
    const char *name = path + (slash - parent) + 1;
    if (follow || !*name || !strcmp(name, ".") || !strcmp(name, "..")) {
        if (realpath(path, real)) {
            memcpy(path, real, PATH_MAX);
            return;
        }
    }
    *slash = 0;
    if (!realpath(*parent ? parent : "/", real))
        return;
    char last[PATH_MAX];
    memcpy(last, name, strlen(name) + 1);
    join(path, real, last);
}

#define OWN "/proc/self/"

static void read_path(pid_t id, int base_fd, uint64_t address, bool follow, char path[PATH_MAX]) {
    char name[PATH_MAX], base[PATH_MAX];
    read_text(id, address, name);
    if (!strncmp(name, OWN, strlen(OWN))) { /* the traced program's own, and not ours */
        if (snprintf(path, PATH_MAX, "/proc/%d/%s", (int)id, name + strlen(OWN)) >= PATH_MAX)
            *path = 0;
    } else if (*name == '/') {
        memcpy(path, name, PATH_MAX);
    } else {
        if (base_fd == AT_FDCWD)
            working_directory(id, base);
        else
            descriptor_path(id, base_fd, base);
        join(path, base, name); /* an empty name means the descriptor itself */
    }
    normalise(path, follow);
}

/* ---- Understanding a call that is about to run ---------------------------------------------------------------- */

static const struct kind *find_kind(long number) {
    for (size_t i = 0; i < LENGTH(KINDS); i++)
        if (KINDS[i].number == number)
            return &KINDS[i];
    return NULL;
}

static bool is_call(const struct call *call, long number) {
    return call->kind->number == number;
}

static uint64_t open_flags(pid_t id, const struct call *call) {
    uint64_t argument = call->arguments[call->kind->at ? 2 : 1], flags = 0;
    if (call->kind->shape == CREATS)
        return O_CREAT | O_TRUNC;
    if (call->kind->shape == OPENS)
        return argument;
    read_memory(id, argument, &flags, sizeof flags); /* the first field of struct open_how */
    return flags;
}

/* Opening changes something only if it creates the file or empties one that has something in it. */
static bool understand_open(pid_t id, struct call *call) {
    uint64_t flags = open_flags(id, call);
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    if (!unnamed && !(flags & (O_CREAT | O_TRUNC)))
        return false;
    bool exclusive = (flags & O_CREAT) && (flags & O_EXCL);
    bool follow = !(flags & O_NOFOLLOW) && !exclusive;
    int base_fd = call->kind->at ? (int)call->arguments[0] : AT_FDCWD;
    read_path(id, base_fd, call->arguments[call->kind->at], follow, call->path);
    struct stat status;
    call->existed = !unnamed && !stat(call->path, &status);
    call->truncates = call->existed && (flags & O_TRUNC) && S_ISREG(status.st_mode) && status.st_size > 0;
    return !call->existed || call->truncates;
}

static int output_descriptor(const struct call *call) {
    return (int)call->arguments[is_call(call, SYS_copy_file_range) ? 2 : 0];
}

static void understand_descriptor(pid_t id, struct call *call) {
    int fd = output_descriptor(call);
    struct stat status;
    descriptor_path(id, fd, call->path);
    if (!stat(descriptor_link(id, fd), &status))
        call->inode = status.st_ino;
    if (!(call->kind->traits & WRITES))
        return;
    call->offset = descriptor_offset(id, fd);
    if (is_call(call, SYS_pwrite64) || is_call(call, SYS_pwritev))
        call->offset = (long long)call->arguments[3];
    if (is_call(call, SYS_pwritev2) && (long long)call->arguments[3] != -1)
        call->offset = (long long)call->arguments[3];
    if (is_call(call, SYS_copy_file_range) && call->arguments[3])
        read_memory(id, call->arguments[3], &call->offset, sizeof call->offset);
}

static void understand_paths(pid_t id, struct call *call) {
    const uint64_t *arguments = call->arguments;
    bool at = call->kind->at, follow = call->kind->traits & FOLLOWS;
    read_path(id, at ? (int)arguments[0] : AT_FDCWD, arguments[at], follow, call->path);
    if (call->kind->shape == TWO_PATHS)
        read_path(id, at ? (int)arguments[2] : AT_FDCWD, arguments[at ? 3 : 1], false, call->other);
    call->inode = inode_of(call->path);
}

static void understand_symlink(pid_t id, struct call *call) {
    bool at = call->kind->at;
    read_text(id, call->arguments[0], call->other);
    read_path(id, at ? (int)call->arguments[1] : AT_FDCWD, call->arguments[at ? 2 : 1], false, call->path);
}

/* Returns false for a call that changes nothing. */
static bool understand(pid_t id, struct call *call) {
    switch (call->kind->shape) {
    case OPENS:
    case OPENS_HOW:
    case CREATS:
        if (!understand_open(id, call))
            return false;
        break;
    case DESCRIPTOR:
    case COPIES:
        understand_descriptor(id, call);
        break;
    case ONE_PATH:
    case TWO_PATHS:
        understand_paths(id, call);
        break;
    case SYMLINKS:
        understand_symlink(id, call);
        break;
    case EVERYTHING:
        memcpy(call->path, directory, PATH_MAX);
        break;
    }
    call->parent_inode = inode_of_parent(call->path);
    return true;
}

static bool touches_directory(const struct call *call) {
    bool leads_there = call->kind->shape == TWO_PATHS && in_directory(call->other);
    return in_directory(call->path) || leads_there;
}

/* What a program says on its standard output or error, as far as it says it by plain writing. */
static bool is_speech(const struct call *call) {
    bool speaks = is_call(call, SYS_write) || is_call(call, SYS_writev);
    return speaks && (int)call->arguments[0] <= STDERR_FILENO;
}

/* ---- Writing down --------------------------------------------------------------------------------------------- */

static void write_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            fprintf(file, "\\%c", byte);
        else if (byte < 0x20 || byte > 0x7e)
            fprintf(file, "\\u%04x", byte);
        else
            fputc(byte, file);
    }
    fputc('"', file);
}

static void write_call(FILE *file, const struct task *task) {
    const struct call *call = &task->call;
    fprintf(file, "{\"number\": %ld, \"pid\": %d, ", call->number, task->id);
    fprintf(file, "\"call\": \"%s\", \"path\": ", call->kind->name);
    write_text(file, call->path);
    if (*call->other) {
        fputs(", \"other\": ", file);
        write_text(file, call->other);
    }
}

static ssize_t read_vectors(pid_t id, const struct call *call, unsigned char *data, size_t size) {
    size_t count = call->arguments[2];
    if (count > IOV_MAX)
        return -1;
    struct iovec vectors[IOV_MAX], here = {data, size};
    if (read_memory(id, call->arguments[1], vectors, count * sizeof *vectors) < 0)
        return -1;
    return process_vm_readv(id, &here, 1, vectors, count, 0);
}

static ssize_t read_back(pid_t id, const struct call *call, unsigned char *data, size_t size) {
    int fd = open(descriptor_link(id, output_descriptor(call)), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = pread(fd, data, size, call->offset);
    close(fd);
    return got;
}

static ssize_t read_written(pid_t id, const struct call *call, unsigned char *data, size_t size) {
    if (call->kind->shape == COPIES)
        return read_back(id, call, data, size); /* the bytes never were in the process's memory */
    if (is_call(call, SYS_write) || is_call(call, SYS_pwrite64))
        return read_memory(id, call->arguments[1], data, size);
    return read_vectors(id, call, data, size);
}

static void write_data(pid_t id, const struct call *call, long size) {
    unsigned char *data = malloc((size_t)size + 1);
    if (data && read_written(id, call, data, (size_t)size) == size) {
        fputs(", \"data\": \"", record_file);
        for (long i = 0; i < size; i++)
            fprintf(record_file, "%02x", data[i]);
        fputc('"', record_file);
    }
    free(data);
}

static void record(struct task *task, long result) {
    struct call *call = &task->call;
    enum shape shape = call->kind->shape;
    bool opens = shape == OPENS || shape == OPENS_HOW || shape == CREATS;
    if (!call->inode && result >= 0)
        call->inode = inode_of(call->path); /* it has just come into being */
    write_call(record_file, task);
    fprintf(record_file, ", \"result\": %ld", result);
    fprintf(record_file, ", \"inode\": %llu, \"parent\": %llu", call->inode, call->parent_inode);
    if (shape == TWO_PATHS)
        fprintf(record_file, ", \"other_parent\": %llu", inode_of_parent(call->other));
    if (shape == DESCRIPTOR || shape == COPIES)
        fprintf(record_file, ", \"fd\": %d", output_descriptor(call));
    if (call->offset >= 0)
        fprintf(record_file, ", \"offset\": %lld", call->offset);
    if (opens)
        fprintf(record_file, ", \"existed\": %s, \"truncated\": %s", call->existed ? "true" : "false",
                call->truncates ? "true" : "false");
    if (is_call(call, SYS_ftruncate) || is_call(call, SYS_truncate))
        fprintf(record_file, ", \"size\": %lld", (long long)call->arguments[1]);
    if (is_call(call, SYS_unlinkat))
        fprintf(record_file, ", \"flags\": %lld", (long long)call->arguments[2]);
    if (call->kind->traits & WRITES && result >= 0)
        write_data(task->id, call, result);
    fputs("}\n", record_file);
}

static void report_fault(const struct task *task) {
    if (!report_file)
        return;
    fputs("{\"fault\": ", report_file);
    write_call(report_file, task);
    fputs("}}\n", report_file);
    fflush(report_file);
}

static int exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int finish(int code) {
    if (report_file) {
        fprintf(report_file, "{\"calls\": %ld, \"status\": %d, \"killed\": %s}\n", calls, exit_code(command_status),
                killed ? "true" : "false");
        fclose(report_file);
    }
    if (record_file)
        fclose(record_file);
    return code;
}

/* ---- The tasks under our eyes --------------------------------------------------------------------------------- */

/* A child can show up before its parent's report of having started it, so whoever is new is welcome. */
static struct task *get_task(pid_t id) {
    for (struct task *task = tasks; task; task = task->next)
        if (task->id == id)
            return task;
    struct task *task = calloc(1, sizeof *task);
    if (!task) {
        perror("iotrace");
        exit(EXIT_CANNOT_TRACE); /* takes the whole tree along: PTRACE_O_EXITKILL */
    }
    task->id = id;
    task->next = tasks;
    return tasks = task;
}

static void forget_task(pid_t id) {
    for (struct task **link = &tasks; *link; link = &(*link)->next) {
        if ((*link)->id == id) {
            struct task *gone = *link;
            *link = gone->next;
            free(gone);
            return;
        }
    }
}

static void note_end(pid_t id, int status) {
    if (id == command)
        command_status = status;
    forget_task(id);
}

static void go_on(const struct task *task, int signal) {
    ptrace(PTRACE_CONT, task->id, 0, signal);
}

static void go_on_until_return(struct task *task, enum at_return what) {
    task->at_return = what;
    ptrace(PTRACE_SYSCALL, task->id, 0, 0);
}

/* No state changes while we do this: whoever makes such a call now stops there and waits for us. */
static void kill_tree(void) {
    int status;
    pid_t id;
    killed = true;
    for (struct task *task = tasks; task; task = task->next)
        kill(task->id, SIGKILL);
    while ((id = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (id <= 0)
            continue;
        if (WIFSTOPPED(status))
            kill(id, SIGKILL); /* was born in the meantime */
        else
            note_end(id, status);
    }
    exit(finish(EXIT_KILLED));
}

/* ---- Faults --------------------------------------------------------------------------------------------------- */

/* How much a copy inside the kernel has before it: programs ask for far more than the file holds, so that half of what
 * they ask for would still be all of it. */
static uint64_t copy_length(pid_t id, const struct call *call, int length_at) {
    bool sends = is_call(call, SYS_sendfile);
    int source = (int)call->arguments[sends ? 1 : 0];
    uint64_t offset_at = call->arguments[sends ? 2 : 1], asked = call->arguments[length_at];
    long long offset = descriptor_offset(id, source);
    if (offset_at)
        read_memory(id, offset_at, &offset, sizeof offset);
    struct stat status;
    if (stat(descriptor_link(id, source), &status) || !S_ISREG(status.st_mode) || status.st_size < offset)
        return asked;
    uint64_t left = (uint64_t)(status.st_size - offset);
    return left < asked ? left : asked;
}

/* Several vectors: pass on the first half of them. A single one: turn the call into a plain write of its first half,
 * since its length lies in memory that the program may look at again. */
static bool halve_vectors(pid_t id, const struct call *call) {
    uint64_t arguments[6];
    struct iovec vector;
    memcpy(arguments, call->arguments, sizeof arguments);
    if (arguments[2] > 1) {
        arguments[2] /= 2;
        change_call(id, call->kind->number, arguments);
        return true;
    }
    if (arguments[2] < 1 || read_memory(id, arguments[1], &vector, sizeof vector) < 0 || vector.iov_len < 2)
        return false;
    arguments[1] = (uint64_t)(uintptr_t)vector.iov_base;
    arguments[2] = vector.iov_len / 2;
    bool positioned = !is_call(call, SYS_writev) && (long long)arguments[3] != -1;
    change_call(id, positioned ? SYS_pwrite64 : SYS_write, arguments);
    return true;
}

/* Returns false when there is nothing to halve: a single byte is written or it is not. */
static bool halve_write(pid_t id, const struct call *call) {
    uint64_t arguments[6];
    if (is_call(call, SYS_writev) || is_call(call, SYS_pwritev) || is_call(call, SYS_pwritev2))
        return halve_vectors(id, call);
    int length_at = is_call(call, SYS_sendfile) ? 3 : is_call(call, SYS_copy_file_range) ? 4 : 2;
    memcpy(arguments, call->arguments, sizeof arguments);
    uint64_t length = call->kind->shape == COPIES ? copy_length(id, call, length_at) : arguments[length_at];
    if (length < 2)
        return false;
    arguments[length_at] = length / 2;
    change_call(id, call->kind->number, arguments);
    return true;
}

static bool strikes_again(const struct call *call) {
    enum shape shape = call->kind->shape;
    switch (fault.error) {
    case ENOSPC:
    case EDQUOT:
        return call->kind->traits & NEEDS_ROOM; /* a full disk still lets one delete and rename */
    case EMFILE:
    case ENFILE:
        return shape == OPENS || shape == OPENS_HOW || shape == CREATS;
    default:
        return true;
    }
}

static bool strikes(const struct call *call) {
    if (!fault.number || !call->number)
        return false;
    return call->number == fault.number || (fault.sticky && call->number > fault.number && strikes_again(call));
}

static void let_run(struct task *task) {
    if (record_file)
        go_on_until_return(task, RECORD);
    else
        go_on(task, 0);
}

static void strike_with_error(struct task *task) {
    if (task->call.number == fault.number)
        report_fault(task);
    refuse_call(task->id, fault.error);
    if (record_file)
        record(task, -fault.error);
    go_on(task, 0);
}

static void strike_half(struct task *task) {
    if (!(task->call.kind->traits & WRITES) || !halve_write(task->id, &task->call)) {
        let_run(task);
        return;
    }
    report_fault(task);
    if (fault.kind == FAULT_TORN)
        go_on_until_return(task, KILL_TREE);
    else
        let_run(task);
}

static void strike(struct task *task) {
    switch (fault.kind) {
    case FAULT_ERROR:
        strike_with_error(task);
        break;
    case FAULT_TORN:
    case FAULT_SHORT:
        strike_half(task);
        break;
    case FAULT_KILL:
        report_fault(task);
        kill_tree();
        break;
    case FAULT_ONE:
        report_fault(task);
        killed = true;
        kill(task->id, SIGKILL); /* wakes it as well; with a deadly signal waiting, the kernel skips the call */
        break;
    }
}

/* ---- Following the tree --------------------------------------------------------------------------------------- */

/* Returns false when somebody has killed the task in the meantime. */
static bool inspect_call(const struct task *task, struct __ptrace_syscall_info *info) {
    if (ptrace(PTRACE_GET_SYSCALL_INFO, task->id, sizeof *info, info) > 0)
        return true;
    if (errno != ESRCH) { /* a kernel before 5.3: nothing would ever go on from here */
        perror("iotrace: PTRACE_GET_SYSCALL_INFO");
        exit(EXIT_CANNOT_TRACE);
    }
    return false;
}

static void on_call(struct task *task) {
    struct __ptrace_syscall_info info;
    struct call *call = &task->call;
    if (!inspect_call(task, &info))
        return;
    memset(call, 0, sizeof *call);
    call->offset = -1;
    call->kind = find_kind((long)info.seccomp.nr);
    for (int i = 0; i < 6; i++)
        call->arguments[i] = info.seccomp.args[i];
    if (!call->kind || !understand(task->id, call)) {
        go_on(task, 0);
        return;
    }
    if (touches_directory(call))
        call->number = ++calls;
    if (strikes(call))
        strike(task);
    else if (call->number || is_speech(call))
        let_run(task);
    else
        go_on(task, 0);
}

static void on_return(struct task *task) {
    struct __ptrace_syscall_info info;
    enum at_return what = task->at_return;
    task->at_return = NOTHING;
    if (what == KILL_TREE)
        kill_tree();
    if (what == RECORD && inspect_call(task, &info))
        record(task, (long)info.exit.rval);
    go_on(task, 0);
}

/* When a thread other than the first executes a program, it goes on under the process's id and its own is gone. */
static void on_exec(const struct task *task) {
    unsigned long former;
    if (!ptrace(PTRACE_GETEVENTMSG, task->id, 0, &former) && (pid_t)former != task->id)
        forget_task((pid_t)former);
    go_on(task, 0);
}

static bool stops_group(int signal) {
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void on_stop(struct task *task, int status) {
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_SECCOMP)
        on_call(task);
    else if (event == PTRACE_EVENT_EXEC)
        on_exec(task);
    else if (event == PTRACE_EVENT_STOP && stops_group(signal))
        ptrace(PTRACE_LISTEN, task->id, 0, 0); /* really stopped, until SIGCONT */
    else if (event)
        go_on(task, 0); /* started a child, or is one */
    else if (signal == (SIGTRAP | 0x80))
        on_return(task);
    else
        go_on(task, signal);
}

static void follow_tree(void) {
    int status;
    for (;;) {
        pid_t id = waitpid(-1, &status, __WALL);
        if (id > 0 && WIFSTOPPED(status))
            on_stop(get_task(id), status);
        else if (id > 0)
            note_end(id, status);
        else if (errno != EINTR)
            return; /* nobody is left */
    }
}

/* ---- Starting ------------------------------------------------------------------------------------------------- */

/* Only the calls in KINDS stop for us; all others run at full speed. Children inherit this. */
static bool install_filter(void) {
    const unsigned char count = LENGTH(KINDS);
    struct sock_filter filter[LENGTH(KINDS) + 5];
    size_t n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 0, count + 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned char i = 0; i < count; i++)
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, KINDS[i].number, count - i, 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog program = {(unsigned short)n, filter};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The filter may only go in once we are traced: until then a filtered call would fail with ENOSYS. */
static void become_command(int traced, char **argv) {
    char byte;
    if (read(traced, &byte, 1) != 1)
        _exit(EXIT_CANNOT_TRACE);
    if (!install_filter()) {
        perror("iotrace: seccomp");
        _exit(EXIT_CANNOT_TRACE);
    }
    execvp(argv[0], argv);
    perror(argv[0]);
    _exit(EXIT_NOT_STARTED);
}

static bool start(char **argv) {
    const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    int traced[2];
    if (pipe2(traced, O_CLOEXEC) || (command = fork()) < 0) {
        perror("iotrace");
        return false;
    }
    if (!command) {
        close(traced[1]); /* or we would never see its end if the tracer dies */
        become_command(traced[0], argv);
    }
    if (ptrace(PTRACE_SEIZE, command, 0, options)) {
        perror("iotrace: ptrace");
        kill(command, SIGKILL);
        return false;
    }
    get_task(command);
    return write(traced[1], "", 1) == 1;
}

static bool parse_mode(const char *mode) {
    static const struct {
        const char *name;
        enum fault_kind kind;
    } KINDS_OF_FAULT[] = {{"kill", FAULT_KILL}, {"torn", FAULT_TORN}, {"one", FAULT_ONE}, {"short", FAULT_SHORT}};
    const char sticky[] = "sticky:";
    for (size_t i = 0; i < LENGTH(KINDS_OF_FAULT); i++) {
        if (!strcmp(mode, KINDS_OF_FAULT[i].name)) {
            fault.kind = KINDS_OF_FAULT[i].kind;
            return true;
        }
    }
    fault.kind = FAULT_ERROR;
    fault.sticky = !strncmp(mode, sticky, strlen(sticky));
    const char *name = fault.sticky ? mode + strlen(sticky) : mode;
    for (size_t i = 0; i < LENGTH(ERRORS); i++)
        if (!strcmp(name, ERRORS[i].name))
            fault.error = ERRORS[i].number;
    return fault.error;
}

static bool parse_number(const char *text) {
    char *end;
    fault.number = strtol(text, &end, 10);
    return *text && !*end && fault.number > 0;
}

static bool parse_option(int option, const char *value) {
    switch (option) {
    case 'd':
        return realpath(value, directory);
    case 'n':
        return parse_number(value);
    case 'm':
        return parse_mode(value);
    case 'r':
        return (record_file = fopen(value, "we"));
    case 'o':
        return (report_file = fopen(value, "we"));
    default:
        return false;
    }
}

static bool parse_options(int argc, char **argv) {
    int option;
    while ((option = getopt(argc, argv, "+d:n:m:r:o:")) != -1) {
        if (!parse_option(option, optarg)) {
            if (option != '?')
                fprintf(stderr, "iotrace: -%c %s: not understood, or not there\n", option, optarg);
            return false;
        }
    }
    return *directory && optind < argc;
}

int main(int argc, char **argv) {
    if (!parse_options(argc, argv)) {
        fputs("usage: iotrace -d DIRECTORY [-n NUMBER -m MODE] [-r RECORD] [-o REPORT] -- COMMAND...\n", stderr);
        return EXIT_USAGE;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test run that is killed leaves neither us nor the tree behind */
    if (!start(argv + optind))
        return EXIT_CANNOT_TRACE;
    follow_tree();
    int code = exit_code(command_status);
    return finish(code < 0 ? 128 - code : code);
}
