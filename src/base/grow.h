/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structs that grow. A public struct that begins with `size` may get new fields
 * at its end; callers compiled against another version pass another size:
 *
 *     the caller's size          what it gives us            what we give it
 *     below the first version    refused                     refused
 *     smaller than ours          missing fields are 0        only its bytes are written
 *     larger than ours           what we do not know must    what we do not know is
 *                                be 0, else refused          set to 0
 *
 * The first version is that of the struct's first release: its size is a constant
 * beside the call and never changes.
 */
#ifndef INKLING_BASE_GROW_H
#define INKLING_BASE_GROW_H

#include <stddef.h>

#include <inkling/inkling.h>

_Static_assert(sizeof(size_t) == 8 && sizeof(void *) == 8, "Inkling needs a 64-bit machine");

/* A public struct as we know it. */
struct ink_struct {
	const char *name; /* for messages: "options" */
	size_t first;     /* bytes of its first version */
	size_t known;     /* bytes of ours */
};

/*
 * Copies the caller's struct into ours. 0, or -EINVAL with the struct's name, also if
 * `theirs` is NULL.
 */
int ink_struct_read(const struct ink_struct *s, void *ours, const void *theirs, struct ink_why *why);

/* Is the size of the caller's output struct one that we can write to? 0, or -EINVAL. */
int ink_struct_check(const struct ink_struct *s, const void *theirs, struct ink_why *why);

/* Copies ours to the caller, whose struct keeps its size. 0, or -EINVAL: nothing is written. */
int ink_struct_write(const struct ink_struct *s, void *theirs, const void *ours, struct ink_why *why);

#endif
