/* SPDX-License-Identifier: BSD-2-Clause */
/* The experiments, in the order of the papers. */
#include "lab/experiments.h"

const struct experiment *const lab_experiments[] = {
	&experiment_table1,     &experiment_beyond,        &experiment_p2p,
	&experiment_video,      &experiment_dleft,         &experiment_overflow,
	&experiment_timing,     &experiment_analysis,      &experiment_adversarial,
	&experiment_slowpath,   &experiment_kbf_encodings, &experiment_kbf_decodability,
	&experiment_kbf_errors, &experiment_kbf_acsm,      NULL,
};
