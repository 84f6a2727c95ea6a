/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Video congestion control (ACSM 5.2.1). A router that has to drop packets of video does better if it knows
 * the type of the frame, which takes a few bits of state for each stream. How often does an approximate table
 * decide wrongly (video_decisions.c)? What do the policies do to a film (video_quality.c)?
 */
#include "lab/experiments.h"
#include "lab/video_parts.h"

static int run_video(struct lab *lab, struct page *page)
{
	int error = video_decisions(lab, page);

	return error ? error : video_quality(lab, page);
}

const struct experiment experiment_video = {
	.name = "video",
	.title = "Video: dropping with a few bits for each stream",
	.where = "ACSM 5.2.1",
	.shows = "How often does the paper's table decide wrongly about packets of some hundred thousand "
		 "streams, under four drop policies? What do smaller and better tables do? And what do the "
		 "policies do to a film that ffmpeg encodes and decodes: PSNR and SSIM against byte loss.",
	.interpretation =
		"A fingerprint match is taken for the stream's own, and a don't-know is dropped. Wrong drops "
		"are a share of the packets that should pass, missed drops of those that should be dropped.",
	.seconds = {11, 220, 700},
	.rounds = 2,
	.run = run_video,
};
