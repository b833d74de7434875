/*
 * Common declarations of the eBPF programs, which run in the kernel (*.bpf.c).
 *
 * The programs use only BTF tracepoints (tp_btf). Each file declares the members of the kernel's
 * structs that it reads. The offsets of these members are found when the programs are loaded, so
 * the files are compiled without kernel headers, and the same programs run on different kernels.
 */
#ifndef TRACE_BPF_H
#define TRACE_BPF_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* linux/bpf.h */
enum bpf_map_type {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LRU_HASH = 9,
    BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
    BPF_ANY = 0,
    BPF_F_NO_PREALLOC = 1,
    BPF_RB_NO_WAKEUP = 1,
};
struct bpf_spin_lock {
    __u32 val;
};

#ifdef __bpf__ /* defined by the compiler for eBPF programs */

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The traced processes (trace/kernel.h). */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, __u8);
} processes SEC(".maps");

#endif

#endif
