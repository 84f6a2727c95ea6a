/* SPDX-License-Identifier: BSD-2-Clause */
/* The experiments by name: each is defined in the file that carries it. */
#ifndef INKLING_LAB_EXPERIMENTS_H
#define INKLING_LAB_EXPERIMENTS_H

#include "lab/runner.h"

/* Beyond Bloom Filters (ACSM) */
extern const struct experiment paper_table1;
extern const struct experiment paper_beyond;
extern const struct experiment paper_p2p;
extern const struct experiment paper_video;
extern const struct experiment paper_dleft;
extern const struct experiment paper_overflow;
extern const struct experiment paper_timing;
extern const struct experiment paper_analysis;
extern const struct experiment paper_illbehaved;
extern const struct experiment paper_slowpath;

/* The key-value Bloom filter (kBF) */
extern const struct experiment paper_kbf_encodings;
extern const struct experiment paper_kbf_decodability;
extern const struct experiment paper_kbf_errors;
extern const struct experiment paper_kbf_acsm;

#endif
