/* SPDX-License-Identifier: BSD-2-Clause */
/* The experiments, in the order of the papers. */
#include "lab/experiments.h"

const struct experiment *const paper_experiments[] = {
	&paper_table1,        &paper_beyond,           &paper_p2p,        &paper_video,      &paper_dleft,
	&paper_overflow,      &paper_timing,           &paper_analysis,   &paper_illbehaved, &paper_slowpath,
	&paper_kbf_encodings, &paper_kbf_decodability, &paper_kbf_errors, &paper_kbf_acsm,   NULL,
};
