/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The head of a saved value, docs/cluster.md:
 *
 *     0          8        12      16       24    32
 *     +----------+--------+-------+--------+-----+---------------------------------------------+-------+
 *     | INKshard | version| flags | length | sum | shape, numbers, machine, sensors, held blobs | table |
 *     +----------+--------+-------+--------+-----+---------------------------------------------+-------+
 *     |<------------------------------ length -------------------------------------------------->|
 */
#ifndef INKLING_REDIS_FORMAT_H
#define INKLING_REDIS_FORMAT_H

#define HEAD_MAGIC "INKshard"

enum {
	HEAD_VERSION = 1,
	HEAD_PARTIAL = 1, /* flag */
	HEAD_LENGTH_AT = 16,
	HEAD_SUM_AT = 24,
	HEAD_START = 32,
};

#endif
