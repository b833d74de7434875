/*
 * The part of the tracer that runs in the kernel. It records what the server's processes read,
 * write and sync, and how the time of each call divides into layers.
 *
 * The time of a call is divided into slices. A slice ends when a request of the call begins, is
 * handed to the device, or is completed. The time of a slice is added to the layer "device" if a
 * request of the call is at the device, else to "queue" if a request waits, else to "vfs". So the
 * times of the three layers always add up to the call's time, even if the call has several
 * requests. A request belongs to the call that its thread executes when the request begins.
 *
 * The kernel does not hand each flush to the device. It combines all waiting flushes into one flush
 * request of its own. While this flush request is at the device, the waiting requests count as
 * being at the device: that time is moved from "queue" to "device".
 */
#include "trace/bpf.h"
#include "trace/io_event.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qstr {
    __u32 hash;
    const unsigned char *name;
};
struct hlist_node {
    struct hlist_node *next;
};
struct hlist_head {
    struct hlist_node *first;
};
struct dentry {
    struct dentry *d_parent;
    struct qstr d_name;
    union {
        struct hlist_node d_alias;
    } d_u;
};
struct super_block {
    __u32 s_dev;
    unsigned long s_magic;
};
struct inode {
    __u16 i_mode;
    struct super_block *i_sb;
    unsigned long i_ino;
    struct hlist_head i_dentry;
};
struct path {
    struct dentry *dentry;
};
struct file {
    struct inode *f_inode;
    struct path f_path;
};
struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};
struct files_struct {
    struct fdtable *fdt;
};
struct task_struct {
    int pid;
    int tgid;
    char comm[16];
    struct files_struct *files;
};
struct address_space {
    struct inode *host;
};
struct page {
    unsigned long compound_head;
    struct address_space *mapping;
};
struct folio;
struct bio_vec {
    struct page *bv_page;
};
struct block_device {
    __u32 bd_dev;
};
struct bio {
    struct block_device *bi_bdev;
    struct bio_vec *bi_io_vec;
};
struct blk_mq_hw_ctx;
struct request {
    struct blk_mq_hw_ctx *mq_hctx;
    __u32 cmd_flags;
    unsigned int __data_len;
    struct bio *bio;
};
#if defined(__TARGET_ARCH_arm64)
struct pt_regs {
    __u64 regs[31];
    int syscallno;
};
#define CALL_OF(registers) ((registers)->syscallno)
#define FIRST_ARGUMENT(registers) ((registers)->regs[0])
#else
struct pt_regs {
    unsigned long di;
    unsigned long orig_ax;
};
#define CALL_OF(registers) ((registers)->orig_ax)
#define FIRST_ARGUMENT(registers) ((registers)->di)
#endif
#pragma clang attribute pop
enum req_flag_bits {
    __REQ_PREFLUSH,
};

enum {
    REQUEST_OPERATION = 0xff, /* mask of the operation in cmd_flags; odd operations write */
    REQUEST_FLUSH = 2,        /* operation of the kernel's own flush request */
    MAPPING_FLAGS = 3, /* flags in page.mapping: if set, the page does not belong to a file */
    FILE_TYPE = 0170000,
    FILE_REGULAR = 0100000,
    FILE_BLOCK = 0060000,
    MAGIC_PROC = 0x9fa0,
    MAGIC_SYSFS = 0x62656572,
    MAGIC_CGROUP = 0x27e0eb,
    MAGIC_CGROUP2 = 0x63677270,
    MAGIC_TMPFS = 0x01021994,
};

/* AS(name, address) is a pointer to the struct `name` at any address. Its members may be read even
 * if the address is invalid; they are 0 in this case. It is faster than bpf_probe_read_kernel. */
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;
#define AS(name, address)                                                                          \
    ((struct name *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(struct name)))

char licence[] SEC("license") = "Dual MIT/GPL";

/* the enum io_mode of each system call, by its number; trace.c sets it before the programs are
 * loaded */
const volatile unsigned char call_modes[IO_CALLS] = {0};

/* true if the database runs inside the process of append; the programs then trace this process, but
 * not its threads in `excluded`. trace.c sets this variable before the programs are attached. */
unsigned char is_embedded = 0;

/* trace.c reads these two numbers at the end of the trace. */
unsigned long long lost = 0; /* number of records for which the ring had no room */
unsigned int files = 0;      /* number of files so far, which are numbered from 1 */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, IO_RING_BYTES);
} ring SEC(".maps");

/* Threads that are not traced although their process is traced. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1024);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u8);
} excluded SEC(".maps");

/* The present or latest call of a thread. Each request stores the start_ns of its call. If start_ns
 * of the thread is different, the call of the request has ended. */
