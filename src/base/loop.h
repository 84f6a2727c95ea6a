/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] A loop that is the same in user space and in the kernel.
 *
 * The kernel's verifier walks through a plain loop turn by turn. Through one of bpf_loop() it walks once, if what the
 * turns share lies in a map: from `step` it sees a stack variable of the caller as it was before the first turn
 * (Linux 6.1). So a step gets a pointer to a pointer, which does not change, and keeps its state behind that.
 */
#ifndef INKLING_BASE_LOOP_H
#define INKLING_BASE_LOOP_H

#include <stdint.h>

/* A turn. `context` points to what the loop was given. Non-zero ends the loop. */
typedef long ink_loop_step(uint64_t turn, void *context);

#ifdef __bpf__

/* Turns until a step ends the loop, at most `most`. */
__attribute__((always_inline)) static inline void ink_loop(uint32_t most, ink_loop_step *step, void *state)
{
	static long (*const bpf_loop)(uint32_t, void *, void *, uint64_t) = (void *)181;

	bpf_loop(most, (void *)step, &state, 0);
}

#else

static inline void ink_loop(uint32_t most, ink_loop_step *step, void *state)
{
	for (uint64_t turn = 0; turn < most && !step(turn, &state); turn++)
		;
}

#endif

#endif
