/*
 * The part of --waits=kernel that runs in the kernel. It adds up how long the threads of the server
 * use a CPU, wait for a CPU, and are blocked in each system call.
 *
 * What a thread does is called its place (see switch_event.h). The place changes when the thread is
 * woken, and when a CPU switches from or to the thread. These events of one thread never happen at
 * the same time, so its entry does not need a lock.
 */
#include "trace/bpf.h"
#include "trace/switch_event.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
    int on_cpu;
    unsigned int flags;
    int pid;
    int tgid;
    unsigned in_iowait : 1;
};
#if defined(__TARGET_ARCH_arm64)
struct pt_regs {
    int syscallno;
};
#define CALL_OF(registers) ((registers)->syscallno)
#else
struct pt_regs {
    unsigned long orig_ax;
};
#define CALL_OF(registers) ((registers)->orig_ax)
#endif
#pragma clang attribute pop

enum {
    STATE_UNINTERRUPTIBLE = 2,
    STATE_DEAD = 128,
    FLAG_IO_WORKER = 16, /* flag of a thread that io_uring made */
};

char licence[] SEC("license") = "Dual MIT/GPL";

/* Only the time between these two moments is added up. A value of 0 means that the moment is not
 * known yet; while begin_ns is 0, nothing is added up. */
unsigned long long begin_ns = 0;
unsigned long long end_ns = 0;

unsigned long long lost = 0; /* number of context switches for which the map had no room */

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SWITCH_PLACES);
    __type(key, __u32);
    __type(value, struct switch_sum);
} sums SEC(".maps");

/* The map allocates the memory of all entries when it is created, because the programs run under a
 * lock of the scheduler and must not allocate memory. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, __u32);
    __type(value, struct switch_thread);
} threads SEC(".maps");

static __always_inline int is_traced(const struct task_struct *task)
{
    const __u32 pid = task->tgid;
    return bpf_map_lookup_elem(&processes, &pid) != NULL;
}

/* Returns the place of a blocked thread. */
static __always_inline __u32 place_of(struct task_struct *task, unsigned int state)
{
    const struct pt_regs *registers = (const struct pt_regs *)bpf_task_pt_regs(task);
    __u64 call = (__u64)CALL_OF(registers);
    if (call >= SWITCH_CALLS || (task->flags & FLAG_IO_WORKER) != 0) {
        call = SWITCH_NO_CALL;
    }
    if (BPF_CORE_READ_BITFIELD(task, in_iowait)) {
        return SWITCH_DOES_IO * SWITCH_CALLS + call;
    }
    return ((state & STATE_UNINTERRUPTIBLE) != 0 ? SWITCH_BLOCKS : SWITCH_SLEEPS) * SWITCH_CALLS +
           call;
}

/* Adds to the sum of a place the part of the time from since_ns to now_ns that is between begin_ns
 * and end_ns. */
static __always_inline void charge(__u32 place, __u64 since_ns, __u64 now_ns)
{
    const __u64 from_ns = since_ns > begin_ns ? since_ns : begin_ns;
    const __u64 to_ns = end_ns != 0 && end_ns < now_ns ? end_ns : now_ns;
    struct switch_sum *sum = bpf_map_lookup_elem(&sums, &place);
    if (sum != NULL && begin_ns != 0 && to_ns > from_ns) {
        sum->ns += to_ns - from_ns;
        sum->count++;
    }
}

/* Moves a thread to another place. If the thread has no entry, it has been in the place `before`
 * since the programs were attached. */
static __always_inline void move(__u32 tid, __u32 before, __u32 place, __u64 now_ns)
{
    struct switch_thread *thread = bpf_map_lookup_elem(&threads, &tid);
    if (thread != NULL) {
        charge(thread->place, thread->since_ns, now_ns);
        thread->since_ns = now_ns;
        thread->place = place;
        return;
    }
    const struct switch_thread made = {.since_ns = now_ns, .place = place};
    charge(before, 0, now_ns);
    if (bpf_map_update_elem(&threads, &tid, &made, BPF_ANY) != 0) {
        __sync_fetch_and_add(&lost, 1);
    }
}

SEC("tp_btf/sched_switch")
int BPF_PROG(cpu_switches, _Bool is_preempted, struct task_struct *from, struct task_struct *to,
             unsigned int state)
{
    const __u64 now_ns = bpf_ktime_get_ns();
    if (is_traced(from)) {
        const __u32 tid = from->pid;
        const __u32 place =
            is_preempted || state == 0 ? (__u32)SWITCH_RUNNABLE : place_of(from, state);
        move(tid, SWITCH_ON_CPU, place, now_ns);
        if ((state & STATE_DEAD) != 0) {
            bpf_map_delete_elem(&threads, &tid);
        }
        if ((state & STATE_DEAD) != 0 && from->tgid == from->pid) {
            bpf_map_delete_elem(&processes, &tid);
        }
    }
    if (is_traced(to)) {
        move(to->pid, SWITCH_RUNNABLE, SWITCH_ON_CPU, now_ns);
    }
    return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(thread_wakes, struct task_struct *task)
{
    const __u32 tid = task->pid;
    if (!is_traced(task)) {
        return 0;
    }
    /* ignores a thread that is woken before it has left its CPU to sleep: it keeps its CPU */
    const struct switch_thread *thread = bpf_map_lookup_elem(&threads, &tid);
    if (thread == NULL ? task->on_cpu == 0 : thread->place < SWITCH_ON_CPU) {
        move(tid, place_of(task, 0), SWITCH_RUNNABLE, bpf_ktime_get_ns());
    }
    return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(thread_begins, struct task_struct *task)
{
    const __u32 tid = task->pid;
    const struct switch_thread made = {.since_ns = bpf_ktime_get_ns(), .place = SWITCH_RUNNABLE};
    if (is_traced(task) && bpf_map_update_elem(&threads, &tid, &made, BPF_ANY) != 0) {
        __sync_fetch_and_add(&lost, 1);
    }
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_forks, struct task_struct *parent, struct task_struct *child)
{
    const __u32 pid = parent->tgid, child_pid = child->tgid;
    const __u8 is_there = 1;
    if (pid != child_pid && bpf_map_lookup_elem(&processes, &pid) != NULL) {
        bpf_map_update_elem(&processes, &child_pid, &is_there, BPF_ANY);
    }
    return 0;
}