struct operation {
    struct bpf_spin_lock lock;
    __u32 file;
    __u64 start_ns; /* start of the call; 0: the call has ended */
    __u64 mark_ns;  /* the end of the latest slice */
    __u64 queue_ns;
    __u64 device_ns;
    __u32 queued;    /* number of requests that wait */
    __u32 at_device; /* number of requests at a device */
    __u32 mode;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct operation);
} operations SEC(".maps");

/* A request that is not completed. The key is its address in the kernel. If the programs miss the
 * completion, the entry is replaced when the kernel uses the same address for a new request. */
struct state {
    __u64 start_ns;
    __u64 issue_ns; /* moment at which the request was handed to the device; 0: the request waits */
    __u64 flush_ns; /* time for which the request waited for a flush that was at the device */
    __u64 operation_ns; /* start of the request's call; 0: the request does not belong to a call */
    __u64 bytes;
    __u32 pid;
    __u32 tid;
    __u32 file;
    __u8 mode;
    __u8 source;
    __u8 has_preflush;
    __u8 unused;
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 8192);
    __type(key, __u64);
    __type(value, struct state);
} requests SEC(".maps");

/* The latest flush request of each hardware queue, by the queue's address. */
struct flush {
    __u64 issue_ns;
    __u64 end_ns; /* moment at which the flush was completed; 0: not completed */
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 256);
    __type(key, __u64);
    __type(value, struct flush);
} flushes SEC(".maps");

/* The number of each file. The key contains a hash of the name, so a renamed file gets a new
 * number. */
struct identity {
    __u64 inode;
    __u32 device;
    __u32 name_hash;
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct identity);
    __type(value, __u32);
} numbers SEC(".maps");

/* The traced thread that last wrote to a page of a file. In the key, name_hash is 0. */
struct writer {
    __u32 pid;
    __u32 tid;
};
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct identity);
    __type(value, struct writer);
} writers SEC(".maps");

/* The devices whose file systems contain traced files. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 64);
    __type(key, __u32);
    __type(value, __u8);
} devices SEC(".maps");

static __always_inline int is_traced(__u32 pid, __u32 tid)
{
    return bpf_map_lookup_elem(&processes, &pid) != NULL &&
           (!is_embedded || bpf_map_lookup_elem(&excluded, &tid) == NULL);
}

/* Returns the number of a file. A new file gets a number, and its names are sent to the reader.
 * Returns 0 if the inode is not a file, or the ring had no room for the names. */
static __noinline __u32 number_of(struct inode *inode, struct dentry *dentry)
{
    struct identity identity = {
        .inode = inode->i_ino, .device = inode->i_sb->s_dev, .name_hash = dentry->d_name.hash};
    const __u32 *known = bpf_map_lookup_elem(&numbers, &identity);
    if (known != NULL || identity.inode == 0) {
        return known == NULL ? 0 : *known;
    }
    struct io_file *record = bpf_ringbuf_reserve(&ring, sizeof *record, 0);
    if (record == NULL) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    const __u32 number = __sync_fetch_and_add(&files, 1) + 1;
    const __u8 is_there = 1;
    record->file = number;
    for (int i = 0; i < IO_NAMES; i++) {
        record->names[i][0] = '\0';
        bpf_probe_read_kernel_str(record->names[i], IO_NAME_BYTES, dentry->d_name.name);
        dentry = dentry->d_parent; /* the parent of the root is the root */
    }
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    bpf_map_update_elem(&numbers, &identity, &number, BPF_ANY);
    bpf_map_update_elem(&devices, &identity.device, &is_there, BPF_ANY);
    return number;
}

/* Returns one of the names of a file. */
static __always_inline struct dentry *dentry_of(struct inode *inode)
{
    const __u64 node = (__u64)inode->i_dentry.first;
    return AS(dentry, node == 0 ? 0 : node - bpf_core_field_offset(struct dentry, d_u.d_alias));
}

/* Returns the inode of the file to which the first page of a request belongs. The i_ino of the
 * returned inode is 0 if the page does not belong to a file. */
static __always_inline struct inode *inode_of(struct request *rq)
{
    struct page *page = rq->bio->bi_io_vec->bv_page;
    /* if the lowest bit is set, the rest of compound_head is the address of the head page */
    const unsigned long head = BPF_CORE_READ(page, compound_head);
    page = (head & 1) != 0 ? AS(page, head - 1) : AS(page, page);
    const __u64 mapping = (__u64)BPF_CORE_READ(page, mapping);
    struct inode *inode = AS(address_space, (mapping & MAPPING_FLAGS) != 0 ? 0 : mapping)->host;
    /* a request with a page of tmpfs is direct I/O from a buffer in shared memory, so the page does
     * not show the file */
    return AS(inode, inode->i_sb->s_magic == MAGIC_TMPFS ? NULL : inode);
}

