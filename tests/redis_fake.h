/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server for the module, in the process: keys, replies, replication, saved
 * values, streams, and memory that is counted and can fail. So the sanitizers see
 * the module, and a test can do a million hostile things in seconds.
 *
 * What redis-server does with the module is in test_redis_server.c.
 */
#ifndef INKLING_TESTS_REDIS_FAKE_H
#define INKLING_TESTS_REDIS_FAKE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fake;

struct fake_text {
	const void *at;
	size_t n;
};

static inline struct fake_text fake_text(const char *s)
{
	return (struct fake_text){s, strlen(s)};
}

/* A server with the module loaded. Its replica, if it has one, gets what the module replicates. */
struct fake *fake_new(struct fake *replica);
void fake_free(struct fake *f);

/* What GetContextFlags answers to commands of clients, beside what replication adds. */
void fake_set_flags(struct fake *f, int flags);

/*
 * Carries out a command: its words are separated by blanks; %1, %2 ... stand for the texts behind it. The answer:
 * numbers, texts, [arrays], -errors; valid until the next call.
 */
const char *fake_do(struct fake *f, const char *words, ...);
const char *fake_run(struct fake *f, const struct fake_text *argv, int argc);

/* The i-th bulk string of the last answer. */
struct fake_text fake_bulk(const struct fake *f, unsigned i);

/* Its last number. */
long long fake_number(const struct fake *f);

/* The key's value as RDB has it: one text, of all strings with their lengths. Freed by the caller. */
struct fake_text fake_dump(struct fake *f, const char *key);

/* Makes a key of it, as RESTORE does (loading = 0) or a server that starts. 0: refused; what the key had stays. */
int fake_restore(struct fake *f, const char *key, struct fake_text dump, int loading);

/* The bytes that the digest is made of, as one number. */
uint64_t fake_digest(struct fake *f, const char *key);

/* COPY. 0: it failed. */
int fake_copy(struct fake *f, const char *from, const char *to);

/* An AOF that the module rewrote, carried out by another server. */
void fake_rewrite(struct fake *f, const char *key, struct fake *into);

size_t fake_usage(struct fake *f, const char *key);
uint64_t fake_allocated(void);      /* bytes that all fakes have given to the module */
void fake_fail_large(size_t bytes); /* TryAlloc fails from this size on; 0: never */
unsigned fake_stream_length(struct fake *f, const char *key);
const char *fake_stream_entry(struct fake *f, const char *key, unsigned i); /* "ms-seq field value ..." */
void fake_delete(struct fake *f, const char *key);
uint64_t fake_replicated(const struct fake *f); /* commands so far */
long long fake_set_limit(long long limit);      /* CONFIG SET inkling.limit; the one before */

/* Answers that replicas gave as errors; they should be none. */
extern unsigned fake_replica_errors;

/* What of the interface the module registered, for tests of it. */
unsigned fake_commands(void);
const char *fake_categories(void); /* that it set for the last command */

#endif
