/* SPDX-License-Identifier: BSD-2-Clause */
/* The experiments; each is defined in the file of its name. */
#ifndef INKLING_LAB_EXPERIMENTS_H
#define INKLING_LAB_EXPERIMENTS_H

#include "lab/runner.h"

/* Beyond Bloom Filters (ACSM) */
extern const struct experiment experiment_table1;
extern const struct experiment experiment_beyond;
extern const struct experiment experiment_p2p;
extern const struct experiment experiment_video;
extern const struct experiment experiment_dleft;
extern const struct experiment experiment_overflow;
extern const struct experiment experiment_timing;
extern const struct experiment experiment_analysis;
extern const struct experiment experiment_adversarial;
extern const struct experiment experiment_slowpath;

/* The key-value Bloom filter (kBF) */
extern const struct experiment experiment_kbf_encodings;
extern const struct experiment experiment_kbf_decodability;
extern const struct experiment experiment_kbf_errors;
extern const struct experiment experiment_kbf_acsm;

#endif