/* Ends a slice of a call: adds the time since the end of the previous slice to the layer of the
 * call. The caller holds the lock of the operation. */
static __always_inline void advance(struct operation *operation, __u64 now_ns)
{
    if (now_ns > operation->mark_ns) {
        const __u64 slice_ns = now_ns - operation->mark_ns;
        if (operation->at_device > 0) {
            operation->device_ns += slice_ns;
        } else if (operation->queued > 0) {
            operation->queue_ns += slice_ns;
        }
        operation->mark_ns = now_ns;
    }
}

static __always_inline void emit(const struct io_event *event)
{
    struct io_event *record = bpf_ringbuf_reserve(&ring, sizeof *record, 0);
    if (record == NULL) {
        __sync_fetch_and_add(&lost, 1);
        return;
    }
    *record = *event;
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *registers, long call)
{
    const __u64 index = (__u64)call;
    if (index >= IO_CALLS || call_modes[index] == IO_NONE) {
        return 0;
    }
    const __u64 ids = bpf_get_current_pid_tgid();
    const __u32 tid = (__u32)ids;
    if (!is_traced(ids >> 32, tid)) {
        return 0;
    }
    struct task_struct *task = bpf_get_current_task_btf();
    struct fdtable *table = task->files->fdt;
    const __u64 fd = (__u32)FIRST_ARGUMENT(registers);
    if (fd >= table->max_fds) {
        return 0;
    }
    __u64 address = 0;
    bpf_probe_read_kernel(&address, sizeof address, table->fd + fd);
    struct file *file = AS(file, address);
    struct inode *inode = file->f_inode;
    const __u32 type = inode->i_mode & FILE_TYPE;
    if (type != FILE_REGULAR && type != FILE_BLOCK) {
        return 0;
    }
    const __u64 magic = inode->i_sb->s_magic;
    if (magic == MAGIC_PROC || magic == MAGIC_SYSFS || magic == MAGIC_CGROUP ||
        magic == MAGIC_CGROUP2) {
        return 0;
    }
    const __u32 number = number_of(inode, file->f_path.dentry);
    struct operation *operation = bpf_map_lookup_elem(&operations, &tid);
    if (operation == NULL) {
        const struct operation none = {.start_ns = 0};
        bpf_map_update_elem(&operations, &tid, &none, BPF_ANY);
        operation = bpf_map_lookup_elem(&operations, &tid);
    }
    if (operation == NULL) {
        __sync_fetch_and_add(&lost, 1);
        return 0;
    }
    const __u64 now_ns = bpf_ktime_get_ns();
    bpf_spin_lock(&operation->lock);
    operation->file = number;
    operation->mode = call_modes[index];
    operation->start_ns = operation->mark_ns = now_ns;
    operation->queue_ns = operation->device_ns = 0;
    operation->queued = operation->at_device = 0;
    bpf_spin_unlock(&operation->lock);
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ends, struct pt_regs *registers, long result)
{
    const __u64 index = (__u64)CALL_OF(registers);
    if (index >= IO_CALLS || call_modes[index] == IO_NONE) {
        return 0;
    }
    const __u64 now_ns = bpf_ktime_get_ns();
    const __u64 ids = bpf_get_current_pid_tgid();
    const __u32 tid = (__u32)ids;
    struct operation *operation = bpf_map_lookup_elem(&operations, &tid);
    if (operation == NULL || operation->start_ns == 0) {
        return 0;
    }
    bpf_spin_lock(&operation->lock);
    advance(operation, now_ns);
    struct io_event event = {.start_ns = operation->start_ns,
                             .total_ns = operation->mark_ns - operation->start_ns,
                             .queue_ns = operation->queue_ns,
                             .device_ns = operation->device_ns,
                             .file = operation->file,
                             .mode = operation->mode,
                             .is_open = operation->queued + operation->at_device > 0};
    operation->start_ns = 0;
    bpf_spin_unlock(&operation->lock);
    event.bytes = event.mode != IO_SYNC && result > 0 ? result : 0;
    event.pid = ids >> 32;
    event.tid = tid;
    event.kind = IO_OPERATION;
    event.source = IO_OWN;
    emit(&event);
    return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(request_begins, struct request *rq)
{
    const __u64 ids = bpf_get_current_pid_tgid(), key = (__u64)rq;
    const __u32 flags = rq->cmd_flags, bytes = rq->__data_len;
    struct state state = {.pid = ids >> 32, .tid = (__u32)ids};
    state.mode = (flags & 1) != 0 ? IO_WRITE : IO_READ;
    if (bytes == 0) {
        state.mode = IO_SYNC;
    }
    state.bytes = bytes;
    state.has_preflush =
        (flags >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH)) & 1 ? 1 : 0;
    if (is_traced(state.pid, state.tid)) {
        struct operation *operation = bpf_map_lookup_elem(&operations, &state.tid);
        operation = operation != NULL && operation->start_ns != 0 ? operation : NULL;
        state.source = IO_OWN;
        state.start_ns = bpf_ktime_get_ns();
        if (operation != NULL) {
            bpf_spin_lock(&operation->lock);
            advance(operation, state.start_ns);
            operation->queued++;
            state.operation_ns = operation->start_ns;
            state.file = operation->file;
            bpf_spin_unlock(&operation->lock);
        } else if (bytes > 0) {
            struct inode *inode = inode_of(rq);
            state.file = number_of(inode, dentry_of(inode));
        }
    } else {
        struct task_struct *task = bpf_get_current_task_btf();
        struct inode *inode = inode_of(rq);
        struct identity identity = {.inode = inode->i_ino, .device = inode->i_sb->s_dev};
        /* a read by a process that is not traced is not for the server, but a write may be a
         * write-back */
        const struct writer *writer =
            state.mode == IO_READ ? NULL : bpf_map_lookup_elem(&writers, &identity);
        const __u32 device = rq->bio->bi_bdev->bd_dev;
        state.start_ns = bpf_ktime_get_ns();
        if (writer != NULL) {
            state.source = IO_WRITEBACK;
            state.pid = writer->pid;
            state.tid = writer->tid;
            state.file = number_of(inode, dentry_of(inode));
        } else if (task->comm[0] == 'j' && task->comm[1] == 'b' && task->comm[2] == 'd' &&
                   task->comm[3] == '2' && bpf_map_lookup_elem(&devices, &device) != NULL) {
            state.source = IO_JOURNAL;
        } else {
            bpf_map_delete_elem(&requests, &key);
            return 0;
        }
    }
    if (bpf_map_update_elem(&requests, &key, &state, BPF_ANY) != 0) {
        __sync_fetch_and_add(&lost, 1);
    }
    return 0;
}

