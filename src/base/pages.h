/* SPDX-License-Identifier: BSD-2-Clause */
/* Bodies of tables: zeroed pages, huge ones where the system has them. */
#ifndef INKLING_BASE_PAGES_H
#define INKLING_BASE_PAGES_H

#include <stdint.h>

/* What a body of that many bytes takes: whole pages. */
uint64_t ink_body_round(uint64_t bytes);

/* NULL with errno. `bytes` has been rounded. */
void *ink_body_alloc(uint64_t bytes);
void ink_body_free(void *body, uint64_t bytes);

#endif