/* Returns the time for which the latest flush request of the request's queue was at the device
 * since the request began. Moves this time from queue_ns to device_ns of the operation, which may
 * be NULL. */
static __always_inline __u64 share_flush(struct request *rq, const struct state *state,
                                         struct operation *operation, __u64 now_ns)
{
    const __u64 queue = (__u64)rq->mq_hctx;
    const struct flush *flush = bpf_map_lookup_elem(&flushes, &queue);
    if (flush == NULL) {
        return 0;
    }
    const __u64 from_ns = flush->issue_ns > state->start_ns ? flush->issue_ns : state->start_ns;
    const __u64 end_ns = flush->end_ns;
    const __u64 to_ns = end_ns == 0 || end_ns > now_ns ? now_ns : end_ns;
    const __u64 share_ns = to_ns > from_ns ? to_ns - from_ns : 0;
    if (operation != NULL) {
        bpf_spin_lock(&operation->lock);
        if (operation->start_ns == state->operation_ns) {
            const __u64 moved_ns = share_ns < operation->queue_ns ? share_ns : operation->queue_ns;
            operation->queue_ns -= moved_ns;
            operation->device_ns += moved_ns;
        }
        bpf_spin_unlock(&operation->lock);
    }
    return share_ns;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_is_issued, struct request *rq)
{
    const __u64 now_ns = bpf_ktime_get_ns(), key = (__u64)rq;
    if ((rq->cmd_flags & REQUEST_OPERATION) == REQUEST_FLUSH) {
        const __u64 queue = (__u64)rq->mq_hctx;
        const struct flush flush = {.issue_ns = now_ns};
        bpf_map_update_elem(&flushes, &queue, &flush, BPF_ANY);
        return 0;
    }
    struct state *state = bpf_map_lookup_elem(&requests, &key);
    if (state == NULL || state->issue_ns != 0) {
        return 0;
    }
    state->issue_ns = now_ns;
    state->bytes = rq->__data_len; /* set again, because other requests may have been merged into
                                      this request */
    struct operation *operation =
        state->operation_ns == 0 ? NULL : bpf_map_lookup_elem(&operations, &state->tid);
    if (operation != NULL) {
        bpf_spin_lock(&operation->lock);
        if (operation->start_ns == state->operation_ns) {
            advance(operation, now_ns);
            operation->queued -= operation->queued > 0 ? 1 : 0;
            operation->at_device++;
        }
        bpf_spin_unlock(&operation->lock);
    }
    if (state->has_preflush) {
        state->flush_ns = share_flush(rq, state, operation, now_ns);
    }
    return 0;
}

/* Removes a request that is completed or was merged into another request. Sends a record only if it
 * is completed. */
static __always_inline void end_request(struct request *rq, struct state *state, __u64 now_ns,
                                        int is_completed)
{
    const __u64 key = (__u64)rq;
    const __u64 issue_ns = state->issue_ns;
    struct operation *operation =
        state->operation_ns == 0 ? NULL : bpf_map_lookup_elem(&operations, &state->tid);
    if (operation != NULL) {
        bpf_spin_lock(&operation->lock);
        if (operation->start_ns == state->operation_ns) {
            advance(operation, now_ns);
            if (issue_ns != 0) {
                operation->at_device -= operation->at_device > 0 ? 1 : 0;
            } else {
                operation->queued -= operation->queued > 0 ? 1 : 0;
            }
        }
        bpf_spin_unlock(&operation->lock);
    }
    if (is_completed && issue_ns == 0 && state->has_preflush) {
        state->flush_ns = share_flush(rq, state, operation, now_ns);
    }
    if (is_completed) {
        struct io_event event = {.start_ns = state->start_ns,
                                 .total_ns = now_ns - state->start_ns,
                                 .device_ns =
                                     (issue_ns != 0 ? now_ns - issue_ns : 0) + state->flush_ns,
                                 .bytes = state->bytes,
                                 .pid = state->pid,
                                 .tid = state->tid,
                                 .file = state->file,
                                 .kind = IO_REQUEST,
                                 .mode = state->mode,
                                 .source = state->source};
        event.device_ns = event.device_ns < event.total_ns ? event.device_ns : event.total_ns;
        event.queue_ns = event.total_ns - event.device_ns;
        emit(&event);
    }
    bpf_map_delete_elem(&requests, &key);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_is_completed, struct request *rq, int error, unsigned int bytes)
{
    const __u64 now_ns = bpf_ktime_get_ns(), key = (__u64)rq;
    if ((rq->cmd_flags & REQUEST_OPERATION) == REQUEST_FLUSH) {
        const __u64 queue = (__u64)rq->mq_hctx;
        struct flush *flush = bpf_map_lookup_elem(&flushes, &queue);
        if (flush != NULL) {
            flush->end_ns = now_ns;
        }
        return 0;
    }
    struct state *state = bpf_map_lookup_elem(&requests, &key);
    if (state != NULL && bytes >= rq->__data_len) {
        /* if `bytes` is smaller, only a part of the request is complete */
        end_request(rq, state, now_ns, 1);
    }
    return 0;
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(request_is_merged, struct request *rq)
{
    const __u64 key = (__u64)rq;
    struct state *state = bpf_map_lookup_elem(&requests, &key);
    if (state != NULL) {
        end_request(rq, state, bpf_ktime_get_ns(), 0);
    }
    return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(page_is_dirtied, struct folio *folio, struct address_space *mapping)
{
    const __u64 ids = bpf_get_current_pid_tgid();
    const struct writer writer = {.pid = ids >> 32, .tid = (__u32)ids};
    if (mapping != NULL && is_traced(writer.pid, writer.tid)) {
        struct inode *inode = mapping->host;
        const struct identity identity = {.inode = inode->i_ino, .device = inode->i_sb->s_dev};
        bpf_map_update_elem(&writers, &identity, &writer, BPF_ANY);
    }
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_forks, struct task_struct *parent, struct task_struct *child)
{
    const __u32 pid = parent->tgid, child_pid = child->tgid;
    const __u8 is_there = 1;
    if (pid != child_pid && !is_embedded && bpf_map_lookup_elem(&processes, &pid) != NULL) {
        bpf_map_update_elem(&processes, &child_pid, &is_there, BPF_ANY);
    }
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exits, struct task_struct *task)
{
    const __u32 pid = task->tgid, tid = task->pid;
    /* removes the process when its main thread exits, even if other threads of it still run */
    bpf_map_delete_elem(&operations, &tid);
    if (pid == tid) {
        bpf_map_delete_elem(&processes, &pid);
    }
    return 0;
}
